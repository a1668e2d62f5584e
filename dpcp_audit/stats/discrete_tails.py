"""Quantiles and tails of counts, from ``scipy.special`` alone: ``scipy.stats`` is slow to import.

A check of a user's own function needs nothing else of ``scipy.stats``, whose import takes longer
than many an audit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, gammaln

from dpcp_audit import _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit._types import BoolArray, FloatArray, IntArray


def binomial_exceeded(level: ArrayLike, trials: int, rate: ArrayLike) -> IntArray:
    """Return the least count k with P(Binomial > k) <= level: the upper quantile.

    Parameters
    ----------
    level, rate : array_like
        Probabilities, which broadcast.

    Examples
    --------
    >>> int(binomial_exceeded(0.05, 100, 0.5))
    58
    """
    level, rate = np.broadcast_arrays(_probabilities("level", level), _probabilities("rate", rate))
    _validate.integer(trials=trials, at_least=1)
    return _least(lambda k: _above(k, trials, rate) <= level, trials, rate.shape)


def binomial_reached(level: ArrayLike, trials: int, rate: ArrayLike) -> IntArray:
    """Return the least count k with P(Binomial <= k) >= level: the quantile.

    Examples
    --------
    >>> int(binomial_reached(0.05, 100, 0.5))
    42
    """
    level, rate = np.broadcast_arrays(_probabilities("level", level), _probabilities("rate", rate))
    _validate.integer(trials=trials, at_least=1)
    return _least(lambda k: _up_to(k, trials, rate) >= level, trials, rate.shape)


def hypergeometric_tail(count: int, *, marked: int, drawn: int, total: int) -> float:
    """Return P(X >= count), X the marked among those drawn without replacement.

    Examples
    --------
    >>> hypergeometric_tail(2, marked=2, drawn=2, total=4)  # 1/6
    0.16666666666666...
    """
    _validate.integer(total=total, at_least=1)
    _validate.integer(marked=marked, drawn=drawn, at_least=0, at_most=total)
    fewest, most = max(0, marked + drawn - total), min(marked, drawn)
    if count <= fewest:
        return 1.0
    counts = np.arange(count, most + 1, dtype=np.float64)
    logs = (
        _log_choose(marked, counts)
        + _log_choose(total - marked, drawn - counts)
        - _log_choose(total, np.array(float(drawn)))
    )
    return min(1.0, float(np.exp(logs).sum()))


def average_ranks(values: FloatArray) -> FloatArray:
    """Return the ranks from 1 along the first axis; ties share the mean of theirs.

    Examples
    --------
    >>> average_ranks(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    if values.ndim > 1:
        return np.stack([average_ranks(column) for column in values.T], axis=1)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place.reshape(-1)], dtype=np.float64)


def _least(
    holds: Callable[[FloatArray], BoolArray], trials: int, shape: tuple[int, ...]
) -> IntArray:
    """Return the least of the counts 0, …, ``trials`` at which a condition holds; the last does."""
    fails, done = np.full(shape, -1.0), np.full(shape, float(trials))
    while (wide := done - fails > 1).any():
        middle = np.where(wide, np.floor((fails + done) / 2), done)
        right = holds(middle)
        fails, done = np.where(wide & ~right, middle, fails), np.where(right, middle, done)
    return done.astype(np.int64)


def _above(count: FloatArray, trials: int, rate: FloatArray) -> FloatArray:
    """Return P(Binomial > count)."""
    tail = betainc(count + 1, np.maximum(trials - count, 1e-9), rate)
    return np.where(count < trials, tail, 0.0)


def _up_to(count: FloatArray, trials: int, rate: FloatArray) -> FloatArray:
    """Return P(Binomial <= count)."""
    return np.where(
        count < trials, betainc(np.maximum(trials - count, 1e-9), count + 1, 1 - rate), 1.0
    )


def _log_choose(total: float, chosen: FloatArray) -> FloatArray:
    return np.asarray(gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1))


def _probabilities(name: str, value: ArrayLike) -> FloatArray:
    found = _validate.reals(value, name=name)
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    return found
