"""A run of checks: the draws that each needs, the progress, and the results that are published."""

from __future__ import annotations

import math
import shlex
import signal
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine import cell_template
from dpcp_audit.engine import journal as journals
from dpcp_audit.engine.journal import Journal
from dpcp_audit.engine.runner import Engine, Past, run
from dpcp_audit.engine.suites import require, suite
from dpcp_audit.engine.tasks import (
    CheckFinished,
    Event,
    Log,
    RunFinished,
    Task,
    decode,
    pickled,
)
from dpcp_audit.engine.worker_pool import DEFAULT_SECONDS, Limits, WorkerProcess
from dpcp_audit.reports import document as documents
from dpcp_audit.reports.document import Writer, require_writable, write_all
from dpcp_audit.reports.sentences import power_sentence
from dpcp_audit.reports.terminal import Display, Progress, print_summary
from dpcp_audit.target_checks import planned_calls as time_limits
from dpcp_audit.target_checks.planned_calls import calls_for, cut_words, short_words, typical
from dpcp_audit.target_checks.target_claims import TargetClaim, import_audits
from dpcp_audit.target_checks.target_rows import check_of
from dpcp_audit.targets import TargetError
from dpcp_audit.targets.loading import raised
from dpcp_audit.words.checks import Context, Skipped
from dpcp_audit.words.errors import HINT, IncompleteError, UsageError, shown
from dpcp_audit.words.formatting import number
from dpcp_audit.words.results import Finding, SourceLocation

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path
    from types import FrameType

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Row


FEWEST = 2**11
"""A budget cuts to these at most: fewer calls miss a hundredth of the noise."""
_SHARE = 0.7
"""The share of the budget that is planned; the rest is for a machine that gets busier."""
_TIMED_SHARE = 0.1
"""The share of the budget that small timed audits may take."""
_OWN_SECONDS = 2e-5
"""Seconds that an audit itself takes per output, about, where none can be timed."""
_TIMING_SECONDS = 1.0
_PATIENCE_SECONDS, _LEAST_PATIENCE_SECONDS = 60.0, 5.0
"""The longest and shortest time for a target to load and answer first: its budget, in between."""
_LEAST_ROOM = 0.25
"""The smallest share of the budget for calls, where processes are slow to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timing:
    """Opens a target where it cannot do harm, and times it.

    Parameters
    ----------
    proves : bool
        True if claims that the source decides are decided; where all are, no call is timed.
    """

    spec: CheckSpec
    proves: bool = False

    def __call__(self, context: Context) -> dict[str, Any]:
        """Return the place of the source and what calls take, or what went wrong.

        ``seconds`` is what a call takes; with a budget ``rates`` has, for each claim, what a
        call takes with the audit's own work, and ``spent`` what timing took. ``decided`` has, for
        each claim, what the source decides, or None.
        """
        started = time_limits.clock()
        try:
            opened = self.spec.target.open()
        except BaseException as error:  # noqa: BLE001  (here Ctrl-C is the target's own, too)
            return {"unusable": self._told(error)}
        with opened as target:
            found: dict[str, Any] = {"seconds": 0.0}
            if target.source is not None:
                found |= {"file": target.source.file, "line": target.source.line}
            if self.proves:
                checks = (check_of(self.spec, each) for each in self.spec.guarantees)
                found["decided"] = [_decision(each, target, context) for each in checks]
            if self.spec.draws is None and not all(found.get("decided", [None])):
                try:
                    found["seconds"] = target.seconds_per_draw(
                        typical(self.spec), context.rng(), at_most_seconds=self._patience
                    )
                except BaseException as error:  # noqa: BLE001
                    return {"failed": self._told(error)}
                if self.spec.budget is not None:
                    found["rates"] = self._rates(target, context, found["seconds"])
        return found | {"spent": time_limits.clock() - started}

    @property
    def _patience(self) -> float:
        budget = self.spec.budget
        few = _TIMING_SECONDS / 10
        return _TIMING_SECONDS if budget is None else min(_TIMING_SECONDS, max(few, budget / 20))

    def _rates(self, target: Target, context: Context, seconds: float) -> list[float]:
        import_audits()
        checks = [check_of(self.spec, guarantee) for guarantee in self.spec.guarantees]
        return [_rate(check, target, context, seconds) for check in checks]

    def _told(self, error: BaseException) -> str:
        if isinstance(error, TargetError):
            return str(error)
        return f"{self.spec.name} raised {raised(error, file=None)}"


def _decision(check: TargetClaim, target: Target, context: Context) -> dict[str, Any] | None:
    """Return what the source decides of a claim, and in how many seconds; None where nothing."""
    started = time_limits.clock()
    try:
        outcome = check.decided(target, context)
    except Exception:  # noqa: BLE001  (the check proper will say what is wrong)
        return None
    if outcome is None:
        return None
    return {"outcome": outcome, "seconds": time_limits.clock() - started}


def _rate(check: TargetClaim, target: Target, context: Context, seconds: float) -> float:
    """Return the seconds that a call takes in an audit, its own work included.

    Of audits of 2¹⁰ calls and more, as long as there is time; those take longer for a call than
    the larger one that they stand for.
    """
    room = _TIMED_SHARE * (check.spec.budget or math.inf) / len(check.spec.guarantees)
    calls, rate = FEWEST // 2, seconds + _OWN_SECONDS
    while 2 * calls * rate < room and calls < calls_for(check):
        started = time_limits.clock()
        try:
            outcome = check.audit(target, calls)(context)
        except Exception:  # noqa: BLE001  (the audit proper will say what is wrong)
            break
        spent = outcome.witness.get("spent")
        if not spent:  # decided without samples, however many calls there are
            break
        taken = time_limits.clock() - started
        rate, room = taken / spent, room - taken
        calls *= 4
    return rate


@dataclass(frozen=True, slots=True)
class PlannedChecks:
    """Checks with their calls.

    Parameters
    ----------
    checks : tuple of CheckSpec
        The checks; where the source decides all claims of one, no calls are planned of it.
    decided : tuple of (dict or None)
        For each claim of each check what the source decides; None where calls have to.
    """

    checks: tuple[CheckSpec, ...]
    decided: tuple[dict[str, Any] | None, ...] = ()

    def findings(self, rows: Sequence[Row]) -> list[Finding]:
        """Return the findings of what is decided, of one row for each claim."""
        return [
            Finding(claim=row.claim, outcome=decode(each["outcome"]), seconds=each["seconds"])
            for row, each in zip(rows, self.decided, strict=True)
            if each is not None
        ]


def plan(specs: Sequence[CheckSpec], *, proves: bool = False) -> PlannedChecks:
    """Return the checks with the calls that each claim is to be tested with.

    They follow from the claim and from what is to be detected (``calls_for``). Every target is
    opened, and called a few times, in a process of its own kind. Where a budget is given, small
    audits are timed there, and the calls are cut to a power of two that keeps within it. With
    ``proves`` the source is read first: no call is planned of what it decides.

    Raises
    ------
    UsageError
        If there is no such target, or it cannot be called as its kind is.
    IncompleteError
        If a target fails on a typical input, or is too slow.
    """
    for spec in specs:
        if spec.privacy or not spec.guarantees:
            require_pairs(spec)
    cell_template.prepare()
    found = [_timed_apart(spec, proves=proves and spec.prove) for spec in specs]
    decided = [
        each
        for spec, told in zip(specs, found, strict=True)
        for each in told.get("decided", [None] * len(spec.guarantees))
    ]
    return PlannedChecks(tuple(map(planned, specs, found)), tuple(decided))


def share_imports() -> None:
    """Import what checks need that make calls, once for all their processes."""
    import_audits()
    cell_template.renew()


def require_pairs(spec: CheckSpec) -> None:
    """Refuse a target for which no neighbours can be searched."""
    from dpcp_audit.target_checks.planned_calls import pair_space  # noqa: PLC0415  (slow to import)

    pair_space(spec)


def plan_here(spec: CheckSpec) -> CheckSpec:
    """Return a check of a function of this process; without a budget its calls are not planned.

    They are where they are to be made (``TargetClaim.planned``).
    """
    if spec.budget is None or spec.draws is not None:
        with spec.target.open() as target:
            return replace(spec, location=target.source)
    import_audits()  # its time is not the budget's
    found = _Timing(spec=spec)(_context(spec))
    for key in ("unusable", "failed"):
        if key in found:
            raise UsageError(found[key])
    try:
        return planned(spec, found)
    except IncompleteError as error:
        raise UsageError(str(error)) from error


def announcement(row: Row, significance: float) -> str:
    """Return with how many calls a claim is tested, whether they were cut, and what they refute."""
    check = row.check
    assert isinstance(check, TargetClaim)  # noqa: S101  (a target's row)
    calls = check.planned_calls
    context = Context(seed=0, name=row.claim.id, significance=significance)
    power = check.smallest_violation(context)
    seen = power_sentence(asdict(power) | {"factor": power.factor})
    cut = cut_words(check, calls)
    again = f" {cut} --draws {calls} repeats them." if cut else ""
    short = short_words(check, power)
    beyond = f" {short}" if short else ""
    return f"{calls:,} calls are planned. {seen}{beyond}{again}"


def time_limit(spec: CheckSpec) -> float:
    """Return the seconds after which the process of a check is ended.

    Traces have as long again as the calls that a budget was cut to.
    """
    seconds = time_limits.seconds_of(spec)
    if seconds is None:
        return DEFAULT_SECONDS
    traced = spec.trace and spec.privacy and not spec.target.command
    return 2 * seconds if traced else seconds


def planned(spec: CheckSpec, found: dict[str, Any]) -> CheckSpec:
    """Return a check with its calls, from what ``_Timing`` has found."""
    if "file" in found:
        spec = replace(spec, location=SourceLocation.of(found["file"], found["line"]))
    if spec.draws is not None or all(found.get("decided", [None])):
        return spec
    wanted = [calls_for(check_of(spec, guarantee)) for guarantee in spec.guarantees]
    if spec.budget is None:
        _require_time(spec, sum(wanted), found.get("seconds", 0.0))
        return replace(spec, planned=tuple(wanted))
    room = max(_SHARE * spec.budget - found["spent"], _LEAST_ROOM * spec.budget)
    return replace(spec, planned=tuple(_cut(spec, wanted, found["rates"], room)))


def _cut(spec: CheckSpec, wanted: list[int], rates: list[float], room: float) -> list[int]:
    """Return the calls of the claims, cut to an equal share of the time for each.

    What a claim does not need is left to those that need more.
    """
    calls = list(wanted)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i] * rates[i])
    for place, i in enumerate(order):
        affordable = max(0.0, room) / (len(order) - place) / rates[i]
        if affordable < min(FEWEST, wanted[i]):
            raise _too_slow(spec, rates[i])
        if affordable < wanted[i]:
            calls[i] = int(2 ** math.floor(math.log2(affordable)))
        room -= calls[i] * rates[i]
    return calls


def _context(spec: CheckSpec) -> Context:
    return Context(seed=0, name=spec.name, significance=0.5)


def _timed_apart(spec: CheckSpec, *, proves: bool) -> dict[str, Any]:
    timing = _Timing(spec=spec, proves=proves)
    with closing(WorkerProcess()) as cell:
        found = _timed(timing, cell)
    if found is None:  # a proof, or the calls beside it, may have taken too long
        with closing(WorkerProcess()) as cell:
            found = _timed(replace(timing, proves=False), cell)
    return found or {}


def _timed(timing: _Timing, cell: WorkerProcess) -> dict[str, Any] | None:
    """Return what a timing finds; None where its process was stopped, and it can do less."""
    spec = timing.spec
    task = Task(check=pickled(timing), context=_context(spec))
    budget = _PATIENCE_SECONDS if spec.budget is None else spec.budget
    patience = min(_PATIENCE_SECONDS, max(_LEAST_PATIENCE_SECONDS, budget))
    started = time_limits.clock()
    done = cell.run(task, Limits(seconds=patience))
    elapsed = time_limits.clock() - started
    if done.stopped and timing.proves:
        return None
    if done.stopped:
        raise IncompleteError(
            f"{spec.name}, called a first few times: {done.error}", hint=done.hint
        )
    if done.error:
        raise UsageError(f"{spec.name}: {done.error}", hint=done.hint)
    found: dict[str, Any] = done.data
    if "unusable" in found:
        raise UsageError(found["unusable"])
    if "failed" in found:
        tip = (
            ""
            if HINT in found["failed"]
            else "no claim was tested; call it on such inputs yourself"
        )
        raise IncompleteError(found["failed"], hint=tip)
    return found | {"spent": 2 * elapsed - found["spent"]}  # the run starts a process, too


def _require_time(spec: CheckSpec, calls: int, seconds: float) -> None:
    """Refuse a target that is so slow that its check would be stopped before its end."""
    if calls * seconds > DEFAULT_SECONDS:
        hours = number(calls * seconds / 3600, digits=2)
        raise IncompleteError(
            f"{spec.name} takes {seconds:.2g} s a call, so that the {calls:,} planned calls take "
            f"{hours} hours",
            hint="set a budget, such as 30m, or draws, or make it vectorised",
        )


def _too_slow(spec: CheckSpec, seconds: float) -> IncompleteError:
    minutes = math.ceil(FEWEST * seconds * len(spec.guarantees) / (_SHARE - 2 * _TIMED_SHARE) / 60)
    return IncompleteError(
        f"{spec.name} takes {seconds:.2g} s a call, and an audit makes at least {FEWEST} calls for "
        "each claim",
        hint=f"give it a budget of {minutes}m, or make it vectorised",
    )


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
