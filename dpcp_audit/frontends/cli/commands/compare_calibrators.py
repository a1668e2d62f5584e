"""``dpcp-audit compare-calibrators``: all calibrators at equal privacy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.frontends.cli import arguments

if TYPE_CHECKING:
    from dpcp_audit.frontends.cli.arguments import Commands
    from dpcp_audit.papers.comparison.calibrator_study import Comparison, Grid

_DESCRIPTION = """\
Compare split conformal prediction, P-COQS, ExponQ, HistLap, LDP-CP and, where they are
installed, the quantiles of diffprivlib and OpenDP, each with the noise that one and the same
(ε, δ) asks of it. Prints a Markdown table; --output writes the page, its table and its map.
'dpcp-audit run --suite tables' has the same runs in its report, beside the papers' tables.
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "compare-calibrators",
        help="compare all calibrators at equal privacy",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="the whole grid over n, ε and α, in place of a quick one",
    )
    parser.add_argument(
        "--alpha",
        action="append",
        type=float,
        default=[],
        metavar="A",
        help="compare at this α alone; repeatable",
    )
    parser.add_argument(
        "--pool",
        action="append",
        default=[],
        metavar="FILE.npz|NAME",
        help="compare on saved probabilities and labels too, or on a network trained with DP or "
        "without: digits-dp-adam-cnn-eps8, digits-adam-cnn, and the like with head, logistic, "
        "breast-cancer; repeatable",
    )
    parser.add_argument(
        "--delta",
        type=arguments.probability,
        default=1e-6,
        metavar="D",
        help="δ of every budget (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write comparison.md, comparison.csv and comparison.svg there",
    )
    arguments.add_seed(parser)
    arguments.add_jobs(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Compare, and print or write the outcome."""
    from dpcp_audit.papers.comparison.calibrator_study import compare

    comparison = compare(_grid(options), jobs=options.jobs)
    if options.output is None:
        _print(comparison)
    else:
        _write(comparison, options.output)
    return 0


def _grid(options: argparse.Namespace) -> Grid:
    from dataclasses import replace

    from dpcp_audit.errors import UsageError
    from dpcp_audit.papers.comparison.calibrator_study import QUICK, Grid

    grid = Grid() if options.full else QUICK
    try:
        return replace(
            grid,
            subjects=(*grid.subjects, *options.pool),
            alphas=tuple(options.alpha) or grid.alphas,
            delta=options.delta,
            seed=options.seed,
        )
    except (ValueError, RuntimeError) as error:  # the latter where PyTorch is missing
        raise UsageError(str(error)) from error


def _print(comparison: Comparison) -> None:
    import sys

    from dpcp_audit.papers.comparison.study_tables import case_table
    from dpcp_audit.papers.comparison.subjects import subject

    grid = comparison.grid
    for name in (subject(given).name for given in grid.subjects):
        for n in grid.sizes:
            for alpha in grid.alphas:
                for epsilon in grid.epsilons:
                    print(f"## {name}, n = {n}, ε = {epsilon:g}, α = {alpha:g}\n")
                    table = case_table(comparison, subject=name, n=n, alpha=alpha, epsilon=epsilon)
                    print(f"{table}\n")
    for key, reason in comparison.skipped:
        print(f"left out: {key}: {reason}", file=sys.stderr)


def _write(comparison: Comparison, folder: Path) -> None:
    from dpcp_audit.errors import IncompleteError
    from dpcp_audit.papers.comparison.best_method_map import draw_map
    from dpcp_audit.papers.comparison.study_page import comparison_page
    from dpcp_audit.papers.comparison.study_tables import rows_csv
    from dpcp_audit.papers.comparison.subjects import subject

    grid = comparison.grid
    data = {item.name: item.labelled for item in map(subject, grid.subjects) if item.labelled}
    shown = [name for name, held in data.items() if held.scores.shape[1] > 2] or list(data)
    alpha = min(grid.alphas, key=lambda a: abs(a - 0.1))
    files = {
        "comparison.csv": rows_csv(comparison.rows),
        "comparison.svg": draw_map(comparison, subjects=shown, alpha=alpha),
        "comparison.md": comparison_page(comparison, image="comparison.svg"),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise IncompleteError(f"the comparison could not be written: {error}") from error
