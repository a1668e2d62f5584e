"""The published choices against NumPy and the reference mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_ledger.mechanisms import published_variants


def scores(n: int = 500) -> np.ndarray:
    return np.sort(np.round(np.random.default_rng(1).beta(0.4, 1.0, size=n), 4))


@pytest.mark.parametrize("n", [9, 24, 500, 2400])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5])
def test_the_standard_threshold_is_numpys_quantile(n: int, alpha: float) -> None:
    level = min(1.0, np.ceil(round((1 - alpha) * (n + 1), 9)) / n)
    expected = np.quantile(scores(n), level)
    assert published_variants.standard_threshold(scores(n), alpha=alpha) == pytest.approx(expected)


def test_pcoqs_rounds_the_reference_threshold_to_two_decimals() -> None:
    noise = np.random.default_rng(2).standard_normal(34)
    mechanism = PCOQS(alpha=0.1, rho=0.5)
    exact = mechanism.search(scores(), mechanism.rank(500), noise[:, None])[0]
    found = published_variants.pcoqs_threshold(scores(), alpha=0.1, rho=0.5, noise=noise)
    assert found == round(exact, 2)
    assert found != exact


def test_flooring_and_clipping_the_count_change_no_comparison() -> None:
    counts = np.random.default_rng(3).normal(5, 20, size=10_000)
    for rank in (1, 7, 30):
        assert np.array_equal(np.maximum(0, np.floor(counts)) < rank, counts < rank)


def test_a_lowest_point_leaves_out_the_scores_below_it() -> None:
    data = np.concatenate([np.zeros(100), np.linspace(0.5, 0.9, 900)])
    silent = np.zeros(34)
    whole = published_variants.pcoqs_threshold(data, alpha=0.1, rho=0.5, noise=silent)
    missed = published_variants.pcoqs_threshold(
        data, alpha=0.1, rho=0.5, noise=silent, lowest=1e-20
    )
    assert whole == pytest.approx(0.86, abs=0.005)
    assert missed == 1.0


def test_histlap_adds_one_draw_a_bin_in_the_published_order() -> None:
    data, edges = scores(), np.linspace(0, 1, 51)
    noise = np.random.default_rng(12).laplace(scale=1 / 0.5, size=50)
    cumulative = np.cumsum(np.maximum(np.histogram(data, edges)[0] + noise, 0))
    goal = 0.9 * cumulative[-1]
    at = int(np.searchsorted(cumulative, goal))
    expected = edges[at] + (goal - cumulative[at - 1]) / (cumulative[at] - cumulative[at - 1]) / 50
    found = published_variants.histlap_threshold(
        data, alpha=0.1, epsilon=0.5, rng=np.random.default_rng(12)
    )
    assert found == pytest.approx(expected)


def test_choices_are_named_and_cited() -> None:
    names = [choice.name for choice in published_variants.CHOICES]
    assert len(set(names)) == len(names)
    assert all(
        choice.published and choice.written and choice.source
        for choice in published_variants.CHOICES
    )


def test_histlap_falls_back_on_the_median_where_no_count_is_positive() -> None:
    class Negative(np.random.Generator):
        def laplace(self, *, scale: float, size: tuple[int, ...]) -> np.ndarray:
            return np.full(size, -1e6 * scale)

    rng = Negative(np.random.PCG64(0))
    found = published_variants.histlap_threshold(
        np.array([0.1, 0.3, 0.9]), alpha=0.1, epsilon=1.0, rng=rng
    )
    assert found == 0.3
