"""A run of checks: its outputs, its progress, and the results that are published."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine import journal as journals
from dpcp_audit.engine.journal import Journal
from dpcp_audit.engine.runner import Engine, Past, run
from dpcp_audit.engine.suites import require, suite
from dpcp_audit.engine.tasks import CheckFinished, Event, Log, RunFinished
from dpcp_audit.engine.worker_pool import Limits
from dpcp_audit.reports import document as documents
from dpcp_audit.reports.document import Writer, require_writable, write_all
from dpcp_audit.reports.terminal import Display, Progress, print_summary
from dpcp_audit.words.checks import Skipped
from dpcp_audit.words.errors import IncompleteError, UsageError, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path
    from types import FrameType

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.words.checks import Row
    from dpcp_audit.words.results import Finding


def require_outputs(options: argparse.Namespace) -> None:
    """Refuse an engine, a journal or a log that cannot be used, before anything is run.

    Raises
    ------
    UsageError
        If the option is invalid; the message names it.
    """
    Engine.parse(options.engine, jobs=options.jobs)
    for option, path in (("--journal", options.journal), ("--log", options.log)):
        if path is not None:
            require_writable(path, option=option)


_STOPPED = "not tested: the run was stopped before this claim was finished"


def watch(
    rows: Sequence[Row],
    settings: RunSettings,
    options: argparse.Namespace,
    decided: Sequence[Finding] = (),
) -> dict[str, Any]:
    """Run the checks with progress on stderr and return the results document.

    Parameters
    ----------
    options : Namespace
        Options of ``arguments.add_run_options``.
    decided : sequence of Finding
        Findings that planning has reached already.

    Raises
    ------
    UsageError
        If the options cannot be used, for example the journal of another run.
    MissingExtraError
        If the suite needs an extra that is not installed.
    """
    require(settings.suite)
    started = time.perf_counter()
    engine = Engine.parse(options.engine, jobs=options.jobs)
    limits = Limits(seconds=options.time_limit, memory=options.memory)
    findings: dict[str, Finding] = {}
    complete = False
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(_display_of(options)))
        past, listeners = _listeners(rows, settings, options, progress, stack)
        stack.enter_context(_termination_as_interrupt())
        events = run(rows, settings, engine=engine, limits=limits, past=past, decided=decided)
        try:
            for event in stack.enter_context(closing(events)):
                if isinstance(event, CheckFinished):  # first: what a journal holds, a report has
                    findings[event.finding.claim.id] = event.finding
                for listen in listeners:
                    listen(event)
                complete = isinstance(event, RunFinished)
        except (KeyboardInterrupt, IncompleteError) as end:
            progress.note(f"{str(end) or 'interrupted'}; the reports hold what was finished")
            progress.note(_how_to_go_on(options))
    ids = [row.claim.id for row in rows]
    found = [findings[each] for each in ids if each in findings]
    untested = [Skipped(name=each, reason=_STOPPED) for each in ids if each not in findings]
    settings = replace(settings, skipped=(*settings.skipped, *untested))
    return documents.to_document(
        settings,
        found,
        seconds=time.perf_counter() - started,
        complete=complete,
        config=getattr(options, "config", None),
    )


def resumed(path: Path, *, targets: Sequence[CheckSpec] = ()) -> tuple[list[Row], RunSettings]:
    """Return the rows and settings of the run whose journal this is.

    Parameters
    ----------
    targets : sequence of CheckSpec
        The targets that the command line names, not yet planned. A journal alone has nothing run:
        whoever can write one could name any program in it.

    Raises
    ------
    UsageError
        If it cannot be read, or is of checks of other code.
    """
    recorded = journals.read(path)
    settings, ids = recorded.settings, set(recorded.head.ids)
    if len(settings.targets) != len(targets) or not all(map(_is, settings.targets, targets)):
        names = ", ".join(shown(spec.name, 60) for spec in settings.targets) or "no code"
        raise UsageError(
            f"--resume: {path} is of checks of {names}, with options that the command line must "
            "name too",
            hint="repeat the command that began it, with --resume in place of --journal",
        )
    rows = suite(settings.suite, **settings.given)
    return [row for row in rows if row.claim.id in ids], settings


def _is(recorded: CheckSpec, named: CheckSpec) -> bool:
    """Return True if a check is the one that was named, but for what is planned."""
    return replace(recorded, planned=named.planned, location=named.location) == named


def _listeners(
    rows: Sequence[Row],
    settings: RunSettings,
    options: argparse.Namespace,
    progress: Progress,
    stack: ExitStack,
) -> tuple[Past | None, list[Callable[[Event], None]]]:
    """Return the finished work, and the receivers of events, the journal first."""
    past: Past | None = None
    listeners: list[Callable[[Event], None]] = []
    if options.resume is not None:
        if options.journal is not None:
            raise UsageError(
                "--journal cannot be combined with --resume, which continues its own journal",
                hint="leave --journal out",
            )
        journal, recorded = stack.enter_context(Journal.resume(options.resume, rows, settings))
        past = recorded.past(rows)
        if recorded.torn:
            progress.note(f"{options.resume}: dropped its last line, which is not whole")
        progress.note(f"going on with {options.resume}: {len(past.findings)} checks finished")
        listeners.append(journal.record)
    elif options.journal is not None:
        journal = stack.enter_context(Journal.create(options.journal, rows, settings))
        listeners.append(journal.record)
    if options.log is not None:
        try:
            log = stack.enter_context(closing(Log(options.log)))
        except OSError as error:
            raise UsageError(
                f"--log: {options.log}: {error.strerror}", hint="name a file that can be written to"
            ) from error
        listeners.append(log.write)
    return past, [*listeners, progress.show]


def _how_to_go_on(options: argparse.Namespace) -> str:
    path = options.resume or options.journal
    if path is None:
        return "a run with --journal PATH can be resumed"
    resume = f"--resume {shlex.quote(str(path))}"
    if options.command == "check":
        return f"go on with the same command, and {resume} in place of --journal"
    return f"go on with: dpcp-audit {options.command} {resume}"


@contextmanager
def _termination_as_interrupt() -> Generator[None]:
    """Treat SIGTERM as Ctrl-C."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt("terminated")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def publish(
    results: dict[str, Any],
    writers: tuple[Writer, ...],
    options: argparse.Namespace,
    show: Callable[..., None] | None = None,
) -> None:
    """Write the reports; what ``show`` prints, a summary unless given, goes to stdout.

    It is called as ``print_summary`` is, with the results file that was written, if there is one.
    Of a quiet run it is the sum alone. Where a report goes to stdout, it goes to stderr. Of a run
    that was stopped the reports have no figures, since whoever stopped it waits; ``dpcp-audit
    report`` draws them from the results.
    """
    display = _display_of(options)
    to_stdout = any(writer.path is None for writer in writers)
    written = (writer.path for writer in writers if writer.render is documents.dump)
    try:
        write_all(results, writers, figures=results["complete"])
    finally:
        (print_summary if display.quiet or show is None else show)(
            results,
            stream=sys.stderr if to_stdout else sys.stdout,
            results=next((path for path in written if path is not None), None),
            display=display,
        )


def _display_of(options: argparse.Namespace) -> Display:
    """Return the amount to show, from the options of ``arguments.add_display``."""
    return Display(
        quiet=options.quiet, verbose=options.verbose, show=tuple(map(str.upper, options.show))
    )


def exit_code(results: dict[str, Any]) -> int:
    """Return 1 where a verdict contradicts its expectation, 3 where the run is incomplete.

    What was skipped makes a run incomplete where it is strict.
    """
    summary = results["summary"]
    if summary["contradictions"]:
        return 1
    skipped = results["strict"] and results.get("skipped")
    return 3 if summary["ERROR"] or not results["complete"] or skipped else 0
