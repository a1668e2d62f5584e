"""The power of the score test: the smallest ε that it detects, and the samples that it needs.

Powers are exact sums over the counts at the normal critical value, which the calibrated test
comes close to (its p-values are at most a little larger).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from dpcp_audit import _validate
from dpcp_audit.stats.ratio_test import RatioTest

_BISECTIONS = 40
_MOST = 2**40


def power(test: RatioTest, p: float, p_prime: float, *, significance: float) -> float:
    """Return the probability that the test refutes at the rates p and p′."""
    _validate.closed_unit(p=p, p_prime=p_prime)
    _validate.open_unit(significance=significance)
    region = test.region(-float(ndtri(significance)), p_prime, p_prime)
    rates = np.array([p]), np.array([p_prime])
    return float(test.rejection_probability(region, *rates)[0])


def detectable_epsilon(
    p_prime: float,
    trials: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    significance: float,
    detection: float = 0.95,
) -> float:
    """Return the smallest true ε above the claimed one that is refuted with ``detection``.

    The event has probability ``p_prime`` on one input and e^ε·p′ + δ on the other, with
    ``trials`` samples of each. Infinity where not even p = 1 is refuted so often.
    """
    _validate.open_unit(p_prime=p_prime, significance=significance, detection=detection)
    test = RatioTest(n=trials, n_prime=trials, epsilon=epsilon, delta=delta)
    region = test.region(-float(ndtri(significance)), p_prime, p_prime)

    def detected(p: float) -> bool:
        rates = np.array([p]), np.array([p_prime])
        return float(test.rejection_probability(region, *rates)[0]) >= detection

    low, high = min(1.0, test.ratio * p_prime + delta), 1.0
    if not detected(high) or low >= high:
        return math.inf
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if detected(middle) else (middle, high)
    return math.log(high - delta) - math.log(p_prime)


def samples_needed(
    p_prime: float,
    true_epsilon: float,
    *,
    epsilon: float,
    delta: float = 0.0,
    significance: float,
    detection: float = 0.95,
) -> int:
    """Return how many samples of each input refute ε where ``true_epsilon`` holds.

    Up to the ripple of a few samples that whole counts leave in the power.
    """
    _validate.open_unit(p_prime=p_prime, significance=significance, detection=detection)
    p = math.exp(true_epsilon) * p_prime + delta
    if not true_epsilon > epsilon or p > 1:
        raise ValueError(
            f"true_epsilon must exceed epsilon = {epsilon!r} and keep p <= 1, got {true_epsilon!r}"
        )

    def detected(trials: int) -> bool:
        test = RatioTest(n=trials, n_prime=trials, epsilon=epsilon, delta=delta)
        return power(test, p, p_prime, significance=significance) >= detection

    low, high = 0, 16
    while not detected(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise ValueError(f"true_epsilon is too close to epsilon, got {true_epsilon!r}")
    while high - low > max(1, high // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if detected(middle) else (middle, high)
    return high
