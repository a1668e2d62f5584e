"""The power of the score test: the smallest violation that it detects, and the draws it needs.

Powers are exact sums over the counts at the normal critical value, which the calibrated test
comes close to (its p-values are at most a little larger).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpcp_audit.stats.ratio_test import RatioTest
from dpcp_audit.stats.roots import fewest, turn
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable


_HALVINGS = 40
_PRECISION = 500


def power(test: RatioTest, p: float, p_prime: float, *, significance: float) -> float:
    """Return the probability that the test refutes at the rates p and p′."""
    _validate.closed_unit(p=p, p_prime=p_prime)
    _validate.open_unit(significance=significance)
    return power_along(test, p_prime, significance=significance)(p)


def power_along(
    test: RatioTest, p_prime: float, *, significance: float
) -> Callable[[float], float]:
    """Return the probability that the test refutes at p′, as a function of p."""
    region = test.region(-float(ndtri(significance)), p_prime, p_prime)
    chance, rate = test.rejection_probability(region), np.array([p_prime])
    return lambda p: float(chance(np.array([p]), rate)[0])


def rate_detected(
    test: RatioTest,
    p_prime: float,
    *,
    significance: float,
    detection: float = 0.95,
    at_most: float = 1.0,
    steps: int = _HALVINGS,
) -> float:
    """Return the smallest p, up to ``at_most``, that is refuted with probability ``detection``.

    Infinity where not even ``at_most`` is.
    """
    chance = power_along(test, p_prime, significance=significance)

    def detected(p: float) -> bool:
        return chance(p) >= detection

    allowed = min(1.0, test.ratio * p_prime + test.delta)
    if allowed >= at_most or not detected(at_most):
        return math.inf
    return turn(detected, allowed, at_most, steps=steps).holds


def smallest_violation(
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
    _validate.integer(trials=trials, at_least=1)
    test = RatioTest(n=trials, n_prime=trials, epsilon=epsilon, delta=delta)
    p = rate_detected(test, p_prime, significance=significance, detection=detection)
    return math.log(p - delta) - math.log(p_prime)


def draws_needed(
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
    _validate.finite(true_epsilon=true_epsilon)
    _validate.non_negative(epsilon=epsilon)
    _validate.closed_unit(delta=delta)
    largest = math.log((1 - delta) / p_prime) if delta < 1 else -math.inf
    if not epsilon < true_epsilon <= largest:
        raise ValueError(
            f"true_epsilon must exceed epsilon = {epsilon!r} and keep e^true_epsilon * p_prime + "
            f"delta at most 1, got {true_epsilon!r} with p_prime = {p_prime!r}, delta = {delta!r}"
        )
    p = math.exp(true_epsilon) * p_prime + delta

    def detected(trials: int) -> bool:
        test = RatioTest(n=trials, n_prime=trials, epsilon=epsilon, delta=delta)
        return power(test, p, p_prime, significance=significance) >= detection

    needed = fewest(detected, at_least=16, share=_PRECISION, most=2**40)
    if needed is None:
        raise ValueError(
            f"true_epsilon is too close to epsilon, or p_prime too small, got {true_epsilon!r}"
        )
    return needed
