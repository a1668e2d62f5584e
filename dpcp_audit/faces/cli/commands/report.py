"""``dpcp-audit report``: reports from a results file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.faces.cli import arguments

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.faces.cli.arguments import Commands


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser("report", allow_abbrev=False)
    arguments.add_results(parser)
    arguments.add_report(parser, required=True)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Write the reports."""
    from dpcp_audit.reports.document import load, parse_reports, write_all

    write_all(load(options.results), parse_reports(options.report), results=options.results)
    return 0
