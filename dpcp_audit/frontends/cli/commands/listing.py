"""``dpcp-audit list``: the claims that a run tests, or the suites that there are."""

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
    parser.add_argument(
        "--suites",
        action="store_true",
        help="list the suites instead, those of other packages too: name, package, what it tests",
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print the ids, expected verdicts and sources of the selected claims."""
    from dpcp_audit.engine.suites import select

    if options.suites:
        return _list_suites()
    for row in select(options.only, options.suite, pools=tuple(options.pool)):
        claim = row.claim
        expected = "-" if claim.expected is None else claim.expected
        print(f"{claim.id}\t{expected}\t{claim.source}\t{claim.statement}")
    return 0


def _list_suites() -> int:
    """Print the suites; one that cannot be used is said on stderr, and ends with exit code 2."""
    import sys

    from dpcp_audit.engine.suites import entry_of, find, names, package
    from dpcp_audit.errors import UsageError

    code = 0
    for name in names():
        try:
            print(f"{name}\t{package(entry_of(name))}\t{find(name).summary}")
        except UsageError as error:
            print(f"dpcp-audit list: error: {error}", file=sys.stderr)
            code = 2
    return code
