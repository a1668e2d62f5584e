"""Heat maps: one coloured and labelled cell for each pair of a row and a column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from dpcp_audit.words.formatting import clipped, number, power, printable, to_float

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.words.results import PlainData


Axes: TypeAlias = Any
"""Those of matplotlib, not all of whose keywords have types."""
Canvas: TypeAlias = Any
"""A figure of matplotlib."""

INK = "#333333"
"""The colour of texts and axes."""

_BELOW, _ABOVE = "#1f7fc0", "#d55e00"
_FAINTEST, _STRONGEST = 0.08, 0.6
# Inches.
_WIDTH, _ROW, _CHARACTER = 5.6, 0.27, 0.076
_SHARE_OF_LABELS = 0.46
_MOST_ROWS, _MOST_COLUMNS = 60, 24
_MOST_CHARACTERS = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """The labels, values and texts of a heat map, one tuple a row."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    texts: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, figure: Mapping[str, Any]) -> Self:
        series = figure["series"]
        columns = _columns(figure)
        for row in series:
            texts = row.get("texts") or row["y"]
            if not len(row["y"]) == len(texts) == len(columns):
                raise ValueError(
                    f"series of a heat map must have a y and a text for each of {len(columns)} "
                    f"columns, got {len(row['y'])} and {len(texts)}"
                )
        if len(series) > _MOST_ROWS or len(columns) > _MOST_COLUMNS:
            raise ValueError(
                f"a heat map holds at most {_MOST_ROWS} rows and {_MOST_COLUMNS} columns, "
                f"got {len(series)} and {len(columns)}"
            )
        return cls(
            rows=tuple(clipped(printable(row["name"]), _MOST_CHARACTERS) for row in series),
            columns=columns,
            values=tuple(tuple(to_float(value) for value in row["y"]) for row in series),
            texts=tuple(_texts(row) for row in series),
        )


def heat_map(figure: Mapping[str, Any]) -> Canvas:
    """Draw a heat map of a results document.

    The strength of a cell's colour is its value's place between 0 (or the least value, if that
    is negative) and the largest finite value. With a mark, cells above it take another colour.

    Raises
    ------
    ValueError
        If a row does not have as many cells as there are columns, or there are too many.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415

    grid = _Grid.of(figure)
    longest = max(map(len, grid.rows), default=0)
    left = min(longest * _CHARACTER, _SHARE_OF_LABELS * _WIDTH) + 0.2
    plot, foot, top = _ROW * max(len(grid.rows), 1), 0.62, 0.3 if figure.get("marks") else 0.08
    canvas: Canvas = Figure(figsize=(_WIDTH, top + plot + foot))
    height = top + plot + foot
    axes = canvas.add_axes((left / _WIDTH, foot / height, 1 - (left + 0.1) / _WIDTH, plot / height))
    draw_heat_map(axes, figure)
    return canvas


def draw_heat_map(axes: Axes, figure: Mapping[str, Any]) -> None:
    """Draw a heat map on given axes; see ``heat_map``."""
    grid = _Grid.of(figure)
    _dress(axes, grid, figure)
    marks: PlainData = figure.get("marks") or {}
    _fill(axes, grid, [to_float(value) for value in marks.values()])
    _explain(axes, figure)


def _columns(figure: Mapping[str, Any]) -> tuple[str, ...]:
    labels: list[str] = figure.get("columns") or []
    if labels:
        return tuple(clipped(printable(label), 14) for label in labels)
    series = figure["series"]
    return tuple(power(to_float(x)) for x in series[0]["x"]) if series else ()


def _texts(row: Mapping[str, Any]) -> tuple[str, ...]:
    given: list[str] = row.get("texts") or []
    if given:
        return tuple(clipped(printable(text), 14) for text in given)
    return tuple("" if math.isnan(to_float(y)) else number(y, digits=2) for y in row["y"])


def _dress(axes: Axes, grid: _Grid, figure: Mapping[str, Any]) -> None:
    axes.set_xlim(0, max(len(grid.columns), 1))
    axes.set_ylim(max(len(grid.rows), 1), 0)
    axes.set_xticks([place + 0.5 for place in range(len(grid.columns))], grid.columns)
    axes.set_yticks([place + 0.5 for place in range(len(grid.rows))], grid.rows)
    crowded = sum(map(len, grid.columns)) > 46
    axes.tick_params(length=0, colors=INK, labelsize=8.5)
    if crowded:
        axes.tick_params(axis="x", labelrotation=25)
    axes.set_xlabel(printable(figure["x_label"]), color=INK, labelpad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _fill(axes: Axes, grid: _Grid, limits: Sequence[float]) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    finite = [value for row in grid.values for value in row if math.isfinite(value)]
    low, high = min([0.0, *finite]), max(finite, default=1.0)
    small = len(grid.columns) > 8
    for i, (values, texts) in enumerate(zip(grid.values, grid.texts, strict=True)):
        for j, (value, text) in enumerate(zip(values, texts, strict=True)):
            if not math.isnan(value):
                above = any(value > limit for limit in limits)
                axes.add_patch(
                    Rectangle(
                        (j + 0.03, i + 0.06),
                        0.94,
                        0.88,
                        facecolor=_ABOVE if above else _BELOW,
                        alpha=round(_strength(value, low, high), 3),
                        linewidth=0,
                        clip_on=False,
                    )
                )
            shown = text or ("·" if math.isnan(value) else "")
            size = 7.0 if small else 8.5
            axes.text(j + 0.5, i + 0.53, shown, ha="center", va="center", color=INK, fontsize=size)


def _strength(value: float, low: float, high: float) -> float:
    share = 1.0 if value == math.inf or high <= low else max(0.0, (value - low) / (high - low))
    return _FAINTEST + (_STRONGEST - _FAINTEST) * min(share, 1.0)


def _explain(axes: Axes, figure: Mapping[str, Any]) -> None:
    marks: PlainData = figure.get("marks") or {}
    words = ", ".join(printable(label) for label in marks)
    if words:
        _beside(axes, "■", 0, _ABOVE)
        _beside(axes, words, 13, INK)


def _beside(axes: Axes, text: str, right: float, colour: str) -> None:
    """Write above the axes, so many points to the right of their corner."""
    axes.annotate(
        text, (0, 1), (right, 5), xycoords="axes fraction", textcoords="offset points", color=colour
    )
