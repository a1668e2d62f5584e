"""The law of ranks against closed forms, against releases, and against every held-out score."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_ledger.pcoqs.marginal_grid import held_out_law, rank_law

MECHANISM = PCOQS(alpha=0.2, rho=0.5, resolution=2**-12)


def test_scores_at_both_ends_are_told_apart_by_independent_rounds() -> None:
    """Four scores at 0 and six at 1: any wrong round in twelve leaves rank 4 behind."""
    law = rank_law(MECHANISM, np.repeat([0.0, 1.0], [4, 6]))
    wrong = ndtr((4 - MECHANISM.rank(10)) / MECHANISM.noise_scale)
    assert law.mass.sum() == pytest.approx(1)
    assert law.probability(law.rank == 4) == pytest.approx(1 - (1 - wrong) ** 12, rel=1e-12)


def test_tiny_probabilities_are_not_lost() -> None:
    """Sixty scores too few: a round is wrong with probability Φ(−60/σ), about 1e-68."""
    law = rank_law(MECHANISM, np.repeat([0.0, 1.0], [21, 79]))
    wrong = ndtr((21 - MECHANISM.rank(100)) / MECHANISM.noise_scale)
    assert 0 < wrong < 1e-60
    assert law.probability(law.rank == 21) == pytest.approx(12 * wrong, rel=1e-9)


def test_intervals_that_can_reach_no_score_any_more_are_followed_no_further() -> None:
    """Either score keeps one interval open: two outcomes a round, and one in the end."""
    law = rank_law(MECHANISM, np.array([0.3, 0.7]))
    assert law.mass.sum() == pytest.approx(1)
    assert law.rank.size <= 2 * 2 * MECHANISM.rounds + 1


@pytest.mark.statistical(false_alarm=7e-8)
def test_ranks_of_releases() -> None:
    """Six standard deviations at each of 32 ranks: 32 · 2Φ(−6) = 7e-8."""
    scores = np.sort(np.random.default_rng(0).random(31))
    law = rank_law(MECHANISM, scores)
    released = MECHANISM.sample(scores, 40_000, rng=np.random.default_rng(1))
    ranks = np.searchsorted(scores, released, side="right")
    for rank in range(32):
        chance = law.probability(law.rank == rank)
        room = 6 * np.sqrt(chance * (1 - chance) / ranks.size) + 1e-9
        assert abs((ranks == rank).mean() - chance) < room + 3e-4 * (chance < 1e-3)


@pytest.mark.statistical(false_alarm=4.5e-8)
@pytest.mark.parametrize("ties", [False, True])
def test_every_held_out_score_under_one_noise(*, ties: bool) -> None:
    """Six standard deviations at each of 22 numbers, with and without ties: 9e-8."""
    rng = np.random.default_rng(2)
    scores = np.sort(np.round(rng.random(21), 1) if ties else rng.random(21))
    law = held_out_law(MECHANISM, scores)
    assert law.mass.sum() == pytest.approx(1)
    noise = rng.standard_normal((MECHANISM.rounds, 20_000))
    covered = np.zeros(20_000)
    for held_out in range(21):
        kept = np.delete(scores, held_out)
        covered += scores[held_out] <= MECHANISM.search(kept, MECHANISM.rank(20), noise)
    for number in range(22):
        chance = law.probability(law.rank == number)
        room = 6 * np.sqrt(chance * (1 - chance) / covered.size) + 1e-9
        assert abs((covered == number).mean() - chance) < room + 5e-4 * (chance < 1e-3)
