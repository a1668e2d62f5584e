"""Confidence intervals that hold at every sample size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc

from dpcp_audit import _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray


def clopper_pearson(successes: int, trials: int, *, significance: float) -> tuple[float, float]:
    """Return the exact two-sided interval of a binomial proportion.

    Each side errs with probability at most ``significance``/2 (Clopper and Pearson 1934,
    through statsmodels).
    """
    from statsmodels.stats.proportion import proportion_confint  # noqa: PLC0415  (slow to import)

    _validate.integer(trials=trials, at_least=1)
    _validate.integer(successes=successes, at_least=0)
    if successes > trials:
        raise ValueError(f"successes must not exceed trials = {trials}, got {successes}")
    _validate.open_unit(significance=significance)
    low, high = np.asarray(
        proportion_confint(successes, trials, alpha=significance, method="beta"), dtype=np.float64
    )
    return (float(low) if successes else 0.0), (float(high) if successes < trials else 1.0)


def mean_interval(
    values: ArrayLike, *, bounds: tuple[float, float], significance: float
) -> tuple[FloatArray, FloatArray]:
    """Return two-sided intervals for the means of bounded samples, along the last axis.

    Empirical Bernstein (Maurer and Pontil 2009, Theorem 4), each side at
    ``significance``/2, valid for any law on ``bounds``.
    """
    samples = np.atleast_1d(np.asarray(values, dtype=np.float64))
    low, high = _validate.bounds(bounds)
    count = samples.shape[-1]
    _validate.integer(n_values=count, at_least=2)
    outside = samples[~((samples >= low) & (samples <= high))]  # NaN is outside too
    if outside.size:
        raise ValueError(f"values must lie in [{low:g}, {high:g}], got {outside[:3]}")
    return mean_limits(
        samples.mean(axis=-1),
        samples.var(axis=-1, ddof=1),
        count,
        bounds=bounds,
        significance=significance,
    )


def mean_limits(
    mean: ArrayLike,
    variance: ArrayLike,
    count: int,
    *,
    bounds: tuple[float, float],
    significance: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the intervals of ``mean_interval`` from the moments of ``count`` >= 2 values.

    ``variance`` has the divisor ``count`` − 1 and the shape of ``mean``.
    """
    low, high = _validate.bounds(bounds)
    _validate.open_unit(significance=significance)
    _validate.integer(n_values=count, at_least=2)
    log_term = math.log(4 / significance)
    centre, spread = (np.asarray(moment, dtype=np.float64) for moment in (mean, variance))
    radius = np.sqrt(2 * spread * log_term / count) + 7 * (high - low) * log_term / (
        3 * (count - 1)
    )
    return np.maximum(low, centre - radius), np.minimum(high, centre + radius)


def detectable_excess(
    claimed: float, trials: int, *, significance: float, detection: float = 0.95
) -> float:
    """Return the smallest true rate above ``claimed`` that is refuted with the given probability.

    The refutation is a Clopper–Pearson lower limit (one side at ``significance``/2) above
    ``claimed``, on ``trials`` Bernoulli trials. Infinity where no outcome refutes.
    """
    from scipy.stats import binom  # noqa: PLC0415  (slow to import)

    _validate.closed_unit(claimed=claimed)
    _validate.integer(trials=trials, at_least=1)
    _validate.open_unit(significance=significance, detection=detection)
    critical = int(binom.isf(significance / 2, trials, claimed)) + 1
    return rate_reaching(critical, trials, detection=detection, at_least=claimed)


def trials_needed(
    claimed: float, rate: float, *, significance: float, detection: float = 0.95
) -> int:
    """Return the fewest trials at which a true ``rate`` above ``claimed`` is refuted.

    The inverse of ``detectable_excess``: the refutation is a Clopper–Pearson lower limit above
    ``claimed``, and is to have at least the probability ``detection``. Since counts are whole
    numbers, a few more trials can have a slightly smaller power.
    """
    _validate.closed_unit(claimed=claimed, rate=rate)
    _validate.open_unit(significance=significance, detection=detection)

    def refutes(failures: int, trials: float) -> bool:
        return binomial_tail(failures, trials, claimed) <= significance / 2

    return fewest_trials(refutes, claimed=claimed, rate=rate, detection=detection)


def rate_reaching(successes: int, trials: int, *, detection: float, at_least: float) -> float:
    """Return the smallest rate above ``at_least`` with P(Binomial >= successes) >= detection.

    Infinity where ``successes`` exceeds ``trials``.
    """
    if successes > trials:
        return math.inf
    low, high = at_least, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        reached = binomial_tail(successes, trials, middle) >= detection
        low, high = (low, middle) if reached else (middle, high)
    return high


def fewest_trials(
    refutes: Callable[[int, float], bool], *, claimed: float, rate: float, detection: float
) -> int:
    """Return the fewest trials at which a rule refutes with probability >= ``detection``.

    Parameters
    ----------
    refutes : callable
        ``refutes(failures, trials)``: the rule, for any real number of trials. More failures
        among as many trials, or as many among fewer trials, must refute all the more.
    claimed, rate : float
        The rate that is refuted and the true one, which must be larger.

    Notes
    -----
    c failures refute at up to H(c) trials, and occur with probability ``detection`` from L(c)
    trials on. Both grow with c, so the answer is ⌈L(c)⌉ at the first c with ⌈L(c)⌉ <= H(c).
    It is looked for from the first c with L(c) <= H(c) on, which H(c) − L(c) growing in c makes
    quick to find.
    """
    if not rate > claimed:
        raise ValueError(f"rate must be > claimed = {claimed!r}, got {rate!r}")

    def enough(failures: int) -> float:
        return _trials_reaching(failures, rate, detection=detection)

    failures = _first(lambda count: refutes(count, enough(count)))
    while not refutes(failures, math.ceil(enough(failures))):
        failures += 1
    return math.ceil(enough(failures))


def binomial_tail(successes: int, trials: float, rate: float) -> float:
    """Return P(Binomial(trials, rate) >= successes), for 1 <= successes <= trials."""
    return float(betainc(successes, trials - successes + 1, rate))


def _trials_reaching(successes: int, rate: float, *, detection: float) -> float:
    """Return the real number of trials at which the binomial tail reaches ``detection``."""
    low, high = float(successes), float(successes)
    while binomial_tail(successes, high, rate) < detection:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        reached = binomial_tail(successes, middle, rate) >= detection
        low, high = (low, middle) if reached else (middle, high)
    return high


def _first(holds: Callable[[int], bool]) -> int:
    """Return the first whole number >= 1 for which a condition that rises holds."""
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
