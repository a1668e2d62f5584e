"""The levels are scipy's, ties and rounding included."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from dpcp_audit.stats import isotonic
from dpcp_audit.stats.isotonic import level_starts


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_the_levels_are_scipys(seed, increasing) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    weights = rng.integers(1, 6, size=n).astype(float)
    values = rng.binomial(weights.astype(int), rng.random(), size=n) / weights
    if seed % 2:
        values = values + np.linspace(0, rng.normal(), n)
    fit = isotonic_regression(values, weights=weights, increasing=increasing)
    starts = level_starts(values, weights, increasing=increasing)
    assert starts.tolist() == fit.blocks[:-1].tolist()


@pytest.mark.parametrize("increasing", [True, False])
def test_levels_differ_and_are_means_of_what_they_pool(increasing) -> None:
    rng = np.random.default_rng(1)
    values, weights = rng.random(500), rng.random(500) + 0.1
    starts = level_starts(values, weights, increasing=increasing)
    sums, masses = (np.add.reduceat(each, starts) for each in (values * weights, weights))
    steps = np.diff(sums / masses)
    assert np.all(steps > 0 if increasing else steps < 0)


def test_levels_that_are_equal_are_pooled_whatever_their_sums_round_to() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        weights = rng.integers(1, 3, size=100)
        hits = rng.binomial(weights, np.linspace(0.3, 0.7, 100))
        starts = level_starts(hits / weights, weights.astype(float), increasing=True)
        sums, masses = (np.add.reduceat(each, starts).tolist() for each in (hits, weights))
        levels = [Fraction(*each) for each in zip(sums, masses, strict=True)]
        assert levels == sorted(set(levels))


@pytest.mark.parametrize(
    ("values", "left"),
    [
        (-np.arange(900.0), 1),
        (np.tile([2.0, 1.0], 450) + np.repeat(np.arange(450.0), 2), 450),
        (np.arange(900.0), 900),
        (np.tile([2.0, 1.0, 2.0, 3.0, 4.0], 180) + np.repeat(np.arange(180.0) * 9, 5), 720),
    ],
    ids=["falls", "every other falls", "rises", "a fifth falls"],
)
def test_runs_are_pooled_at_once_before_the_rest_is_one_by_one(values, left, monkeypatch) -> None:
    """What is pooled one after another are the levels that the runs leave."""
    rest: list[int] = []
    pooled = isotonic._pooled
    monkeypatch.setattr(isotonic, "_pooled", lambda *of: rest.append(len(of[0])) or pooled(*of))
    assert level_starts(values, np.ones(900), increasing=True).size == left
    assert rest == [left]
