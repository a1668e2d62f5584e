"""The level of the score test and of the bets on counts whose claim holds with equality.

Counts of refusals are held against Binomial(repetitions, level). Each default test raises a false
alarm with probability at most 1e-6.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom
from support.refusals import most_refusals

from dpcp_audit.mechanisms.laws import GaussianPair
from dpcp_audit.stats.betting import BettingTest
from dpcp_audit.stats.ratio_power import draws_needed, power, smallest_violation
from dpcp_audit.stats.ratio_test import RatioTest

pytestmark = pytest.mark.statistical

LEVEL, ALARM = 0.05, 1e-6
EXACT_DELTA = GaussianPair(1.0).delta_at(1.0)


def score_refusals(test: RatioTest, p: float, q: float, *, repetitions: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    x, y = rng.binomial(test.n, p, repetitions), rng.binomial(test.n_prime, q, repetitions)
    return sum(
        test.p_value(int(a), int(b), nuisance_error=LEVEL / 1000) <= LEVEL
        for a, b in zip(x, y, strict=True)
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "q"), [(1.0, 0.0, 0.184), (2.0, 0.0, 0.01), (0.5, 0.1, 0.3)]
)
def test_the_score_test_spends_its_level_and_no_more(
    epsilon: float, delta: float, q: float
) -> None:
    """False alarm at most 1e-6, on either side: at most 0.05, and at least 0.04 of it used."""
    test = RatioTest(n=300, n_prime=300, epsilon=epsilon, delta=delta)
    p = math.exp(epsilon) * q + delta
    count = score_refusals(test, p, q, repetitions=500, seed=1)
    assert count <= most_refusals(500, level=LEVEL, false_alarm=ALARM / 2)
    if q > 0.1:
        assert count >= binom.ppf(ALARM / 2, 500, 0.04)


def test_the_smallest_violation_is_refuted() -> None:
    """False alarm at most 1e-6: 300 runs with a power of at least 0.93 each (0.95 is stated)."""
    q, trials = 0.15, 1000
    smallest = smallest_violation(q, trials, epsilon=1.0, significance=LEVEL)
    test = RatioTest(n=trials, n_prime=trials, epsilon=1.0)
    p = math.exp(smallest) * q
    assert power(test, p, q, significance=LEVEL) == pytest.approx(0.95, abs=1e-6)
    count = score_refusals(test, p, q, repetitions=300, seed=2)
    assert binom.ppf(ALARM / 2, 300, 0.93) <= count <= binom.isf(ALARM / 2, 300, 0.97)
    assert draws_needed(q, smallest, epsilon=1.0, significance=LEVEL) == pytest.approx(
        trials, rel=0.02
    )


@pytest.mark.parametrize(("epsilon", "delta", "q"), [(1.0, 0.0, 0.184), (0.2, 0.05, 0.3)])
def test_bets_are_refunded_at_every_time(epsilon: float, delta: float, q: float) -> None:
    """False alarm at most 1e-6: 2000 runs of 3000 pairs, each looked at after every pair."""
    rng = np.random.default_rng(3)
    test, p = BettingTest(epsilon=epsilon, delta=delta), math.exp(epsilon) * q + delta
    stopped = 0
    for _ in range(20):
        inside, neighbour = rng.random((100, 3000)) < p, rng.random((100, 3000)) < q
        times = test.stopping_time(inside, neighbour, significance=LEVEL)
        stopped += int((times <= 3000).sum())
    assert stopped <= most_refusals(2000, level=LEVEL, false_alarm=ALARM)
    assert stopped > 0  # a bet that never wins would hold any level
