from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from support.report_document import COVERAGE, PROFILE

from dpcp_audit.reports.charts import _thinned, figure_svg

mpl = pytest.importorskip("matplotlib")


def lines(**changes: Any) -> dict[str, Any]:
    return PROFILE | changes


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314  (we have just written it)


def texts(svg: str) -> list[str]:
    return [e.text or "" for e in parsed(svg).iter() if e.tag.endswith("text")]


@pytest.mark.parametrize("figure", [PROFILE, COVERAGE])
def test_the_same_figure_gives_the_same_text(figure: dict[str, Any]) -> None:
    assert figure_svg(figure) == figure_svg(figure)


def test_the_users_matplotlib_settings_change_nothing_and_are_kept() -> None:
    plain = figure_svg(PROFILE)
    with mpl.rc_context(
        {"font.size": 30, "xtick.direction": "in", "svg.fonttype": "path", "axes.linewidth": 9}
    ):
        before = dict(mpl.rcParams)
        assert figure_svg(PROFILE) == plain
        assert dict(mpl.rcParams) == before


def test_texts_stay_texts_and_are_escaped() -> None:
    svg = figure_svg(COVERAGE)
    assert "<script" not in svg
    assert "<metadata" not in svg
    assert parsed(svg)[0].text == COVERAGE["title"]
    assert "coverage $\\alpha" in texts(svg)


def test_series_differ_by_more_than_colour() -> None:
    curves = [{"name": f"s{i}", "x": [0.0, 1.0], "y": [i, i + 1.0]} for i in range(5)]
    svg = figure_svg(lines(series=curves, marks={}))
    dashes = set(re.findall(r"stroke-dasharray: ([^;\"]+)", svg))
    assert len(dashes) == 4  # and one solid


def test_points_that_cannot_be_drawn_are_counted() -> None:
    assert "exact (1 of 3 points off the scale)" in texts(figure_svg(PROFILE))
    logged = texts(figure_svg(lines(log_y=True)))
    assert "claimed (2 of 3 points off the scale)" in logged


def test_marks_that_cannot_be_drawn_are_named() -> None:
    assert "off = -∞ (off the scale)" in texts(figure_svg(COVERAGE))
    assert "zero = 0 (off the scale)" in texts(figure_svg(lines(log_x=True, marks={"zero": 0.0})))


def test_a_curve_of_nothing_but_infinities_is_still_a_figure() -> None:
    series = [{"name": "all", "x": [1.0, 2.0], "y": ["inf", "nan"]}]
    for log in (False, True):
        svg = figure_svg(lines(series=series, log_x=log, log_y=log, marks={}))
        assert "all (2 of 2 points off the scale)" in texts(svg)


def test_control_characters_do_not_break_the_figure() -> None:
    svg = figure_svg(lines(x_label="c\x1bd"))
    assert "c\ufffdd" in texts(svg)


@pytest.mark.parametrize("log", [False, True])
def test_a_large_figure_stays_small(log: bool) -> None:
    x = np.linspace(1, 2, 100_000)
    y = 2 + np.random.default_rng(0).random((2, x.size))
    series = [{"name": str(i), "x": x.tolist(), "y": y[i].tolist()} for i in range(2)]
    assert len(figure_svg(lines(series=series, log_x=log, log_y=log, marks={}))) < 40_000
    bins = {"name": "n", "x": np.append(x, 2.1).tolist(), "y": y[0].tolist()}
    assert len(figure_svg(COVERAGE | {"series": [bins]})) < 40_000


def test_empty_bins_at_the_ends_are_not_drawn() -> None:
    bins = {"name": "n", "x": [0.0, 10.0, 20.0, 30.0, 40.0], "y": [0, 5, 2, 0]}
    shown = texts(figure_svg(COVERAGE | {"series": [bins], "marks": {}}))
    assert "15.0" in shown
    assert "5.0" not in shown
    empty = COVERAGE | {"series": [bins | {"y": [0, 0, 0, 0]}], "marks": {}}
    assert figure_svg(empty)


def test_thinning_keeps_the_extremes() -> None:
    y = np.zeros(10_000)
    y[1234], y[5678] = 5.0, -3.0
    y[7000:7100] = np.nan
    _, kept = _thinned(np.arange(y.size) * 1.0, y, limit=300)
    assert kept.size <= 302
    assert (np.nanmax(kept), np.nanmin(kept)) == (5.0, -3.0)
    assert np.isnan(kept).any()


def test_lengths_that_do_not_fit_are_refused() -> None:
    short = [{"name": "s", "x": [0.0, 1.0], "y": [1.0]}]
    with pytest.raises(ValueError, match="series must have as many y as x, got 1 and 2"):
        figure_svg(lines(series=short))
    with pytest.raises(ValueError, match="one x more than y, got 1 and 1"):
        figure_svg(COVERAGE | {"series": [{"name": "s", "x": [0.0], "y": [1.0]}]})


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="pie"):
        figure_svg(lines(kind="pie"))


def test_decades_are_labelled() -> None:
    wide = [{"name": "s", "x": [1.0, 1e12], "y": [1e-9, 1.0]}]
    shown = texts(figure_svg(lines(series=wide, log_x=True, log_y=True, marks={})))
    assert {"10⁶", "10⁻⁶"} <= set(shown)
    narrow = [{"name": "s", "x": [1.0, 4.0], "y": [1.0, 4.0]}]
    assert {"1", "2"} <= set(texts(figure_svg(lines(series=narrow, log_x=True, marks={}))))


@pytest.mark.parametrize("ends", [(1.0, 1.02), (0.7, 3.3), (900.0, 2452.0), (1e-7, 3e-7)])
def test_a_short_logarithmic_axis_has_more_than_one_tick(ends: tuple[float, float]) -> None:
    series = [{"name": "s", "x": [0.0, 1.0], "y": list(ends)}]
    figure = lines(series=series, log_y=True, marks={}, x_label="x", y_label="y")
    bare = set(texts(figure_svg(figure | {"series": [series[0] | {"y": ["nan", "nan"]}]})))
    ticks = set(texts(figure_svg(figure))) - bare
    assert len(ticks) >= 3
    assert not any("e" in tick for tick in ticks)
