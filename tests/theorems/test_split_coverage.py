"""Split conformal prediction's exact coverage, with and without ties."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.laws.populations import Beta, Deferred, PiecewiseConstant, Pool, Uniform
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.split import (
    MarginalCoverage,
    miscoverage_ends,
    split_miscoverage,
    split_overcoverage,
)
from dpcp_audit.theorems.theorem import MeanBound
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.histlap import HistLap, SplitConformal


@pytest.mark.parametrize(("n", "alpha"), [(1, 0.5), (9, 0.1), (25, 0.1), (500, 0.05)])
def test_without_ties_it_is_one_minus_r_over_n_plus_one(n: int, alpha: float) -> None:
    rank = np.ceil(np.round((1 - alpha) * (n + 1), 9))
    for population in (Uniform(), Beta(2, 5)):
        result = split_miscoverage(population, n=n, alpha=alpha)
        assert result.value == pytest.approx(1 - rank / (n + 1))
        assert result.verdict is Verdict.PROVED
    above = split_overcoverage(n=n, alpha=alpha)
    assert above.value == pytest.approx(rank / (n + 1))
    assert above.verdict is Verdict.PROVED


def test_with_ties_it_is_the_average_over_all_calibration_sets() -> None:
    """All 4⁴ calibration sets of four scores from a pool of four, two of them tied."""
    pool = Pool(np.array([0.1, 0.5, 0.5, 0.9]), "pool")
    calibrate = SplitConformal(alpha=0.4).threshold
    sets = product(pool.scores, repeat=4)
    expected = np.mean([1 - pool.cdf(np.array([calibrate(s)]))[0] for s in sets])
    for population in (pool, Deferred("later", lambda: pool)):
        assert split_miscoverage(population, n=4, alpha=0.4).value == pytest.approx(expected)


def test_a_rank_beyond_n_covers_everything() -> None:
    pool = Pool(np.array([0.1, 0.5]), "pool")
    assert split_miscoverage(pool, n=3, alpha=0.1).value == 0.0


@pytest.mark.parametrize(("n", "rank"), [(3, 3), (9, 7), (20, 19), (50, 46), (200, 181)])
def test_claims_off_by_one_part_in_a_million_million_are_told_apart(n: int, rank: int) -> None:
    """The rank is held fixed while α moves, so that the claim can be false."""
    truth = (n + 1 - rank) / (n + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpcp_audit.theorems.split.conformal_rank", lambda *_, **__: rank)
        for population in (Uniform(), Beta(2, 5)):
            true = split_miscoverage(population, n=n, alpha=truth * (1 + 1e-12))
            false = split_miscoverage(population, n=n, alpha=truth * (1 - 1e-12))
            assert (true.verdict, false.verdict) == (Verdict.PROVED, Verdict.REFUTED)
        bound = truth + 1 / (n + 1)  # r/(n+1) ≤ 1−α+1/(n+1) where α is at most this
        assert split_overcoverage(n=n, alpha=bound * (1 - 1e-12)).verdict is Verdict.PROVED
        assert split_overcoverage(n=n, alpha=bound * (1 + 1e-12)).verdict is Verdict.REFUTED


def test_decimals_that_meet_their_bound_are_proved_and_their_doubles_would_not_be() -> None:
    """At n = 9 and α = 0.3 the miscoverage is 3/10, which is above the double 0.3."""
    found = split_miscoverage(Uniform(), n=9, alpha=0.3)
    assert found.proof is not None
    assert found.proof.premises[0].left[1] > 0.3
    assert found.evidence.upper == 0.3
    assert found.verdict is Verdict.PROVED


@given(
    scores=st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5]), min_size=1, max_size=9),
    n=st.integers(1, 12),
    rank=st.integers(1, 13),
)
def test_the_ends_hold_the_rational_sum(scores: list[float], n: int, rank: int) -> None:
    pool = Pool(np.array(scores), "drawn")
    low, high = miscoverage_ends(pool, n=n, rank=rank)
    truth = Fraction(0)
    if rank <= n:
        below = Fraction(0)
        for level in sorted({Fraction(sum(s <= at for s in scores), len(scores)) for at in scores}):
            reached = sum(
                comb(n, k) * level**k * (1 - level) ** (n - k) for k in range(rank, n + 1)
            )
            truth += (1 - level) * (reached - below)
            below = reached
    assert low <= truth <= high
    assert high - low <= 2.1e-9 * high


def test_a_law_that_may_have_atoms_is_bounded_from_above() -> None:
    mixed = PiecewiseConstant(cells=(0.7,), atoms=((0.6, 0.3),))
    found = split_miscoverage(mixed, n=99, alpha=0.1)
    assert (found.evidence.lower, found.evidence.upper) == (0.0, 0.1)
    assert found.verdict is Verdict.PROVED


def test_the_mean_coverage_of_p_coqs_is_computed_and_sampling_agrees() -> None:
    """On Beta(5, 0.2) and 100 scores it falls short of 0.9 by three hundredths."""
    theorem = MarginalCoverage(calibrator=PCOQS(alpha=0.1, rho=0.5), population=Beta(5, 0.2), n=100)
    assert isinstance(theorem.check(), Computed)
    found = theorem.exact()
    assert found.value == pytest.approx(0.1295, abs=5e-5)
    assert found.verdict is Verdict.REFUTED
    sampled = theorem.trials(20_000, rng=np.random.default_rng(7)).statistic
    spread = sampled.std() / np.sqrt(sampled.size)
    assert abs(sampled.mean() - (1 - found.value)) < 6 * spread  # false alarms: 2e-9


def test_the_figure_is_the_law_of_one_calibrated_set() -> None:
    """From 1 − 3α on: the binomial sum that at least r of n scores lie at or below the level."""
    (figure,) = split_miscoverage(Uniform(), n=9, alpha=0.2).figures
    (law,) = figure.series
    assert (law.x[0], law.x[-1], figure.marks) == (pytest.approx(0.4), 1.0, {"1−α": 0.8})
    expected = [sum(comb(9, k) * x**k * (1 - x) ** (9 - k) for k in (8, 9)) for x in law.x]
    assert law.y == pytest.approx(expected)


def test_other_means_are_sampled() -> None:
    search = PCOQS(alpha=0.1, rho=0.5)
    histogram = HistLap(alpha=0.1, epsilon=1.0)
    pool = Pool(np.array([0.1, 0.5]), "pool")
    for calibrator, law, n in (
        (search, Uniform(), 501),
        (search, pool, 9),
        (histogram, Uniform(), 9),
    ):
        theorem = MarginalCoverage(calibrator=calibrator, population=law, n=n)
        assert isinstance(theorem.check(), MeanBound)
    with pytest.raises(ValueError, match="calibrator must be a PCOQS, got HistLap"):
        MarginalCoverage(calibrator=histogram, population=Uniform(), n=9).exact()
