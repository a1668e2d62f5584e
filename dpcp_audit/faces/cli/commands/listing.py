"""``dpcp-audit list``: the claims that a run tests, or the suites that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from dpcp_audit.faces.cli.arguments import Commands
    from dpcp_audit.words.results import Claim


_LONGEST = 400


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser("list", allow_abbrev=False)
    arguments.add_selection(parser)
    parser.add_argument(
        "--suites",
        action="store_true",
        help="list the suites instead, those of other packages too: name, package, what it tests",
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON list of objects instead of a table"
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print the ids, expected verdicts, standings and statements of the selected claims."""
    from dpcp_audit.engine.suites import select

    if options.suites:
        lines = list(_suites())
    else:
        rows = select(options.only, options.suite, pools=tuple(options.pool))
        lines = [_line(row.claim, whole=options.json) for row in rows]
    if options.json:
        _print_json(lines)
    else:
        _print_table(lines)
    return 0


def _line(claim: Claim, *, whole: bool) -> dict[str, Any]:
    """Return what is told of a claim; ``whole`` adds what a program may ask for."""
    told = {
        "claim": claim.id,
        "expected": "-" if claim.expected is None else str(claim.expected),
        "standing": str(claim.standing),
        "source": str(claim.source),
        "statement": claim.statement,
    }
    return told | {"parameters": claim.parameters} if whole else told


def _suites() -> Iterator[dict[str, Any]]:
    """Yield the suites; the line of one that cannot be used, or is ignored, says so."""
    from dpcp_audit.engine.suites import entries, ignored, names, package

    for name in names():
        owners = " and ".join(map(package, entries(name)))
        yield {"suite": name, "package": owners, "tests": _summary(name)}
    for entry in ignored():
        told = "ignored: dpcp-audit has a suite of this name"
        yield {"suite": entry.name, "package": package(entry), "tests": told}


def _summary(name: str) -> str:
    from dpcp_audit.engine.suites import find
    from dpcp_audit.words.errors import UsageError

    try:
        return find(name).summary
    except UsageError as error:
        return f"cannot be used: {error}"


def _print_json(lines: Sequence[dict[str, Any]]) -> None:
    import json

    from dpcp_audit.engine.tasks import plain_data

    print(json.dumps(plain_data(list(lines)), ensure_ascii=False, indent=2))


def _print_table(lines: Sequence[dict[str, Any]]) -> None:
    """Print a head and a line each, aligned; a terminal cuts the last column at its width."""
    import shutil
    import sys

    from dpcp_audit.targets.answers import one_line
    from dpcp_audit.words.formatting import clipped

    table = [[one_line(str(cell), longest=_LONGEST) for cell in line.values()] for line in lines]
    heads = [list(lines[0])] if lines else []
    widths = [max(map(len, column)) for column in zip(*heads, *table, strict=True)]
    for cells in [*heads, *table]:
        text = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        if sys.stdout.isatty():
            room = max(shutil.get_terminal_size().columns, widths[0] + 1)
            text = clipped(text, room)
        print(text.rstrip())
