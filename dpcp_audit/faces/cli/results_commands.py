"""The commands that read results files: report, compare, replay, ledger and schema."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import arguments
from dpcp_audit.reports.sentences import sentence, shown_estimate, shown_numbers
from dpcp_audit.reports.severity import named
from dpcp_audit.reports.terminal_findings import plain_line
from dpcp_audit.reports.witness import one_line
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.formatting import number
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.cli.arguments import Commands
    from dpcp_audit.words.checks import Row
    from dpcp_audit.words.results import Finding


def add_report(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser("report")
    arguments.add_results(parser)
    arguments.add_report(parser, required=True)
    parser.set_defaults(execute=execute_report)


def execute_report(options: argparse.Namespace) -> int:
    """Write the reports."""
    from dpcp_audit.reports.document import load, parse_reports, write_all

    writers = parse_reports(options.report, inputs=(options.results,))
    write_all(load(options.results), writers, results=options.results)
    return 0


_COMPARE = """\
Compare results files: the verdicts that changed, and the measured numbers (privacy losses, failure
rates, coverages) that moved by more than sampling explains. The runs may differ in their seeds and
sample sizes. With three files or more, each run's numbers are shown as a trend, and the oldest run
is tested against the newest.
"""
_COMPARE_EPILOG = """\
A claim got worse if it is newly refuted, or if its number moved significantly in the bad direction.
A search for the worst case may end at another case in each run. Such numbers are shown, but count
only with --strict.

exit codes:
  0  nothing got worse
  1  at least one claim did
  2  usage
  3  the new run left claims unchecked, and nothing got worse
"""


def add_compare(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "compare",
        description=_COMPARE,
        epilog=_COMPARE_EPILOG,
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
        help="probability of calling any number moved, if no mechanism has changed "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also count numbers that got worse at another case",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FORMAT=PATH",
        help="write the comparison: html=, json= or markdown=; PATH '-' is stdout; repeatable",
    )
    parser.set_defaults(execute=execute_compare)


def execute_compare(options: argparse.Namespace) -> int:
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
    paths = (options.old, *options.later)
    writers = parse_reports(options.report, formats, inputs=paths)
    documents = [load(path) for path in paths]
    comparison = compare(*documents, false_alarm=options.false_alarm, strict=options.strict)
    data = plain_record(comparison_data(comparison, documents, paths))
    try:
        write_all(data, writers)
    finally:
        to_stdout = any(writer.path is None for writer in writers)
        print_comparison(comparison, stream=sys.stderr if to_stdout else sys.stdout)
    if comparison.worsenings:
        return 1
    return 0 if comparison.complete else 3


_LONGEST_WITNESS = 400
"""Characters of a witness."""


_REPLAY = """\
Run one finding of a results file again. The finding of 'dpcp-audit check' is tested on the recorded
pair and event, or law of scores, by fresh draws of the current code. Any other finding is computed
again with its seed, and must come out the same.
"""
_REPLAY_EPILOG = """\
exit codes:
  0  the same verdict again
  1  another verdict
  2  usage
  3  the finding could not be checked
"""


def add_replay(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "replay",
        description=_REPLAY,
        epilog=_REPLAY_EPILOG,
    )
    parser.add_argument("finding_id", metavar="FINDING-ID", help="the id of a finding")
    arguments.add_results(parser)
    parser.set_defaults(execute=execute_replay)


def execute_replay(options: argparse.Namespace) -> int:
    """Run one finding again; 0 if the same comes out.

    Third-party code is tested again on the recorded pair and event (or law of scores), on fresh
    draws of the current code: exit code 0 means refuted again, or again not refuted. Any
    other check is repeated with its seed: verdict, evidence and witness must be the same, numbers
    up to the rounding of other machines.
    """
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.engine.suites import require, row_of
    from dpcp_audit.reports import document as documents
    from dpcp_audit.target_checks.target_claims import TargetClaim

    results = documents.load(options.results)
    recorded = _recorded(results, options.finding_id)
    settings = RunSettings.of_document(results)
    require(settings.suite)
    row = row_of(options.finding_id, settings.suite, **settings.given)
    confirms = isinstance(row.check, TargetClaim) and bool(recorded["witness"])
    finding = _confirmed(row, recorded, settings) if confirms else _repeated(row, settings)
    document = documents.to_document(settings, [finding], seconds=0.0, complete=True)
    (again,) = document["findings"]
    print(f"claim     {plain_line(recorded['id'])}: {plain_line(recorded['statement'])}")
    print(f"witness   {plain_line(one_line(recorded['witness'], limit=_LONGEST_WITNESS))}")
    print(f"recorded  {recorded['verdict']}  {_measured(recorded)}")
    print(f"{'now' if confirms else 'replayed':<10}{again['verdict']}  {_measured(again)}")
    if confirms:
        return _compared(recorded, again)
    same = all(
        documents.agree(recorded[key], again[key]) for key in ("verdict", "evidence", "witness")
    )
    print("reproduced" if same else "not reproduced")
    return 0 if same else 1


def _repeated(row: Row, settings: RunSettings) -> Finding:
    from dpcp_audit.engine.runner import check_row, share

    return check_row(row, settings, significance=share(settings))


def _confirmed(row: Row, recorded: dict[str, Any], settings: RunSettings) -> Finding:
    """Test a recorded witness on draws that no earlier run has had."""
    from dpcp_audit.engine.runner import share
    from dpcp_audit.engine.tasks import attempt
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Finding

    context = Context(
        seed=settings.seed, name=f"{row.claim.id} replay", significance=share(settings)
    )
    check: Any = row.check
    outcome, error, hint = attempt(lambda: check.confirm(recorded["witness"], context))
    return Finding(claim=row.claim, outcome=outcome, error=error, hint=hint)


def _compared(recorded: dict[str, Any], again: dict[str, Any]) -> int:
    """Say what became of a recorded case, and return the exit code."""
    was, is_ = (finding["verdict"] == Verdict.REFUTED for finding in (recorded, again))
    if again["verdict"] == Verdict.ERROR:
        print("the recorded case could not be tested")
        return 3
    if was and is_:
        print("reproduced: the recorded case still refutes the claim")
    elif was:
        print(
            "not reproduced: the current code is not refuted on the recorded case. Other cases may "
            "refute it: run the audit again"
        )
    elif is_:
        print("not reproduced: the recorded case now refutes the claim")
    else:
        print("reproduced: the recorded case still does not refute the claim")
    return 0 if was is is_ else 1


def _recorded(results: dict[str, Any], finding_id: str) -> dict[str, Any]:
    for finding in results["findings"]:
        if finding.get("id") == finding_id:
            return dict(finding)
    raise UsageError(f"the results hold no finding {finding_id!r}", hint=_near(results, finding_id))


def _near(results: dict[str, Any], finding_id: str) -> str:
    """Return the ids that a reader may have meant."""
    ids = [finding["id"] for finding in results["findings"]]
    near = difflib.get_close_matches(finding_id, ids, n=2, cutoff=0.3) or ids[:2]
    return f"did you mean {' or '.join(map(repr, near))}?" if near else "they hold no finding"


def _measured(finding: dict[str, Any]) -> str:
    evidence = finding["evidence"]
    if evidence is None:
        return plain_line(sentence(finding))
    value, ends = shown_numbers(shown_estimate(finding))
    sign = "" if value[:1] in "≥≤<>" else "= "
    claimed = number(evidence["claimed"])
    return plain_line(
        f"{named(evidence)} {sign}{' '.join([value, ends]).strip()}, claimed {claimed}"
    )


_LEDGER = """\
Write one page of all claims with their verdicts, sorted by paper, with the dates and versions of
the runs: --report markdown=ledger.md, --report html=ledger.html, or on stdout. The verdicts come
from results files, such as 'dpcp-audit run --suite papers --report json=papers.json' writes. The
page names the installed suites that have no results; --run tests them first.
"""
_LEDGER_EPILOG = """\
exit codes:
  0  no verdict contradicts its expectation
  1  at least one does
  2  usage
  3  a run is incomplete, or the page could not be written
"""


def add_ledger(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "ledger",
        description=_LEDGER,
        epilog=_LEDGER_EPILOG,
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
        help="write the page: html= or markdown=, or a PATH with such a suffix; PATH '-' is "
        "stdout; repeatable (default: markdown=-)",
    )
    parser.set_defaults(execute=execute_ledger)


def execute_ledger(options: argparse.Namespace) -> int:
    """Read the results, run what is missing where that is asked for, and write the page."""
    from dpcp_audit.faces.runs import exit_code
    from dpcp_audit.reports.document import load, parse_reports, write_all
    from dpcp_audit.reports.ledger_page import render_markdown, render_page

    formats = {"html": render_page, "markdown": render_markdown}
    reports = options.report or ["markdown=-"]
    writers = parse_reports(reports, formats, inputs=_files(options.results))
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
        found |= {name: _run_of(name, options.run) for name in missing}
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
    """Return the summary of each installed suite with claims of its own, or its error."""
    from dpcp_audit.engine import suites

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


def _run_of(suite: str, folder: Path) -> dict[str, Any]:
    from dpcp_audit.faces.cli.main import parser_of_commands
    from dpcp_audit.reports.document import load

    path = folder / f"{suite}.json"
    words = ["run", "--suite", suite, "--report", f"json={path}", "--quiet"]
    options = parser_of_commands("run").parse_args(words)
    options.execute(options)
    return load(path)


def add_schema(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("schema")
    parser.set_defaults(execute=execute_schema)


def execute_schema(options: argparse.Namespace) -> int:  # noqa: ARG001  (every command has options)
    """Print the schema."""
    from dpcp_audit.reports.results_schema import published_schema

    print(published_schema(), end="")
    return 0
