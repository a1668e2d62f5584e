"""A figure of a results document in a file of its own."""

from __future__ import annotations

import io
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.chart_axes import plot_figure
from dpcp_audit.words.whole_files import IncompleteError, UsageError, require_package, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


SUFFIXES = (".pdf", ".png", ".svg")
_DOTS, _INCHES = 150, (6.4, 4.4)
_STYLE: Mapping[Any, Any] = {
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
        raise UsageError(f"--figure must end in one of {', '.join(SUFFIXES)}, got {str(path)!r}")
    if os.path.isdir(path) or not os.access(os.path.dirname(path) or ".", os.W_OK):  # noqa: PTH112, PTH120
        raise UsageError(f"--figure: {path} cannot be written to")
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
    with mpl.rc_context(_STYLE):
        canvas = canvases.Figure(figsize=_INCHES, layout="constrained")
        plot_figure(figure, canvas.subplots())
        undated = {"Date": None} if suffix == "svg" else None
        canvas.savefig(drawn, format=suffix, dpi=_DOTS, metadata=undated)
    try:
        write_whole(path, drawn.getvalue())
    except OSError as error:
        raise IncompleteError(f"--figure: {path}: {error.strerror}") from error
