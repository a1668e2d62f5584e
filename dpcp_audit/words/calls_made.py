"""Signs of life of a long check: the calls of its target that were made so far.

What calls a target says so here; whoever runs the check may listen. Without a listener a call
costs a look at one variable.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class _Counter:
    """Counts calls for one listener, which hears of them every few seconds."""

    def __init__(self, listen: Callable[[int], None], seconds: float) -> None:
        self._listen = listen
        self._seconds = seconds
        self._calls = 0
        self._heard = time.monotonic()

    def add(self, calls: int) -> None:
        self._calls += calls
        now = time.monotonic()
        if now - self._heard >= self._seconds:
            self._heard = now
            self._listen(self._calls)


_counter: _Counter | None = None


@contextmanager
def listening(listen: Callable[[int], None], *, seconds: float) -> Generator[None]:
    """Tell ``listen`` how many calls were made, at the first call after each ``seconds``.

    Examples
    --------
    >>> heard = []
    >>> with listening(heard.append, seconds=0):
    ...     count_calls(3)
    ...     count_calls(2)
    >>> heard
    [3, 5]
    """
    global _counter  # noqa: PLW0603  (one check runs at a time in a process)
    before, _counter = _counter, _Counter(listen, seconds)
    try:
        yield
    finally:
        _counter = before


def count_calls(calls: int) -> None:
    """Count calls of a target that were made."""
    if _counter is not None:
        _counter.add(calls)
