"""Names of modules and classes that stand for something else for the length of a call."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

_INHERITED = object()


@contextmanager
def replaced(names: Iterable[tuple[Any, str, Any]]) -> Generator[None]:
    """Let names stand for other values, and put back in the end what they stood for.

    Parameters
    ----------
    names : iterable of (owner, name, value)
        Modules or classes with the attributes that are replaced; what a class inherits it
        inherits again in the end.

    Examples
    --------
    >>> import math
    >>> with replaced([(math, "tau", 0.0)]):
    ...     math.tau
    0.0
    >>> math.tau > 6
    True
    """
    before: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, value in names:
            own = owner.__dict__.get(name, _INHERITED)
            setattr(owner, name, value)
            before.append((owner, name, own))
        yield
    finally:
        for owner, name, own in reversed(before):
            if own is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
