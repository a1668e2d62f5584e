"""``dpcp-audit list``: the claims that a run tests, or the suites that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.frontends.cli import arguments

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.frontends.cli.arguments import Commands

_LONGEST = 400


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
    """Print the suites; the line of one that cannot be used, or is ignored, says so."""
    from dpcp_audit.engine.suite_code import package
    from dpcp_audit.engine.suites import entries, ignored, names

    for name in names():
        owners = " and ".join(map(package, entries(name)))
        _print_line(name, owners, _summary(name))
    for entry in ignored():
        _print_line(entry.name, package(entry), "ignored: dpcp-audit has a suite of this name")
    return 0


def _summary(name: str) -> str:
    from dpcp_audit.engine.suites import find
    from dpcp_audit.errors import UsageError

    try:
        return find(name).summary
    except UsageError as error:
        return f"cannot be used: {error}"


def _print_line(*columns: str) -> None:
    from dpcp_audit.targets.target_errors import one_line

    print("\t".join(one_line(column, longest=_LONGEST) for column in columns))
