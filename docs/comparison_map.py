"""The map of which calibrator to use when, drawn by matplotlib."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit.extensions.claims import number, require_package
from dpcp_ledger.comparison.calibrator_study import method, methods
from dpcp_ledger.comparison.study_heatmaps import PANELS, BestMethod, choose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_ledger.comparison.calibrator_study import Comparison
    from dpcp_ledger.comparison.study_heatmaps import Panel


# Okabe and Ito's colours, which colour-blind readers tell apart; every cell also has its excess in
# figures.
_COLOURS = {
    "pcoqs-proven": "#8fc4e8",
    "pcoqs-proven*": "#0072b2",
    "pcoqs-coarse": "#c7dff0",
    "pcoqs-proved": "#b9c3c9",
    "pcoqs-proved*": "#33434c",
    "exponq-full": "#cc79a7",
    "exponq-proved": "#b08fd0",
    "exponq-proved*": "#6b4694",
    "histlap": "#f0e442",
    "ldpcp-s": "#f2b48a",
    "ldpcp-s*": "#d55e00",
    "ldpcp-s-shuffled": "#f6d58f",
    "ldpcp-s-shuffled*": "#e69f00",
    "diffprivlib": "#009e73",
    "opendp": "#9fdcc6",
}
_OTHER = "#999999"
"""Of a method of another package."""
_NOTHING = "#f2f2f2"
_INK = "#222222"
_CELL, _ROW, _TITLE, _FOOT = 0.46, 0.27, 0.62, 1.5
"""Inches: three maps of six columns stay legible in a column of text."""
_TITLE_WIDTH = 40


def draw_map(comparison: Comparison, *, subjects: Sequence[str], alpha: float) -> str:
    """Draw the n × ε map of the smallest sets among methods that cover, as an SVG document.

    Parameters
    ----------
    comparison : Comparison
        With split conformal prediction among its methods.
    subjects : sequence of str
        Names of pools, a column each.
    alpha : float
        One of the grid's.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    require_package("matplotlib", "report")
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    maps = {
        (panel.title, name): _choices(comparison, panel, name, alpha)
        for panel in PANELS
        for name in subjects
    }
    shown = {
        choice.row.method for cells in maps.values() for choice in cells.values() if choice.row
    }
    heading = (
        f"Which private calibrator gives the smallest sets? α = {number(alpha)}, "
        f"δ = {number(comparison.grid.delta)}"
    )
    settings = {"svg.hashsalt": "dpcp-audit", "svg.fonttype": "path", "font.size": 9.0}
    with mpl.rc_context(settings):  # type: ignore[arg-type]
        columns, rows = len(comparison.grid.sizes), len(comparison.grid.epsilons)
        wide, high = _CELL * columns * len(subjects), (_ROW * rows + _TITLE) * len(PANELS)
        canvas = cast(
            "Any", Canvas(figsize=(max(7.0, wide + 0.6), high + _FOOT), layout="constrained")
        )
        axes = canvas.subplots(len(PANELS), len(subjects), squeeze=False, sharex=True, sharey=True)
        for i, panel in enumerate(PANELS):
            for j, name in enumerate(subjects):
                _fill(axes[i, j], comparison, maps[panel.title, name])
                title = textwrap.fill(panel.title, _TITLE_WIDTH)
                axes[i, j].set_title(f"{title}:\n{name}", fontsize=8.5, loc="left")
        for below in axes[-1]:
            below.set_xlabel("n")
        for beside in axes[:, 0]:
            beside.set_ylabel("ε")
        _legend(canvas, [m.key for m in methods() if m.key in shown])
        canvas.suptitle(heading, fontsize=11)
        buffer = io.StringIO()
        canvas.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="white")
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _epsilons(comparison: Comparison) -> list[float]:
    return sorted(comparison.grid.epsilons)


def _choices(
    comparison: Comparison, panel: Panel, name: str, alpha: float
) -> dict[tuple[int, float], BestMethod]:
    return {
        (n, epsilon): choose(
            comparison,
            subject=name,
            n=n,
            alpha=alpha,
            epsilon=epsilon,
            panel=panel,
        )
        for n in comparison.grid.sizes
        for epsilon in comparison.grid.epsilons
    }


def _fill(
    axes: Any,
    comparison: Comparison,
    cells: Mapping[tuple[int, float], BestMethod],
) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    sizes, epsilons = sorted(comparison.grid.sizes), _epsilons(comparison)
    for (n, epsilon), choice in cells.items():
        x, y = sizes.index(n), epsilons.index(epsilon)
        colour = _COLOURS.get(choice.row.method, _OTHER) if choice.row else _NOTHING
        text = f"{choice.excess + 0:+.2f}".replace("-0.00", "+0.00") if choice.row else "–"
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white"))
        ink = "white" if _dark(colour) else _INK
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=8.5, color=ink)
    axes.set(xlim=(0, len(sizes)), ylim=(0, len(epsilons)))
    axes.set_xticks([i + 0.5 for i in range(len(sizes))], [_short(n) for n in sizes])
    axes.set_yticks([i + 0.5 for i in range(len(epsilons))], [f"{e:g}" for e in epsilons])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _short(size: int) -> str:
    """Return a sample size in four characters."""
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else str(size)


def _legend(canvas: Any, keys: Sequence[str]) -> None:
    from matplotlib.patches import Patch  # noqa: PLC0415

    handles = [Patch(facecolor=_COLOURS.get(key, _OTHER), label=_name(key)) for key in keys]
    handles.append(
        Patch(facecolor=_NOTHING, label="– none covers with less than 90 % of all labels")
    )
    canvas.legend(
        handles=handles,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=8,
        title="In a cell: labels a set more than split conformal prediction without privacy; "
        "k: thousand.\n† no theorem about its coverage. Pools that end in :log have the score\n"
        "log(1 − log p) in place of 1 − p, which orders the labels alike.",
        title_fontsize=8,
    )


def _name(key: str) -> str:
    chosen = method(key)
    return chosen.label if chosen.promise else f"{chosen.label} †"


def _dark(colour: str) -> bool:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 100
