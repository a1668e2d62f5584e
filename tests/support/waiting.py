"""Waiting for events: no test depends on how fast a machine is, or how busy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 600.0
"""Seconds after which a test that waits for an event fails."""


def wait_until(happened: Callable[[], object], what: str) -> None:
    """Return once something has happened; fail where it has not within ``PATIENCE``."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"it never happened: {what}"
        time.sleep(0.02)


def ended(pid: int) -> bool:
    """Wait for a process to end."""
    wait_until(lambda: gone(pid), f"process {pid} ends")
    return True


def gone(pid: int) -> bool:
    """Return True if a process has ended; one that nobody has waited for yet has ended, too."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return True
    return state == "Z" and threads <= 1  # while its other threads end, nobody can wait for it


class LateOnce:
    """A clock in the place of the module ``time``: far ahead once something has happened."""

    def __init__(self, happened: Callable[[], object]) -> None:
        self._happened = happened

    def monotonic(self) -> float:
        """Return the time, a day ahead once it has happened."""
        return time.monotonic() + (86_400 if self._happened() else 0)

    def perf_counter(self) -> float:
        """Return the time as it is."""
        return time.perf_counter()
