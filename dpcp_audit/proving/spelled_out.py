"""Functions of the standard library, written in Python, which are read in their place."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def itemgetter(place: Any) -> Callable[[Any], Any]:
    """``operator.itemgetter`` of one place."""
    return lambda value: value[place]


def partial(function: Any, *given: Any, **named: Any) -> Callable[..., Any]:
    """``functools.partial``."""
    return lambda *rest, **others: function(*given, *rest, **named, **others)


SPELLED_OUT: dict[Any, Any] = {operator.itemgetter: itemgetter, functools.partial: partial}
