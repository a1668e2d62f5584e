"""The template of cells: a process that has imported what checks need, and is forked for each.

It runs no check and loads none of the code under audit, so a cell begins as a fresh interpreter
does, but without its imports. Where processes are not forked (other systems than Linux), every
cell is an interpreter of its own.

The standard library's forkserver starts a process as fast (53 ms; here 49 ms), but cannot be forked
off the command line's own process, as ``prepare`` does: what a check imports would be imported
twice, and `check` on a quantile take 2.9 s of processor time in place of 2.0 s.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import types
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

FORKS = sys.platform == "linux"
NEEDED = ("dpcp_audit.engine.tasks", "threadpoolctl")
"""Modules that every cell needs; the time of their import does not count for a check."""
_ROOMS = ("dpcp_audit.faces", "dpcp_audit.reports")
_LONGEST = 64


class _TemplateError(RuntimeError):
    """The template is not there, or has ended."""


class _ForkedProcess:
    """A cell's process, a child of the template; of ``subprocess.Popen``, what a cell uses."""

    def __init__(self, template: _CellTemplate, *, memory: int | None) -> None:
        from dpcp_audit.engine import tasks  # noqa: PLC0415  (slow to import)

        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = (
            os.pipe() for _ in range(3)
        )
        theirs = (theirs_in, theirs_out, theirs_err)
        self._template = template
        self.stdin = os.fdopen(ours_in, "wb", 0)
        self.stdout, self.stderr = os.fdopen(ours_out, "rb", 0), os.fdopen(ours_err, "rb", 0)
        self.returncode: int | None = None
        try:
            self.pid = template.ask("fork", descriptors=theirs)
            tasks.write(ours_in, _circumstances(memory))
        except (OSError, _TemplateError) as error:
            for pipe in (self.stdin, self.stdout, self.stderr):
                pipe.close()
            raise _TemplateError(f"the template of cells has ended: {error}") from error
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def poll(self) -> int | None:
        """Return the exit code, or minus the signal; None as long as it runs."""
        return self._status("poll")

    def wait(self) -> int:
        """Return the exit code of a process that has been killed, or minus the signal."""
        code = self._status("wait")
        assert code is not None  # noqa: S101  (it was waited for)
        return code

    def _status(self, verb: str) -> int | None:
        if self.returncode is None:
            try:
                status = self._template.ask(verb, self.pid)
            except _TemplateError:  # its children end with it
                status = -signal.SIGKILL
            self.returncode = None if status == _RUNS else status
        return self.returncode


class _CellTemplate:
    """A process that forks cells.

    Parameters
    ----------
    forked : bool
        True if it is a fork of this process, which is then this package's own and has no other
        thread; else a fresh interpreter, to be had everywhere.
    """

    def __init__(self, *, forked: bool = False) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self.alive = True
        with theirs:
            self._wait = self._fork(theirs) if forked else _started(theirs).wait

    def _fork(self, theirs: socket.socket) -> Callable[[], object]:
        for stream in (sys.stdout, sys.stderr):
            if cast("TextIO | None", stream) is not None:  # it may be closed
                stream.flush()
        _import(NEEDED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # linear algebra's threads stay
            child = os.fork()
        if child == 0:
            kept = theirs.fileno()
            os.closerange(3, kept)
            os.closerange(kept + 1, 2**16)
            _serve(theirs)
        return partial(os.waitpid, child, 0)

    def ask(self, verb: str, pid: int = 0, *, descriptors: Sequence[int] = ()) -> int:
        """Send a request and return the number that comes back.

        Raises
        ------
        _TemplateError
            If the process has ended.
        """
        with self._lock:
            try:
                socket.send_fds(self._ours, [f"{verb} {pid}".encode()], descriptors)
                reply = self._ours.recv(_LONGEST)
            except OSError:
                reply = b""
            if not reply:
                self.alive = False
                raise _TemplateError("no reply")
            return int(reply)

    def forget(self) -> None:
        """Let go of it in a fork of the process that it belongs to, where it goes on."""
        self.alive = False
        atexit.unregister(self.close)
        self._ours.close()

    def close(self) -> None:
        """Let the process end, and all its cells with it."""
        self.alive = False
        self._ours.close()
        with contextlib.suppress(OSError):
            self._wait()


_RUNS = 2**16
_templates: dict[int, _CellTemplate] = {}
_starting = threading.Lock()
_own: set[int] = set()


def share_this_process() -> None:
    """Declare that this process is the command line's own, and loads no code under audit."""
    _own.add(os.getpid())


def prepare() -> None:
    """Fork the template off the command line's own process, where no other thread runs yet.

    So it imports what it shares with its checks once. In the process of anybody else, who may
    have loaded the code under audit, nothing happens.
    """
    with _starting:
        here = os.getpid()
        if FORKS and here in _own and here not in _templates and threading.active_count() == 1:
            _keep(_CellTemplate(forked=True))


def renew() -> None:
    """Fork the template anew, so that what this process has imported since is shared, too."""
    here = os.getpid()
    if here in _own and here in _templates:
        _templates.pop(here).close()
        prepare()


Process: TypeAlias = "subprocess.Popen[bytes] | _ForkedProcess"
"""The process of a cell."""


def start(*, memory: int | None) -> Process:
    """Return the process of a cell, forked off this process's template where that is possible.

    Raises
    ------
    RuntimeError
        If that cannot be started.
    """
    if not FORKS:
        return _interpreter(memory)
    with contextlib.suppress(_TemplateError):  # code under audit may have killed the last one
        return _ForkedProcess(_template(), memory=memory)
    try:
        return _ForkedProcess(_template(), memory=memory)
    except _TemplateError as error:
        raise RuntimeError(f"a process for checks could not be started: {error}") from None


def _interpreter(memory: int | None) -> subprocess.Popen[bytes]:
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        "from dpcp_audit.engine.tasks import main; "
        f"main(parent={os.getpid()}, memory={memory!r})"
    )
    return subprocess.Popen(  # noqa: S603  (this interpreter, this package)
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _begin_anew() -> None:
    """Leave to the parent what is the parent's: a run in a fork, a cell's too, has its own."""
    global _starting  # noqa: PLW0603  (the lock may have been held, and none here will release it)
    _starting = threading.Lock()
    for template in _templates.values():
        template.forget()
    _templates.clear()


if FORKS:
    os.register_at_fork(after_in_child=_begin_anew)


def _template() -> _CellTemplate:
    with _starting:
        found = _templates.get(os.getpid())
        return found if found is not None and found.alive else _keep(_CellTemplate())


def _keep(template: _CellTemplate) -> _CellTemplate:
    _templates[os.getpid()] = template
    atexit.register(template.close)
    return template


def _started(theirs: socket.socket) -> subprocess.Popen[bytes]:
    from dpcp_audit.engine.suites import built_in  # noqa: PLC0415  (slow to import)

    own = {"dpcp_audit", *(entry.module.partition(".")[0] for entry in built_in().values())}
    names = [name for name in sys.modules if name.partition(".")[0] in own and _needed(name)]
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        "from dpcp_audit.engine.cell_template import serve; "
        f"serve({theirs.fileno()}, {[*NEEDED, *names]!r})"
    )
    return subprocess.Popen(  # noqa: S603  (this interpreter, this package)
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(theirs.fileno(),),
    )


def _needed(name: str) -> bool:
    return not name.startswith(_ROOMS)


def serve(descriptor: int, modules: Sequence[str]) -> NoReturn:
    """Import the modules, and fork cells until the other side has gone."""
    _import(modules)
    _serve(socket.socket(fileno=descriptor))


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        with contextlib.suppress(ImportError):  # an extra; a check that needs it will say so
            import_module(name)


def _serve(requests: socket.socket) -> NoReturn:
    with contextlib.suppress(OSError):
        os.setsid()  # no Ctrl-C of the user's reaches it
    for stream in (0, 1):
        _become(os.open(os.devnull, os.O_RDWR), stream)
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside linear algebra's threads
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()
    try:
        while True:
            request, descriptors, _, _ = socket.recv_fds(requests, _LONGEST, 3)
            if not request:
                break
            verb, pid = request.decode().split()
            answer = _forked(requests, descriptors) if verb == "fork" else _ended(verb, int(pid))
            requests.send(str(answer).encode())
    finally:
        os._exit(0)


def _forked(requests: socket.socket, descriptors: Sequence[int]) -> int:
    template = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            requests.close()
            _become_cell(descriptors, template)
        finally:
            os._exit(0)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid


def _ended(verb: str, pid: int) -> int:
    found, status = os.waitpid(pid, os.WNOHANG if verb == "poll" else 0)
    return os.waitstatus_to_exitcode(status) if found else _RUNS


def _become_cell(descriptors: Sequence[int], template: int) -> None:
    """Run tasks; what a fresh interpreter would not share with others is made anew."""
    import numpy as np  # noqa: PLC0415  (slow to import)

    from dpcp_audit.engine import tasks  # noqa: PLC0415  (slow to import)

    for place, descriptor in enumerate(descriptors):
        _become(descriptor, place)
    given = tasks.read(0)
    if given is None:
        return
    told: dict[str, Any] = json.loads(given)
    sys.argv[:], sys.path[:] = ["-c"], told["path"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    random.seed()
    np.random.seed()  # noqa: NPY002  (the state that code under audit may draw from)
    tasks.main(parent=template, memory=told["memory"])


def _become(descriptor: int, place: int) -> None:
    """Move a descriptor to its place, which it has already where that was closed."""
    if descriptor != place:
        os.dup2(descriptor, place)
        os.close(descriptor)


def _circumstances(memory: int | None) -> bytes:
    told = {
        "path": sys.path,
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "memory": memory,
    }
    return json.dumps(told).encode()
