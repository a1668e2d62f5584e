"""The inside of a cell: a process that runs the tasks it is handed, and ends with its parent."""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import select
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.engine import messages
from dpcp_audit.engine.encoding import to_json
from dpcp_audit.engine.tasks import attempt, perform

if TYPE_CHECKING:
    from dpcp_audit.engine.tasks import Task

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
        messages.write(replies, messages.sealed(key, _answer(task).encode()))
        _give_back()


def _give_back() -> None:
    """Return to the system what tasks have freed, where this process holds much (with glibc)."""
    if sys.platform != "linux":
        return
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if resident > _MUCH and trim is not None:
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
