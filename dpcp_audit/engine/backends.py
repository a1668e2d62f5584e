"""Engines: where the tasks of a run are worked on: threads of this process, or joblib's Dask.

Wherever it is, a task runs in a cell of the process that it was handed to, so that a check that
crashes or hangs takes no worker of a cluster with it.
"""

from __future__ import annotations

import logging
import math
import os
import re
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dpcp_audit.engine import cell_template
from dpcp_audit.engine.run_settings import difference, environment
from dpcp_audit.engine.suites import built_in
from dpcp_audit.engine.worker_pool import CellError, Cells, Limits
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.whole_files import UsageError, require_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpcp_audit.engine.tasks import Done, Task
    from dpcp_audit.engine.worker_pool import Heard

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
class Crew:
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
    """Return how many processors this process may use, by its affinity and its control group."""
    own = getattr(os, "sched_getaffinity", None)
    allowed = len(own(0)) if own else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
        return max(1, min(allowed, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no Linux, or no quota: "max"
        return allowed


def hire(engine: Engine, limits: Limits, suite: str = "papers", heard: Heard | None = None) -> Crew:
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


def _local(engine: Engine, limits: Limits, suite: str, heard: Heard | None) -> Crew:
    if suite in built_in():  # no code of others was loaded for it
        cell_template.prepare()
    cells = Cells(limits, apart=suite in _OF_TARGETS, heard=heard)
    return Crew(work=cells.run, stop=cells.stop, jobs=engine.jobs)


def _dask(engine: Engine, limits: Limits, suite: str) -> Crew:
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

        return Crew(work=ask, stop=stop)
    return Crew(work=work, stop=stop, cluster=client)


def work_remotely(
    task: Task, *, limits: Limits, suite: str, expected: dict[str, str]
) -> Done | None:
    """Run a task in a cell of this worker process.

    Raises
    ------
    CellError
        If the worker's versions are not those of the run.
    """
    if unlike := difference(environment(suite), expected):
        raise CellError(f"a worker differs from this run: {unlike}")
    return _cells(limits, apart=suite in _OF_TARGETS).run(task)


@cache
def _cells(limits: Limits, *, apart: bool) -> Cells:
    return Cells(limits, apart=apart)
