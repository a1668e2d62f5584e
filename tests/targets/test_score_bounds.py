"""Scores without bounds: residuals and the scores of conformalised quantile regression."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.laws.piecewise import PiecewiseConstant
from dpcp_audit.targets.kinds import tried
from dpcp_audit.theorems.coverage.calibration_sources import ScoreSource
from dpcp_audit.words.results import Verdict

UNIFORM = PiecewiseConstant(cells=(1,))


def conformal(scores, *, most=math.inf) -> float:
    rank = math.ceil(0.9 * (len(scores) + 1))
    return math.inf if rank > len(scores) else min(most, float(np.sort(scores)[rank - 1]))


def sum_of_clipped(scores, *, rng, most=1.0) -> float:
    return float(np.clip(scores, 0, most).sum() + rng.laplace(scale=1.0))


@pytest.mark.known_bad
@pytest.mark.parametrize("bounds", [(0, math.inf), (-math.inf, math.inf), ("none", 3)])
def test_a_clipped_threshold_covers_too_little_of_scores_without_bounds(bounds) -> None:
    settings = {"bounds": bounds, "n": 20, "draws": 800, "randomness": "none"}
    found = dp.audit(conformal, dp.Coverage(0.9), **settings)
    assert found[0].error == ""
    assert found.verdict is not Verdict.REFUTED
    clipped = dp.audit(conformal, dp.Coverage(0.9), options={"most": 0.5}, **settings)
    assert clipped.verdict is Verdict.REFUTED
    assert clipped[0].replay()


@pytest.mark.known_bad
def test_a_sum_is_private_where_it_clips_what_has_no_bounds() -> None:
    settings = {"kind": "vector", "bounds": (0, math.inf), "n": 5, "draws": 800, "trace": False}
    kept = dp.audit(sum_of_clipped, dp.PureDP(1.0), **settings)
    assert kept[0].error == ""
    assert kept.verdict is not Verdict.REFUTED
    wide = dp.audit(sum_of_clipped, dp.PureDP(1.0), options={"most": 100.0}, **settings)
    assert wide.verdict is Verdict.REFUTED


@pytest.mark.parametrize("bounds", [(0.0, math.inf), (-math.inf, math.inf), (-math.inf, 2.0)])
def test_coverage_is_the_share_of_the_scores_that_are_drawn(bounds) -> None:
    source = ScoreSource(law=UNIFORM, bounds=bounds)
    (scores,) = source.draw(20_000, 1, rng=np.random.default_rng(0))
    low, high = tried(bounds)
    assert scores.min() >= bounds[0]
    assert scores.max() <= bounds[1]
    thresholds = np.array([-np.inf, -1.5, 0.25, 1.5, np.inf])
    found = source.coverage(thresholds)
    drawn = (scores[:, None] <= thresholds).mean(axis=0)
    np.testing.assert_allclose(found, drawn, atol=0.02)  # 5.6 standard errors: 2e-8 for each
    assert math.isfinite(low)
    assert math.isfinite(high)


def test_bounds_that_are_none_are_told() -> None:
    with pytest.raises(ValueError, match="bounds must be a pair with a < b"):
        dp.audit(conformal, dp.Coverage(0.9), bounds=(1, 0))
    with pytest.raises(ValueError, match="bounds must be a number, got 'no'"):
        dp.audit(conformal, dp.Coverage(0.9), bounds=(0, "no"))
