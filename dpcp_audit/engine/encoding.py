"""Outcomes as JSON that becomes the same outcome again, and the lines of a journal.

Floats travel by their ``repr``, so that they come back bit for bit, and those that JSON lacks by
the names that Python's reader knows. In plain data tuples and arrays become lists.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dpcp_audit.words.plain import is_record, is_sequence
from dpcp_audit.words.results import Outcome, PlainData

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import TypeAdapter


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
    outcome: Outcome = _adapter(Outcome).validate_python(data)
    return outcome


def to_json(data: object) -> str:
    """Return encoded data as one line of JSON."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415  (heavy, and not needed by --help)

    return TypeAdapter(kind)


FORMAT = 2
_DIGITS = 16
_HEAD = b'{"digest":"'
_MIDDLE = b'","entry":'


class EntryError(ValueError):
    """An entry that cannot be decoded; the message says why, the caller adds which entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """The first line of a journal: the run, and the claims that it checks.

    Parameters
    ----------
    environment, inputs : dict
        Versions that it was written with, and digests of the files that the settings name.
    settings : dict
        Those of the run.
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
class ChunkEntry:
    """A finished chunk: its claim, its index, and its result, encoded."""

    id: str
    index: int
    data: Any
    seconds: float
    kind: Literal["chunk"] = "chunk"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingEntry:
    """A finished check: its outcome, or the error in its place."""

    id: str
    outcome: Outcome | None
    error: str
    seconds: float
    kind: Literal["finding"] = "finding"


Entry = RunEntry | ChunkEntry | FindingEntry


def line_of(entry: Any) -> bytes:
    """Return an entry as a line."""
    text = to_json(encode(entry)).encode()
    return _HEAD + _digest(text) + _MIDDLE + text + b"}\n"


def entry_of(line: bytes) -> Any:
    """Return what a line says, as plain data; None where it is not whole.

    Raises
    ------
    EntryError
        If it is whole and no JSON: a digest that somebody computed of something else.
    """
    start = len(_HEAD) + _DIGITS + len(_MIDDLE)
    text = line[start:-1]
    if line != _HEAD + _digest(text) + _MIDDLE + text + b"}":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EntryError(f"is no JSON ({error})") from error


def head_of(entry: Any) -> RunEntry:
    """Return the entry that begins a journal.

    Raises
    ------
    EntryError
        If it does not.
    """
    if not is_record(entry) or entry.get("kind") != "run":
        raise EntryError("does not begin a run")
    if entry.get("format") != FORMAT:
        raise EntryError(f"is of format {entry.get('format')!r}, this tool reads {FORMAT}")
    head: RunEntry = _typed(RunEntry, entry)
    if len(set(head.ids)) < len(head.ids):
        raise EntryError("names a claim twice")
    return head


def finished_of(entry: Any, ids: frozenset[str]) -> ChunkEntry | FindingEntry:
    """Return a finished chunk, or the finding, of one of these claims.

    Raises
    ------
    EntryError
        If it is neither.
    """
    kind = entry.get("kind") if is_record(entry) else None
    if kind == "run":
        raise EntryError("begins another run: two journals in one file")
    if kind not in ("chunk", "finding"):
        raise EntryError("is neither a chunk nor a finding")
    found: ChunkEntry | FindingEntry = _typed(
        ChunkEntry if kind == "chunk" else FindingEntry, entry
    )
    if found.id not in ids:
        raise EntryError(f"is of a claim that the run does not check, {found.id!r}")
    if isinstance(found, FindingEntry) and found.outcome is None and not found.error:
        raise EntryError("must hold an outcome or an error")
    return found


def _typed(kind: type, entry: Any) -> Any:
    """Return plain data as the dataclass that they are of; what is wrong is told in a line."""
    from pydantic import ValidationError  # noqa: PLC0415  (heavy)

    try:
        return _adapter(kind).validate_python(entry)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise EntryError(f"cannot be read: {place}: {first['msg']}") from error


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_DIGITS].encode()
