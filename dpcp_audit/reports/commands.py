"""What the commands of the command line do; each returns its exit code."""

from __future__ import annotations

import math
import sys
import time
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports import document as documents
from dpcp_audit.reports.errors import UsageError
from dpcp_audit.reports.progress import Progress, print_summary
from dpcp_audit.reports.runner import (
    CheckFinished,
    Profile,
    RunFinished,
    RunSettings,
    check,
)
from dpcp_audit.reports.runner import run as run_rows
from dpcp_audit.reports.suite import Suite, row_of, select
from dpcp_audit.reports.writers import Writer, parse_reports, write_all

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from dpcp_audit.audits.evidence import Finding
    from dpcp_audit.reports.suite.row import Row


def run(options: argparse.Namespace) -> int:
    """Put the selected claims to the test, report, and compare with what is expected."""
    writers = parse_reports(options.report)
    rows = _selected(options)
    settings = RunSettings(
        seed=options.seed,
        profile=Profile(options.profile),
        false_alarm=options.false_alarm,
        strict=options.strict,
        suite=Suite(options.suite),
        pools=tuple(options.pool),
    )
    started = time.perf_counter()
    findings: list[Finding] = []
    complete = False
    with Progress() as progress:
        try:
            for event in run_rows(rows, settings, jobs=options.jobs):
                progress.show(event)
                if isinstance(event, CheckFinished):
                    findings.append(event.finding)
                elif isinstance(event, RunFinished):
                    findings, complete = list(event.findings), True
        except KeyboardInterrupt:
            progress.note("interrupted; the report holds what was finished")
        except BrokenExecutor:
            progress.note("a worker process died; the report holds what was finished")
    results = documents.to_document(
        settings, findings, seconds=time.perf_counter() - started, complete=complete
    )
    _publish(results, writers)
    return _exit_code(results)


def list_claims(options: argparse.Namespace) -> int:
    """Print the ids, expected verdicts and sources of the selected claims."""
    for row in _selected(options):
        claim = row.claim
        expected = "-" if claim.expected is None else claim.expected
        print(f"{claim.id}\t{expected}\t{claim.source}\t{claim.statement}")
    return 0


def _selected(options: argparse.Namespace) -> list[Row]:
    try:
        return select(options.only, Suite(options.suite), tuple(options.pool))
    except UsageError:
        raise
    except ValueError as error:  # of a pool's file
        raise UsageError(f"--pool: {error}") from error


def report(options: argparse.Namespace) -> int:
    """Write reports from a results file."""
    write_all(documents.load(options.results), parse_reports(options.report))
    return 0


def replay(options: argparse.Namespace) -> int:
    """Run one finding again with its seed and settings; 0 if the same comes out.

    The same is the verdict, all of the evidence and the witness, numbers up to the rounding
    of other machines.
    """
    results = documents.load(options.results)
    recorded = _recorded(results, options.finding_id)
    settings = _settings(results)
    row_of(options.finding_id, settings.suite, settings.pools)
    again = documents.to_document(
        settings, [check(options.finding_id, settings)], seconds=0.0, complete=True
    )["findings"][0]
    print(f"claim     {recorded['id']}: {recorded['statement']}")
    print(f"witness   {_short(recorded['witness'])}")
    print(f"recorded  {recorded['verdict']}  {_measured(recorded)}")
    print(f"replayed  {again['verdict']}  {_measured(again)}")
    same = all(_same(recorded[key], again[key]) for key in ("verdict", "evidence", "witness"))
    print("the finding replays" if same else "the finding does NOT replay")
    return 0 if same else 1


def _publish(results: dict[str, Any], writers: tuple[Writer, ...]) -> None:
    """Write the reports; the summary goes to stdout unless a report does."""
    to_stdout = any(writer.path is None for writer in writers)
    try:
        write_all(results, writers)
    finally:
        print_summary(results, stream=sys.stderr if to_stdout else sys.stdout)


def _exit_code(results: dict[str, Any]) -> int:
    summary = results["summary"]
    if summary["contradictions"]:
        return 1
    return 3 if summary["ERROR"] or not results["complete"] else 0


def _recorded(results: dict[str, Any], finding_id: str) -> dict[str, Any]:
    for finding in results["findings"]:
        if finding.get("id") == finding_id:
            return dict(finding)
    raise UsageError(f"the results hold no finding {finding_id!r}")


def _settings(results: dict[str, Any]) -> RunSettings:
    try:
        return RunSettings(
            seed=results["seed"],
            profile=Profile(results["profile"]),
            false_alarm=results["false_alarm"],
            suite=Suite(results["suite"]),
            pools=tuple(results["pools"]),
        )
    except (KeyError, ValueError) as error:
        raise UsageError(f"the results file does not say how it was run: {error}") from error


def _measured(finding: dict[str, Any]) -> str:
    evidence = finding["evidence"]
    if evidence is None:
        return str(finding["error"])
    return (
        f"{evidence['quantity']} = {evidence['value']} in [{evidence['lower']}, "
        f"{evidence['upper']}], claimed {evidence['claimed']}"
    )


def _same(first: object, second: object) -> bool:
    """Tell whether two pieces of plain data agree, floats up to the rounding of other machines."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(first[k], second[k]) for k in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    return first == second


def _short(witness: object) -> str:
    text = str(witness)
    return text if len(text) <= 400 else text[:397] + "..."


COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "run": run,
    "list": list_claims,
    "report": report,
    "replay": replay,
}
