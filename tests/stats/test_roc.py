"""ROC curves: hulls of points, envelopes of lines, the laws behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, laplace, norm

from dpcp_audit.stats import roc as roc_bands
from dpcp_audit.stats.roc import RocCurve, log_ratio_limits, roc_band


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


_SIGNIFICANCE, _REPETITIONS = 0.2, 60


def _cells(law: Any, shift: float) -> list[np.ndarray]:
    """Return the masses of nine cells under a law and under the shifted one."""
    cuts = law.ppf([0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 0.97]) + shift / 2
    return [np.diff(np.concatenate([[0], law.cdf(cuts - s), [1]])) for s in (0.0, shift)]


def _krr(epsilon: float, k: int) -> tuple[np.ndarray, np.ndarray]:
    keep = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    rest = (1 - keep) / (k - 1)
    return np.r_[keep, rest, np.full(k - 2, rest)], np.r_[rest, keep, np.full(k - 2, rest)]


LAWS = {
    "laplace": tuple(_cells(laplace, 1.0)),
    "gaussian": tuple(_cells(norm, 1.0)),
    "k-RR": _krr(2.0, 10),
}


def _true_curve(p: np.ndarray, q: np.ndarray) -> RocCurve:
    order = np.argsort(-p / q)
    return RocCurve.hull(np.cumsum(q[order])[:-1], np.cumsum(p[order])[:-1])


def _misses(p: Any, q: Any, order: Any, trials: int, rng: np.random.Generator) -> bool:
    x, y = rng.multinomial(trials, p)[order], rng.multinomial(trials, q)[order]
    band = roc_band(x, y, significance=_SIGNIFICANCE)
    truth = _true_curve(p, q)
    below = (band.least.tpr > truth.at(band.least.fpr) + 1e-9).any()
    above = (truth.tpr > band.most.at(truth.fpr) + 1e-9).any()
    ratios = np.log(p / q)[order]
    return below or above or (ratios < band.ratios[1]).any() or (ratios > band.ratios[2]).any()


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize("name", LAWS)
def test_the_whole_band_covers_whatever_the_order_of_the_cells(name) -> None:
    """A band that errs as often as allowed fails here with probability below 1e-7."""
    p, q = LAWS[name]
    rng = np.random.default_rng(1)
    orders = (np.argsort(-p / q), np.arange(p.size)[::-1])
    misses = sum(
        _misses(p, q, orders[i % 2], (300, 3000)[i % 3 == 0], rng) for i in range(_REPETITIONS)
    )
    assert misses <= binom.isf(1e-7, _REPETITIONS, _SIGNIFICANCE)


@pytest.mark.parametrize("name", LAWS)
def test_the_band_is_narrow_on_counts_as_they_are_expected(name) -> None:
    p, q = LAWS[name]
    order = np.argsort(-p / q)
    x, y = (np.round(20_000 * law[order]).astype(int) for law in (p, q))
    band, truth = roc_band(x, y, significance=0.05), _true_curve(p, q)
    grid = np.linspace(0.05, 0.95, 50)
    np.testing.assert_allclose(band.found.at(grid), truth.at(grid), atol=1e-3)
    assert (band.least.at(grid) <= truth.at(grid)).all()
    assert (truth.at(grid) <= band.most.at(grid)).all()
    width = band.most.at(grid) - band.least.at(grid)
    assert width.max() < 0.09  # five to six standard errors of two rates
    assert band.ratios[2].max() < np.log(p / q).max() + 0.6


def test_more_outputs_narrow_the_band_and_no_output_leaves_it_open() -> None:
    widths = [
        float(band.most.at(0.2) - band.least.at(0.2))
        for n in (1, 10, 100)
        for band in [roc_band([60 * n, 30 * n, 10 * n], [20 * n, 30 * n, 50 * n], significance=0.1)]
    ]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]
    open_ended = roc_band([90, 10], [0, 100], significance=0.1)
    assert open_ended.most.tpr[0] > 0.9
    assert np.isinf(open_ended.ratios[2]).any()


def test_a_single_cell_tells_nothing_apart() -> None:
    band = roc_band([50], [70], significance=0.1)
    assert band.least.at(0.3) == band.found.at(0.3) == 0.3


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ([1, 2], [1, 2, 3], "second"),
        ([1.5, 2], [1, 2], "first"),
        ([0, 0], [1, 2], "first"),
        ([1, 2], [1, -2], "second"),
    ],
)
def test_counts_that_are_none_are_refused(first, second, named) -> None:
    with pytest.raises(ValueError, match=named):
        roc_band(first, second, significance=0.1)


def test_a_cell_without_counts_adds_nothing() -> None:
    plain = roc_band([600, 300, 100], [100, 300, 600], significance=0.05)
    empty = roc_band([600, 0, 300, 100], [100, 0, 300, 600], significance=0.05)
    grid = np.linspace(0.0, 1.0, 21)
    np.testing.assert_allclose(empty.found.at(grid), plain.found.at(grid), atol=1e-3)
    assert (empty.most.at(grid) >= plain.most.at(grid) - 1e-12).all()


@pytest.mark.statistical(false_alarm=1e-7)
def test_limits_of_all_log_ratios_hold_at_once() -> None:
    """Limits that err as often as allowed fail here with probability below 1e-7."""
    p, q = LAWS["k-RR"]
    rng, truth = np.random.default_rng(3), np.log(p / q)
    misses = 0
    for _ in range(_REPETITIONS):
        counts = rng.multinomial(400, p), rng.multinomial(400, q)
        _, low, high = log_ratio_limits(*counts, significance=_SIGNIFICANCE)
        misses += bool(((truth < low) | (truth > high)).any())
    assert misses <= binom.isf(1e-7, _REPETITIONS, _SIGNIFICANCE)


def test_counts_are_looked_at_evenly_and_densely_at_both_ends() -> None:
    grid = roc_bands._grid(5000)
    dense = np.geomspace(1, 1250, roc_bands._TAIL).astype(int)
    evenly = np.linspace(0, 5000, roc_bands._EVEN + 1).astype(int)
    assert set(grid.tolist()) == {*evenly.tolist(), *dense.tolist(), *(5000 - dense).tolist()}


@pytest.mark.parametrize("far", [600.0, 600.5, np.inf])
def test_ratios_beyond_e_to_600_cap_nothing(far) -> None:
    ratios = np.array([[0.0, 0.0], [-far, -1.0], [1.0, far]])
    assert roc_bands._caps(ratios) == []
    near = roc_bands._caps(np.array([[0.0, 0.0], [-1.0, -0.5], [0.5, 2.0]]))
    assert near == [(0.0, pytest.approx(np.exp(2))), pytest.approx((1 - np.exp(-1), np.exp(-1)))]


def test_the_errors_of_the_limits_add_up_to_the_significance() -> None:
    """Half for the corners below; half for those above and for both limits of every ratio."""
    x, y = np.array([600, 300, 100]), np.array([100, 300, 600])
    band, below, above = (
        roc_band(x, y, significance=0.05),
        roc_bands._splits(0.05 / 2 / 2),
        roc_bands._splits(0.05 / 2 / (2 + 2 * 3)),
    )
    ratios = roc_bands._ratios(x, y, above)
    assert band.ratios == pytest.approx(ratios)
    least, most = roc_bands._least(x, y, below), roc_bands._most(x, y, above, ratios)
    for found, expected in ((band.least, least), (band.most, most)):
        assert found.fpr.tolist() == expected.fpr.tolist()
        assert found.tpr.tolist() == expected.tpr.tolist()
