"""Random bytes of the operating system: nothing records them, so that no path may take any.

They are what unseeded generators begin with, and what ``secrets`` and ``uuid`` draw.
"""

from __future__ import annotations

import os
import random
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from dpcp_audit.tracing.source_lines import target_line
from dpcp_audit.tracing.trace_errors import UnfollowableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_UNUSED: ContextVar[bool] = ContextVar("unused", default=False)
_SOURCES = ((os, "urandom"), (os, "getrandom"), (random, "_urandom"))
"""Where they are called by; ``random`` keeps a name of its own."""


@contextmanager
def refused_entropy() -> Generator[None]:
    """Refuse the system's random bytes for the length of a call."""
    with ExitStack() as stack:
        for owner, name in _SOURCES:
            if hasattr(owner, name):
                stack.enter_context(patch.object(owner, name, _refusing(getattr(owner, name))))
        yield


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
        raise UnfollowableError("random bytes of the system are drawn", target_line())

    return refuse
