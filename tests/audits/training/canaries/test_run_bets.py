"""Bets on runs: their mean under the claim, monotony in ε, choice by a pilot."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from level_limits import LevelTest

from dpcp_audit.audits.training.canary_games import (
    GameResults,
    RunBets,
    ranked,
    refutes,
    top_guesses,
)
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.guarantees import ApproxDP


def bets(**changes: float) -> RunBets:
    settings = {"canaries": 10, "delta": 0.01, "threshold": 0.5, "most": 2, "stake": 0.1}
    return RunBets(**(settings | changes))


def runs_of(pairs) -> GameResults:
    """Runs with these numbers of right and wrong guesses, two guesses at most."""
    rows = [([True] * a + [False] * b, [1.0] * (a + b) + [0.0] * (2 - a - b)) for a, b in pairs]
    members = [inside + [False] * (2 - len(inside)) for inside, _ in rows]
    return GameResults(np.array([scores for _, scores in rows]), np.array(members))


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 1.3])
def test_the_mean_factor_is_one_where_the_claim_is_just_true(epsilon) -> None:
    """Two canaries, each reported by (ε, δ) randomised response; the law is enumerated."""
    delta = 0.01
    p0 = (1 - delta) / (1 + math.exp(epsilon))
    p1 = float(ApproxDP(epsilon, delta).power(p0)) if epsilon else p0 + delta
    bet = bets(canaries=2, delta=delta, stake=0.1)
    mean = 0.0
    for coins in itertools.product((False, True), repeat=2):
        for guessed in itertools.product((False, True), repeat=2):
            chance = 0.25
            for inside, said in zip(coins, guessed, strict=True):
                rate = p1 if inside else p0
                chance *= rate if said else 1 - rate
            run = ranked(GameResults(np.array([guessed], dtype=float), np.array([coins])))
            mean += chance * math.exp(bet.log_capital(run, epsilon=epsilon))
    assert mean == pytest.approx(1, abs=1e-9)


def test_the_capital_falls_with_epsilon_and_the_bound_is_where_it_crosses() -> None:
    bet = bets(stake=0.05)
    runs = runs_of([(1, 0)] * 60 + [(0, 1)] * 20 + [(2, 0)] * 20 + [(0, 0)] * 100)
    epsilons = np.linspace(0, bet.largest_epsilon, 50)
    capitals = [bet.log_capital(runs, epsilon=float(e)) for e in epsilons]
    assert (np.diff(capitals) < 0).all()
    bound = bet.lower_bound(runs, significance=0.05)
    assert 0.2 < bound < math.log(100 / 20)
    assert bet.log_capital(runs, epsilon=bound) >= math.log(20)
    assert bet.log_capital(runs, epsilon=bound + 0.01) < math.log(20)


def test_no_more_than_the_largest_scores_of_a_run_are_guessed() -> None:
    scores = np.array([[0.1, 0.9, 0.8, 0.7], [0.9, 0.2, 0.3, 0.1]])
    members = np.array([[True, False, True, True], [True, True, True, True]])
    right, wrong = bets().count(ranked(GameResults(scores, members)))
    assert right.tolist() == [1, 1]
    assert wrong.tolist() == [1, 0]


def test_bets_chosen_on_a_pilot_certify_most_of_randomised_response() -> None:
    rng = np.random.default_rng(1)
    members = rng.random((4000, 50)) < 0.5
    noise = rng.logistic(size=members.shape)
    scores = np.where(members, 1.0, -1.0) + 0.3 * noise
    runs = ranked(GameResults(scores, members))
    pilot = GameResults(runs.scores[:1000], runs.members[:1000])
    fresh = GameResults(runs.scores[1000:], runs.members[1000:])
    found = RunBets.chosen(pilot, canaries=50, delta=1e-5, runs=3000, significance=0.05)
    # the scores are 1/0.3 logistic units apart twice over: ε = 2/0.3
    assert 4.0 < found.lower_bound(fresh, significance=0.05) <= 2 / 0.3


def test_a_pilot_without_wrong_guesses_is_enough() -> None:
    runs = runs_of([(1, 0)] * 50)
    found = RunBets.chosen(runs, canaries=2, delta=0.0, runs=100, significance=0.05)
    assert (
        found.lower_bound(GameResults(*map(np.tile, runs, ((2, 1), (2, 1)))), significance=0.05) > 1
    )


def test_what_cannot_be_bet_is_told() -> None:
    with pytest.raises(ValueError, match="stake must leave a capital"):
        bets(stake=0.6)
    with pytest.raises(ValueError, match="epsilon must lie in"):
        bets().log_capital(runs_of([(1, 0)]), epsilon=9.0)
    assert bets().lower_bound(runs_of([(0, 1)] * 50), significance=0.05) == 0


LEVEL = LevelTest(level=0.05, repetitions=600, false_alarm=1e-6)
Q, STEPS, SIGMA = 0.1, 20, 0.8
TRAINING = SubsampledGaussian(sampling_rate=Q, steps=STEPS, noise_multiplier=SIGMA)


def releases(shape: tuple[int, int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood ratios of the subsampled Gaussian mechanism itself, and the coins."""
    coins = rng.random(shape) < 0.5
    scores = np.zeros(shape)
    for _ in range(STEPS):
        seen = SIGMA * rng.standard_normal(shape) + (coins & (rng.random(shape) < Q))
        scores += np.logaddexp(np.log1p(-Q), np.log(Q) + (seen - 0.5) / SIGMA**2)
    return scores, coins


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_the_region_of_the_subsampled_gaussian_keeps_its_level(share) -> None:
    """False alarm at most 1e-6, of 600 true claims; at three times the level it fails."""
    rng = np.random.default_rng(11)
    scores, coins = releases((600, 500), rng)
    refuted = sum(
        refutes(TRAINING, top_guesses(s, c, guesses=round(500 * share)), significance=0.05)
        for s, c in zip(scores, coins, strict=True)
    )
    assert refuted <= LEVEL.most


@pytest.mark.statistical(false_alarm=1e-6)
def test_bets_on_runs_keep_their_level_for_the_subsampled_gaussian() -> None:
    """False alarm at most 1e-6, of 600 true claims; at three times the level it fails."""
    rng = np.random.default_rng(12)
    delta = 1e-3
    epsilon = TRAINING.epsilon_at(delta)
    scores, coins = releases((12_000, 50), rng)
    bets = RunBets(canaries=50, delta=delta, threshold=2.5, most=2, stake=0.4 / np.exp(epsilon))
    refuted = 0
    for part in np.split(np.arange(12_000), 600):
        runs = ranked(GameResults(scores[part], coins[part]))
        refuted += bets.log_capital(runs, epsilon=epsilon) >= np.log(20)
    assert refuted <= LEVEL.most


@pytest.mark.statistical(false_alarm=1e-6)
def test_bets_on_runs_keep_their_level_where_all_canaries_of_a_run_are_given_away_at_once() -> None:
    """False alarm at most 1e-6, of 600 true claims; at three times the level it fails.

    With probability δm/g a run shows the coins of g canaries at random and otherwise nothing,
    which is (0, δ)-DP; the guesses are right where they are shown, else by chance.
    """
    rng = np.random.default_rng(13)
    delta, canaries, most, runs = 1e-3, 40, 4, 60
    assert ApproxDP(1e-9, delta).delta_at(0.0) == pytest.approx(delta)
    bets = RunBets(canaries=canaries, delta=delta, threshold=0.5, most=most, stake=0.2)
    refuted = 0
    for _ in range(LEVEL.repetitions):
        coins = rng.random((runs, canaries)) < 0.5
        scores = rng.random((runs, canaries))
        shown = rng.permuted(np.tile(np.arange(canaries), (runs, 1)), axis=1) < most
        leaks = rng.random((runs, 1)) < delta * canaries / most
        scores = np.where(leaks, np.where(shown & coins, 2.0, 0.0), scores)
        refuted += bets.log_capital(ranked(GameResults(scores, coins)), epsilon=0.0) >= np.log(20)
    assert refuted <= LEVEL.most


def test_three_times_the_level_would_be_seen() -> None:
    assert LEVEL.passes(3 * LEVEL.level) < 1e-4
