"""Powers of the score test, against sums over all counts and against each other."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcp_audit.stats.ratio_test import RatioTest, power_along, rate_detected

TEST = RatioTest(n=30, n_prime=30, epsilon=0.5, delta=0.1)


def recounted(test: RatioTest, p: float, p_prime: float, *, significance: float) -> float:
    """Sum the probabilities of all counts whose statistic reaches the normal quantile."""
    counts = np.arange(test.n + 1)
    pairs = product(range(test.n + 1), range(test.n_prime + 1))
    reached = [test.statistic(x, y) >= norm.isf(significance) for x, y in pairs]
    law = np.outer(binom.pmf(counts, test.n, p), binom.pmf(counts, test.n_prime, p_prime))
    return float(law.ravel()[reached].sum())


@pytest.mark.parametrize("rates", [(0.5, 0.1), (0.9, 0.2), (0.3, 0.3)])
def test_a_power_is_the_probability_of_the_counts_that_refute(rates: tuple[float, float]) -> None:
    found = power_along(TEST, rates[1], significance=0.01)(rates[0])
    assert found == pytest.approx(recounted(TEST, *rates, significance=0.01), abs=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_the_rate_detected_is_refuted_as_often_as_wanted(delta: float) -> None:
    test = RatioTest(n=500, n_prime=500, epsilon=0.5, delta=delta)
    p = rate_detected(test, 0.1, significance=1e-3)
    assert p > math.exp(0.5) * 0.1 + delta
    assert power_along(test, 0.1, significance=1e-3)(p) == pytest.approx(0.95, abs=1e-6)


def test_what_nothing_refutes_is_infinite() -> None:
    few = RatioTest(n=3, n_prime=3, epsilon=0.5)
    assert math.isinf(rate_detected(few, 0.5, significance=1e-3))
    assert math.isinf(rate_detected(TEST, 0.1, significance=1e-3, at_most=0.27))
