from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from dpcp_audit.stats.rates import (
    average_ranks,
    binomial_exceeded,
    clopper_pearson,
    hypergeometric_tail,
    mean_limits,
)


def test_many_intervals_are_those_of_each() -> None:
    low, high = clopper_pearson(np.arange(31), 30, significance=1e-6)
    each = [clopper_pearson(k, 30, significance=1e-6) for k in range(31)]
    assert np.array_equal(np.transpose([low, high]), each)


def test_clopper_pearson_covers_exactly() -> None:
    """Coverage is summed over all outcomes, on a grid of rates: valid, and not vacuous."""
    trials, significance = 40, 0.1
    low, high = np.transpose(
        [clopper_pearson(k, trials, significance=significance) for k in range(trials + 1)]
    )
    misses = [
        binom.pmf(np.arange(trials + 1), trials, p)[(low > p) | (high < p)].sum()
        for p in np.linspace(0.01, 0.99, 99)
    ]
    assert max(misses) <= significance
    assert max(misses) > 0.6 * significance


def test_mean_limits_are_the_empirical_bernstein_bound() -> None:
    values = np.tile([0.0, 1.0, 1.0, 2.0], 500)
    low, high = mean_limits(1.0, values.var(ddof=1), 2000, bounds=(0, 3), significance=0.05)
    log_term = math.log(4 / 0.05)
    radius = math.sqrt(2 * values.var(ddof=1) * log_term / 2000) + 7 * 3 * log_term / (3 * 1999)
    assert (low, high) == pytest.approx((1 - radius, 1 + radius))
    low, high = mean_limits(1.0, 2 / 3, 4, bounds=(0, 3), significance=0.05)
    assert (low, high) == (0, 3)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: clopper_pearson(5, 4, significance=0.1), "successes"),
        (lambda: clopper_pearson(-1, 4, significance=0.1), "successes"),
        (lambda: clopper_pearson(np.array([1, 5]), 4, significance=0.1), "successes"),
        (lambda: clopper_pearson(np.array([-1, 3]), 4, significance=0.1), "successes"),
        (lambda: clopper_pearson(1, 0, significance=0.1), "trials"),
        (lambda: clopper_pearson(1, 4, significance=0.0), "significance"),
        (lambda: mean_limits(0.1, 0.1, 1, bounds=(0, 1), significance=0.1), "count"),
        (lambda: mean_limits(0.1, 0.1, 9, bounds=(1, 0), significance=0.1), "bounds"),
    ],
)
def test_bad_input_names_the_argument(call, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()


@pytest.mark.parametrize("significance", [0.05, 1e-6])
@pytest.mark.parametrize("trials", [1, 30, 10**5])
def test_clopper_pearson_is_that_of_statsmodels(trials, significance) -> None:
    for count in {0, 1, trials // 3, trials - 1, trials}:
        expected = proportion_confint(count, trials, alpha=significance, method="beta")
        found = clopper_pearson(count, trials, significance=significance)
        assert found == pytest.approx(expected, rel=1e-9)


RATES = np.array([0.0, 1e-9, 1e-3, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0])
LEVELS = np.array([1e-14, 1e-6, 0.02, 0.5, 0.97, 1 - 1e-9])[:, np.newaxis]


@pytest.mark.parametrize("trials", [1, 2, 365, 10**5])
class TestBinomialQuantiles:
    def test_the_upper_one_is_the_least_count_that_is_exceeded_so_rarely(self, trials) -> None:
        count = binomial_exceeded(LEVELS, trials, RATES)
        above = stats.binom(trials, RATES).sf
        assert (above(count) <= LEVELS * (1 + 1e-9)).all()
        assert (above(count - 1) > LEVELS * (1 - 1e-9)).all()


@pytest.mark.parametrize(("marked", "drawn", "total"), [(3, 4, 9), (700, 400, 1000), (0, 5, 9)])
def test_the_hypergeometric_tail(marked, drawn, total) -> None:
    counts = range(-1, drawn + 2)
    law = stats.hypergeom(total, marked, drawn)
    found = [hypergeometric_tail(k, marked=marked, drawn=drawn, total=total) for k in counts]
    np.testing.assert_allclose(found, [law.sf(k - 1) for k in counts], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("values", [np.array([2.0, -1.0, 2.0, np.inf, 2.0]), np.eye(4)])
def test_ties_share_their_mean_rank(values) -> None:
    np.testing.assert_array_equal(average_ranks(values), stats.rankdata(values, axis=0))


@pytest.mark.parametrize("arguments", [(1.5, 3, 0.5), (0.5, 3, -0.1), (0.5, 0, 0.5)])
def test_what_is_no_probability_is_named(arguments) -> None:
    with pytest.raises(ValueError, match=r"^(level|rate|trials) must"):
        binomial_exceeded(*arguments)


@pytest.mark.parametrize(("marked", "drawn", "total"), [(2, 3, 4), (7, 20, 33), (30, 40, 60)])
def test_the_fewest_that_can_be_marked_are_certain_without_rounding(marked, drawn, total) -> None:
    fewest = max(0, marked + drawn - total)
    assert hypergeometric_tail(fewest, marked=marked, drawn=drawn, total=total) == 1.0
    assert hypergeometric_tail(fewest + 1, marked=marked, drawn=drawn, total=total) < 1.0
