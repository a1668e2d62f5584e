"""The level of the score test and of the bets on counts whose claim holds with equality.

Counts of refusals are held against Binomial(repetitions, level). Each default test raises a false
alarm with probability at most 1e-7.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from support.refusals import most_refusals

from dpcp_audit.audits.bets import BetAccount
from dpcp_audit.audits.guessing.rounds import tangents_of
from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.stats.betting import GuessBets, levels_of, mixture_wealth
from dpcp_audit.stats.power import draws_needed, power, smallest_violation
from dpcp_audit.stats.ratio_test import RatioTest
from dpcp_audit.words.guarantees import PureDP

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
    smallest = smallest_violation(q, trials, epsilon=1.0, significance=LEVEL)
    test = RatioTest(n=trials, n_prime=trials, epsilon=1.0)
    p = math.exp(smallest) * q
    assert power(test, p, q, significance=LEVEL) == pytest.approx(0.95, abs=1e-6)
    count = score_refusals(test, p, q, repetitions=300, seed=2)
    assert binom.ppf(ALARM / 2, 300, 0.93) <= count <= binom.isf(ALARM / 2, 300, 0.97)
    assert draws_needed(q, smallest, epsilon=1.0, significance=LEVEL) == pytest.approx(
        trials, rel=0.02
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.2, 0.05), (0.0, 0.2)])
def test_bets_are_refunded_at_every_time(epsilon: float, delta: float) -> None:
    """False alarm at most 1e-7 each: 2000 runs of 1500 rounds, each looked at after every round.

    On the pair that is hardest for the claim, against a bettor whose beliefs go up and down.
    """
    rng = np.random.default_rng(3)
    bets, shown = GuessBets(epsilon=epsilon, delta=delta), delta + (1 - delta) * expit(epsilon)
    stopped = 0
    for _ in range(2000):
        levels = rng.integers(0, 400, size=15).repeat(100)
        paths = bets.log_paths(levels, rng.random(1500) < shown)
        stopped += bool((mixture_wealth(paths) >= -math.log(LEVEL)).any())
    assert stopped <= most_refusals(2000, level=LEVEL, false_alarm=ALARM)
    assert stopped > 0  # a bet that never wins would hold any level


STOPS = {
    "draws": lambda account: account.rounds >= 700,
    "a first profit": lambda account: account.wealth > 1.5,
    "a loss": lambda account: account.wealth < 0.7,
}


@pytest.mark.parametrize("stop", STOPS)
def test_the_bound_holds_wherever_one_stops(stop: str) -> None:
    """False alarm at most 1e-7 each: 60 games of Laplace noise, stopped by a rule of one's own."""
    tangents = tangents_of(PureDP(1.0))
    exceeded = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        account = BetAccount(tangents=tangents, significance=LEVEL)
        for start in range(100, 1500, 50):
            coins = rng.random(50) < 0.5
            outputs = np.where(coins, 0.0, 1.0) + rng.laplace(size=50)
            scores = (1 - 2 * outputs) * (1 + 100 / start)
            account.bet(tangents[0], levels_of(scores), (scores > 0) == coins)
            if STOPS[stop](account):
                break
        exceeded += account.loss_bound(PureDP(1.0)) > 1.0
    assert exceeded <= most_refusals(60, level=LEVEL, false_alarm=ALARM)
