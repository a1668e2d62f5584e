from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from dpcp_audit.laws.populations import Beta, Pool, Population, Uniform
from dpcp_audit.mechanisms.quantiles import bin_probabilities
from dpcp_audit.words.guarantees import Neighbours, Relation
from dpcp_ledger.mechanisms.histlap import HistLap, _laplace_sums

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


@pytest.mark.parametrize(
    ("mechanism", "law", "n", "columns"),
    [
        (HistLap(**GOOD), Uniform(), 500, 52),
        (HistLap(**GOOD), Uniform(), 5000, 13),
        (HistLap(**GOOD), Uniform(), 10**6, 4),
        (HistLap(alpha=0.33, epsilon=0.2), Beta(2, 5), 20_000, 37),
        (HistLap(alpha=0.97, epsilon=1.0, bounds=(-1.0, 3.0)), Uniform(), 50_000, 41),
    ],
)
@pytest.mark.statistical(false_alarm=5e-8)
def test_bins_that_share_a_column_leave_the_law_as_it_is(
    mechanism: HistLap, law: Population, n: int, columns: int
) -> None:
    """Against histograms whose every bin is drawn: two samples, false alarm 1e-8 each."""
    mass = bin_probabilities(law, mechanism.edges)
    assert mechanism._columns(mass, n).mass.size == columns
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n, mass, size=4000)
    noisy = counts + rng.laplace(scale=mechanism.noise_scale, size=counts.shape)
    whole = mechanism.threshold(noisy)
    merged = mechanism.trials(law, n=n, trials=4000, rng=1).threshold
    assert ks_2samp(whole, merged).pvalue > 1e-8


@pytest.mark.statistical(false_alarm=1e-8)
def test_a_columns_noise_is_the_sum_of_its_bins_noise() -> None:
    """By the mean 0 and the variance 2k of a sum of k, each within 6.5 standard errors."""
    bins = np.array([1, 2, 7, 40])
    drawn = _laplace_sums(bins, 100_000, np.random.default_rng(0))
    fourth = 3 * (2 * bins) ** 2 + 12 * bins
    error = np.sqrt((fourth - (2 * bins) ** 2) / len(drawn))
    assert (np.abs((drawn**2).mean(axis=0) - 2 * bins) < 6.5 * error).all()
    assert (np.abs(drawn.mean(axis=0)) < 6.5 * np.sqrt(2 * bins / len(drawn))).all()


def test_one_full_bin_is_no_warning() -> None:
    mechanism = HistLap(alpha=0.1, epsilon=100.0)
    with np.errstate(all="raise"):
        assert mechanism.trials(Pool([0.5], "one"), n=100, trials=3, rng=0).threshold.shape == (3,)


def test_the_columns_hold_all_of_the_mass() -> None:
    mass = bin_probabilities(Beta(2, 5), HistLap(**GOOD).edges)
    columns = HistLap(**GOOD)._columns(mass, 10**6)
    assert columns.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert columns.bins.sum() == 50
    kept = columns.mass[1:-1]
    first = columns.shift + 1
    assert (np.isin(kept, mass)).all()
    assert kept[0] == mass[first]


def test_neighbours_name_their_relation() -> None:
    pair = Neighbours(relation=Relation.ADD_REMOVE, value=[0.1, 0.2], neighbour=[0.1])
    assert pair.neighbour == [0.1]
    with pytest.raises(ValueError, match=r"^relation must be one of"):
        Neighbours(relation="swap", value=0, neighbour=1)
