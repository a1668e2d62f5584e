"""Bounds of one run: valid where their assumption holds, false elsewhere, and not vacuous."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from level_limits import LevelTest
from scipy.special import expit, ndtr
from scipy.stats import binom, ttest_ind
from support.refusals import most_refusals
from training_cases import GaussianRun

from dpcp_audit.audits.training.one_run import (
    Guesses,
    OneRunTheorem,
    p_value,
    refutes,
    surest_guesses,
)
from dpcp_audit.audits.training.one_run_bounds import (
    ScoreSums,
    chosen_theorem,
    gaussian_bound,
    independent_p_value,
    trade_off_bound,
    unassuming_bound,
)
from dpcp_audit.words.assumptions import Assumption
from dpcp_audit.words.guarantees import ApproxDP, GaussianDP, PureDP

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import BoolArray, FloatArray

LEVEL, DELTA = 0.05, 1e-5


def response(epsilon: float, canaries: int, seed: int) -> tuple[FloatArray, BoolArray]:
    """Log-odds and coins of randomised response, nudged apart as scores of a training are."""
    rng = np.random.default_rng(seed)
    coins = rng.random(canaries) < 0.5
    kept = rng.random(canaries) < expit(epsilon)
    return np.where(coins == kept, epsilon, -epsilon), coins


@pytest.mark.parametrize(
    ("canaries", "theorem"), [(100, OneRunTheorem.BINOMIAL), (100_000, OneRunTheorem.REGION)]
)
def test_the_theorem_is_chosen_by_the_canaries_and_delta(canaries, theorem) -> None:
    made = round(2 * math.sqrt(canaries))
    assert chosen_theorem(made, canaries, delta=DELTA, significance=LEVEL) is theorem
    assert chosen_theorem(made, canaries, delta=0.0, significance=LEVEL) is OneRunTheorem.BINOMIAL


def test_the_surest_guesses_are_of_either_kind() -> None:
    log_odds = np.array([3.0, -2.0, 1.0, -0.5])
    coins = np.array([True, True, False, False])
    assert surest_guesses(log_odds, coins, guesses=2) == Guesses(correct=1, guesses=2, canaries=4)
    assert surest_guesses(-log_odds, ~coins, guesses=2).correct == 1
    assert surest_guesses(log_odds, log_odds > 0, guesses=4).correct == 4


@pytest.mark.parametrize("correct", [60, 75, 90])
def test_of_pure_dp_independent_guesses_are_binomial(correct: int) -> None:
    seen = Guesses(correct=correct, guesses=100, canaries=300)
    found = independent_p_value(PureDP(1.0), seen)
    assert found == pytest.approx(float(binom.sf(correct - 1, 100, expit(1.0))), rel=1e-9)


def test_all_canaries_of_a_gaussian_are_tested_at_nearly_the_level() -> None:
    """The size is computed: of all guesses, so many are right as of Binomial(m, Φ(μ/2))."""
    made, right = 1000, float(ndtr(0.5))
    seen = [Guesses(correct=k, guesses=made, canaries=made) for k in range(650, 780)]
    critical = next(g.correct for g in seen if independent_p_value(GaussianDP(1.0), g) <= LEVEL)
    assert 0.035 <= binom.sf(critical - 1, made, right) <= LEVEL


def test_independent_is_sharper_than_dependent_and_both_hold_on_a_typical_run() -> None:
    log_odds, coins = GaussianRun(mu=1.0, canaries=10_000)(np.random.default_rng(0))
    claim, whole = GaussianDP(1.0), GaussianDP(1.0).epsilon_at(DELTA)
    few, many = (surest_guesses(log_odds, coins, guesses=c) for c in (300, 4000))
    independent = Assumption.INDEPENDENT
    bounds = [
        unassuming_bound(few, delta=DELTA, significance=1e-3),
        trade_off_bound(claim, few, delta=DELTA, significance=1e-3),
        trade_off_bound(claim, many, delta=DELTA, significance=1e-3, assumption=independent),
    ]
    assert 0.3 * whole < bounds[0] < bounds[1] < bounds[2] <= whole
    assert bounds[2] > 0.85 * whole


def test_the_family_is_scaled_by_its_noise() -> None:
    seen = Guesses(correct=900, guesses=1200, canaries=1200)
    kwargs = {"delta": 0.0, "significance": 0.05}
    near, far = (trade_off_bound(PureDP(e), seen, **kwargs) for e in (1.0, 0.3))
    assert near == pytest.approx(far, rel=0.03)
    with pytest.raises(ValueError, match="assumption must be of the trade-off"):
        trade_off_bound(PureDP(1.0), seen, **kwargs, assumption=Assumption.GAUSSIAN)


def test_students_t_is_that_of_scipy_and_sums_add() -> None:
    log_odds, coins = GaussianRun(mu=0.3, canaries=500)(np.random.default_rng(1))
    whole = ScoreSums.of(log_odds, coins)
    expected = ttest_ind(log_odds[coins], log_odds[~coins])
    assert whole.t == pytest.approx(float(expected.statistic), rel=1e-9)
    parts = [ScoreSums.of(log_odds[part], coins[part]) for part in (slice(200), slice(200, None))]
    assert (parts[0] + parts[1]).t == pytest.approx(whole.t, rel=1e-9)
    level = float(expected.pvalue) / 2  # one-sided: at it, 0 is just refuted
    assert gaussian_bound(whole, delta=DELTA, significance=1.01 * level) > 0
    assert gaussian_bound(whole, delta=DELTA, significance=0.99 * level) == 0


def test_scores_that_do_not_spread_or_are_of_one_kind() -> None:
    coins = np.array([True, False] * 10)
    certain = ScoreSums.of(np.where(coins, 1.0, -1.0), coins)
    assert gaussian_bound(certain, delta=DELTA, significance=LEVEL) == math.inf
    alike = ScoreSums.of(np.zeros(20), coins)
    assert gaussian_bound(alike, delta=DELTA, significance=LEVEL) == 0
    one = ScoreSums.of(np.ones(20), np.ones(20, dtype=np.bool_))
    assert gaussian_bound(one, delta=DELTA, significance=LEVEL) == 0


@pytest.mark.known_bad
def test_a_gaussian_bound_of_randomised_response_is_false() -> None:
    """Every one of 40 runs would certify more than there is; without assumption at most few do."""
    whole = PureDP(1.0).epsilon_at(DELTA)
    over = {"Gaussian": 0, "none": 0}
    for seed in range(40):
        log_odds, coins = response(1.0, 2000, seed)
        sums = ScoreSums.of(log_odds, coins)
        seen = surest_guesses(log_odds, coins, guesses=2000)
        over["Gaussian"] += gaussian_bound(sums, delta=DELTA, significance=LEVEL) > whole
        over["none"] += unassuming_bound(seen, delta=DELTA, significance=LEVEL) > whole
    assert over["Gaussian"] == 40
    assert over["none"] <= most_refusals(40, level=LEVEL, false_alarm=1e-6)


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=2e-6)
def test_canaries_that_are_shown_at_once_break_the_bound_of_independent_ones() -> None:
    """μ-GDP all the same. The region holds: false alarm at most 1e-6.

    With probability 0.3 an exceptional 300 of 2,000 canaries are shown; the test that takes them
    for independent then mostly refutes, more often than one of the level with probability 1e-6.
    """
    run, claim = GaussianRun(mu=1.0, canaries=2000, together=0.3, part=300), GaussianDP(1.0)
    test = LevelTest(level=LEVEL, repetitions=150, false_alarm=1e-6)
    refuted = {"independent": 0, "region": 0}
    for seed in range(test.repetitions):
        log_odds, coins = run(np.random.default_rng([seed, 7]))
        seen = surest_guesses(log_odds, coins, guesses=300)
        refuted["independent"] += independent_p_value(claim, seen) <= LEVEL
        refuted["region"] += refutes(claim, seen, significance=LEVEL)
    assert refuted["independent"] > test.most
    assert refuted["region"] <= test.most


def test_the_region_is_nearly_all_that_can_be_refuted_without_independence() -> None:
    """A mechanism that shows c canaries with probability τ at the largest losses is μ-GDP.

    It shows so many right guesses with probability τ/2 or so, and no p-value may be smaller.
    """
    m, c, tau = 20_000, 2000, 0.05
    rare, mu = tau * c / m, 1.0
    grid = np.linspace(0.0, 9.0, 90_001)
    tail = ndtr(mu / 2 - grid) + ndtr(-mu / 2 - grid)
    right = float(ndtr(mu / 2 - np.interp(-rare, -tail, grid))) / rare
    limit = Guesses(correct=round(c * right), guesses=c, canaries=m)
    assert tau / 2.2 <= p_value(GaussianDP(mu), limit) <= 1.5 * tau
    assert p_value(ApproxDP(20.0, 0.0), limit) == 1
