"""Cells: processes of their own in which checks run, so that none can take the run with it.

A cell is handed one task after the other, and keeps what checks cache. It is killed, with all
that it started, where a task reaches a limit; a fresh one takes its place.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import pickle
import secrets
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dpcp_audit.engine import cell_template, tasks
from dpcp_audit.words import validate as _validate

DEFAULT_SECONDS = 3600.0
_START_SECONDS = 120.0
_LOOK_SECONDS = 0.1
_PATIENCE = 1.0
_MIB = 2**20
Heard = Callable[[str, int], object]
"""A callback that receives a check's id and the calls of its target so far."""
_FORGED = (
    "invalid reply from the worker process: the audited code wrote to a file descriptor that it "
    "did not open"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The time and memory that a check may use.

    Parameters
    ----------
    seconds : float
        Wall time of all its chunks together.
    memory : int or None
        Bytes of memory of its process and all that it starts; None is no limit.
    """

    seconds: float = DEFAULT_SECONDS
    memory: int | None = None

    def __post_init__(self) -> None:
        _validate.positive(seconds=self.seconds)
        if self.memory is not None:
            _validate.integer(memory=self.memory, at_least=1)
            if self.memory > sys.maxsize:
                raise ValueError(f"memory must be below 8 EiB, got {self.memory!r} bytes")


def over_time(seconds: float) -> str:
    """Return the message for a check that reached its time limit."""
    return (
        f"stopped after {seconds:.3g} s: the time limit of a check; its target hung, or the "
        "machine was busy: raise the budget"
    )


class WorkerProcess:
    """One process for one thread.

    Parameters
    ----------
    memory : int or None
        Bytes that its process may allocate.

    Raises
    ------
    RuntimeError
        If it does not start.
    """

    def __init__(self, *, memory: int | None = None) -> None:
        self._process = cell_template.start(memory=memory)
        assert self._process.stderr is not None  # noqa: S101  (it is a pipe)
        self._talk = pass_on(self._process.stderr)
        self._busy = threading.Lock()
        self._received = bytearray()
        self._ready = False

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True if the process is still there."""
        return self._process.poll() is None

    def run(self, task: tasks.Task, limits: Limits, heard: Heard | None = None) -> tasks.Done:
        """Run a task; where it ends the process, or reaches a limit, it is stopped.

        ``heard`` is told now and then how often a task has called its target.
        """
        with self._busy:
            return self._run(task, limits, heard)

    def _run(self, task: tasks.Task, limits: Limits, heard: Heard | None) -> tasks.Done:
        started, key = time.perf_counter(), secrets.token_bytes(32)
        try:
            self._await_start()
            started = time.perf_counter()
            with contextlib.suppress(BrokenPipeError):  # told of by the reply that is missing
                tasks.write(self._stdin, pickle.dumps((key, task)))
            answer: dict[str, Any] = {}
            while "error" not in answer:
                left = started + limits.seconds - time.perf_counter()
                reply = self._answer(left, memory=limits.memory, limit=limits.seconds)
                answer = json.loads(tasks.opened(key, reply))
                if heard is not None and "calls" in answer:
                    heard(task.context.name, answer["calls"])
        except (tasks.ForgedError, _StoppedError) as error:
            self._end()
            answer = {
                "error": _FORGED if isinstance(error, tasks.ForgedError) else str(error),
                "stopped": True,
                "seconds": time.perf_counter() - started,
            }
            return tasks.Done(id=task.context.name, index=task.index, **answer)
        return tasks.Done(id=task.context.name, index=task.index, chunks=task.chunks, **answer)

    def kill(self) -> None:
        """End the process and all that it started."""
        if self._process.returncode is not None:  # its number may be another's by now
            return
        for pid in reversed(family(self.pid)):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, and let go of its pipes once no thread waits for it."""
        self.kill()
        if self._busy.acquire(timeout=_PATIENCE):
            try:
                self._end()
            finally:
                self._busy.release()

    def _end(self) -> None:
        self.kill()
        self._process.wait()
        self._talk.join(_PATIENCE)  # its last words come before what is said of it
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    @property
    def _stdin(self) -> int:
        assert self._process.stdin is not None  # noqa: S101  (it is a pipe)
        return self._process.stdin.fileno()

    def _await_start(self) -> None:
        if self._ready:
            return
        try:
            self._answer(_START_SECONDS, memory=None, limit=_START_SECONDS)
        except _StoppedError as stopped:
            self._end()
            raise RuntimeError(f"a process for checks could not be started: {stopped}") from None
        self._ready = True

    def _answer(self, seconds: float, *, memory: int | None, limit: float) -> bytes:
        """Return the next frame of the process, within what is left of the limits."""
        assert self._process.stdout is not None  # noqa: S101  (it is a pipe)
        stdout = self._process.stdout.fileno()
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(stdout, select.POLLIN)
        while True:
            if (reply := tasks.take(self._received)) is not None:
                return reply
            left = deadline - time.monotonic()
            if left <= 0:
                raise _StoppedError(over_time(limit))
            if memory is not None and resident(self.pid) > memory:
                raise _StoppedError(f"stopped above {_size(memory)}: the memory limit of a check")
            if not poll.poll(1000 * (left if memory is None else min(left, _LOOK_SECONDS))):
                continue
            received = os.read(stdout, _MIB)
            if not received:
                self.kill()
                raise _StoppedError(f"the process died: {_ending(self._process.wait())}")
            self._received += received


class Cells:
    """A cell for each thread that runs tasks, started when it first does.

    Parameters
    ----------
    limits : Limits
        The limits of a check.
    apart : bool
        True if each check has a cell of its own: what its target does to its process is then
        over before the next check begins. Else a cell is kept, and with it what checks cache.
    heard : callable, optional
        Told now and then, by a check's id, how often it has called its target.
    """

    def __init__(self, limits: Limits, *, apart: bool = False, heard: Heard | None = None) -> None:
        self._limits = limits
        self._apart = apart
        self._heard = heard
        self._local = threading.local()
        self._lock = threading.Lock()
        self._started: list[WorkerProcess] = []
        self._stopping = False

    def run(self, task: tasks.Task) -> tasks.Done | None:
        """Run a task in this thread's cell; None once all are to stop."""
        cell: WorkerProcess | None = getattr(self._local, "cell", None)
        used_by = getattr(self._local, "check", task.context.name)
        if cell is None or not cell.alive or (self._apart and used_by != task.context.name):
            cell = self._local.cell = self._start(replaces=cell)
        self._local.check = task.context.name
        done = None if cell is None else cell.run(task, self._limits, self._heard)
        return None if self._stopping else done

    def stop(self) -> None:
        """Kill all cells; tasks that run come to nothing, and no more are run."""
        with self._lock:
            self._stopping = True
            cells, self._started = self._started, []
        for cell in cells:
            cell.kill()
        for cell in cells:
            cell.close()

    def _start(self, *, replaces: WorkerProcess | None) -> WorkerProcess | None:
        with self._lock:
            if self._stopping:
                return None
            if replaces is not None:
                self._started.remove(replaces)
                replaces.close()
            cell = WorkerProcess(memory=self._limits.memory)
            self._started.append(cell)
            return cell


def family(pid: int) -> list[int]:
    """Return a process and those that descend from it, as far as the system tells (Linux)."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{parent}/task").glob("*/children"):
                found += map(int, children.read_text().split())
    return found


def resident(pid: int) -> int:
    """Return the bytes that a process and its descendants hold in memory (Linux; else 0)."""
    pages = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{one}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class _StoppedError(Exception):
    """A task that was stopped, with the reason."""


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _size(memory: int) -> str:
    return f"{memory / _MIB:.4g} MiB" if memory < 1024 * _MIB else f"{memory / _MIB / 1024:.4g} GiB"


MOST_BYTES = 2**13
"""The most bytes of one process, during its whole life."""
_SILENCE = "\n(more that the code under audit writes is not shown)\n"
_CHUNK = 2**16
_STDERR = 2


def pass_on(pipe: IO[bytes]) -> threading.Thread:
    """Read a pipe to its end and write the beginning on stderr, without control characters.

    Code under audit may write past Python's own streams, as C libraries do, and in each of many
    thousand calls.
    """
    thread = threading.Thread(target=_pass_on, args=(pipe,), daemon=True)
    thread.start()
    return thread


def _pass_on(pipe: IO[bytes]) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    left = MOST_BYTES
    with pipe:
        while data := os.read(pipe.fileno(), _CHUNK):
            shown = decoder.decode(data[:left])
            if left and len(data) >= left:
                shown += _SILENCE
            left -= min(left, len(data))
            _write(shown)


def _write(text: str) -> None:
    """Write a text on this process's stderr, where that is open."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
    waiting = memoryview(plain.encode())
    with contextlib.suppress(OSError):
        while waiting:
            waiting = waiting[os.write(_STDERR, waiting) :]
