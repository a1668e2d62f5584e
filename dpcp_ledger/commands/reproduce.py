"""``dpcp-audit reproduce``: the papers' tables beside ours."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.runs import add_suite_options, run_suite

if TYPE_CHECKING:
    from typing import TextIO

    from dpcp_audit.extensions.runs import Commands


_DESCRIPTION = """\
Run the suite 'reproduction' and print its tables: every number as the paper prints it, as the
published procedure gives it, and as the algorithm in the text gives it. --report tables= writes
them as Markdown, cells= as CSV in full precision.
"""
_EPILOG = """\
exit codes:
  0  every table comes out as expected
  1  one does not
  2  usage
  3  something could not be completed

time of 'all' on two cores: smoke under a minute, ci about four, full over an hour (two
random forests are fitted 7,000 times each): give --budget 6h and --journal. Tables of private
models need diffprivlib: pip install 'dpcp-audit[targets]'.
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "reproduce",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="ID",
        help="experiments to run, such as pcoqs-table-5; 'list' lists them, 'all' runs them all",
    )
    add_suite_options(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Reproduce the chosen experiments, print their tables and publish the results."""
    from dpcp_audit.extensions.claims import UsageError
    from dpcp_audit.extensions.runs import exit_code
    from dpcp_ledger.claims.reproduced_tables import row_id
    from dpcp_ledger.reproduce import experiments

    if options.experiments == ["list"]:
        for experiment in experiments.experiments().values():
            print(f"{experiment.id}\t{experiment.source}\t{experiment.title}")
        return 0
    if not options.experiments and options.resume is None:
        raise UsageError("give an ID, 'all' or 'list'")
    chosen = [row_id(experiment) for experiment in experiments.select(options.experiments)]
    return exit_code(
        run_suite(options, fixed={"suite": "reproduction"}, only=chosen, show=show_tables)
    )


def show_tables(document: dict[str, Any], *, stream: TextIO, **others: Any) -> None:
    """Print the tables, and then the summary."""
    from dpcp_audit.extensions.runs import print_summary, print_tables

    print_tables(document, stream=stream)
    print_summary(document, stream=stream, **others)
