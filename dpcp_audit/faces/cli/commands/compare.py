"""``dpcp-audit compare``: what changed between two runs, or over many."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.faces.cli import arguments

if TYPE_CHECKING:
    from dpcp_audit.faces.cli.arguments import Commands


_DESCRIPTION = """\
Compare results files: the verdicts that changed, and the measured numbers (privacy losses, failure
rates, coverages) that moved by more than sampling explains. The runs may differ in their seeds and
sample sizes. With three files or more, each run's numbers are shown as a trend, and the oldest run
is tested against the newest.
"""
_EPILOG = """\
A claim got worse where it is refuted and was not, or where its number moved significantly to the
bad side. Numbers that were measured at different cases, as a search for the worst case brings
about, are shown but count only with --strict.

exit codes:
  0  nothing got worse
  1  at least one claim did
  2  usage
  3  the new run left claims unchecked, and nothing got worse
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "compare",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("old", type=Path, metavar="OLD.json", help="results of the oldest run")
    parser.add_argument(
        "later", type=Path, nargs="+", metavar="NEW.json", help="results of later runs, in order"
    )
    parser.add_argument(
        "--false-alarm",
        type=arguments.probability,
        default=1e-3,
        metavar="P",
        help="probability that any number of unchanged mechanisms is called moved "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="numbers that got worse at another case count, too",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FORMAT=PATH",
        help="write the comparison: html=, json= or markdown=; PATH '-' is stdout; repeatable",
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Compare the two files and print what changed."""
    from dpcp_audit.engine.tasks import plain_record
    from dpcp_audit.reports.differences import (
        comparison_data,
        print_comparison,
        render_markdown,
        render_page,
    )
    from dpcp_audit.reports.document import dump, load, parse_reports, write_all
    from dpcp_audit.reports.two_runs import compare

    formats = {"html": render_page, "json": dump, "markdown": render_markdown}
    writers = parse_reports(options.report, formats)
    documents = [load(path) for path in (options.old, *options.later)]
    comparison = compare(*documents, false_alarm=options.false_alarm, strict=options.strict)
    data = plain_record(comparison_data(comparison, documents))
    try:
        write_all(data, writers)
    finally:
        to_stdout = any(writer.path is None for writer in writers)
        print_comparison(comparison, stream=sys.stderr if to_stdout else sys.stdout)
    if comparison.worsenings:
        return 1
    return 0 if comparison.complete else 3
