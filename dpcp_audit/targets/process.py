"""A program that answers one line with one line: started, asked, and ended in time."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import time
import weakref
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from dpcp_audit.targets.answers import (
    TargetError,
    TargetRaisedError,
    TargetUnusableError,
    one_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CHUNK = 2**16
_LONGEST_REPLY = 2**22
_GRACE = 0.5
_ROUNDS = 10
_MARK = "DPCP_AUDIT_PROGRAM"
"""The environment variable by which what a program has started is found again."""


class LineProcess:
    """A program in a process group of its own, that is killed where it does not answer in time.

    What it writes on stdout and stderr is read while it is waited for, so that a full pipe
    cannot stop it; of stderr the end is kept, for messages.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments; no shell reads them.
    name : str
        Name in messages.

    Raises
    ------
    TargetError
        If the program cannot be started.
    """

    def __init__(self, command: Sequence[str], *, name: str) -> None:
        self._name = name
        self._received = bytearray()
        self._searched = 0
        self._stderr = b""
        self._replies = 0
        mark = secrets.token_hex(16)
        try:
            self._process = subprocess.Popen(  # noqa: S603  (running it is what is asked for)
                list(command),
                env=os.environ | {_MARK: mark},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetUnusableError(
                f"{name} cannot be started: {error.strerror or error} ({command[0]!r})"
            ) from error
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._err = cast("tuple[IO[bytes], ...]", pipes)
        for pipe in (self._stdin, self._stdout, self._err):
            os.set_blocking(pipe.fileno(), False)
        self._end = weakref.finalize(self, _end, self._process, mark)

    def ask(self, request: bytes, *, seconds: float) -> bytes:
        """Send a line, and return the line that comes back, without its end.

        Raises
        ------
        TargetUnusableError
            If there is no reply within ``seconds``, no end of it, or if the program ends as if
            all were done. It is killed.
        TargetRaisedError
            If the program ends otherwise.
        """
        deadline = time.monotonic() + seconds
        waiting = memoryview(request)
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdin, selectors.EVENT_WRITE)
            selector.register(self._stdout, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while waiting or not self._has_line():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready or time.monotonic() > deadline:
                    raise self._late(seconds, sent=not waiting)
                for key, _ in ready:
                    if key.fileobj is self._stdin:
                        waiting = self._write(waiting)
                        if not waiting:
                            selector.unregister(self._stdin)
                    elif not self._read(cast("IO[bytes]", key.fileobj)):
                        if key.fileobj is self._stdout:
                            raise self._ended()
                        selector.unregister(key.fileobj)
        line, _, self._received = self._received.partition(b"\n")
        self._searched = 0
        self._replies += 1
        return bytes(line)

    @property
    def alive(self) -> bool:
        """True if the program has not been ended here; it may have ended by itself."""
        return self._end.alive

    def close(self) -> None:
        """End the program: its stdin ends, and half a second later its whole group is killed."""
        self._end()

    def _has_line(self) -> bool:
        found = self._received.find(b"\n", self._searched) >= 0
        self._searched = self._searched if found else len(self._received)
        return found

    def _kill(self) -> None:
        """End the program without waiting for it, and keep its last words."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._drain()
        self.close()

    def _write(self, waiting: memoryview) -> memoryview:
        try:
            return waiting[os.write(self._stdin.fileno(), waiting) :]
        except BlockingIOError:
            return waiting
        except BrokenPipeError:
            return memoryview(b"")

    def _read(self, pipe: IO[bytes]) -> bool:
        """Take what is there; return whether there may be more."""
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        if pipe is self._err:
            self._stderr = (self._stderr + data)[-_CHUNK:]
            return bool(data)
        self._received += data
        if len(self._received) > _LONGEST_REPLY:
            self._kill()
            raise TargetUnusableError(
                f"{self._name} floods its stdout: more than {_LONGEST_REPLY >> 20} MiB for one "
                "reply, which is one line"
            )
        return bool(data)

    def _late(self, seconds: float, *, sent: bool) -> TargetError:
        self._kill()
        start = one_line(self._received.decode(errors="replace"), longest=60)
        what = f"only {start!r}, without an end of line," if start else "no reply"
        why = "does it flush its stdout after each reply, and read one line at a time?"
        if not sent:
            why = "it did not read its request"
        return TargetUnusableError(
            f"{self._name} gave {what} within {seconds:g} s and was killed: {why} "
            f"--call-seconds sets the limit{self._last_words()}"
        )

    def _ended(self) -> TargetError:
        start = one_line(self._received.decode(errors="replace"), longest=60)
        partial = f" in the middle of a reply, {start!r}" if start else ""
        kind: type[TargetError] = TargetUnusableError
        try:
            code = self._process.wait(_GRACE)
            kind = TargetRaisedError if code else kind
            how = f"was ended by {_signal(code)}" if code < 0 else f"ended with exit code {code}"
        except subprocess.TimeoutExpired:
            how = "closed its stdout"
        self._kill()
        return kind(
            f"{self._name} {how}{partial} after {self._replies} replies; it must answer every "
            f"line until its stdin ends{self._last_words()}"
        )

    def _drain(self) -> None:
        """Read what stderr still holds."""
        with contextlib.suppress(OSError):
            while data := os.read(self._err.fileno(), _CHUNK):
                self._stderr = (self._stderr + data)[-_CHUNK:]

    def _last_words(self) -> str:
        lines = self._stderr.decode(errors="replace").split("\n")
        said = [line for line in lines if line.strip()]
        return f"; last line of its stderr: {one_line(said[-1])!r}" if said else ""


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """End a program and all that it started, before its number may go to another process."""
    for pipe in (process.stdin, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    if process.stdout is not None:
        _await_end(process.stdout)
        process.stdout.close()
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(_ROUNDS):  # what is killed may have started another before
        found = list(_marked(mark))
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _marked(mark: str) -> Iterator[int]:
    """Yield the processes that a program has started, daemons included (Linux; else none).

    One that leaves its group and its parent still has its environment, unless it takes pains.
    """
    wanted = f"{_MARK}={mark}".encode()
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in place.read_bytes().split(b"\0"):
                yield int(place.parent.name)


def _await_end(stdout: IO[bytes]) -> None:
    deadline = time.monotonic() + _GRACE
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0 and selector.select(left):
            if not os.read(stdout.fileno(), _CHUNK):
                return


def _signal(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
