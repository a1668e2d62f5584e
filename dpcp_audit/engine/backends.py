"""Engines: where the tasks of a run are worked on: threads of this process, or joblib's Dask.

Wherever it is, a task runs in a cell of the process that it was handed to, so that a check that
crashes or hangs takes no worker of a cluster with it.
"""

from __future__ import annotations

import logging
import math
import os
import re
import socket
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dpcp_audit import _validate
from dpcp_audit.engine import cell_template
from dpcp_audit.engine.environment import difference, environment
from dpcp_audit.engine.suites import BUILT_IN
from dpcp_audit.engine.worker_pool import CellError, Cells, Limits
from dpcp_audit.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dpcp_audit.engine.tasks import Done, Task

_CONNECT_SECONDS = 5
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_OF_TARGETS = frozenset({"targets", "traces", "estimates"})
"""The suites whose checks call code of the user's."""


class EngineKind(StrEnum):
    """What hands out the tasks."""

    LOCAL = "local"
    """Processes on this machine."""
    DASK = "dask"
    """An existing Dask cluster, by its scheduler's address."""
    RAY = "ray"
    """An existing Ray cluster, or one on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Where tasks are worked on.

    Parameters
    ----------
    address : str
        Of a cluster.
    jobs : int
        Of the local engine: the number of tasks at a time. A cluster takes as many as it can.
    """

    kind: EngineKind = EngineKind.LOCAL
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
            If it is not ``local``, ``dask=ADDRESS``, ``ray`` or ``ray=ADDRESS``, or if
            ``jobs`` are given for a cluster.
        MissingExtraError
            If the engine's library is not installed.
        """
        name, _, address = text.partition("=")
        if name not in tuple(EngineKind) or (name == "local" and address):
            raise UsageError(
                f"--engine must be local, dask=tcp://HOST:PORT, ray or ray=ADDRESS, got {text!r}"
            )
        kind = EngineKind(name)
        if kind is EngineKind.LOCAL:
            return cls(jobs=processors() if jobs is None else jobs)
        if jobs is not None:
            raise UsageError(f"--jobs goes with --engine local; {name} uses the whole cluster")
        package = {EngineKind.DASK: "distributed", EngineKind.RAY: "ray"}[kind]
        if find_spec(package) is None:
            raise MissingExtraError(package, package)
        if kind is EngineKind.DASK and not re.fullmatch(r"\w+://.+:\d+", address):
            raise UsageError(
                f"--engine: dask needs an address such as tcp://HOST:PORT, got {text!r}"
            )
        return cls(kind=kind, address=address)


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
        How many threads of this process do, or wait for, the work.
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


def hire(engine: Engine, limits: Limits, suite: str = "papers") -> Crew:
    """Return the workers of an engine for a suite, who are to be stopped in the end.

    Raises
    ------
    UsageError
        If a cluster cannot be reached.
    """
    return _CREWS[engine.kind](engine, limits, suite)


def _local(engine: Engine, limits: Limits, suite: str) -> Crew:
    if suite in BUILT_IN:  # no code of others was loaded for it
        cell_template.prepare()
    cells = Cells(limits, apart=suite in _OF_TARGETS)
    return Crew(work=cells.run, stop=cells.stop, jobs=engine.jobs)


def _dask(engine: Engine, limits: Limits, suite: str) -> Crew:
    distributed: Any = import_module("distributed")  # an extra
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what fails is told of here
    try:
        client = distributed.Client(engine.address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--engine: no Dask scheduler answers at {engine.address}") from error
    if not client.ncores():
        client.close()
        raise UsageError(f"--engine: the Dask scheduler at {engine.address} has no workers")
    work = partial(work_remotely, limits=limits, suite=suite, expected=environment(suite))
    stop = partial(client.close, timeout=1)
    if sum(client.ncores().values()) == 1:  # joblib would ask no cluster for a single job

        def ask(task: Task) -> Done | None:
            done: Done | None = client.submit(work, task, pure=False).result()
            return done

        return Crew(work=ask, stop=stop)
    return Crew(work=work, stop=stop, cluster=client)


def _ray(engine: Engine, limits: Limits, suite: str) -> Crew:
    """Let a thread wait for each processor of a Ray cluster.

    Ray's own backend for joblib hands back nothing before all is done.
    """
    ray: Any = import_module("ray")  # an extra
    host, _, port = engine.address.removeprefix("ray://").rpartition(":")
    try:
        if port.isdigit():  # ray.init would try for minutes
            socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
        ray.init(address=engine.address or None, log_to_driver=False, logging_level="error")
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"--engine: no Ray cluster answers at {engine.address}") from error
    here = environment(suite)
    remote = ray.remote(work_remotely)

    def work(task: Task) -> Done | None:
        done: Done | None = ray.get(remote.remote(task, limits=limits, suite=suite, expected=here))
        return done

    return Crew(work=work, stop=ray.shutdown, jobs=int(ray.cluster_resources()["CPU"]))


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


_CREWS: Mapping[EngineKind, Callable[[Engine, Limits, str], Crew]] = {
    EngineKind.LOCAL: _local,
    EngineKind.DASK: _dask,
    EngineKind.RAY: _ray,
}
