"""True claims are refuted by canaries at most as often as is allowed."""

import numpy as np
import pytest
from level_limits import LevelTest

from dpcp_audit.audits.training.canary_games import RunBets, ranked
from dpcp_audit.audits.training.one_run import refutes, top_guesses
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.guarantees import ApproxDP

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
        runs = ranked(scores[part], coins[part])
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
        refuted += bets.log_capital(ranked(scores, coins), epsilon=0.0) >= np.log(20)
    assert refuted <= LEVEL.most


def test_three_times_the_level_would_be_seen() -> None:
    assert LEVEL.passes(3 * LEVEL.level) < 1e-4
