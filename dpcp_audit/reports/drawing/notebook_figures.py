"""Figures of a results document in notebooks: on axes that a caller has, or on new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit._format import printable
from dpcp_audit.errors import MissingExtraError
from dpcp_audit.figures import FigureKind
from dpcp_audit.reports.drawing.chart_axes import ROW, draw_chart, rows_above
from dpcp_audit.reports.drawing.heatmaps import draw_heat_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

_POINTS = 72
"""In an inch."""


def plot_figure(figure: Mapping[str, Any], axes: Axes | None = None) -> Axes:
    """Draw a figure and return its axes; without ``axes`` on a new figure of pyplot.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    if axes is None:
        try:
            from matplotlib import pyplot as plt  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("matplotlib", "report") from error
        axes = plt.subplots(layout="constrained")[1]
    if FigureKind(figure["kind"]) is FigureKind.HEATMAP:
        draw_heat_map(axes, figure)
        rows = 1
    else:
        height = axes.bbox.height / axes.figure.dpi
        draw_chart(axes, figure, height=height)
        rows = rows_above(figure)
    drawn: Any = axes  # not all of its keywords have types
    drawn.set_title(printable(figure["title"]), pad=(ROW * rows + 0.1) * _POINTS, fontsize=10)
    return axes
