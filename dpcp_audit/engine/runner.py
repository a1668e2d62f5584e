"""The runner: checks cut into tasks, handed to an engine, and put together again as events.

An engine is threads of this process, or joblib's Dask. Wherever it is, a task runs in a cell of the
process that it was handed to, so that a check that crashes or hangs takes no worker with it.
"""

from __future__ import annotations

import logging
import math
import os
import re
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from dpcp_audit.engine import cell_template
from dpcp_audit.engine.run_settings import difference, environment
from dpcp_audit.engine.suites import built_in, find, row_of, suite
from dpcp_audit.engine.tasks import (
    QUIET_SECONDS,
    CallsMade,
    CheckFinished,
    CheckStarted,
    Done,
    Event,
    RunFinished,
    RunStarted,
    StillRunning,
    Task,
    attempt,
    chunks_of,
    decode,
    encode,
    perform,
    pickled,
)
from dpcp_audit.engine.worker_pool import Cells, Limits, over_time
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Chunked, Context
from dpcp_audit.words.errors import IncompleteError, UsageError, require_package
from dpcp_audit.words.results import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.engine.worker_pool import Heard
    from dpcp_audit.words.checks import Row
    from dpcp_audit.words.results import Outcome


_CONNECT_SECONDS = 5
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_OF_TARGETS = frozenset({"targets", "traces", "estimates"})
"""The suites whose checks call code of the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The processes that work on tasks.

    Parameters
    ----------
    address : str
        The address of a Dask cluster's scheduler; empty for processes on this machine.
    jobs : int
        The number of tasks at a time on this machine. A cluster takes as many as it can.
    """

    address: str = ""
    jobs: int = 1

    def __post_init__(self) -> None:
        _validate.integer(jobs=self.jobs, at_least=1)

    @classmethod
    def parse(cls, text: str, *, jobs: int | None = None) -> Self:
        """Return the engine that ``--engine`` names; ``jobs`` are all cores unless given.

        Raises
        ------
        UsageError
            If it is neither ``local`` nor ``dask=ADDRESS``, or if ``jobs`` are given for a
            cluster.
        MissingExtraError
            If Dask's ``distributed`` is not installed.
        """
        name, _, address = text.partition("=")
        if text == "local":
            return cls(jobs=processors() if jobs is None else jobs)
        if name != "dask":
            raise UsageError(
                f"--engine must be local or dask=tcp://HOST:PORT, got {text!r}",
                hint="local runs on this machine, dask on the cluster at its address",
            )
        if jobs is not None:
            raise UsageError(
                "--jobs goes with --engine local; dask uses the whole cluster",
                hint="leave --jobs out",
            )
        require_package("distributed", "distributed")
        if not re.fullmatch(r"\w+://.+:\d+", address):
            raise UsageError(
                f"--engine: dask needs an address such as tcp://HOST:PORT, got {text!r}",
                hint="'dask scheduler' prints it as it starts",
            )
        return cls(address=address)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crew:
    """The workers of one run.

    Parameters
    ----------
    work : callable
        Runs a task where it is handed to; None where all was stopped.
    stop : callable
        Ends the work that can be ended from here.
    jobs : int
        The number of threads of this process that do the work, or wait for it.
    cluster : object or None
        The client of the Dask cluster that is handed the work in their place.
    """

    work: Callable[[Task], Done | None]
    stop: Callable[[], None]
    jobs: int = 1
    cluster: Any = None

    def results(self, tasks: Iterable[Task]) -> Iterator[Done | None]:
        """Hand out tasks as workers come free, and yield what becomes of them as it comes."""
        if self.cluster is None:
            return _in_threads(self.work, iter(tasks), self.jobs)
        return _on_cluster(self.work, tasks, self.cluster)


def _in_threads(
    work: Callable[[Task], Done | None], tasks: Iterator[Task], jobs: int
) -> Iterator[Done | None]:
    pool = ThreadPoolExecutor(jobs)
    try:
        running = {pool.submit(work, task) for task in islice(tasks, jobs)}
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in ended)  # told before the next ones begin
            running |= {pool.submit(work, task) for task in islice(tasks, len(ended))}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _on_cluster(
    work: Callable[[Task], Done | None], tasks: Iterable[Task], client: Any
) -> Iterator[Done | None]:
    from joblib import Parallel, delayed, parallel_config  # noqa: PLC0415  (slow to import)

    with parallel_config(backend="dask", client=client, n_jobs=-1):
        yield from Parallel(
            return_as="generator_unordered", batch_size=1, pre_dispatch="2 * n_jobs"
        )(delayed(work)(task) for task in tasks)


def processors() -> int:
    """Return the number of processors of this process, by its affinity and control group."""
    own = getattr(os, "sched_getaffinity", None)
    allowed = len(own(0)) if own else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
        return max(1, min(allowed, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no Linux, or no quota: "max"
        return allowed


def hire(
    engine: Engine, limits: Limits, suite: str = "papers", heard: Heard | None = None
) -> _Crew:
    """Return the workers of an engine for a suite, who are to be stopped in the end.

    ``heard`` is told of calls that are made on this machine.

    Raises
    ------
    UsageError
        If a cluster cannot be reached.
    """
    if engine.address:
        return _dask(engine, limits, suite)
    return _local(engine, limits, suite, heard)


def _local(engine: Engine, limits: Limits, suite: str, heard: Heard | None) -> _Crew:
    if suite in built_in():  # no code of others was loaded for it
        cell_template.prepare()
    cells = Cells(limits, apart=suite in _OF_TARGETS, heard=heard)
    return _Crew(work=cells.run, stop=cells.stop, jobs=engine.jobs)


def _dask(engine: Engine, limits: Limits, suite: str) -> _Crew:
    distributed: Any = import_module("distributed")  # an extra
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what fails is told of here
    try:
        client = distributed.Client(engine.address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(
            f"--engine: no Dask scheduler answers at {engine.address}",
            hint="'dask scheduler' starts one, and prints its address",
        ) from error
    if not client.ncores():
        client.close()
        raise UsageError(
            f"--engine: the Dask scheduler at {engine.address} has no workers",
            hint=f"'dask worker {engine.address}' starts one",
        )
    work = partial(work_remotely, limits=limits, suite=suite, expected=environment(suite))
    stop = partial(client.close, timeout=1)
    if sum(client.ncores().values()) == 1:  # joblib would ask no cluster for a single job

        def ask(task: Task) -> Done | None:
            done: Done | None = client.submit(work, task, pure=False).result()
            return done

        return _Crew(work=ask, stop=stop)
    return _Crew(work=work, stop=stop, cluster=client)


def work_remotely(
    task: Task, *, limits: Limits, suite: str, expected: dict[str, str]
) -> Done | None:
    """Run a task in a cell of this worker process.

    Raises
    ------
    RuntimeError
        If the worker's versions are not those of the run.
    """
    if unlike := difference(environment(suite), expected):
        raise RuntimeError(f"a worker differs from this run: {unlike}")
    return _cells(limits, apart=suite in _OF_TARGETS).run(task)


@cache
def _cells(limits: Limits, *, apart: bool) -> Cells:
    return Cells(limits, apart=apart)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The findings of an earlier part of a run, by the claims' ids.

    Parameters
    ----------
    findings : dict
        Findings of finished checks.
    chunks : dict
        Results of finished chunks of other checks, by their index.
    """

    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    chunks: dict[str, dict[int, Done]] = field(default_factory=dict[str, dict[int, Done]])


def run(
    rows: Sequence[Row],
    settings: RunSettings,
    *,
    engine: Engine | None = None,
    limits: Limits | None = None,
    past: Past | None = None,
    decided: Sequence[Finding] = (),
) -> Generator[Event]:
    """Check every row and yield events as they come.

    The findings depend on the settings alone, not on the engine, the number of workers, on
    what an earlier part of the run has finished, or on which of the suite's rows run
    together: the random stream of a chunk is keyed by its check's id and its index, and a
    check's share of the false-alarm probability is that of one sampled check among all of
    the suite's.

    Parameters
    ----------
    engine : Engine, optional
        The engine that runs the checks; one process on this machine by default.
    limits : Limits, optional
        The limits of a check. One that reaches a limit becomes an ERROR finding.
    past : Past, optional
        The finished checks of an earlier run; they are not run again.
    decided : sequence of Finding
        What planning has decided; these checks are not run, either.

    Raises
    ------
    UsageError
        If the engine cannot be reached.
    IncompleteError
        If it fails in mid-run.
    """
    started = time.perf_counter()
    past, limits = past or Past(), limits or Limits()
    ids = tuple(row.claim.id for row in rows)
    yield RunStarted(ids=ids)
    findings = {id_: past.findings[id_] for id_ in ids if id_ in past.findings}
    for finding in findings.values():
        yield CheckFinished(finding=finding, recorded=True)
    for finding in decided:
        findings[finding.claim.id] = finding
        yield CheckFinished(finding=finding)
    significance = share(settings, rows)
    checks = [
        _Running(row, _context(row, settings, significance), limits, past.chunks)
        for row in _longest_first(rows, settings)
        if row.claim.id not in findings
    ]
    work = _Work(checks)
    for event in work.events(hire(engine or Engine(), limits, settings.suite, work.heard)):
        if isinstance(event, CheckFinished):
            findings[event.finding.claim.id] = event.finding
        yield event
    yield RunFinished(
        findings=tuple(findings[id_] for id_ in ids), seconds=time.perf_counter() - started
    )


def _longest_first(rows: Sequence[Row], settings: RunSettings) -> list[Row]:
    """Return the rows in the order in which workers are handed them."""
    places = {id_: place for place, id_ in enumerate(find(settings.suite).longest)}
    return sorted(rows, key=lambda row: places.get(row.claim.id, len(places)))


def share(settings: RunSettings, rows: Sequence[Row] = ()) -> float:
    """Return one sampled check's share of the run's false-alarm probability (Bonferroni).

    Among the suite's sampled checks, or among those of ``rows`` where these are more.
    """
    counts = [
        sum(row.check.sampled for row in among)
        for among in (suite(settings.suite, **settings.given), rows)
    ]
    return settings.false_alarm / max(1, *counts)


def check(finding_id: str, settings: RunSettings) -> Finding:
    """Run the check of one of the suite's rows."""
    row = row_of(finding_id, settings.suite, **settings.given)
    return check_row(row, settings, significance=share(settings))


def check_row(row: Row, settings: RunSettings, *, significance: float) -> Finding:
    """Run the check of a row in this process; a check that raises becomes an ERROR finding."""
    return _finding(row, perform(row.check, _context(row, settings, significance)))


def planned_calls(row: Row) -> int | None:
    """Return the calls of its target that a check was planned with; None where it has none."""
    planned: int | None = getattr(row.check, "planned_calls", None)
    return planned


def _context(row: Row, settings: RunSettings, significance: float) -> Context:
    return Context(
        seed=settings.seed,
        name=row.claim.id,
        significance=significance,
        effort=settings.effort,
    )


def _finding(row: Row, done: Done) -> Finding:
    outcome = None if done.error else decode(done.data)
    return Finding(
        claim=row.claim,
        outcome=outcome,
        error=done.error,
        hint=done.hint,
        seconds=done.seconds,
    )


class _Running:
    """A check of a run: what of it is done, and what is still to be done."""

    def __init__(
        self, row: Row, context: Context, limits: Limits, past: dict[str, dict[int, Done]]
    ) -> None:
        self.row = row
        self.id = row.claim.id
        self._context = context
        self._limits = limits
        self._done = dict(past.get(self.id, {}))
        number, self._error, self._hint = attempt(lambda: chunks_of(row.check, context))
        self.chunks: int = number or 1
        self._needed = self.chunks
        self._stopped = False

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks, as long as they are needed."""
        check = b""
        for index in range(self.chunks):
            if index < self._needed and index not in self._done:
                check = check or pickled(self.row.check)
                yield Task(check=check, context=self._context, index=index, chunks=self.chunks)

    def add(self, done: Done) -> None:
        """Take the result of a chunk.

        After a chunk that failed those before it are still needed: the first failure is the
        one to be told, whichever comes back first.
        """
        self._done[done.index] = done
        if done.error:
            self._needed = min(self._needed, done.index + 1)
            self._stopped = self._stopped or done.stopped
        elif self.chunks > 1 and self._seconds > self._limits.seconds and not self.over:
            self.fail(over_time(self._seconds))
            self._stopped = True

    def fail(self, error: str) -> None:
        """End the check with an error."""
        self._error, self._needed = error, 0

    @property
    def over(self) -> bool:
        """True if nothing is left to be done."""
        return bool(self._error) or all(index in self._done for index in range(self._needed))

    def finished(self) -> CheckFinished:
        """Judge the results."""
        last = self._done.get(self._needed - 1)
        outcome, error, hint = None, self._error, self._hint
        if not error and last is not None:
            error, hint = last.error, last.hint
        if not error:
            outcome, error, hint = attempt(self._outcome)
        return CheckFinished(
            finding=Finding(
                claim=self.row.claim,
                outcome=outcome,
                error=error,
                hint=hint,
                seconds=self._seconds,
            ),
            stopped=self._stopped,
        )

    def _outcome(self) -> Outcome:
        data = [self._done[index].data for index in range(self.chunks)]
        if self.chunks == 1:
            return decode(data[0])
        check = self.row.check
        assert isinstance(check, Chunked)  # noqa: S101  (or it would have one chunk)
        outcome = check.combine(self._context, data)
        return decode(encode(outcome))

    @property
    def _seconds(self) -> float:
        return sum(done.seconds for done in self._done.values())


class _Work:
    """The checks of a run on their way through an engine: a thread feeds it, a queue reports."""

    def __init__(self, checks: Sequence[_Running]) -> None:
        self._checks = checks
        self._planned = {check.id: planned_calls(check.row) for check in checks}
        self._reports: SimpleQueue[CheckStarted | CallsMade | Done | BaseException] = SimpleQueue()
        self._over = threading.Event()

    def events(self, workers: _Crew) -> Iterator[Event]:
        """Run all checks; those that nothing is left of come first."""
        pending = {check.id: check for check in self._checks}
        for check in self._checks:
            if check.over:
                yield pending.pop(check.id).finished()
        thread = threading.Thread(target=self._feed, args=(workers,), daemon=True)
        thread.start()
        try:
            begun, since = set[str](), time.perf_counter()
            while pending:
                try:
                    report = self._reports.get(timeout=QUIET_SECONDS)
                except Empty:
                    ids = tuple(id_ for id_ in pending if id_ in begun)
                    yield StillRunning(ids=ids, seconds=time.perf_counter() - since)
                    continue
                if isinstance(report, CheckStarted | CallsMade):
                    begun.add(report.id)
                    yield report
                elif isinstance(report, Exception):
                    text = " ".join(str(report).split())
                    raise IncompleteError(f"the engine failed: {text}") from report
                elif isinstance(report, BaseException):
                    raise report
                elif report.id in pending:
                    yield from self._taken(report, pending)
        finally:
            self._over.set()
            workers.stop()
            thread.join(timeout=1)

    def heard(self, id_: str, calls: int) -> None:
        """Report how often a check has called its target."""
        self._reports.put(CallsMade(id=id_, made=calls, planned=self._planned[id_]))

    def _taken(self, done: Done, pending: dict[str, _Running]) -> Iterator[Event]:
        check = pending[done.id]
        check.add(done)
        if check.chunks > 1 and not done.error:
            yield done
        if check.over:
            yield pending.pop(done.id).finished()

    def _feed(self, workers: _Crew) -> None:
        try:
            for done in workers.results(self._tasks()):
                if done is not None:
                    self._reports.put(done)
        except BaseException as error:  # noqa: BLE001  (whatever it is, it ends the run, and is told)
            self._reports.put(error)
        else:
            self._reports.put(RuntimeError("it ended before all was done"))

    def _tasks(self) -> Iterator[Task]:
        for check in self._checks:
            if check.over:
                continue
            self._reports.put(CheckStarted(id=check.id, chunks=check.chunks))
            tasks = check.tasks()
            while not self._over.is_set():
                task, error, hint = attempt(partial(next, tasks, None))
                if error:
                    text = f"the check cannot be sent to another process: {error}"
                    self._reports.put(Done(id=check.id, index=0, error=text, hint=hint))
                if task is None:
                    break
                yield task
