"""Isotonic regression: the levels of the best rising, or falling, step function.

The levels are those of ``scipy.optimize.isotonic_regression``, whose import takes longer than a
short audit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray


def level_starts(values: FloatArray, weights: FloatArray, *, increasing: bool) -> IntArray:
    """Return where the levels of the least-squares fit begin, by pooling adjacent violators.

    Parameters
    ----------
    values, weights : ndarray of float, shape (n,), n >= 1
        What is fitted, and the weights of its squared residuals, which are positive.
    increasing : bool
        Whether the fit rises; else it falls.

    Examples
    --------
    >>> level_starts(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4), increasing=True)
    array([0, 1, 3])
    """
    n = len(values)
    if increasing:
        return _rising(values, weights)[:-1]
    return n - _rising(values[::-1], weights[::-1])[:0:-1]


def _rising(values: FloatArray, weights: FloatArray) -> IntArray:
    """Return where levels that rise begin, and where the last one ends.

    In which order violators are pooled changes no level. All runs that do not rise are pooled at
    once as long as that leaves at most three quarters of the levels, the rest one after another.
    """
    n = len(values)
    starts, left, sums = np.arange(n), math.inf, values * weights
    while 4 * len(starts) <= 3 * left:
        left = len(starts)
        runs = np.flatnonzero(np.append(True, values[1:] > values[:-1]))
        sums, weights = (np.add.reduceat(each, runs) for each in (sums, weights))
        starts, values = starts[runs], sums / weights
    ends = _pooled(values.tolist(), weights.tolist())
    return np.append(starts, n)[ends]


def _pooled(values: list[float], weights: list[float]) -> list[int]:
    """Return where levels that rise begin, and where the last one ends.

    A value that does not exceed the level before it is pooled with it and with those after it
    that do not exceed the two, and then with the levels before.
    """
    starts, means, masses = [0], [values[0]], [weights[0]]
    i, n = 1, len(values)
    while i < n:
        mean, mass, start = values[i], weights[i], i
        i += 1
        if means and means[-1] >= mean:
            start, before, held = starts.pop(), means.pop(), masses.pop()
            total = held * before + mass * mean
            mass += held
            mean = total / mass
            while i < n and mean >= values[i]:
                total += weights[i] * values[i]
                mass += weights[i]
                mean = total / mass
                i += 1
            while means and means[-1] >= mean:
                start, held = starts.pop(), masses.pop()
                total += held * means.pop()
                mass += held
                mean = total / mass
        starts.append(start)
        means.append(mean)
        masses.append(mass)
    return [*starts, n]
