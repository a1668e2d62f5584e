"""ROC curves: hulls of points, envelopes of lines, the laws behind them."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.stats.roc import RocCurve


def test_the_hull_lies_above_its_points_and_touches_some() -> None:
    rng = np.random.default_rng(0)
    points = np.sort(rng.random((2, 40)), axis=0)
    curve = RocCurve.hull(points[0], points[1])
    gap = curve.at(points[0]) - points[1]
    assert gap.min() > -1e-12
    assert gap.min() == pytest.approx(0, abs=1e-12)
    slopes = np.diff(curve.tpr) / np.diff(curve.fpr)
    assert (np.diff(slopes) < 0).all()
    assert (curve.fpr[-1], curve.tpr[-1]) == (1.0, 1.0)


def test_a_curve_is_the_envelope_of_the_lines_through_its_edges() -> None:
    curve = RocCurve.hull([0.05, 0.3, 0.6], [0.4, 0.7, 0.95])
    again = RocCurve.below(curve.lines)
    grid = np.linspace(0, 1, 101)
    np.testing.assert_allclose(again.at(grid), curve.at(grid), atol=1e-12)


def test_ratios_in_limits_give_the_curve_of_randomised_response() -> None:
    e = np.exp(1.0)
    curve = RocCurve.below([(0.0, e), (1 - 1 / e, 1 / e)])
    p, q = curve.masses
    np.testing.assert_allclose(p, [e / (1 + e), 1 / (1 + e)])
    np.testing.assert_allclose(q, p[::-1])


def test_lines_that_do_not_end_at_one_leave_mass_that_only_one_law_has() -> None:
    p, q = RocCurve.below([(0.1, 2.0)]).masses
    np.testing.assert_allclose(p, [0.1, 0.9, 0.0])
    np.testing.assert_allclose(q, [0.0, 0.45, 0.55])


def test_masses_of_a_curve_sum_to_one_and_no_points_give_equal_laws() -> None:
    for curve in (RocCurve.hull([0.2], [0.9]), RocCurve.hull([0.0], [0.3]), RocCurve.hull([], [])):
        for law in curve.masses:
            assert law.sum() == pytest.approx(1, abs=1e-15)
    p, q = RocCurve.hull([], []).masses
    assert p.tolist() == q.tolist() == [1.0]


def test_points_above_one_another_are_one_corner() -> None:
    curve = RocCurve.hull([0.5, 0.5, 1.0], [0.8, 0.7, 0.6])
    assert curve.fpr.tolist() == [0.0, 0.5, 1.0]
    assert curve.tpr.tolist() == [0.0, 0.8, 1.0]
