"""``dpcp-audit selftest``: planted bugs that checks must catch, and twins that they must not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.runs import add_suite_options, run_suite

if TYPE_CHECKING:
    from typing import TextIO

    from dpcp_audit.extensions.runs import Commands, Display


_DESCRIPTION = """\
Run the zoo: private calibrators with a planted bug whose true loss is known, and their correct
twins. -v prints tables of which check catches which bug, at which budget, with which witness. It
is 'dpcp-audit run --suite zoo --strict' with another summary.
"""
_EPILOG = """\
exit codes:
  0  every check caught the bugs that it is meant to see, and no correct twin was refuted
  1  a bug was missed, or a true claim refuted
  2  usage
  3  something could not be completed
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "selftest",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GLOB",
        help="only findings whose id matches, such as 'zoo.noise-*'; repeatable",
    )
    add_suite_options(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Run the zoo, print its table, and publish the results."""
    from dpcp_audit.extensions.runs import exit_code

    fixed = {"suite": "zoo", "strict": True}
    return exit_code(run_suite(options, fixed=fixed, only=options.only, show=_show))


def _show(document: dict[str, Any], *, stream: TextIO, display: Display, **others: Any) -> None:
    """Print what went wrong and the sum; the tables too, where more is asked for."""
    from dataclasses import replace

    from dpcp_audit.extensions.runs import print_summary, print_tables
    from dpcp_ledger.zoo.zoo_suite import failures

    if display.verbose:
        print_tables(document, stream=stream)
    else:
        print(*failures(document), "-v shows which check sees which bug.", sep="\n", file=stream)
    print_summary(document, stream=stream, display=replace(display, quiet=True), **others)
