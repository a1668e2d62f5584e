"""``dpcp-audit list``: the claims that a run checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.frontends.cli import arguments

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.frontends.cli.arguments import Commands


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "list", help="list the claims that a run checks", allow_abbrev=False
    )
    arguments.add_selection(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print the ids, expected verdicts and sources of the selected claims."""
    from dpcp_audit.engine.suites import Suite, select

    for row in select(options.only, Suite(options.suite), tuple(options.pool)):
        claim = row.claim
        expected = "-" if claim.expected is None else claim.expected
        print(f"{claim.id}\t{expected}\t{claim.source}\t{claim.statement}")
    return 0
