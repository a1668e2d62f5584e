"""Sources cover what they draw, on every law and between any bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from support.piecewise_laws import grid_points, piecewise_laws

from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.calibration_sources import (
    LabelledSource,
    ScoreSource,
    law_as_data,
)
from dpcp_audit.theorems.row_laws import source_from_data

ends = st.floats(-1e3, 1e3, allow_subnormal=False)


@given(law=piecewise_laws(points=grid_points), low=ends, high=ends, seed=st.integers(0, 99))
def test_thresholds_at_drawn_scores_cover_them(law, low, high, seed) -> None:
    """F(s) and F(s−) of drawn scores enclose their empirical ranks, whatever the rounding."""
    assume(high - low > 1e-3)
    source = ScoreSource(law=law, bounds=(low, high))
    (scores,) = source.draw(400, 1, rng=np.random.default_rng(seed))
    assert scores.min() >= low
    assert scores.max() <= high
    values, counts = np.unique(scores, return_counts=True)
    mass = source.coverage(values) - source.coverage(values, strict=True)
    heavy = counts > 20  # an atom
    assert (mass[heavy] > 0).all()
    upto = np.cumsum(counts) / 400
    assert np.abs(source.coverage(values) - upto).max() < 0.2


@given(law=piecewise_laws(), low=ends, high=ends)
def test_coverage_rises_with_the_threshold_from_0_to_1(law, low, high) -> None:
    assume(high - low > 1e-3)
    source = ScoreSource(law=law, bounds=(low, high))
    inside = np.linspace(low, high, 41)
    thresholds = np.concatenate([[-np.inf, np.nextafter(low, -np.inf)], inside, [np.inf]])
    at, below = source.coverage(thresholds), source.coverage(thresholds, strict=True)
    assert (np.diff(at) >= 0).all()
    assert (below <= at).all()
    assert at[:2].tolist() == [0.0, 0.0]
    assert at[-2:].tolist() == [1.0, 1.0]
    assert below[2] == 0.0


@given(law=piecewise_laws(), classes=st.integers(2, 12))
def test_rows_cover_as_the_law_does(law, classes) -> None:
    """1 − (1 − s) differs from s by a rounding, and no atom is lost by it."""
    source = LabelledSource(law=law, classes=classes)
    for place, _ in law.atoms:
        computed = np.array([1 - (1 - place)])
        assert source.coverage(computed)[0] >= law.cdf(np.array([place]))[0] - 1e-12
        assert source.coverage(computed, strict=True)[0] <= law.cdf_left(computed)[0] + 1e-12


@given(law=piecewise_laws())
def test_a_law_survives_as_plain_data(law) -> None:
    back = source_from_data(law_as_data(law), kind=Kind.QUANTILE, bounds=(0.0, 1.0))
    assert back.law == law


@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    significance=st.floats(1e-6, 0.5),
)
def test_limits_enclose_the_mean_and_mirror_each_other(values, significance) -> None:
    bets = MeanBets()
    sample = np.array(values)
    low = bets.lower_limit(sample, significance=significance)
    high = bets.upper_limit(sample, significance=significance)
    assert low <= sample.mean() + 1e-12
    assert high >= sample.mean() - 1e-12
    wider = bets.upper_limit(sample, significance=significance / 10)
    assert wider >= high - 1e-9
