"""The level of the score test on counts whose claim holds with equality, and its power.

Counts of refusals are held against Binomial(repetitions, level). Each default test raises a false
alarm with probability at most 1e-7.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom
from support.refusals import most_refusals

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.stats.ratio_test import RatioTest, rate_detected

pytestmark = pytest.mark.statistical(false_alarm=1e-7)

LEVEL, ALARM = 0.05, 1e-7
EXACT_DELTA = GaussianPair(1.0).delta_at(1.0)


def score_refusals(test: RatioTest, p: float, q: float, *, repetitions: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    x, y = rng.binomial(test.n, p, repetitions), rng.binomial(test.n_prime, q, repetitions)
    seen = Counter(zip(x.tolist(), y.tolist(), strict=True))
    return sum(
        times
        for (a, b), times in seen.items()
        if test.p_value(a, b, nuisance_error=LEVEL / 1000, enough=LEVEL) <= LEVEL
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "q"), [(1.0, 0.0, 0.184), (2.0, 0.0, 0.01), (0.5, 0.1, 0.3)]
)
def test_the_score_test_spends_its_level_and_no_more(
    epsilon: float, delta: float, q: float
) -> None:
    """False alarm at most 1e-7, on either side: at most 0.05, and at least 0.04 of it used."""
    test = RatioTest(n=300, n_prime=300, epsilon=epsilon, delta=delta)
    p = math.exp(epsilon) * q + delta
    count = score_refusals(test, p, q, repetitions=500, seed=1)
    assert count <= most_refusals(500, level=LEVEL, false_alarm=ALARM / 2)
    if q > 0.1:
        assert count >= binom.ppf(ALARM / 2, 500, 0.04)


def test_the_smallest_violation_is_refuted() -> None:
    """False alarm at most 1e-7: 300 runs with a power of at least 0.93 each (0.95 is stated)."""
    q, trials = 0.15, 1000
    test = RatioTest(n=trials, n_prime=trials, epsilon=1.0)
    p = rate_detected(test, q, significance=LEVEL)
    count = score_refusals(test, p, q, repetitions=300, seed=2)
    assert binom.ppf(ALARM / 2, 300, 0.93) <= count <= binom.isf(ALARM / 2, 300, 0.97)
