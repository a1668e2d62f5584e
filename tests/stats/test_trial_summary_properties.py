"""Summaries of a statistic: what they say does not depend on how the trials were split."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.stats.samples import Spread

VALUES = st.lists(
    st.floats(-1e12, 1e12, allow_subnormal=False) | st.sampled_from([0.0, 1.0, 0.9, 1 - 1e-12]),
    min_size=1,
    max_size=40,
)


def summary(values: list[float]) -> Spread:
    return Spread.of(np.array(values))


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_merged_parts_are_the_summary_of_the_whole(parts: list[list[float]]) -> None:
    values = [value for part in parts for value in part]
    merged, whole = Spread.merged(map(summary, parts)), summary(values)
    exact = ("count", "low", "high", "level", "first", "cells")
    assert [getattr(merged, name) for name in exact] == [getattr(whole, name) for name in exact]
    scale = max(map(abs, values))
    assert merged.mean == pytest.approx(whole.mean, abs=1e-12 * scale)
    assert merged.squares == pytest.approx(whole.squares, rel=1e-9, abs=1e-9 * scale**2)


@given(VALUES)
def test_cells_count_the_values_between_their_edges(values: list[float]) -> None:
    found = summary(values)
    assert sum(found.cells) == found.count == len(values)
    assert len(found.cells) <= 64
    assert found.cells[0] > 0 < found.cells[-1]
    if found.low == found.high:
        assert found.edges[0] < found.low == found.high < found.edges[1]
        assert found.edges[1] - found.edges[0] <= max(abs(found.low), 1.0) / 200
    else:
        counted = [
            sum(low <= value < high for value in values)
            for low, high in zip(found.edges, found.edges[1:], strict=False)
        ]
        assert counted == found.cells


@given(VALUES)
def test_summaries_survive_json(values: list[float]) -> None:
    found = summary(values)
    assert Spread.from_data(json.loads(json.dumps(found.as_data()))) == found


def test_a_range_is_shown_by_more_than_thirty_cells() -> None:
    for high in np.geomspace(1e-3, 1e3, 50):
        assert 32 <= len(summary([0.0, high]).cells) <= 64


def test_moments_are_those_of_numpy() -> None:
    values = np.random.default_rng(0).random(1001)
    found = Spread.of(values)
    assert (found.mean, found.variance) == (values.mean(), values.var(ddof=1))
    assert found.deviation == pytest.approx(values.std(), rel=1e-15)
    assert math.isnan(summary([1.0]).variance)


@pytest.mark.parametrize("bad", [[], [math.nan, 1.0], [0.0, math.inf]])
def test_what_is_not_finite_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="statistic must be finite, got"):
        summary(bad)


def test_values_that_are_not_finite_are_shown() -> None:
    with pytest.raises(ValueError, match=r"^statistic must be finite, got \[inf nan\]$"):
        summary([1.0, math.inf, 2.0, math.nan])
