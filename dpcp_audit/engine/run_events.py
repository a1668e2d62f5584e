"""The events of a run, and the log that keeps them: a line an event, with the time.

Code under audit may write past Python's own streams, as C libraries do, and in each of many
thousand calls.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from pathlib import Path

    from dpcp_audit.words.results import Finding, PlainData


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

    def __str__(self) -> str:
        if self.planned is None:
            return f"{self.id}: {self.made:,} calls made"
        left = max(0, self.planned - self.made)
        return f"{self.id}: {self.made:,} of {self.planned:,} calls made, {left:,} left"


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
class ChunkFinished:
    """One of several chunks of a check came to an end.

    Parameters
    ----------
    index, chunks : int
        The index of the chunk, and the number of chunks.
    data : dict
        Its result, encoded.
    seconds : float
        The time that it took.
    """

    id: str
    index: int
    chunks: int
    data: PlainData
    seconds: float


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


Event = (
    RunStarted
    | CheckStarted
    | CallsMade
    | StillRunning
    | ChunkFinished
    | CheckFinished
    | RunFinished
)


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
        case ChunkFinished():
            return f"{event.id}: chunk {event.index + 1}/{event.chunks} ({event.seconds:.3f} s)"
        case CheckFinished():
            finding = event.finding
            how = f"recorded as {finding.verdict}" if event.recorded else str(finding.verdict)
            error = f": {finding.error}" if finding.error else ""
            return f"{finding.claim.id}: {how} ({finding.seconds:.3f} s){error}"
        case RunFinished():
            return f"run finished: {event.seconds:.3f} s"


MOST_BYTES = 2**16
"""The most bytes of one process, during its whole life."""
_SILENCE = "\n(more that the code under audit writes is not shown)\n"
_CHUNK = 2**16
_STDERR = 2


def pass_on(pipe: IO[bytes]) -> threading.Thread:
    """Read a pipe to its end and write the beginning on stderr, without control characters."""
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
