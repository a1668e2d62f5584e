"""Figures of a results document as SVG in a page, and in files of their own.

They are drawn by matplotlib's object API, without pyplot. Colours follow Okabe and Ito, which
colour-blind readers tell apart; every series also has a line style of its own.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from dpcp_audit.reports.chart_axes import ROW, draw_chart, one_place, plot_figure, rows_above
from dpcp_audit.reports.heatmaps import heat_map
from dpcp_audit.words.errors import IncompleteError, UsageError, require_package, write_whole
from dpcp_audit.words.formatting import printable
from dpcp_audit.words.results import FigureKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dpcp_audit.reports.heatmaps import Canvas


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
_STRIP = 0.6
"""The height of a plot of one place."""


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

    top = ROW * rows_above(figure) + 0.1
    plot = _PLOT if one_place(figure) is None else _STRIP
    height = top + plot + _BOTTOM
    canvas: Canvas = Figure(figsize=(_WIDTH, height))
    share = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    axes = canvas.add_axes((_LEFT / _WIDTH, _BOTTOM / height, share, plot / height))
    draw_chart(axes, figure, height=plot)
    return canvas


SUFFIXES = (".pdf", ".png", ".svg")
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
        Naming the option ``--figure``.
    MissingExtraError
        If matplotlib is not installed.
    """
    if path.suffix not in SUFFIXES:
        raise UsageError(
            f"--figure must end in one of {', '.join(SUFFIXES)}, got {str(path)!r}",
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
