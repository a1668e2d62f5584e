"""The journal: a run written down as it goes on, so that it can be resumed after any end.

A line of JSON an entry, each with a digest of itself: first what the run is, then every chunk and
finding as it is finished. A line is written in one piece and handed to the system at once, so
that the end of this process, even by ``kill -9``, loses no line; the end of the machine may lose
those of the last second. A check that was stopped by a limit or by the death of its process is
not finished: its finding is not written, and resuming tries it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from dpcp_audit.engine.run_settings import (
    RunSettings,
    difference,
    environment,
    imported,
    inputs,
)
from dpcp_audit.engine.runner import Past
from dpcp_audit.engine.tasks import (
    CheckFinished,
    Done,
    Event,
    adapter,
    encode,
    to_json,
)
from dpcp_audit.words.errors import IncompleteError, UsageError
from dpcp_audit.words.results import Finding, Outcome
from dpcp_audit.words.values import is_record

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from dpcp_audit.words.checks import Row


FORMAT = 2
_DIGITS = 16
_HEAD = b'{"digest":"'
_MIDDLE = b'","entry":'


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunEntry:
    """The first line of a journal: the run, and the claims that it checks.

    Parameters
    ----------
    environment, inputs : dict
        Versions that it was written with, and digests of the files that the settings name.
    settings : dict
        The settings of the run.
    ids : tuple of str
        The claims, each once.
    """

    environment: dict[str, str]
    settings: dict[str, Any]
    inputs: dict[str, str]
    ids: tuple[str, ...]
    format: int = FORMAT
    kind: Literal["run"] = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkEntry:
    """A finished chunk: its claim, its index, and its result, encoded."""

    id: str
    index: int
    data: Any
    seconds: float
    kind: Literal["chunk"] = "chunk"


@dataclass(frozen=True, slots=True, kw_only=True)
class _FindingEntry:
    """A finished check: its outcome, or the error in its place."""

    id: str
    outcome: Outcome | None
    error: str
    seconds: float
    hint: str = ""
    kind: Literal["finding"] = "finding"


Entry = _RunEntry | _ChunkEntry | _FindingEntry


def line_of(entry: Any) -> bytes:
    """Return an entry as a line."""
    text = to_json(encode(entry)).encode()
    return _HEAD + _digest(text) + _MIDDLE + text + b"}\n"


def _entry_of(line: bytes) -> Any:
    """Return the plain data of a line; None where it is not whole.

    Raises
    ------
    ValueError
        If it is whole and no JSON: a digest that somebody computed of something else.
    """
    start = len(_HEAD) + _DIGITS + len(_MIDDLE)
    text = line[start:-1]
    if line != _HEAD + _digest(text) + _MIDDLE + text + b"}":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON ({error})") from error


def _head_of(entry: Any) -> _RunEntry:
    """Return the entry that begins a journal.

    Raises
    ------
    ValueError
        If it does not.
    """
    if not is_record(entry) or entry.get("kind") != "run":
        raise ValueError("does not begin a run")
    if entry.get("format") != FORMAT:
        raise ValueError(f"is of format {entry.get('format')!r}, this tool reads {FORMAT}")
    head: _RunEntry = _typed(_RunEntry, entry)
    if len(set(head.ids)) < len(head.ids):
        raise ValueError("names a claim twice")
    return head


def _finished_of(entry: Any, ids: frozenset[str]) -> _ChunkEntry | _FindingEntry:
    """Return a finished chunk, or the finding, of one of these claims.

    Raises
    ------
    ValueError
        If it is neither.
    """
    kind = entry.get("kind") if is_record(entry) else None
    if kind == "run":
        raise ValueError("begins another run: two journals in one file")
    if kind not in ("chunk", "finding"):
        raise ValueError("is neither a chunk nor a finding")
    found: _ChunkEntry | _FindingEntry = _typed(
        _ChunkEntry if kind == "chunk" else _FindingEntry, entry
    )
    if found.id not in ids:
        raise ValueError(f"is of a claim that the run does not check, {found.id!r}")
    if isinstance(found, _FindingEntry) and found.outcome is None and not found.error:
        raise ValueError("must hold an outcome or an error")
    return found


def _typed(kind: type, entry: Any) -> Any:
    """Return plain data as the dataclass that they are of; what is wrong is told in a line."""
    from pydantic import ValidationError  # noqa: PLC0415  (heavy)

    try:
        return adapter(kind).validate_python(entry)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise ValueError(f"cannot be read: {place}: {first['msg']}") from error


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_DIGITS].encode()


_SYNC_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    """The settings and findings of a journal.

    Parameters
    ----------
    head : _RunEntry
        The run.
    settings : RunSettings
        The settings of the run.
    entries : list
        The finished entries, in the order in which they ended.
    size : int
        Bytes up to the end of the last whole line.
    torn : bool
        True if there is a part of a line after that.
    """

    head: _RunEntry
    settings: RunSettings
    entries: list[_ChunkEntry | _FindingEntry]
    size: int
    torn: bool

    def past(self, rows: Sequence[Row]) -> Past:
        """Return the finished findings and chunks of these rows."""
        claims = {row.claim.id: row.claim for row in rows}
        past = Past()
        for entry in self.entries:
            if isinstance(entry, _ChunkEntry):
                past.chunks.setdefault(entry.id, {})[entry.index] = Done(
                    id=entry.id, index=entry.index, data=entry.data, seconds=entry.seconds
                )
            else:
                past.findings[entry.id] = Finding(
                    claim=claims[entry.id],
                    outcome=entry.outcome,
                    error=entry.error,
                    hint=entry.hint,
                    seconds=entry.seconds,
                )
        return past


class Journal:
    """An open journal; it is locked until it is closed.

    Parameters
    ----------
    descriptor : int
        The file, open for appending.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._synced = time.monotonic()

    @classmethod
    @contextmanager
    def create(cls, path: Path, rows: Sequence[Row], settings: RunSettings) -> Generator[Self]:
        """Begin a journal in a new file, or in an empty one.

        Raises
        ------
        UsageError
            If the file holds something already, cannot be written, or is in use.
        """
        with _locked(path, create=True) as descriptor:
            if os.fstat(descriptor).st_size:
                raise UsageError(
                    f"--journal: {path} exists; go on with it by --resume {path}, or remove it"
                )
            journal = cls(path, descriptor)
            journal.write(
                _RunEntry(
                    environment=environment(settings.suite),
                    settings=settings.as_data(),
                    inputs=inputs(settings) | imported(settings),
                    ids=tuple(row.claim.id for row in rows),
                )
            )
            yield journal
            journal.sync()

    @classmethod
    @contextmanager
    def resume(
        cls, path: Path, rows: Sequence[Row], settings: RunSettings
    ) -> Generator[tuple[Self, _Recorded]]:
        """Open the journal of a run of these rows and settings, to go on with it.

        Raises
        ------
        UsageError
            If it is another run's, of other versions, damaged, not to be written, or in use.
        """
        with _locked(path, create=False) as descriptor:
            recorded = read(path)
            _compare(path, recorded, rows, settings)
            os.ftruncate(descriptor, recorded.size)
            journal = cls(path, descriptor)
            yield journal, recorded
            journal.sync()

    def record(self, event: Event) -> None:
        """Write down what the event says to be finished."""
        if isinstance(event, Done):
            self.write(
                _ChunkEntry(id=event.id, index=event.index, data=event.data, seconds=event.seconds)
            )
        elif isinstance(event, CheckFinished) and not (event.stopped or event.recorded):
            finding = event.finding
            self.write(
                _FindingEntry(
                    id=finding.claim.id,
                    outcome=finding.outcome,
                    error=finding.error,
                    hint=finding.hint,
                    seconds=finding.seconds,
                )
            )

    def write(self, entry: Entry) -> None:
        """Append an entry.

        Raises
        ------
        IncompleteError
            If it cannot be written, for example on a full disk. What was written of it is
            taken back.
        """
        line = line_of(entry)
        size = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                self.sync()
        except OSError as error:
            self._take_back(size)
            raise IncompleteError(
                f"--journal: {self._path}: {error.strerror}",
                hint=f"once that is fixed, continue with --resume {self._path}",
            ) from error

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        os.fsync(self._descriptor)
        self._synced = time.monotonic()

    def _take_back(self, size: int) -> None:
        try:
            os.ftruncate(self._descriptor, size)
        except OSError:  # no regular file; a line that is not whole is dropped on resuming
            return


def read(path: Path) -> _Recorded:
    """Read a journal.

    Raises
    ------
    UsageError
        If it cannot be read, is none, or if a line before the last one is damaged.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"--resume: {path}: {error.strerror}") from error
    *lines, rest = content.split(b"\n")
    entries = [
        _checked(path, number, _entry_of, line) for number, line in enumerate(lines, start=1)
    ]
    torn = bool(rest)
    if entries and entries[-1] is None:  # a line whose blocks never reached the disk
        entries.pop()
        rest, torn = lines.pop() + b"\n" + rest, True
    if not entries:
        raise UsageError(
            f"--resume: {path} holds no whole line: nothing was finished; remove it and begin "
            "again with --journal"
        )
    for number, entry in enumerate(entries, start=1):
        if entry is None:
            raise UsageError(f"--resume: {path}: line {number} is damaged")
    head: _RunEntry = _checked(path, 1, _head_of, entries[0])
    ids = frozenset(head.ids)
    return _Recorded(
        head=head,
        settings=RunSettings.of_document(head.settings),
        entries=[
            _checked(path, number, _finished_of, entry, ids)
            for number, entry in enumerate(entries[1:], start=2)
        ],
        size=len(content) - len(rest),
        torn=torn,
    )


def _compare(path: Path, there: _Recorded, rows: Sequence[Row], settings: RunSettings) -> None:
    """Raise ``UsageError`` where a journal is not that of this run."""
    if unlike := difference(there.head.environment, environment(settings.suite)):
        raise UsageError(f"--resume: {path} was written with other versions: {unlike}")
    here = encode(settings.as_data())
    recorded = encode(there.settings.as_data())
    for name, value in recorded.items():
        if value != here[name]:
            raise UsageError(
                f"--resume: {path} is of another run: {name} {value} there, {here[name]} here"
            )
    if unlike := difference(there.head.inputs, inputs(settings) | imported(settings)):
        raise UsageError(f"--resume: files have changed since {path} was begun: {unlike}")
    ids = tuple(row.claim.id for row in rows)
    if ids != there.head.ids:
        unlike = ", ".join(sorted(set(ids) ^ set(there.head.ids))) or "their order"
        raise UsageError(f"--resume: {path} is of a run of other claims: {unlike}")


def _checked(path: Path, number: int, check: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a check of a line; an error names the number of the line."""
    try:
        return check(*arguments)
    except ValueError as error:
        raise UsageError(f"--resume: {path}: line {number} {error}") from error


@contextmanager
def _locked(path: Path, *, create: bool) -> Generator[int]:
    import fcntl  # noqa: PLC0415  (not everywhere)

    option = "--journal" if create else "--resume"
    flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0)
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        raise UsageError(f"{option}: {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{option}: {path} is in use by another run") from None
        yield descriptor
    finally:
        os.close(descriptor)
