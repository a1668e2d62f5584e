"""Engines: the same findings wherever the checks run, and whatever becomes of a worker."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.unruly import doing, harmless, process_of
from support.waiting import PATIENCE, wait_until

from dpcp_audit.engine import runner as backends
from dpcp_audit.engine.run_settings import difference
from dpcp_audit.engine.runner import Engine
from dpcp_audit.engine.worker_pool import Limits
from dpcp_audit.faces.cli.main import main
from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

ONLY = ["ldpcp.krr", "ldpcp.rr-debias*", "pcoqs.remark-3*", "pcoqs.remark-7*", "dpskin.rdp*"]
SELECTION = ["--profile", "smoke", *(f"--only={pattern}" for pattern in ONLY)]


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "remote",
        "local=2",
        "dask",
        "dask=",
        "dask=localhost",
        "dask=tcp://host",
        "slurm=x",
        "ray",
    ],
)
def test_engines_that_are_none_are_refused(bad: str) -> None:
    with pytest.raises(UsageError, match=f"--engine.* got '{bad}'"):
        Engine.parse(bad)


def test_the_local_engine_has_all_cores_unless_told() -> None:
    assert Engine.parse("local", jobs=3) == Engine(jobs=3)
    assert Engine.parse("local").jobs >= 1


def test_clusters_are_used_as_a_whole() -> None:
    with pytest.raises(UsageError, match="--jobs goes with --engine local"):
        Engine.parse("dask=tcp://127.0.0.1:1", jobs=2)


def test_differences_are_put_into_words() -> None:
    assert difference({"a": "1"}, {"a": "1"}) == ""
    assert difference({"a": "1", "b": "2"}, {"a": "3"}) == "a 1 there, 3 here, b 2 there, none here"


def results(path: Path, *options: str) -> list[Any]:
    assert main(["run", *SELECTION, "--report", f"json={path}", *options]) == 0
    document: dict[str, Any] = json.loads(path.read_text())
    return [{k: v for k, v in f.items() if k != "seconds"} for f in document["findings"]]


needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="no distributed")


def program(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def wait_for_line(process: subprocess.Popen[str], words: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"the process ended without saying {words!r}")


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """A Dask scheduler on loopback with two worker processes: its address, and these."""
    path = tmp_path_factory.mktemp("dask") / "scheduler.json"
    here = ("--host", "127.0.0.1", "--no-dashboard")
    scheduler = program(
        "distributed.cli.dask_scheduler", *here, "--port", "0", "--scheduler-file", str(path)
    )
    wait_for_line(scheduler, "Scheduler at")
    wait_until(path.exists, "the scheduler writes its file")
    address = json.loads(path.read_text())["address"]
    alone = ("--nthreads", "1", "--no-nanny", "--local-directory", str(path.parent))
    workers = [program("distributed.cli.dask_worker", address, *here, *alone) for _ in range(2)]
    for worker in workers:
        wait_for_line(worker, "Registered to")
    yield address, workers
    for process in (*workers, scheduler):
        process.kill()
        process.communicate()


Cluster = tuple[str, "list[subprocess.Popen[str]]"]


@needs_dask
def test_dask_finds_the_same_although_a_worker_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    address, workers = cluster
    log, report = tmp_path / "log", tmp_path / "dask.json"
    options = [*SELECTION, "--engine", f"dask={address}", "--log", str(log)]
    with program("dpcp_audit", "run", *options, "--report", f"json={report}") as running:
        wait_until(
            lambda: running.poll() is not None or (log.exists() and "REFUTED" in log.read_text()),
            "a claim is refuted",
        )
        workers[0].send_signal(signal.SIGKILL)
        said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    lines = log.read_text()
    assert "run finished" in lines
    document = json.loads(report.read_text())
    found = [{k: v for k, v in f.items() if k != "seconds"} for f in document["findings"]]
    assert found == results(tmp_path / "local.json", "--jobs", "2")


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        stat = Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])
        yield pid


@needs_dask
def test_a_single_thread_of_dask_is_used_too(cluster: Cluster) -> None:
    """The cell of a task descends from the worker that is left, and not from this process."""
    address, (first, second) = cluster
    first.kill()
    first.wait()
    engine = Engine(address=address)
    wait_until(lambda: len(ncores(address)) <= 1, "one worker is left")
    crew = backends.hire(engine, Limits())
    try:
        (done,) = crew.results([doing(harmless)])
        assert done is not None
        assert second.pid in list(ancestors(process_of(done)))
    finally:
        crew.stop()


def ncores(address: str) -> dict[str, int]:
    from distributed import Client  # noqa: PLC0415  (an extra)

    with Client(address, set_as_default=False) as client:
        found: dict[str, int] = client.ncores()
    return found


@needs_dask
def test_a_scheduler_that_does_not_answer_is_told_of() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-m", "dpcp_audit", "run", "--engine", f"dask={address}"],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
            timeout=PATIENCE,
        )
    assert done.returncode == 2
    error, hint = done.stderr.splitlines()[-2:]
    assert error.endswith(f"no Dask scheduler answers at {address}")
    assert hint.startswith("hint: ")
    assert "Traceback" not in done.stderr
