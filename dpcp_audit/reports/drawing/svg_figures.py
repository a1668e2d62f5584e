"""Figures as inline SVG: drawn by matplotlib's object API, without pyplot.

Colours follow Okabe and Ito, which colour-blind readers tell apart and which stand out on light
and on dark pages; every series also has a line style of its own. Text and axes take the colour
of the page's text.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import textwrap
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._format import SUPERSCRIPTS, clipped, number, printable, to_float
from dpcp_audit.errors import MissingExtraError
from dpcp_audit.figures import FigureKind
from dpcp_audit.reports.drawing.heatmaps import heat_map
from dpcp_audit.reports.drawing.svg import INK, inline

if TYPE_CHECKING:
    from collections.abc import Mapping

    import matplotlib.figure
    from matplotlib.axes import Axes

    from dpcp_audit._types import FloatArray

_COLOURS = ("#1f7fc0", "#d55e00", "#009e73", "#b0629a", "#8a7a00")
_DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)), (0, (9, 3)), (0, (3, 1.2)))
_STYLE: Mapping[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dpcp-audit",
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.size": 10.0,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "lines.linewidth": 1.8,
    "path.simplify": True,
}
# Inches; the SVG's user unit is 1/72 of one.
_WIDTH, _LEFT, _RIGHT, _PLOT, _BOTTOM, _ROW = 5.6, 0.8, 0.15, 2.4, 0.5, 0.21
_MOST_POINTS = 1200
_MOST_BINS = 200
_MOST_CHARACTERS = 160


def figure_svg(figure: Mapping[str, Any], *, prefix: str | None = None) -> str:
    """Draw a figure of a results document as one ``<svg>`` element.

    Parameters
    ----------
    figure : mapping
        The fields of :class:`dpcp_audit.results.Figure`. Points that are not finite,
        and on a logarithmic axis those at or below 0, cannot be drawn; the legend counts them.
    prefix : str, optional
        Stands before every id in the figure. By default it comes from the figure's content,
        so that different figures do not collide; a page that may hold the same figure twice
        gives its own.

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
    if prefix is None:
        content = json.dumps(figure, sort_keys=True)
        prefix = "f" + hashlib.sha256(content.encode()).hexdigest()[:10]
    return inline(
        _markup(figure),
        title=printable(figure["title"]),
        description=printable(figure["description"]),
        prefix=prefix,
    )


def _markup(figure: Mapping[str, Any]) -> str:
    try:
        import matplotlib as mpl  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("matplotlib", "report") from error
    buffer = io.StringIO()
    # The SVG backend reads these settings only from rcParams; they are put back at the end.
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that matplotlib's own font lacks
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        kind = FigureKind(figure["kind"])
        canvas = heat_map(figure) if kind is FigureKind.HEATMAP else _chart(figure)
        canvas.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return buffer.getvalue()


def _chart(figure: Mapping[str, Any]) -> matplotlib.figure.Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415

    marks = {_label(k): to_float(v) for k, v in figure.get("marks", {}).items()}
    on_scale = {k: v for k, v in marks.items() if _drawable(v, figure.get("log_x"))}
    rows = len(marks) + (0 if _speaks_for_itself(figure) else len(figure["series"]))
    top = _ROW * rows + 0.1
    height = top + _PLOT + _BOTTOM
    canvas = Figure(figsize=(_WIDTH, height))
    share = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    axes = canvas.add_axes((_LEFT / _WIDTH, _BOTTOM / height, share, _PLOT / height))
    _dress(axes, figure)
    _draw_series(axes, figure)
    for label in marks.keys() - on_scale.keys():
        axes.plot([], [], " ", label=f"{label} = {number(marks[label])} (off the scale)")
    _mark(axes, on_scale)
    _draw_legend(axes, bottom=1 + (_ROW * len(on_scale)) / _PLOT)
    return canvas


def _speaks_for_itself(figure: Mapping[str, Any]) -> bool:
    """Tell whether a legend would only repeat the label of the y axis."""
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
    label = "" if _speaks_for_itself(figure) else _label(series["name"])
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
    label = "" if _speaks_for_itself(figure) else _label(series["name"])
    axes.stairs(counts, edges, baseline=base, fill=True, alpha=0.22, color=style["color"])
    axes.stairs(counts, edges, baseline=base, label=label, linewidth=1.4, **style)


def _trimmed(counts: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Leave out the empty bins at both ends."""
    full = np.flatnonzero(counts)
    if not full.size:
        return counts, edges
    return counts[full[0] : full[-1] + 1], edges[full[0] : full[-1] + 2]


def _label_decades(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    low, high = sorted(axis.get_view_interval())
    narrow = high / low < 50
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda v, _: _tick(v, narrow=narrow)))
    axis.set_minor_formatter(NullFormatter())


def _tick(value: float, *, narrow: bool) -> str:
    if narrow and 1e-3 < value < 1e5:
        return number(value)
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = round(value / 10.0**exponent)
    power = "10" + str(exponent).translate(SUPERSCRIPTS)
    return power if factor == 1 else f"{factor}·{power}"


def _mark(axes: Axes, marks: Mapping[str, float]) -> None:
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
            xytext=(0, 3 + row * _ROW * 72),
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
    return "\n".join(textwrap.wrap(_label(text), width))


def _label(text: object) -> str:
    return clipped(" ".join(printable(text).split()), _MOST_CHARACTERS)
