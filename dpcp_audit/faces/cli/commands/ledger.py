"""``dpcp-audit ledger``: one page of the claims of all suites, sorted by paper."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit.faces.cli.arguments import Commands


_DESCRIPTION = """\
Write one page of all claims with their verdicts, sorted by paper, with the dates and versions of
the runs: --report markdown=ledger.md, --report html=ledger.html, or on stdout. The verdicts come
from results files, such as 'dpcp-audit run --suite papers --report json=papers.json' writes. Of
suites that are installed and have no results among them the page says so; --run tests them first.
"""
_EPILOG = """\
exit codes:
  0  no verdict contradicts its expectation
  1  at least one does
  2  usage
  3  a run is incomplete, or the page could not be written
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "ledger",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "results",
        nargs="*",
        type=Path,
        metavar="RESULTS",
        help="results files, or folders of them",
    )
    parser.add_argument(
        "--run",
        type=Path,
        metavar="FOLDER",
        help="run every installed suite without results, and keep them there as NAME.json; the "
        "results in the folder count",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FORMAT=PATH",
        help="write the page: html= or markdown=, or a PATH whose suffix says which; PATH '-' is "
        "stdout; repeatable (default: markdown=-)",
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Read the results, run what is missing where that is asked for, and write the page."""
    from dpcp_audit.faces.runs import exit_code
    from dpcp_audit.reports.document import load, parse_reports, write_all
    from dpcp_audit.reports.ledger_page import render_markdown, render_page

    formats = {"html": render_page, "markdown": render_markdown}
    writers = parse_reports(options.report or ["markdown=-"], formats)
    folders = []
    if options.run:
        if options.run.exists() and not options.run.is_dir():
            raise UsageError(f"--run: {options.run} is no folder", hint="name one, or a new one")
        options.run.mkdir(parents=True, exist_ok=True)
        folders = [options.run]
    found: dict[str, dict[str, Any]] = {}
    paths = _files([*options.results, *folders])
    if not paths and not options.run:
        raise UsageError(
            "RESULTS must be results files, or folders of them, got none",
            hint="'dpcp-audit run --report json=papers.json' writes one; --run FOLDER all of them",
        )
    for path in paths:
        document = load(path)
        found[str(document["suite"])] = document
    missing = {name: summary for name, summary in _installed().items() if name not in found}
    if options.run:
        found |= {name: _run(name, options.run) for name in missing}
        missing = {}
    data = {"runs": [found[name] for name in _in_order(found)], "missing": missing}
    write_all(data, writers)
    codes = [exit_code(document) for document in found.values()]
    return 1 if 1 in codes else max(codes, default=0)


def _files(paths: Iterable[Path]) -> list[Path]:
    """Return the files, and those of folders, in alphabetical order."""
    return [
        file
        for path in paths
        for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])
    ]


def _installed() -> dict[str, str]:
    """Return what each installed suite with claims of its own tests; of a broken one, why."""
    from dpcp_audit.engine import suites
    from dpcp_audit.words.errors import UsageError

    found: dict[str, str] = {}
    for name in suites.names():
        try:
            suite = suites.find(name)
        except UsageError as error:
            found[name] = str(error)
            continue
        if not suite.given_by:
            found[name] = suite.summary
    return found


def _in_order(found: Iterable[str]) -> list[str]:
    """Return the suites as they are registered, and then all others."""
    installed = list(_installed())
    return sorted(found, key=lambda name: installed.index(name) if name in installed else 999)


def _run(suite: str, folder: Path) -> dict[str, Any]:
    from dpcp_audit.faces.cli.main import parser_of_commands
    from dpcp_audit.reports.document import load

    path = folder / f"{suite}.json"
    words = ["run", "--suite", suite, "--report", f"json={path}", "--quiet"]
    options = parser_of_commands("run").parse_args(words)
    options.execute(options)
    return load(path)
