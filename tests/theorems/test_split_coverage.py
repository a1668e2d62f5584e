"""Split conformal prediction's exact coverage, with and without ties."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpcp_audit.data.populations import Beta, Deferred, Pool, Uniform
from dpcp_audit.mechanisms.conformal import SplitConformal
from dpcp_audit.results import Verdict
from dpcp_audit.theorems.split_coverage import split_miscoverage, split_overcoverage


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


def test_a_level_that_the_rank_does_not_reach_is_refuted() -> None:
    """The miscoverage of rank r at α is above any smaller α."""
    result = split_miscoverage(Uniform(), n=99, alpha=0.1)
    assert result.value == pytest.approx(0.1)
    assert split_miscoverage(Uniform(), n=99, alpha=0.05).value < result.value
