"""Confidence intervals that hold at every sample size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate

if TYPE_CHECKING:
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
    _validate.open_unit(significance=significance)
    count = samples.shape[-1]
    _validate.integer(n_values=count, at_least=2)
    outside = samples[~((samples >= low) & (samples <= high))]  # NaN is outside too
    if outside.size:
        raise ValueError(f"values must lie in [{low:g}, {high:g}], got {outside[:3]}")
    log_term = math.log(4 / significance)
    spread = samples.var(axis=-1, ddof=1)
    radius = np.sqrt(2 * spread * log_term / count) + 7 * (high - low) * log_term / (
        3 * (count - 1)
    )
    mean = samples.mean(axis=-1)
    return np.maximum(low, mean - radius), np.minimum(high, mean + radius)


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
    if critical > trials:
        return math.inf
    low, high = claimed, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        reached = binom.sf(critical - 1, trials, middle) >= detection
        low, high = (low, middle) if reached else (middle, high)
    return high
