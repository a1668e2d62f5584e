"""Time the runner: workers, cells, the journal and a Dask cluster on loopback, in one process.

    python benchmarks/runner.py [cells] [dask] [suite] [--profile ci] [--check]

Prints figures with their targets; ``--check`` exits with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine.journal import Journal
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import Engine, run
from dpcp_audit.engine.suites import suite
from dpcp_audit.engine.tasks import Event, RunFinished, Task, perform, pickled
from dpcp_audit.engine.worker_pool import Limits, WorkerProcess
from dpcp_audit.words.checks import Context, Row, whole
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Evidence, Outcome, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from dpcp_audit.words.results import PlainData

TASKS = 1000
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measured number and, where there is one, the target that it must keep."""

    name: str
    value: float
    detail: str
    at_least: float = -float("inf")
    at_most: float = float("inf")

    @property
    def met(self) -> bool:
        """Whether the target is kept."""
        return self.at_least <= self.value <= self.at_most

    def __str__(self) -> str:
        targets = [f">= {self.at_least:g}"] if self.at_least > -float("inf") else []
        targets += [f"<= {self.at_most:g}"] if self.at_most < float("inf") else []
        judged = f" ({', '.join(targets)}: {'met' if self.met else 'MISSED'})" if targets else ""
        return f"{self.name}: {self.value:.3g}{judged}; {self.detail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """A check whose chunks do nothing."""

    parts: int
    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        """Run it in one piece."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:  # noqa: ARG002
        """Return the number of chunks."""
        return self.parts

    def chunk(self, context: Context, index: int) -> PlainData:  # noqa: ARG002
        """Do nothing."""
        return {"index": index}

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:  # noqa: ARG002
        """Return the number of results."""
        return Outcome(
            verdict=Verdict.PROVED, evidence=Evidence.exact(Quantity.VALUE, float(len(results)))
        )


def nothing(parts: int) -> list[Row]:
    """Return a row of so many chunks that do nothing."""
    source = Source(paper="none", section="none")
    claim = Claim(id="nothing", statement="nothing", source=source, expected=Verdict.PROVED)
    return [Row(claim=claim, check=Nothing(parts=parts))]


def timed(rows: Sequence[Row], settings: RunSettings, engine: Engine) -> tuple[float, list[Event]]:
    """Run and return the seconds that it took, with the events."""
    events = list(run(rows, settings, engine=engine))
    last = events[-1]
    assert isinstance(last, RunFinished)  # noqa: S101  (for the type checker)
    return last.seconds, events


def suite_figures(settings: RunSettings) -> Iterator[Figure]:
    """Time the suite with one worker and with two, and the journal of it."""
    rows = suite()
    two, both = timed(rows, settings, Engine(jobs=2))
    one, events = timed(rows, settings, Engine(jobs=1))
    last = events[-1]
    assert isinstance(last, RunFinished)  # noqa: S101  (for the type checker)
    yield Figure(
        name="suite: 1 worker / 2 workers",
        value=one / two,
        at_least=1.7,
        detail=f"{one:.1f} s / {two:.1f} s, {len(rows)} claims, profile {settings.profile}",
    )
    ended = both[-1]
    assert isinstance(ended, RunFinished)  # noqa: S101  (for the type checker)
    yield Figure(
        name="workers at work on average, of 2",
        value=sum(finding.seconds for finding in ended.findings) / two,
        at_least=1.7,
        detail="time of all chunks / time of the run; other programs hardly matter to it",
    )
    trials = sum(
        finding.outcome.evidence.n_samples or 0 for finding in last.findings if finding.outcome
    )
    yield Figure(
        name="trials a second, 1 worker",
        value=trials / one,
        detail=f"{trials} trials in {one:.1f} s",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ndjson"
        started = time.perf_counter()
        with Journal.create(path, rows, settings) as journal:
            for event in events:
                journal.record(event)
            journal.sync()
        spent = time.perf_counter() - started
        size = path.stat().st_size
    yield Figure(
        name="journal: share of the suite's time (%)",
        value=100 * spent / one,
        at_most=3,
        detail=f"{spent * 1e3:.1f} ms for {size / 1e3:.0f} kB on the disk",
    )


def cell_figures() -> Iterator[Figure]:
    """Time chunks that do nothing in a cell, and here."""
    (row,) = nothing(TASKS)
    context = Context(seed=0, name="nothing", significance=0.5)
    started = time.perf_counter()
    for index in range(TASKS):
        perform(row.check, context, index=index, chunks=TASKS)
    here = (time.perf_counter() - started) / TASKS
    check = pickled(row.check)
    started = time.perf_counter()
    cell = WorkerProcess()
    cell.run(Task(check=check, context=context, chunks=TASKS), Limits())
    start = time.perf_counter() - started
    started = time.perf_counter()
    for index in range(TASKS):
        cell.run(Task(check=check, context=context, index=index, chunks=TASKS), Limits())
    there = (time.perf_counter() - started) / TASKS
    cell.close()
    yield Figure(
        name="cell: overhead of a chunk (ms)",
        value=1e3 * (there - here),
        detail=f"{1e3 * there:.2f} ms in a cell, {1e3 * here:.2f} ms in this process",
    )
    yield Figure(name="cell: start (s)", value=start, detail="with the first chunk")


def dask_figures(settings: RunSettings) -> Iterator[Figure]:
    """Time two workers of a Dask cluster on loopback against two of the local engine."""
    rows = [row for row in suite() if row.claim.id.startswith(("ldpcp", "dpskin"))]
    with cluster() as (address, scheduler):
        dask = Engine(address=address)
        there, _ = timed(rows, settings, dask)
        here, _ = timed(rows, settings, Engine(jobs=2))
        yield Figure(
            name="Dask / local, two workers each",
            value=there / here,
            detail=f"{there:.1f} s / {here:.1f} s, {len(rows)} claims",
        )
        before = cpu_seconds(scheduler)
        there, _ = timed(nothing(TASKS), settings, dask)
        load = cpu_seconds(scheduler) - before
        here, _ = timed(nothing(TASKS), settings, Engine(jobs=2))
    yield Figure(
        name="Dask: a chunk that does nothing (ms)",
        value=1e3 * there / TASKS,
        detail=f"{1e3 * here / TASKS:.2f} ms with the local engine",
    )
    yield Figure(
        name="Dask: processor time of the scheduler for a chunk (ms)",
        value=1e3 * load / TASKS,
        detail=f"{TASKS} chunks; 1,000 cores keep it below half of a core where a chunk takes "
        f"at least {2 * 1000 * load / TASKS:.1f} s",
    )


@contextmanager
def cluster() -> Generator[tuple[str, int]]:
    """Start a Dask scheduler on loopback with two workers; yield its address and process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scheduler.json"
        options = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(path)]
        processes = [_program("distributed.cli.dask_scheduler", "--port", "0", *options)]
        try:
            while not path.exists():
                time.sleep(0.05)
            alone = ["--nthreads", "1", "--no-nanny", "--local-directory", folder]
            processes += [
                _program("distributed.cli.dask_worker", *options, *alone) for _ in range(2)
            ]
            yield _address(path, workers=2), processes[0].pid
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


def _program(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (this interpreter)
        [sys.executable, "-m", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _address(path: Path, *, workers: int) -> str:
    distributed: Any = import_module("distributed")  # an extra
    with distributed.Client(scheduler_file=str(path)) as client:
        client.wait_for_workers(workers, timeout=60)
        return str(client.scheduler.address)


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def main() -> int:
    """Print the figures; return 1 where ``--check`` is given and a target is missed."""
    parser = argparse.ArgumentParser(description="Time the runner.")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--profile", choices=tuple(Profile), default=Profile.CI)
    parser.add_argument("parts", nargs="*", help="cells, dask or suite; all unless given")
    options = parser.parse_args()
    settings = RunSettings(profile=Profile(options.profile))
    parts = {
        "cells": cell_figures(),
        "dask": dask_figures(settings),
        "suite": suite_figures(settings),
    }
    if unknown := set(options.parts) - set(parts):
        parser.error(f"parts must be among {', '.join(parts)}, got {sorted(unknown)}")
    met = True
    for part in options.parts or parts:
        for figure in parts[part]:
            print(figure, flush=True)
            met &= figure.met
    return int(options.check and not met)


if __name__ == "__main__":
    sys.exit(main())
