"""Bugs planted in randomised response and LDP-CP: each must be caught, its twin must not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.levels import differing_cells, disagreeing_cells

from dpcp_audit.laws.populations import Pool, atoms
from dpcp_audit.laws.scores import aps, aps_as_printed
from dpcp_audit.mechanisms.ldpcp.score_calibration import LDPCPScores
from dpcp_audit.mechanisms.ldpcp.window import Debiasing
from dpcp_audit.mechanisms.ldpcp.window_law import threshold_law
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
    debiased_cdf,
)
from dpcp_audit.stats.intervals import clopper_pearson

pytestmark = pytest.mark.known_bad

LEVEL = 1e-6
ATOMS = atoms([0.25, 0.5, 0.75, 1.0], [2, 3, 3, 2], name="atoms")
SEARCH = LDPCPScores(alpha=0.4, epsilon=2.0, rounds=4, window_width=0.1)


def bias_of_z(mechanism: LDPCPScores) -> float:
    """Return the largest error of E[Z], exactly, over fractions of ones and blocks."""
    fractions = np.linspace(0, 1, 5)
    chance = mechanism.response.report_probability(fractions)
    return max(
        float(np.abs(mechanism.debias(asked * chance, asked=asked, n=83) - fractions).max())
        for asked in mechanism.block_sizes(83)
    )


def test_division_by_all_users_biases_z() -> None:
    printed = LDPCPScores(
        alpha=0.4, epsilon=2.0, rounds=4, window_width=0.1, debiasing=Debiasing.PRINTED
    )
    assert bias_of_z(SEARCH) < 1e-12
    assert bias_of_z(printed) > 0.5


class BetaOfAMovedLabel(KaryRandomizedResponse):
    """Takes β for P(report ≠ label), forgetting that a uniform label may be the true one."""

    @property
    def beta(self) -> float:
        return 1 - self.keep_probability


def bias_of_debiased_cdf(mechanism: KaryRandomizedResponse) -> float:
    """Return the largest error of E[F̂c], exactly, over labels and prediction sets."""
    laws = np.exp([law.log_mass for law in mechanism.laws()])
    inside = np.tril(np.ones((mechanism.k, mechanism.k)))
    sizes = inside.sum(axis=1) / mechanism.k
    clean = debiased_cdf(inside @ laws.T, sizes[:, None], beta=mechanism.beta)
    return float(np.abs(clean - inside).max())


def test_the_wrong_beta_biases_the_debiased_cdf() -> None:
    assert bias_of_debiased_cdf(KaryRandomizedResponse(1.0, 3)) < 1e-12
    assert bias_of_debiased_cdf(BetaOfAMovedLabel(1.0, 3)) > 0.1


class FlipsTooSeldom(BinaryRandomizedResponse):
    """Claims ε, but flips as often as 1.2·ε would."""

    @property
    def flip_probability(self) -> float:
        return 1 / (1 + math.exp(1.2 * self.epsilon))


def breaks_its_guarantee(mechanism: BinaryRandomizedResponse) -> bool:
    """Tell whether samples exclude the claimed ε, falsely with probability at most 1e-6."""
    trials = 100_000
    rates = [
        clopper_pearson(
            int(mechanism.sample(np.full(trials, bit), rng=bit).sum()), trials, significance=LEVEL
        )
        for bit in (0, 1)
    ]
    return not mechanism.guarantee.allows(rates[1][0], rates[0][1])


def test_a_flip_probability_for_another_epsilon_breaks_the_guarantee() -> None:
    """False alarm on the correct twin: at most 1e-6 (two one-sided errors of 0.5e-6)."""
    assert not breaks_its_guarantee(BinaryRandomizedResponse(1.0))
    assert breaks_its_guarantee(FlipsTooSeldom(1.0))


class OverlappingBlocks(LDPCPScores):
    """Starts each block at the last user of the one before."""

    def blocks_of(self, n: int) -> list[np.ndarray]:
        each = n // self.rounds
        starts = (j * each - (j > 0) for j in range(self.rounds))
        return [np.arange(start, start + each) for start in starts]


def largest_number_of_answers(mechanism: LDPCPScores, n: int) -> int:
    """Return how often the busiest user is asked; each answer costs ε."""
    return int(np.bincount(np.concatenate(mechanism.blocks_of(n)), minlength=n).max())


def test_overlapping_blocks_ask_a_user_twice() -> None:
    bad = OverlappingBlocks(alpha=0.4, epsilon=2.0, rounds=4, window_width=0.1)
    for n in (4, 83, 1000):
        assert largest_number_of_answers(SEARCH, n) == 1
    assert largest_number_of_answers(bad, 83) == 2


class CountsAtOrBelow(Pool):
    """Answers P(S < x) with P(S <= x)."""

    def cdf_left(self, x: np.ndarray) -> np.ndarray:
        return self.cdf(x)


def trials_disagree(population: Pool) -> bool:
    """Tell whether trials depart from the exact law on the true atoms."""
    trials = 20_000
    law = threshold_law(SEARCH, ATOMS, n=80)
    points, at = np.unique(law.threshold, return_inverse=True)
    run = SEARCH.trials(population, n=80, trials=trials, rng=9)
    counts = np.bincount(np.searchsorted(points, run.threshold), minlength=points.size)
    expected = np.bincount(at, weights=law.mass)
    return disagreeing_cells(counts, expected, trials=trials, level=LEVEL).size > 0


def test_at_or_below_in_place_of_below_is_seen_on_atoms() -> None:
    """False alarm on the correct twin: at most 1e-6."""
    assert not trials_disagree(ATOMS)
    assert trials_disagree(CountsAtOrBelow(ATOMS.scores, "atoms"))


def releases_disagree(shift: float) -> bool:
    """Tell whether releases from scores, moved towards ``shift`` by one ulp, leave their law."""
    rng = np.random.default_rng(10)
    drawn = ATOMS.sample((1500, 80), rng=rng)
    drawn = drawn if math.isnan(shift) else np.nextafter(drawn, shift)
    real = [SEARCH.sample(scores, 1, rng=rng)[0] for scores in drawn]
    quick = SEARCH.trials(ATOMS, n=80, trials=1500, rng=rng).threshold
    return differing_cells(real, quick, cells=12, level=LEVEL).size > 0


def test_a_user_who_answers_at_or_below_is_seen_on_atoms() -> None:
    """s <= q is s' < q for the next smaller number s'. False alarm on the twin: 1e-6."""
    assert not releases_disagree(math.nan)
    assert releases_disagree(0.0)


def largest_aps(scores: np.ndarray) -> float:
    return float(scores.max())


def test_the_own_label_counted_twice_leaves_the_range() -> None:
    p, u = np.random.default_rng(11).dirichlet(np.full(4, 0.2), size=200), np.full(200, 0.9)
    assert largest_aps(aps(p, u=u)) <= 1
    assert largest_aps(aps_as_printed(p, u=u)) > 1.8
