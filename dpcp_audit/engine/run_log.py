"""A log of a run: a line an event, with the time, for people and for ``grep``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

from dpcp_audit.engine.run_events import (
    CheckFinished,
    CheckStarted,
    ChunkFinished,
    Event,
    RunFinished,
    RunStarted,
)

if TYPE_CHECKING:
    from pathlib import Path


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
        case ChunkFinished():
            return f"{event.id}: chunk {event.index + 1}/{event.chunks} ({event.seconds:.3f} s)"
        case CheckFinished():
            finding = event.finding
            how = f"recorded as {finding.verdict}" if event.recorded else str(finding.verdict)
            error = f": {finding.error}" if finding.error else ""
            return f"{finding.claim.id}: {how} ({finding.seconds:.3f} s){error}"
        case RunFinished():
            return f"run finished: {event.seconds:.3f} s"
