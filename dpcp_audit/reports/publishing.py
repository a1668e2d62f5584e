"""From a run's events to its results document, its reports and its exit code."""

from __future__ import annotations

import sys
import time
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports import document as documents
from dpcp_audit.reports.progress import Progress, print_summary
from dpcp_audit.reports.runner import CheckFinished, RunFinished, run
from dpcp_audit.reports.writers import Writer, write_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.evidence import Finding
    from dpcp_audit.reports.settings import RunSettings
    from dpcp_audit.reports.suite.row import Row


def watch(rows: Sequence[Row], settings: RunSettings, *, jobs: int) -> dict[str, Any]:
    """Run the checks with progress on stderr and return the results document."""
    started = time.perf_counter()
    findings: list[Finding] = []
    complete = False
    with Progress() as progress:
        try:
            for event in run(rows, settings, jobs=jobs):
                progress.show(event)
                if isinstance(event, CheckFinished):
                    findings.append(event.finding)
                elif isinstance(event, RunFinished):
                    findings, complete = list(event.findings), True
        except KeyboardInterrupt:
            progress.note("interrupted; the report holds what was finished")
        except BrokenExecutor:
            progress.note("a worker process died; the report holds what was finished")
    return documents.to_document(
        settings, findings, seconds=time.perf_counter() - started, complete=complete
    )


def publish(results: dict[str, Any], writers: tuple[Writer, ...]) -> None:
    """Write the reports; the summary goes to stdout unless a report does."""
    to_stdout = any(writer.path is None for writer in writers)
    try:
        write_all(results, writers)
    finally:
        print_summary(results, stream=sys.stderr if to_stdout else sys.stdout)


def exit_code(results: dict[str, Any]) -> int:
    """Return 1 where a verdict contradicts its expectation, 3 where the run is incomplete."""
    summary = results["summary"]
    if summary["contradictions"]:
        return 1
    return 3 if summary["ERROR"] or not results["complete"] else 0
