from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from dpcp_audit.stats.intervals import clopper_pearson, mean_limits


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (70, 1000)])
def test_clopper_pearson_inverts_the_binomial_tails(successes, trials) -> None:
    low, high = clopper_pearson(successes, trials, significance=0.02)
    if successes:
        assert binom.sf(successes - 1, trials, low) == pytest.approx(0.01)
    else:
        assert low == 0
    if successes < trials:
        assert binom.cdf(successes, trials, high) == pytest.approx(0.01)
    else:
        assert high == 1


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
