"""Tasks: chunks of checks to hand out, the process that runs them, and the events of a run.

Outcomes travel as JSON that becomes the same outcome again: floats by their ``repr``, so that they
come back bit for bit, and those that JSON lacks by the names that Python's reader knows. In plain
data tuples and arrays become lists.

The code under audit runs in the cell's process and can write to whatever that has open. A reply
is sealed with a key that its request brought: bytes that the code writes for a reply are refused.
Code that searches the process's memory for the key is not kept from it.
"""

from __future__ import annotations

import ctypes
import hmac
import json
import math
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
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, lru_cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import numpy as np

from dpcp_audit.targets.answers import DegenerateTargetError, TargetError
from dpcp_audit.words.checks import Check, Chunked, listening
from dpcp_audit.words.errors import HINT
from dpcp_audit.words.results import Outcome, PlainData
from dpcp_audit.words.values import is_record, is_sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from pydantic import TypeAdapter

    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Finding


def encode(value: object) -> Any:
    """Return the value as data of lists, dicts and scalars; of a dataclass, its fields.

    Raises
    ------
    TypeError
        If something in it is neither plain data nor a dataclass of such.
    """
    return _plain(value, strict=False)


def plain_record(record: Mapping[str, object]) -> PlainData:
    """Return the record as JSON-ready data; see ``plain_data``."""
    return {key: plain_data(item) for key, item in record.items()}


def plain_data(value: object) -> object:
    """Return the value as JSON-ready data: arrays as lists, infinities and NaN as strings."""
    return _plain(value, strict=True)


def _plain(value: object, *, strict: bool) -> Any:
    """Return the value as plain data; strictly, without dataclasses and floats that JSON lacks."""
    if not strict and is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if is_record(value):
        return {str(key): _plain(item, strict=strict) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(cast("Any", value).tolist(), strict=strict)
    if is_sequence(value):
        return [_plain(item, strict=strict) for item in value]
    if isinstance(value, StrEnum) or (
        strict and isinstance(value, float) and not math.isfinite(value)
    ):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"value must be plain data, got {type(value).__name__}")


def decode(data: PlainData) -> Outcome:
    """Return the outcome that was encoded.

    Raises
    ------
    ValueError
        If the data are of another shape.
    """
    outcome: Outcome = adapter(Outcome).validate_python(data)
    return outcome


def to_json(data: object) -> str:
    """Return encoded data as one line of JSON."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))


@cache
def adapter(kind: type) -> TypeAdapter[Any]:
    """Return the reader of plain data for a dataclass."""
    from pydantic import TypeAdapter  # noqa: PLC0415  (heavy, and not needed by --help)

    return TypeAdapter(kind)


_HEAD = 8
_SEAL = "sha256"
_SEAL_BYTES = 32
_LONGEST = 2**32


class ForgedError(ValueError):
    """Bytes that are no reply to the request."""


def sealed(key: bytes, message: bytes) -> bytes:
    """Return the message with a seal that its key alone can make."""
    return hmac.digest(key, message, _SEAL) + message


def opened(key: bytes, reply: bytes) -> bytes:
    """Return the message that was sealed.

    Raises
    ------
    ForgedError
        If the seal is not that of the message and the key.
    """
    seal, message = reply[:_SEAL_BYTES], reply[_SEAL_BYTES:]
    if not hmac.compare_digest(seal, hmac.digest(key, message, _SEAL)):
        raise ForgedError("seal must be that of the message")
    return message


def write(descriptor: int, message: bytes) -> None:
    """Write a message, all of it."""
    waiting = memoryview(len(message).to_bytes(_HEAD, "big") + message)
    while waiting:
        waiting = waiting[os.write(descriptor, waiting) :]


def read(descriptor: int) -> bytes | None:
    """Wait for a message; None where the other side has gone."""
    head = _exactly(descriptor, _HEAD)
    return None if head is None else _exactly(descriptor, int.from_bytes(head, "big"))


def take(received: bytearray) -> bytes | None:
    """Remove the first message from what was received, where it is all there.

    Raises
    ------
    ForgedError
        If it claims to be longer than any reply.
    """
    if len(received) < _HEAD:
        return None
    end = _HEAD + int.from_bytes(received[:_HEAD], "big")
    if end > _LONGEST:
        raise ForgedError(f"a message must be shorter than {_LONGEST} bytes")
    if len(received) < end:
        return None
    message = bytes(received[_HEAD:end])
    del received[:end]
    return message


def _exactly(descriptor: int, size: int) -> bytes | None:
    received = bytearray()
    while len(received) < size:
        part = os.read(descriptor, size - len(received))
        if not part:
            return None
        received += part
    return bytes(received)


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
    """The result of a task; of one of several chunks, it is an event of the run.

    Parameters
    ----------
    id : str
        The claim's.
    index, chunks : int
        The index of the chunk, and the number of chunks.
    data : dict or None
        The chunk's result, encoded; of a check with a single chunk, its outcome. None where
        there is none.
    error, hint : str
        Why there is none, in a line, and what to do about it.
    stopped : bool
        True if that was not the check's doing: its process died, or reached a limit.
    """

    id: str
    index: int
    chunks: int = 1
    data: Any = None
    error: str = ""
    hint: str = ""
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
    data, error, hint = attempt(lambda: encode(result()), alone=alone)
    return Done(
        id=context.name,
        index=index,
        chunks=chunks,
        data=data,
        error=error,
        hint=hint,
        seconds=time.perf_counter() - started,
    )


def attempt(work: Callable[[], Any], *, alone: bool = False) -> tuple[Any, str, str]:
    """Return the result of the work; or None, its error and the hint, each on one line.

    Parameters
    ----------
    alone : bool
        True if the work has its process to itself, which no Ctrl-C of the user's reaches: a
        KeyboardInterrupt is then the work's own.
    """
    try:
        with one_thread():
            return work(), "", ""
    except BaseException as caught:  # one broken check must not end the run
        if isinstance(caught, KeyboardInterrupt) and not alone:
            raise
        return None, *_told(caught)


def _told(caught: BaseException) -> tuple[str, str]:
    """Return the message of an error, on one line, and its hint."""
    said, _, hint = str(caught).partition(HINT)
    line, hint = " ".join(said.split()), " ".join(hint.split())
    if isinstance(caught, TargetError | DegenerateTargetError):  # it says what was wrong
        return line, hint
    place = traceback.extract_tb(caught.__traceback__)[-1]
    return f"{type(caught).__name__}{': ' if line else ''}{line} (in {place.name})", hint


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
    """Return the number of loaded modules that are machine code."""
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
    write(replies, b"{}")
    while (request := read(requests)) is not None:
        key, task = pickle.loads(request)  # noqa: S301  (from the process that started this one)

        def reply(text: str, key: bytes = key) -> None:
            write(replies, sealed(key, text.encode()))

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
    check, error, hint = attempt(lambda: pickle.loads(task.check), alone=True)  # noqa: S301
    if error:
        return to_json({"error": f"the check cannot be loaded: {error}", "hint": hint})
    done = perform(check, task.context, index=task.index, chunks=task.chunks, alone=True)
    names = ("data", "error", "hint", "seconds")
    return to_json({name: getattr(done, name) for name in names})


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


QUIET_SECONDS = 10.0
"""After so long without any event, a run says that it goes on."""
_NAMED = 4
"""Checks that are named then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run is about to check these claims."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckStarted:
    """The first chunk of a check was handed to a worker.

    Parameters
    ----------
    chunks : int
        The number of chunks of the check, with those of an earlier run.
    """

    id: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsMade:
    """A check that goes on: how often it has called its target.

    Parameters
    ----------
    made : int
        Calls so far.
    planned : int or None
        Calls that the check was planned with; None of a check that is not planned.
    """

    id: str
    made: int
    planned: int | None = None

    @property
    def counted(self) -> str:
        """The calls made, and left, in words."""
        if self.planned is None:
            return f"{self.made:,} calls made"
        made = min(self.made, self.planned)  # a call or two may come before those planned
        return f"{made:,} of {self.planned:,} calls made, {self.planned - made:,} left"

    def __str__(self) -> str:
        return f"{self.id}: {self.counted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StillRunning:
    """Nothing was heard of a run for a while, which goes on.

    Parameters
    ----------
    ids : tuple of str
        The checks that were begun and are not over.
    seconds : float
        The time since the run began.
    """

    ids: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        hidden = len(self.ids) - _NAMED
        more = f" and {hidden} more" if hidden > 0 else ""
        return f"still running after {self.seconds:.0f} s: {', '.join(self.ids[:_NAMED])}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinished:
    """A check came to an end.

    Parameters
    ----------
    stopped : bool
        True if it was not the check that came to an end, but its process, or a limit.
    recorded : bool
        True if the finding is that of an earlier run, out of its journal.
    """

    finding: Finding
    stopped: bool = False
    recorded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """All checks came to an end; ``findings`` are in the order of the rows."""

    findings: tuple[Finding, ...]
    seconds: float


Event = RunStarted | CheckStarted | CallsMade | StillRunning | Done | CheckFinished | RunFinished


class Log:
    """Appends events to a file.

    Raises
    ------
    OSError
        If the file cannot be opened, or an event not be written.
    """

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("a", encoding="utf-8", buffering=1)

    def write(self, event: Event) -> None:
        """Append a line."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._file.write(f"{now} {_line(event)}\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _line(event: Event) -> str:
    match event:
        case RunStarted():
            return f"run started: {len(event.ids)} checks"
        case CheckStarted():
            return f"{event.id}: started, {event.chunks} chunk(s)"
        case CallsMade() | StillRunning():
            return str(event)
        case Done():
            return f"{event.id}: chunk {event.index + 1}/{event.chunks} ({event.seconds:.3f} s)"
        case CheckFinished():
            finding = event.finding
            how = f"recorded as {finding.verdict}" if event.recorded else str(finding.verdict)
            error = f": {finding.error}" if finding.error else ""
            return f"{finding.claim.id}: {how} ({finding.seconds:.3f} s){error}"
        case RunFinished():
            return f"run finished: {event.seconds:.3f} s"
