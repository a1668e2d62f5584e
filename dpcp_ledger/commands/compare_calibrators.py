"""``dpcp-audit compare-calibrators``: all calibrators at equal privacy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.runs import EXIT_CODES, add_suite_options, arguments, run_suite

if TYPE_CHECKING:
    from typing import TextIO

    from dpcp_audit.extensions.runs import Commands


_FILES = ("comparison.csv", "comparison.svg", "comparison.md")
"""What ``--output`` writes: the table, the map and the page."""
_DESCRIPTION = """\
Run the suite 'comparison': split conformal prediction, P-COQS, ExponQ, HistLap, LDP-CP and, where
they are installed, the quantiles of diffprivlib and OpenDP, each with the noise that one and the
same (ε, δ) asks of it. Prints a Markdown table a case; --output writes the page, its table and its
map. 'dpcp-audit run --suite tables' has the same runs in its report, beside the papers' tables.
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "compare-calibrators",
        description=_DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--full",
        action="store_const",
        const="full",
        dest="profile",
        help="the whole grid over n, ε and α, in place of a quick one: --profile full",
    )
    parser.add_argument(
        "--alpha",
        action="append",
        type=arguments.probability,
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
        metavar="D",
        help="δ of every budget (default: 1e-6)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write comparison.md, comparison.csv and comparison.svg there, instead of printing",
    )
    add_suite_options(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Compare, print or write the tables, and publish the results."""
    from dpcp_audit.extensions.reports import require_writable
    from dpcp_audit.extensions.runs import exit_code

    given = {"alphas": options.alpha, "delta": options.delta}
    given = {name: value for name, value in given.items() if value}
    fixed: dict[str, Any] = {"suite": "comparison"} | ({"options": given} if given else {})
    if options.output is None:
        return exit_code(run_suite(options, fixed=fixed, show=_show))
    _create(options.output)
    for name in _FILES:
        require_writable(options.output / name, option="--output")
    results = run_suite(options, fixed=fixed)
    _write(results, options.output)
    return exit_code(results)


def _show(document: dict[str, Any], *, stream: TextIO, **others: Any) -> None:
    """Print a table a case, what was left out, and then the summary."""
    from itertools import product

    from dpcp_audit.extensions.reports import print_summary
    from dpcp_ledger.comparison.study_document import comparison_of
    from dpcp_ledger.comparison.study_tables import case_table

    if any(finding["tables"] for finding in document["findings"]):
        found = comparison_of(document)
        grid = found.grid
        for name, n, alpha, epsilon in product(found.names, grid.sizes, grid.alphas, grid.epsilons):
            table = case_table(found, subject=name, n=n, alpha=alpha, epsilon=epsilon)
            print(f"## {name}, n = {n}, ε = {epsilon:g}, α = {alpha:g}\n\n{table}\n", file=stream)
        for key, reason in found.skipped:
            print(f"left out: {key}: {reason}", file=stream)
    print_summary(document, stream=stream, **others)


def _create(folder: Path) -> None:
    from dpcp_audit.extensions.claims import IncompleteError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IncompleteError(f"the comparison could not be written: {error}") from error


def _write(document: dict[str, Any], folder: Path) -> None:
    from dataclasses import replace

    from dpcp_audit.extensions.claims import IncompleteError, write_whole
    from dpcp_ledger.comparison.best_method_map import draw_map
    from dpcp_ledger.comparison.calibrator_study import timings
    from dpcp_ledger.comparison.study_document import comparison_of
    from dpcp_ledger.comparison.study_page import comparison_page
    from dpcp_ledger.comparison.study_tables import rows_csv

    if not document["complete"]:
        raise IncompleteError("the comparison was not completed, so its page was not written")
    found = comparison_of(document)
    found = replace(found, timings=tuple(timings(found.grid)))
    labels = {row.subject: row.labels for row in found.rows if row.labels}
    shown = [name for name, count in labels.items() if count > 2] or list(labels)
    alpha = min(found.grid.alphas, key=lambda a: abs(a - 0.1))
    texts = (
        rows_csv(found.rows),
        draw_map(found, subjects=shown, alpha=alpha),
        comparison_page(found, image="comparison.svg"),
    )
    try:
        for name, text in zip(_FILES, texts, strict=True):
            write_whole(folder / name, text)
    except OSError as error:
        raise IncompleteError(f"the comparison could not be written: {error}") from error
