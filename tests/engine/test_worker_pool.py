"""Cells: whatever a check does, it costs itself and nothing else, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from support import unruly
from support.unruly import (
    CannotTravel,
    HangsBesideAProgram,
    LeavesADaemon,
    NotPlain,
    doing,
    harmless,
    process_of,
    task,
)
from support.waiting import PATIENCE, LateOnce, ended, gone, wait_until

from dpcp_audit.engine import cell_template, worker_pool
from dpcp_audit.engine import tasks as frames
from dpcp_audit.engine.tasks import Done, Task, attempt
from dpcp_audit.engine.worker_pool import MOST_BYTES, Cells, Limits, WorkerProcess
from dpcp_audit.words.checks import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONTEXT = Context(seed=0, name="a.b", significance=1e-3)


@pytest.fixture(scope="module")
def crew() -> Iterator[Cells]:
    limits = Cells(Limits(seconds=PATIENCE, memory=512 * unruly.MIB))
    yield limits
    limits.stop()


def run(crew: Cells, work: Task) -> Done:
    done = crew.run(work)
    assert done is not None
    return done


@pytest.mark.parametrize(
    ("what", "error", "stopped"),
    [
        (
            unruly.starts_programs_that_take_too_much,
            "stopped above 512 MiB: the memory limit of a check",
            True,
        ),
        (unruly.asks_for_too_much, "MemoryError: Unable to allocate 4.00 GiB", False),
        (unruly.leaks, "MemoryError: Unable to allocate 16.0 MiB", False),
    ],
)
def test_unruly_checks_cost_themselves_alone(
    crew: Cells, what: Callable[[], None], error: str, stopped: bool
) -> None:
    done = run(crew, doing(what))
    assert error in done.error
    assert (done.id, done.stopped, done.data) == ("a.b", stopped, None)
    assert done.seconds > 0
    assert not run(crew, doing(harmless)).error


@pytest.mark.parametrize(
    "what",
    [
        unruly.hangs,
        unruly.hangs_in_c,
        unruly.hangs_and_ignores_signals,
    ],
)
def test_what_hangs_is_stopped(what: Callable[[], None]) -> None:
    crew = Cells(Limits(seconds=0.5))
    done = run(crew, doing(what))
    assert done.error.startswith("stopped after 0.5 s: the time limit of a check; its target hung")
    assert done.stopped
    assert done.seconds >= 0.5
    crew.stop()


@pytest.mark.parametrize("check", [HangsBesideAProgram, LeavesADaemon])
def test_all_that_a_check_started_ends_with_it(
    check: type[HangsBesideAProgram | LeavesADaemon],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Daemons too. Its time is up once the program runs, however long that takes to start."""
    path = tmp_path / "pid"
    clock = LateOnce(lambda: path.exists() and path.read_text())
    monkeypatch.setattr(worker_pool, "time", clock)
    crew = Cells(Limits(seconds=PATIENCE, memory=2**40))
    assert run(crew, task(check(str(path)))).stopped
    assert ended(int(path.read_text()))
    crew.stop()


def test_what_is_no_frame_is_no_reply(crew: Cells) -> None:
    done = run(crew, doing(unruly.writes_what_is_no_frame))
    assert done.error.startswith("invalid reply from the worker process")
    assert (done.stopped, done.data) == (True, None)
    assert not run(crew, doing(harmless)).error


def test_a_reply_to_another_task_is_none() -> None:
    reply = frames.sealed(b"key", b"message")
    assert frames.opened(b"key", reply) == b"message"
    for key, wrong in ((b"other", reply), (b"key", reply + b"."), (b"key", b""), (b"key", b"{}")):
        with pytest.raises(frames.ForgedError):
            frames.opened(key, wrong)


def test_of_a_flood_the_beginning_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    crew = Cells(Limits())
    try:
        assert not run(crew, doing(unruly.floods_its_stderr)).error
    finally:
        crew.stop()
    shown = capfd.readouterr().err
    assert len(shown) < 2 * MOST_BYTES
    assert shown.endswith("(more that the code under audit writes is not shown)\n")
    assert "\x1b" not in shown


def test_what_a_check_prints_is_talk(capfd: pytest.CaptureFixture[str]) -> None:
    crew = Cells(Limits())
    try:
        assert not run(crew, doing(unruly.prints)).error
    finally:
        crew.stop()
    captured = capfd.readouterr()
    assert captured.out == ""
    assert {"to the pipe", "a program's"} <= set(captured.err.splitlines())


@pytest.mark.parametrize(
    ("check", "error"),
    [(NotPlain(), "TypeError: value must be plain data, got object"), (b"nonsense", "callable")],
)
def test_what_is_no_check_or_no_outcome_is_an_error(crew: Cells, check: Any, error: str) -> None:
    assert error in run(crew, task(check)).error


def test_an_interrupt_is_the_users_where_the_process_is() -> None:
    with pytest.raises(KeyboardInterrupt):
        attempt(unruly.raises_keyboard_interrupt)
    assert attempt(unruly.raises_what_is_no_exception)[1].startswith("BaseException: planted")


def test_a_check_that_cannot_be_loaded_is_an_error(crew: Cells) -> None:
    broken = Task(check=b"nonsense", context=CONTEXT)
    assert run(crew, broken).error.startswith("the check cannot be loaded: ")


def test_what_cannot_travel_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="lock"):
        task(CannotTravel())


def test_no_task_runs_after_the_end() -> None:
    crew = Cells(Limits())
    pid = process_of(run(crew, doing(harmless)))
    crew.stop()
    assert ended(pid)
    assert crew.run(doing(harmless)) is None
    crew.stop()


def test_a_cell_ends_when_its_parent_is_killed() -> None:
    """Although it is busy in C with the interpreter's lock held."""
    run_it = "from support.parent_of_a_cell import main; main()"
    program = f"import sys; sys.path[:] = {sys.path!r}; {run_it}"
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.3)
    assert not gone(pid)
    parent.kill()
    parent.communicate()
    assert ended(pid)


def test_a_process_that_does_not_start_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setattr(cell_template, "_templates", {})
    with pytest.raises(RuntimeError, match="could not be started: the template of cells has ended"):
        WorkerProcess()


@pytest.mark.parametrize("bad", [{"seconds": 0.0}, {"seconds": float("nan")}, {"memory": 0}])
def test_limits_that_are_none_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Limits(**bad)


def test_frames_come_out_as_they_went_in() -> None:
    reading, writing = os.pipe()
    messages = [b"", b"x", bytes(50_000), b"last"]
    for message in messages:
        frames.write(writing, message)
    os.close(writing)
    assert [frames.read(reading) for _ in messages] == messages
    assert frames.read(reading) is None
    os.close(reading)


def test_a_part_of_a_frame_waits_for_the_rest() -> None:
    reading, writing = os.pipe()
    frames.write(writing, b"message")
    whole = os.read(reading, 100)
    received = bytearray()
    for byte in whole[:-1]:
        received.append(byte)
        assert frames.take(received) is None
    received += whole[-1:] + whole
    assert frames.take(received) == b"message"
    assert bytes(received) == whole
    os.close(reading)
    os.close(writing)


def test_the_family_of_a_process_is_found() -> None:
    with subprocess.Popen(["/bin/sh", "-c", "sleep 600 & wait"], start_new_session=True) as parent:
        wait_until(lambda: len(worker_pool.family(parent.pid)) >= 2, "the shell has a child")
        family = worker_pool.family(parent.pid)
        assert family[0] == parent.pid
        assert len(family) == 2
        assert worker_pool.resident(parent.pid) > worker_pool.resident(family[1]) > 0
        os.killpg(parent.pid, signal.SIGKILL)
    assert worker_pool.family(2**22 + 1) == [2**22 + 1]
    assert worker_pool.resident(2**22 + 1) == 0
