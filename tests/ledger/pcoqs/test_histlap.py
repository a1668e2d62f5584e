from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.laws.populations import Beta, Pool, Uniform
from dpcp_audit.words.guarantees import Relation
from dpcp_ledger.mechanisms.histlap import HistLap

GOOD = {"alpha": 0.1, "epsilon": 1.0}
QUARTERS = HistLap(alpha=0.25, epsilon=1.0, n_bins=4, bounds=(0.0, 8.0))


def test_threshold_is_interpolated_in_the_cumulated_share() -> None:
    histograms = np.array(
        [
            [1.0, 1, 1, 1],  # 75 % is reached at the end of the third bin
            [4.0, -5, 0, 4],  # negatives count as 0: half of the last bin
            [8.0, 0, 0, 0],  # 75 % of the first bin
            [-1.0, -2, -3, -4],  # nothing left
            [0.0, 0, 0, 0],
            [0.0, 0, 0, 1e-300],
        ]
    )
    assert QUARTERS.threshold(histograms) == pytest.approx([6, 7, 1.5, 8, 8, 7.5])


def test_noise_scale_by_relation() -> None:
    assert HistLap(**GOOD | {"epsilon": 0.5}).noise_scale == 4
    assert HistLap(**GOOD | {"epsilon": 0.5}, noise=Relation.ADD_REMOVE).noise_scale == 2
    assert HistLap(**GOOD).guarantee.epsilon == 1


def test_histogram_pair_by_relation() -> None:
    mechanism = HistLap(**GOOD, noise=Relation.ADD_REMOVE)
    assert list(mechanism.histogram_pair(Relation.ADD_REMOVE).shifts) == [1.0]
    assert list(mechanism.histogram_pair(Relation.SUBSTITUTION).shifts) == [1.0, 1.0]
    assert list(mechanism.histogram_pair(Relation.ONE_LABEL).shifts) == [1.0, 1.0]
    assert list(mechanism.histogram_pair(Relation.ZERO_OUT).shifts) == [1.0]
    assert list(HistLap(**GOOD).histogram_pair(Relation.SUBSTITUTION).shifts) == [0.5, 0.5]


def test_almost_without_noise_the_threshold_is_the_binned_quantile() -> None:
    mechanism = HistLap(alpha=0.1, epsilon=1e9, n_bins=100)
    scores = (np.arange(1000) + 0.5) / 1000
    assert mechanism.sample(scores, 5, rng=0) == pytest.approx(0.9, abs=1e-6)
    assert mechanism.sample_histogram(scores, 3, rng=0) == pytest.approx(
        np.full((3, 100), 10.0), abs=1e-6
    )


def test_a_score_at_the_top_counts() -> None:
    counts = HistLap(alpha=0.1, epsilon=1e9, n_bins=2).sample_histogram([0.5, 1.0, 0.1], 1, rng=0)
    assert counts == pytest.approx(np.array([[1.0, 2.0]]), abs=1e-6)


@pytest.mark.parametrize("n", [100, 10**12])
def test_trials_report_the_coverage_of_their_thresholds(n: int) -> None:
    result = HistLap(**GOOD).trials(Beta(2, 3), n=n, trials=400, rng=1)
    assert result.threshold.shape == (400,)
    assert (result.coverage == Beta(2, 3).cdf(result.threshold)).all()
    assert 0.8 < result.coverage.mean() < 1


def test_trials_are_chunked_without_repeating_themselves() -> None:
    result = HistLap(**GOOD).trials(Uniform(), n=100, trials=90_000, rng=1)
    assert np.unique(result.threshold).size > 80_000


def test_one_full_bin_is_no_warning() -> None:
    mechanism = HistLap(alpha=0.1, epsilon=100.0)
    with np.errstate(all="raise"):
        assert mechanism.trials(Pool([0.5], "one"), n=100, trials=3, rng=0).threshold.shape == (3,)
