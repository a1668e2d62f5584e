"""Figures as inline SVG: drawn by matplotlib's object API, without pyplot.

Colours follow Okabe and Ito, which colour-blind readers tell apart and which stand out on light
and on dark pages; every series also has a line style of its own. Text and axes take the colour
of the page's text.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.chart_axes import ROW, draw_chart, one_place, rows_above
from dpcp_audit.reports.heatmaps import heat_map, inline
from dpcp_audit.words.figures import FigureKind
from dpcp_audit.words.formatting import printable
from dpcp_audit.words.whole_files import require_package

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.reports.heatmaps import Canvas


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
_WIDTH, _LEFT, _RIGHT, _PLOT, _BOTTOM = 5.6, 0.8, 0.15, 2.4, 0.5
_STRIP = 0.6
"""The height of a plot of one place."""


def figure_svg(figure: Mapping[str, Any], *, prefix: str | None = None) -> str:
    """Draw a figure of a results document as one ``<svg>`` element.

    Parameters
    ----------
    figure : mapping
        The fields of :class:`dpcp_audit.words.results.Figure`. Points that are not finite,
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
    return buffer.getvalue()


def _chart(figure: Mapping[str, Any]) -> Canvas:
    from matplotlib.figure import Figure  # noqa: PLC0415

    top = ROW * rows_above(figure) + 0.1
    plot = _PLOT if one_place(figure) is None else _STRIP
    height = top + plot + _BOTTOM
    canvas: Canvas = Figure(figsize=(_WIDTH, height))
    share = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    axes = canvas.add_axes((_LEFT / _WIDTH, _BOTTOM / height, share, plot / height))
    draw_chart(axes, figure, height=plot)
    return canvas
