"""Random bytes of the operating system: nothing records them, so that no path may take any.

They are what unseeded generators begin with, and what ``secrets`` and ``uuid`` draw. The devices
that they are read from are refused as well.
"""

from __future__ import annotations

import builtins
import io
import os
import random
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from dpcp_audit.tracing.replaced_names import replaced
from dpcp_audit.tracing.source_lines import target_line
from dpcp_audit.tracing.trace_errors import UnfollowableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_UNUSED: ContextVar[bool] = ContextVar("unused", default=False)
_SOURCES = ((os, "urandom"), (os, "getrandom"), (random, "_urandom"))
"""Where they are called by; ``random`` keeps a name of its own."""
_OPENERS = ((builtins, "open"), (io, "open"), (os, "open"))
_DEVICES = frozenset({"/dev/urandom", "/dev/random", "/dev/hwrng"})


@contextmanager
def refused_entropy() -> Generator[None]:
    """Refuse the system's random bytes for the length of a call."""
    with replaced((owner, name, value) for owner, name, _, value in refusals()):
        yield


@cache
def refusals() -> list[tuple[Any, str, Any, Any]]:
    """Return what is refused: its owner, its name, itself, and what refuses it."""
    wrapped = [(each, _refusing) for each in _SOURCES] + [(each, _watching) for each in _OPENERS]
    return [
        (owner, name, getattr(owner, name), wrap(getattr(owner, name)))
        for (owner, name), wrap in wrapped
        if hasattr(owner, name)
    ]


@contextmanager
def unused_entropy() -> Generator[None]:
    """Allow them where a seed replaces them at once, as in ``RandomState(5)``."""
    before = _UNUSED.set(True)
    try:
        yield
    finally:
        _UNUSED.reset(before)


def _refusing(source: Callable[..., bytes]) -> Callable[..., bytes]:
    def refuse(*args: Any, **kwargs: Any) -> bytes:
        if _UNUSED.get():
            return source(*args, **kwargs)
        raise _drawn()

    return refuse


def _watching(opener: Callable[..., Any]) -> Callable[..., Any]:
    def open_other(file: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, str | os.PathLike) and os.fspath(file) in _DEVICES:
            raise _drawn()
        return opener(file, *args, **kwargs)

    return open_other


def _drawn() -> UnfollowableError:
    return UnfollowableError("random bytes of the system are drawn", target_line())
