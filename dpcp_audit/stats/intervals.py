"""Confidence intervals that hold at every sample size.

Quantiles and tails of counts, from ``scipy.special`` alone: ``scipy.stats`` is slow to import.

A check of a user's own function needs nothing else of ``scipy.stats``, whose import takes longer
than many an audit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

import numpy as np
from scipy.special import betainc, betainccinv, betaincinv, gammaln, ndtri

from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


@overload
def clopper_pearson(successes: int, trials: int, *, significance: float) -> tuple[float, float]: ...
@overload
def clopper_pearson(
    successes: IntArray, trials: int, *, significance: float
) -> tuple[FloatArray, FloatArray]: ...
def clopper_pearson(
    successes: int | IntArray, trials: int, *, significance: float
) -> tuple[float, float] | tuple[FloatArray, FloatArray]:
    """Return the exact two-sided interval of a binomial proportion, or of several.

    Each side errs with probability at most ``significance``/2 (Clopper and Pearson 1934).

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100, significance=0.05)
    >>> low, round(high, 12)
    (0.0, 0.036216692645)
    """
    _validate.integer(trials=trials, at_least=1)
    _validate.open_unit(significance=significance)
    if isinstance(successes, np.ndarray):
        if not np.issubdtype(successes.dtype, np.integer):
            raise errors.value_error(
                f"successes must hold integers, got {successes.dtype}", "give counts, not rates"
            )
        if successes.size:
            _check_counts(int(successes.min()), int(successes.max()), trials)
        return binomial_limits(successes, trials, significance / 2)
    _check_counts(successes, successes, trials)
    low, high = binomial_limits(np.asarray(successes), trials, significance / 2)
    return float(low), float(high)


def _check_counts(least: int, most: int, trials: int) -> None:
    _validate.integer(successes=least, at_least=0)
    if most > trials:
        raise ValueError(f"successes must not exceed trials = {trials}, got {most}")


def binomial_limits(successes: IntArray, trials: int, side: float) -> tuple[FloatArray, FloatArray]:
    """Return Clopper–Pearson limits that are each wrong with probability at most ``side``.

    The quantiles of Beta(k, n−k+1) and Beta(k+1, n−k) that leave out ``side``.
    """
    return lower_limits(successes, trials, side), upper_limits(successes, trials, side)


def lower_limits(successes: IntArray, trials: int, side: float) -> FloatArray:
    """Return the lower ones of ``binomial_limits``."""
    low = betaincinv(np.maximum(successes, 1), trials - successes + 1, side)
    return np.where(successes > 0, low, 0.0)


def upper_limits(successes: IntArray, trials: int, side: float) -> FloatArray:
    """Return the upper ones of ``binomial_limits``."""
    misses = trials - successes
    high = betainccinv(successes + 1, np.maximum(misses, 1), side)
    return np.where(misses > 0, high, 1.0)


def mean_limits(
    mean: ArrayLike,
    variance: ArrayLike,
    count: int,
    *,
    bounds: tuple[float, float],
    significance: float,
) -> tuple[FloatArray, FloatArray]:
    """Return two-sided intervals for a bounded variable's mean from the moments of its values.

    Empirical Bernstein (Maurer and Pontil 2009, Theorem 4), each side at ``significance``/2, valid
    for any law on ``bounds``. ``variance`` of ``count`` >= 2 values has the divisor ``count`` − 1
    and the shape of ``mean``.
    """
    low, high = _validate.bounds(bounds)
    _validate.open_unit(significance=significance)
    _validate.integer(count=count, at_least=2)
    centre = _validate.reals(mean, name="mean")
    radius = mean_radius(variance, count, width=high - low, significance=significance)
    return np.maximum(low, centre - radius), np.minimum(high, centre + radius)


def mean_radius(
    variance: ArrayLike, count: int, *, width: float, significance: float
) -> FloatArray:
    """Return the empirical-Bernstein radius of a variable whose range has the given width."""
    _validate.open_unit(significance=significance)
    _validate.integer(count=count, at_least=2)
    _validate.positive(width=width)
    log_term = math.log(4 / significance)
    spread = _validate.reals(variance, name="variance")
    slack = 7 * width * log_term / (3 * (count - 1))
    return np.asarray(np.sqrt(2 * spread * log_term / count) + slack)


def mean_violation(
    variance: float,
    count: int,
    *,
    bounds: tuple[float, float],
    significance: float,
    detection: float = 0.95,
) -> float:
    """Return by how much a mean has to miss its claimed bound to be refuted with ``detection``.

    The mean of many values is taken as normal.

    Parameters
    ----------
    variance : float
        The variable's variance; the limits are those of ``mean_limits``, each side at
        ``significance``/2.
    """
    _validate.non_negative(variance=variance)
    _validate.open_unit(detection=detection)
    low, high = _validate.bounds(bounds)
    radius = mean_radius(variance, count, width=high - low, significance=significance)
    return float(radius) + float(ndtri(detection)) * math.sqrt(variance / count)


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


def _log_choose(total: float, chosen: FloatArray) -> FloatArray:
    return np.asarray(gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1))


def _probabilities(name: str, value: ArrayLike) -> FloatArray:
    found = _validate.reals(value, name=name)
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    return found
