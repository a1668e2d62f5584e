"""Charts as SVG: their axes and lines, and the files that hold them."""

from __future__ import annotations

import io
import math
import os
import re
import textwrap
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.sax.saxutils import escape

import numpy as np

from dpcp_audit.reports.heatmaps import INK, draw_heat_map, heat_map
from dpcp_audit.words.errors import IncompleteError, UsageError, require_package, write_whole
from dpcp_audit.words.formatting import SUPERSCRIPTS, clipped, number, printable, to_float
from dpcp_audit.words.results import FigureKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dpcp_audit.reports.heatmaps import Axes, Canvas
    from dpcp_audit.words.validate import FloatArray


_COLOURS = ("#1f7fc0", "#d55e00", "#009e73", "#b0629a", "#8a7a00")
_DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)), (0, (9, 3)), (0, (3, 1.2)))
ROW = 0.21
"""Inches that a line of a legend takes."""
_MOST_POINTS = 1200
_MOST_BINS = 200
_MOST_CHARACTERS = 160
_LINEAR = 10.0
"""The ratio of its ends below which a logarithmic axis is labelled as a linear one."""


def _rows_above(figure: Mapping[str, Any]) -> int:
    """Return the number of lines that legend and marks take above the plot."""
    return len(_marks(figure)) + (0 if _speaks_for_itself(figure) else len(figure["series"]))


def _draw_chart(axes: Axes, figure: Mapping[str, Any], *, height: float) -> None:
    """Draw a figure of lines or a histogram; legend and marks stand above the plot.

    Parameters
    ----------
    height : float
        The height of the plot, in inches.
    """
    marks = _marks(figure)
    on_scale = {k: v for k, v in marks.items() if _drawable(v, figure.get("log_x"))}
    _dress(axes, figure)
    _draw_series(axes, figure)
    for label in marks.keys() - on_scale.keys():
        axes.plot([], [], " ", label=f"{label} = {number(marks[label])} (off the scale)")
    _draw_marks(axes, on_scale)
    _draw_legend(axes, bottom=1 + (ROW * len(on_scale)) / height)


def _marks(figure: Mapping[str, Any]) -> dict[str, float]:
    return {_label_of(name): to_float(value) for name, value in figure.get("marks", {}).items()}


def _speaks_for_itself(figure: Mapping[str, Any]) -> bool:
    """Return True if a legend would only repeat the label of the y axis."""
    series = figure["series"]
    return len(series) == 1 and series[0]["name"] == figure["y_label"]


def _drawable(value: float, log: object) -> bool:
    return math.isfinite(value) and (value > 0 or not log)


def _dress(axes: Axes, figure: Mapping[str, Any]) -> None:
    axes.set_xlabel(_wrapped(figure["x_label"], 70), color=INK)
    axes.set_ylabel(_wrapped(figure["y_label"], 34), color=INK)
    if figure.get("log_x"):
        axes.set_xscale("log")
    if figure.get("log_y"):
        axes.set_yscale("log")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set(color=INK, alpha=0.5, linewidth=0.8)
    axes.tick_params(colors=INK, width=0.8, length=3)
    axes.tick_params(which="minor", color=INK, width=0.5, length=2)
    axes.grid(visible=True, axis="y", color=INK, alpha=0.15, linewidth=0.7)
    axes.set_axisbelow(True)


def _draw_series(axes: Axes, figure: Mapping[str, Any]) -> None:
    kind = FigureKind(figure["kind"])
    draw = _histogram if kind is FigureKind.HISTOGRAM else _lines
    for index, series in enumerate(figure["series"]):
        style = {
            "color": _COLOURS[index % len(_COLOURS)],
            "linestyle": _DASHES[index % len(_DASHES)],
        }
        draw(axes, figure, series, style)
    if kind is FigureKind.HISTOGRAM:
        axes.set_ylim(bottom=0.5 if figure.get("log_y") else 0)
    for axis, log in ((axes.xaxis, figure.get("log_x")), (axes.yaxis, figure.get("log_y"))):
        if log:
            _label_decades(axis)


def _lines(
    axes: Axes, figure: Mapping[str, Any], series: Mapping[str, Any], style: dict[str, Any]
) -> None:
    x, y = _numbers(series["x"]), _numbers(series["y"])
    if x.size != y.size:
        raise ValueError(f"series must have as many y as x, got {y.size} and {x.size}")
    bad = ~(np.isfinite(x) & np.isfinite(y))
    bad |= (x <= 0) if figure.get("log_x") else False
    bad |= (y <= 0) if figure.get("log_y") else False
    y = np.where(bad, np.nan, y)
    label = "" if _speaks_for_itself(figure) else _label_of(series["name"])
    if bad.any():
        label += f" ({np.count_nonzero(bad)} of {bad.size} points off the scale)"
    marker = "o" if 0 < x.size <= 12 else None
    limit = _MOST_POINTS // len(figure["series"])
    axes.plot(*_thinned(x, y, limit=limit), label=label, marker=marker, markersize=4, **style)


def _thinned(x: FloatArray, y: FloatArray, *, limit: int) -> tuple[FloatArray, FloatArray]:
    """Keep of each stretch the lowest and the highest point, and a gap where there is one."""
    if x.size <= limit:
        return x, y
    kept = [0, x.size - 1]
    for stretch in np.array_split(np.arange(x.size), max(limit // 3, 1)):
        gap = np.isnan(y[stretch])
        low = np.where(gap, np.inf, y[stretch]).argmin()
        high = np.where(gap, -np.inf, y[stretch]).argmax()
        kept += [int(stretch[place]) for place in (low, high, gap.argmax())]
    chosen = np.unique(kept)
    return x[chosen], y[chosen]


def _histogram(
    axes: Axes, figure: Mapping[str, Any], series: Mapping[str, Any], style: dict[str, Any]
) -> None:
    edges, counts = _numbers(series["x"]), _numbers(series["y"])
    if edges.size != counts.size + 1:
        raise ValueError(
            f"series of a histogram must have one x more than y, got {edges.size} and {counts.size}"
        )
    step = math.ceil(counts.size / _MOST_BINS)
    if step > 1:
        counts = np.add.reduceat(counts, np.arange(0, counts.size, step))
        edges = np.append(edges[:-1:step], edges[-1])
    counts, edges = _trimmed(counts, edges)
    base = 0.5 if figure.get("log_y") else 0.0
    label = "" if _speaks_for_itself(figure) else _label_of(series["name"])
    axes.stairs(counts, edges, baseline=base, fill=True, alpha=0.22, color=style["color"])
    axes.stairs(counts, edges, baseline=base, label=label, linewidth=1.4, **style)


def _trimmed(counts: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Leave out the empty bins at both ends."""
    full = np.flatnonzero(counts)
    if not full.size:
        return counts, edges
    return counts[full[0] : full[-1] + 1], edges[full[0] : full[-1] + 2]


def _label_decades(axis: Any) -> None:
    from matplotlib.ticker import (  # noqa: PLC0415
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullFormatter,
    )

    low, high = sorted(axis.get_view_interval())
    narrow = high / low < 50

    def tick(value: float, _: int | None) -> str:
        return _tick(value, narrow=narrow)

    decades = LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=8)
    few = MaxNLocator(5, steps=[1, 2, 5, 10])
    axis.set_major_locator(few if high / low < _LINEAR else decades)
    axis.set_major_formatter(FuncFormatter(tick))
    axis.set_minor_formatter(NullFormatter())


def _tick(value: float, *, narrow: bool) -> str:
    if value <= 0:  # beyond the axis
        return ""
    if narrow and 1e-3 < value < 1e5:
        return number(value)
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = round(value / 10.0**exponent)
    power = "10" + str(exponent).translate(SUPERSCRIPTS)
    return power if factor == 1 else f"{factor}·{power}"


def _draw_marks(axes: Axes, marks: Mapping[str, float]) -> None:
    for value in marks.values():
        axes.axvline(value, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), alpha=0.75)
    axes.margins(x=0.03)
    axes.autoscale_view()
    for row, (label, value) in enumerate(marks.items()):
        place = axes.transAxes.inverted().transform(axes.transData.transform((value, 1.0)))[0]
        axes.annotate(
            f"{label} = {number(value)}",
            xy=(value, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3 + row * ROW * 72),
            textcoords="offset points",
            ha="left" if place < 0.3 else "right" if place > 0.7 else "center",
            color=INK,
            annotation_clip=False,
        )


def _draw_legend(axes: Axes, *, bottom: float) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(0, bottom),
            frameon=False,
            borderpad=0,
            borderaxespad=0.3,
            labelspacing=0.35,
            handlelength=2.6,
            labelcolor=INK,
        )


def _numbers(values: list[object]) -> FloatArray:
    return np.array([to_float(value) for value in values], dtype=np.float64)


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(_label_of(text), width))


def _label_of(text: object) -> str:
    return clipped(" ".join(printable(text).split()), _MOST_CHARACTERS)


_POINTS = 72
"""Points in an inch."""


def plot_figure(figure: Mapping[str, Any], axes: Axes | None = None) -> Axes:
    """Draw a figure and return its axes; without ``axes`` on a new figure of pyplot.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    if axes is None:
        require_package("matplotlib", "report")
        from matplotlib import pyplot as plt  # noqa: PLC0415

        axes = plt.subplots(layout="constrained")[1]
    if FigureKind(figure["kind"]) is FigureKind.HEATMAP:
        draw_heat_map(axes, figure)
        rows = 1
    else:
        height = axes.bbox.height / axes.figure.dpi
        _draw_chart(axes, figure, height=height)
        rows = _rows_above(figure)
    drawn: Any = axes  # not all of its keywords have types
    drawn.set_title(printable(figure["title"]), pad=(ROW * rows + 0.1) * _POINTS, fontsize=10)
    return axes


_STYLE: Mapping[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dpcp-audit",
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.0,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "lines.linewidth": 1.8,
    "path.simplify": True,
}
_METADATA = re.compile(r"<metadata>.*?</metadata>|<g id=\"[^\"]*\">\s*</g>", re.DOTALL)
_BLANK = re.compile(r"\s+")
_NUMBER = re.compile(r"-?\d+\.\d{3,}(?![\d.])")
_PLAIN = " =:;,/()!$*+-._~@?"
"""Characters that stand for themselves in an address within double quotes."""
# Inches; the SVG's user unit is 1/72 of one.
_WIDTH, _LEFT, _RIGHT, _PLOT, _BOTTOM = 5.6, 0.8, 0.15, 2.4, 0.5


def figure_svg(figure: Mapping[str, Any]) -> str:
    """Return a figure of a results document as one ``<svg>`` element.

    Parameters
    ----------
    figure : mapping
        The fields of :class:`dpcp_audit.words.results.Figure`. Points that are not finite,
        and on a logarithmic axis those at or below 0, cannot be drawn; the legend counts them.

    Returns
    -------
    str
        The element: the same text for the same figure and the same matplotlib.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If the kind is unknown, or the lengths of x and y do not fit.
    """
    require_package("matplotlib", "report")
    mpl: Any = import_module("matplotlib")  # not all of it has types
    buffer = io.StringIO()
    # The SVG backend reads these settings only from rcParams; they are put back at the end.
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that matplotlib's own font lacks
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        kind = FigureKind(figure["kind"])
        canvas = heat_map(figure) if kind is FigureKind.HEATMAP else _chart(figure)
        canvas.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    markup = _METADATA.sub("", buffer.getvalue().partition("<svg")[2])
    short = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}", _BLANK.sub(" ", markup))
    start, _, rest = short.partition(">")
    return f"<svg{start}><title>{escape(printable(figure['title']))}</title>{rest}"


def image(figure: Mapping[str, Any]) -> str:
    """Return the address of a figure that holds the figure itself, for ``<img src=…>``."""
    return "data:image/svg+xml," + quote(figure_svg(figure), safe=_PLAIN)


def _chart(figure: Mapping[str, Any]) -> Canvas:
    from matplotlib.figure import Figure  # noqa: PLC0415

    top = ROW * _rows_above(figure) + 0.1
    height = top + _PLOT + _BOTTOM
    canvas: Canvas = Figure(figsize=(_WIDTH, height))
    share = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    axes = canvas.add_axes((_LEFT / _WIDTH, _BOTTOM / height, share, _PLOT / height))
    _draw_chart(axes, figure, height=_PLOT)
    return canvas


_SUFFIXES = (".pdf", ".png", ".svg")
_DOTS, _INCHES = 150, (6.4, 4.4)
_FILE_STYLE: Mapping[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dpcp-audit",
    "text.parse_math": False,
}


def require_figure_file(path: Path) -> None:
    """Refuse a path that no figure can be written to, before any long work.

    Raises
    ------
    UsageError
        If the file cannot be written; the message names ``--figure``.
    MissingExtraError
        If matplotlib is not installed.
    """
    if path.suffix not in _SUFFIXES:
        raise UsageError(
            f"--figure must end in one of {', '.join(_SUFFIXES)}, got {str(path)!r}",
            hint="such as figure.svg",
        )
    if os.path.isdir(path) or not os.access(os.path.dirname(path) or ".", os.W_OK):  # noqa: PTH112, PTH120
        raise UsageError(
            f"--figure: {path} cannot be written to", hint="name a file in a folder that is yours"
        )
    require_package("matplotlib", "report")


def save_figure(figure: Mapping[str, Any], path: Path) -> None:
    """Draw a figure and write it, in the format of the path's suffix.

    Raises
    ------
    IncompleteError
        If it cannot be written.
    """
    mpl: Any = import_module("matplotlib")
    canvases: Any = import_module("matplotlib.figure")
    drawn, suffix = io.BytesIO(), path.suffix.removeprefix(".")
    with mpl.rc_context(_FILE_STYLE):
        canvas = canvases.Figure(figsize=_INCHES, layout="constrained")
        plot_figure(figure, canvas.subplots())
        undated = {"Date": None} if suffix == "svg" else None
        canvas.savefig(drawn, format=suffix, dpi=_DOTS, metadata=undated)
    try:
        write_whole(path, drawn.getvalue())
    except OSError as error:
        raise IncompleteError(f"--figure: {path}: {error.strerror}") from error
