# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false
"""Draws of finitely many values: the log-probability of what is drawn, and all that may be."""

from __future__ import annotations

import math
from itertools import permutations, product
from typing import Any

import numpy as np

from dpcp_audit.tracing.source_lines import target_line
from dpcp_audit.tracing.trace_errors import NotFiniteError

MOST_OPTIONS = 100_000
"""Values of a draw that are listed."""


def uniform_log_mass(found: Any, first: int, stop: int, count: int) -> float:
    """Return the log-probability of whole numbers that are uniform from ``first`` to ``stop``."""
    if isinstance(found, int | np.integer):
        return -math.log(count) if first <= found < stop else -math.inf
    values = np.asarray(found)
    if values.size and not (first <= values.min() and values.max() < stop):
        return -math.inf
    return -values.size * math.log(count)


def choice_log_mass(found: Any, count: int, weights: Any, *, replace: bool) -> float:
    """Return the log-probability of places, by weights, or uniform with or without replacement."""
    places = np.asarray(found)
    if places.size and places.max() >= count:
        return -math.inf
    if weights is not None:
        with np.errstate(divide="ignore"):
            return float(np.log(weights / weights.sum())[places].sum())
    if replace:
        return -places.size * math.log(count)
    return math.lgamma(count - places.size + 1) - math.lgamma(count + 1)


def all_tuples(values: range, size: Any, dtype: Any, *, distinct: bool = False) -> list[Any]:
    """Return all that can be drawn, of any shape."""
    if size is None:
        if len(values) > MOST_OPTIONS:
            return no_options()
        return [np.dtype(dtype).type(each) for each in values]
    shape = (int(size),) if np.ndim(size) == 0 else tuple(size)
    count = math.prod(shape)
    total = math.perm(len(values), count) if distinct else len(values) ** count
    if total > MOST_OPTIONS:
        return no_options()
    ways = permutations(values, count) if distinct else product(values, repeat=count)
    return [np.array(way, dtype=dtype).reshape(shape) for way in ways]


def no_options() -> list[Any]:
    """Raise that what may be drawn is not listed."""
    raise NotFiniteError("what may be drawn is not finite, or too much", target_line())
