"""``dpcp-audit compare-calibrators``: all calibrators at equal privacy."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.runs import EXIT_CODES, add_suite_options, arguments, run_suite
from dpcp_ledger.commands.reproduce import show_tables

if TYPE_CHECKING:
    from dpcp_audit.extensions.runs import Commands


_DESCRIPTION = """\
Run the suite 'comparison': split conformal prediction, P-COQS, ExponQ, HistLap, LDP-CP and, where
they are installed, the quantiles of diffprivlib and OpenDP, each with the noise that one and the
same (ε, δ) asks of it. Prints a table a subject, with which calibrator to use when; --report
tables= has the tables as Markdown, cells= their numbers in full precision. 'dpcp-audit run --suite
tables' has the same runs in its report, beside the papers' tables.
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
        metavar="FILE.npz",
        help="compare on saved probabilities and labels too; repeatable",
    )
    parser.add_argument(
        "--delta", type=arguments.probability, metavar="D", help="δ of every budget (default: 1e-6)"
    )
    add_suite_options(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Compare, print the tables and publish the results."""
    from dpcp_audit.extensions.runs import exit_code

    given = {"alphas": options.alpha, "delta": options.delta}
    given = {name: value for name, value in given.items() if value}
    fixed: dict[str, Any] = {"suite": "comparison"} | ({"options": given} if given else {})
    return exit_code(run_suite(options, fixed=fixed, show=show_tables))
