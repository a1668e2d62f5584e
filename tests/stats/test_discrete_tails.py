"""``dpcp_audit.stats.intervals`` against ``scipy.stats``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcp_audit.stats.intervals import (
    average_ranks,
    binomial_exceeded,
    hypergeometric_tail,
)

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
