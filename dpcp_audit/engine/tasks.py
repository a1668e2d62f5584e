"""Tasks: chunks of checks to hand out, and the process that runs them."""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import select
import signal
import sys
import threading
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit.engine import encoding, messages
from dpcp_audit.engine.encoding import to_json
from dpcp_audit.targets.answers import TargetError
from dpcp_audit.targets.degenerate import DegenerateTargetError
from dpcp_audit.words.calls_made import listening
from dpcp_audit.words.checks import Check, Chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dpcp_audit.words.checks import Context


_MACHINE_CODE = tuple(EXTENSION_SUFFIXES)
_BEAT_SECONDS = 1.0
"""Between two replies of a task that goes on."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One chunk of a check; of a check with a single chunk, all of it.

    Parameters
    ----------
    check : bytes
        The check, pickled.
    index, chunks : int
        The index of the chunk, and the number of chunks.
    """

    check: bytes
    context: Context
    index: int = 0
    chunks: int = 1


def pickled(check: Callable[[Context], object]) -> bytes:
    """Return the check as other processes read it, closures and functions of notebooks included."""
    dumps: Any = import_module("cloudpickle").dumps  # which has no types
    return cast("bytes", dumps(check))


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a task.

    Parameters
    ----------
    id : str
        The claim's.
    data : dict or None
        The chunk's result, encoded; of a check with a single chunk, its outcome. None where
        there is none.
    error : str
        Why there is none, in a line.
    stopped : bool
        True if that was not the check's doing: its process died, or reached a limit.
    """

    id: str
    index: int
    data: Any = None
    error: str = ""
    stopped: bool = False
    seconds: float = 0.0


def chunks_of(check: Check, context: Context) -> int:
    """Return the number of chunks of a check; those that are not ``Chunked`` have one."""
    return check.chunks(context) if isinstance(check, Chunked) else 1


def perform(
    check: Check, context: Context, *, index: int = 0, chunks: int = 1, alone: bool = False
) -> Done:
    """Run one chunk of several here, or all of a check; what it raises becomes an error.

    For ``alone`` see ``attempt``.
    """

    def result() -> Any:
        if chunks > 1 and isinstance(check, Chunked):
            return check.chunk(context, index)
        return check(context)

    started = time.perf_counter()
    data, error = attempt(lambda: encoding.encode(result()), alone=alone)
    seconds = time.perf_counter() - started
    return Done(id=context.name, index=index, data=data, error=error, seconds=seconds)


def attempt(work: Callable[[], Any], *, alone: bool = False) -> tuple[Any, str]:
    """Return what the work returns and "", or None and what it raised, in a line.

    Parameters
    ----------
    alone : bool
        True if the work has its process to itself, which no Ctrl-C of the user's reaches: a
        KeyboardInterrupt is then the work's own.
    """
    try:
        with one_thread():
            return work(), ""
    except BaseException as caught:  # one broken check must not end the run
        if isinstance(caught, KeyboardInterrupt) and not alone:
            raise
        return None, _told(caught)


def _told(caught: BaseException) -> str:
    lines = " ".join(str(caught).split())
    if isinstance(caught, TargetError | DegenerateTargetError):  # it says what was wrong
        return lines
    place = traceback.extract_tb(caught.__traceback__)[-1]
    return f"{type(caught).__name__}{': ' if lines else ''}{lines} (in {place.name})"


@contextmanager
def one_thread() -> Generator[None]:
    """Hold linear algebra to one thread, here as in every worker process.

    Its sums round differently with the number of threads, and findings must not depend on
    the number of workers. What is loaded meanwhile reads the number from the environment.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        with _libraries(_extensions(len(sys.modules))).limit(limits=1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@lru_cache(maxsize=1)
def _libraries(extensions: int) -> Any:  # noqa: ARG001  (which load them; searching takes ms)
    """Return the libraries that are loaded beside so many extension modules."""
    return import_module("threadpoolctl").ThreadpoolController()


@lru_cache(maxsize=1)
def _extensions(modules: int) -> int:  # noqa: ARG001  (nothing new is loaded without a new one)
    """Return how many of the modules that are loaded are machine code."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sum(isinstance(file, str) and file.endswith(_MACHINE_CODE) for file in files)


_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MUCH = 192 * 2**20
"""Bytes of memory: numerical libraries alone take 120 MiB."""


def main(*, parent: int, memory: int | None) -> None:
    """Run tasks until there are no more.

    Parameters
    ----------
    parent : int
        The process that started this one.
    memory : int or None
        Bytes that may be allocated.
    """
    requests, replies = _take_over_pipes()
    _end_with(parent, requests)
    import_module("threadpoolctl")  # its time is not a check's
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    messages.write(replies, b"{}")
    while (request := messages.read(requests)) is not None:
        key, task = pickle.loads(request)  # noqa: S301  (from the process that started this one)

        def reply(text: str, key: bytes = key) -> None:
            messages.write(replies, messages.sealed(key, text.encode()))

        with listening(lambda calls: reply(to_json({"calls": calls})), seconds=_BEAT_SECONDS):
            answer = _answer(task)
        reply(answer)
        _give_back()


def _give_back() -> None:
    """Return to the system what tasks have freed, where this process holds much (with glibc)."""
    if sys.platform != "linux":
        return
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    if resident > _MUCH and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _answer(task: Task) -> str:
    check, error = attempt(lambda: pickle.loads(task.check), alone=True)  # noqa: S301
    if error:
        return to_json({"error": f"the check cannot be loaded: {error}"})
    done = perform(check, task.context, index=task.index, chunks=task.chunks, alone=True)
    return to_json({"data": done.data, "error": done.error, "seconds": done.seconds})


def _take_over_pipes() -> tuple[int, int]:
    """Return the pipes to the parent; what checks print goes to stderr, and stdin is empty."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    return requests, replies


def _end_with(parent: int, requests: int) -> None:
    """See to it that this process ends where its parent does, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what a program leaves stays its own
    if os.getppid() != parent:
        os._exit(1)

    def watch() -> None:
        poll = select.poll()
        poll.register(requests, 0)  # a hang-up is reported always
        poll.poll()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
