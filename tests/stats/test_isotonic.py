"""The levels differ, and are the means of the values that they pool."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcp_audit.stats.roots import level_starts


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
