from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("matplotlib")

from dpcp_audit.reports.charts import figure_svg


def figure(**changes: Any) -> dict[str, Any]:
    plain = {
        "kind": "heatmap",
        "title": "Which check catches which mutant",
        "x_label": "check",
        "y_label": "",
        "columns": ["exact", "sampled"],
        "series": [
            {"name": "noise × 0.5", "x": [0, 1], "y": [1.0, 0.9], "texts": ["caught", "2·10⁴"]},
            {"name": "no noise", "x": [0, 1], "y": [0.0, "nan"], "texts": ["missed", ""]},
        ],
        "marks": {},
        "description": "Rows are mutants, columns are checks.",
        "log_x": False,
        "log_y": False,
    }
    return plain | changes


def texts(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314  (we have just written it)
    return [element.text or "" for element in root.iter() if element.tag.endswith("text")]


def test_every_label_and_cell_is_a_text() -> None:
    shown = texts(figure_svg(figure()))
    assert {"exact", "sampled", "noise × 0.5", "no noise"} <= set(shown)
    assert {"caught", "2·10⁴", "missed", "·"} <= set(shown)  # a dot: not tried


def test_a_larger_value_is_drawn_stronger_and_what_was_not_tried_is_not_drawn() -> None:
    svg = figure_svg(figure())
    strengths = [float(a) for a in re.findall(r"fill: #1f7fc0; opacity: ([\d.]+)", svg)]
    assert strengths == sorted(strengths, reverse=True)
    assert len(strengths) == 3
    assert strengths[0] > 5 * strengths[2]


def test_cells_above_the_mark_take_another_colour_and_the_mark_is_named() -> None:
    svg = figure_svg(figure(marks={"above δ = 0.5": 0.5}))
    assert svg.count("fill: #d55e00; opacity") == 2
    assert "above δ = 0.5" in texts(svg)


def test_without_texts_and_columns_the_numbers_are_printed() -> None:
    rows = [{"name": "a", "x": [500, 10**6], "y": [0.25, "inf"]}]
    shown = texts(figure_svg(figure(columns=[], series=rows)))
    assert {"500", "10⁶", "0.25", "∞"} <= set(shown)


def test_a_map_of_nothing_is_still_a_figure() -> None:
    assert figure_svg(figure(columns=[], series=[]))
    assert figure_svg(figure(series=[{"name": "a", "x": [0, 1], "y": ["nan", "nan"]}]))


def test_cells_that_do_not_fit_their_columns_are_refused() -> None:
    short = [{"name": "a", "x": [0], "y": [1.0]}]
    with pytest.raises(ValueError, match=r"a text for each of 2 columns, got 1 and 1"):
        figure_svg(figure(series=short))
    many = [{"name": "a", "x": [0, 1], "y": [1.0, 1.0]}] * 61
    with pytest.raises(ValueError, match=r"at most 60 rows and 24 columns, got 61 and 2"):
        figure_svg(figure(series=many))


def test_hostile_labels_stay_texts() -> None:
    name = "<script>\x00\u202e" + "x" * 10_000
    svg = figure_svg(figure(columns=[name, "b"], title=name, marks={name: 0.5}))
    assert "<script" not in svg
    assert not re.search(r"[\x00\u202e]", svg)
    assert len(svg) < 60_000
