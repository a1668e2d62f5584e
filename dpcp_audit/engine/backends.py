"""Engines: where the tasks of a run are worked on, all of them through joblib.

Wherever it is, a task runs in a cell of the process that it was handed to, so that a check that
crashes or hangs takes no worker of a cluster with it.
"""

from __future__ import annotations

import logging
import re
import socket
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
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
        from joblib import cpu_count  # noqa: PLC0415  (slow to import)

        name, _, address = text.partition("=")
        if name not in tuple(EngineKind) or (name == "local" and address):
            raise UsageError(
                f"--engine must be local, dask=tcp://HOST:PORT, ray or ray=ADDRESS, got {text!r}"
            )
        kind = EngineKind(name)
        if kind is EngineKind.LOCAL:
            return cls(jobs=cpu_count() if jobs is None else jobs)
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
    backend : dict
        The arguments of ``joblib.parallel_config``.
    ahead : str
        How many tasks are handed out at a time: more than there are workers where it takes
        time to reach them.
    """

    work: Callable[[Task], Done | None]
    stop: Callable[[], None]
    backend: dict[str, Any]
    ahead: str = "2 * n_jobs"

    def results(self, tasks: Iterable[Task]) -> Iterator[Done | None]:
        """Hand out tasks as workers come free, and yield what becomes of them as it comes."""
        from joblib import Parallel, delayed, parallel_config  # noqa: PLC0415  (slow to import)

        with parallel_config(**self.backend):
            yield from Parallel(
                return_as="generator_unordered", batch_size=1, pre_dispatch=self.ahead
            )(delayed(self.work)(task) for task in tasks)


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
    backend = {"backend": "threading", "n_jobs": engine.jobs}
    return Crew(work=cells.run, stop=cells.stop, backend=backend, ahead="n_jobs")


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

        alone = {"backend": "threading", "n_jobs": 1}
        return Crew(work=ask, stop=stop, backend=alone, ahead="n_jobs")
    return Crew(work=work, stop=stop, backend={"backend": "dask", "client": client, "n_jobs": -1})


def _ray(engine: Engine, limits: Limits, suite: str) -> Crew:
    """Let one thread of joblib wait for each processor of a Ray cluster.

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

    backend = {"backend": "threading", "n_jobs": int(ray.cluster_resources()["CPU"])}
    return Crew(work=work, stop=ray.shutdown, backend=backend, ahead="n_jobs")


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
