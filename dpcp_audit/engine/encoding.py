"""Outcomes as JSON data that becomes the same outcome again, in another process or another run.

Floats travel by their ``repr``, so that they come back bit for bit; those that JSON lacks stand
as ``{"$float": "inf"}``. In plain data tuples and arrays become lists.

The lines of a journal: an entry each, with a digest of itself; and what an entry must hold.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.words.plain import is_list, is_record, is_sequence
from dpcp_audit.words.results import Outcome, PlainData

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import TypeAdapter


_FLOAT = "$float"


def encode(value: object) -> Any:  # noqa: PLR0911  (one return a type)
    """Return the value as JSON data.

    Raises
    ------
    TypeError
        If something in it is neither plain data nor a dataclass of such.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if is_record(value):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return encode(cast("Any", value).tolist())
    if is_sequence(value):
        return [encode(item) for item in value]
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"value must be plain data, got {type(value).__name__}")


def plain_record(record: Mapping[str, object]) -> PlainData:
    """Return the record as JSON-ready data; see ``plain_data``."""
    return {key: plain_data(item) for key, item in record.items()}


def plain_data(value: object) -> object:  # noqa: PLR0911  (one return a type)
    """Return the value as JSON-ready data: arrays as lists, infinities and NaN as strings."""
    if is_record(value):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain_data(cast("Any", value).tolist())
    if is_sequence(value):
        return [plain_data(item) for item in value]
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, np.generic):
        return plain_data(cast("Any", value).item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"value must be plain data, got {type(value).__name__}")


def restore(data: Any) -> Any:
    """Return plain data as it was before ``encode``."""
    if is_record(data):
        if data.keys() == {_FLOAT}:
            return float(data[_FLOAT])
        return {key: restore(item) for key, item in data.items()}
    return [restore(item) for item in data] if is_list(data) else data


def decode(data: PlainData) -> Outcome:
    """Return the outcome that was encoded.

    Raises
    ------
    ValueError
        If the data are of another shape.
    """
    return _outcomes().validate_python(restore(data))


def to_json(data: object) -> str:
    """Return encoded data as one line of JSON."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


@cache
def _outcomes() -> TypeAdapter[Outcome]:
    from pydantic import TypeAdapter  # noqa: PLC0415  (heavy, and not needed by --help)

    return TypeAdapter(Outcome)


FORMAT = 1
_DIGITS = 16
_HEAD = b'{"digest":"'
_MIDDLE = b'","entry":'
_NUMBER = (int, float)
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "run": {
        "format": (int,),
        "environment": (dict,),
        "settings": (dict,),
        "inputs": (dict,),
        "ids": (list,),
    },
    "chunk": {"id": (str,), "index": (int,), "data": (object,), "seconds": _NUMBER},
    "finding": {
        "id": (str,),
        "outcome": (dict, type(None)),
        "error": (str,),
        "seconds": _NUMBER,
    },
}


class EntryError(ValueError):
    """An entry that cannot be decoded; the message says why, the caller adds which entry."""


def line_of(entry: dict[str, Any]) -> bytes:
    """Return an entry as a line."""
    text = to_json(entry).encode()
    return _HEAD + _digest(text) + _MIDDLE + text + b"}\n"


def entry_of(line: bytes) -> Any:
    """Return what a line says; None where it is not whole.

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


def require_head(entry: Any) -> None:
    """Refuse what does not begin a journal.

    Raises
    ------
    EntryError
    """
    if not is_record(entry) or entry.get("kind") != "run":
        raise EntryError("does not begin a run")
    if entry.get("format") != FORMAT:
        raise EntryError(f"is of format {entry.get('format')!r}, this tool reads {FORMAT}")
    _require_fields(entry, "run")
    texts = [*entry["ids"], *entry["environment"].values(), *entry["inputs"].values()]
    if not all(isinstance(text, str) for text in texts):
        raise EntryError("must hold texts as ids, versions and digests")


def require_finished(entry: Any, ids: frozenset[str]) -> None:
    """Refuse what is neither a finished chunk nor a finding of one of these claims.

    Raises
    ------
    EntryError
    """
    if not is_record(entry) or entry.get("kind") not in tuple(_FIELDS):
        raise EntryError("is neither a chunk nor a finding")
    if entry["kind"] == "run":
        raise EntryError("begins another run: two journals in one file")
    _require_fields(entry, entry["kind"])
    if entry["id"] not in ids:
        raise EntryError(f"is of a claim that the run does not check, {entry['id']!r}")
    if entry["kind"] == "finding" and entry["outcome"] is None and not entry["error"]:
        raise EntryError("must hold an outcome or an error")


def _require_fields(entry: dict[str, Any], kind: str) -> None:
    for name, kinds in _FIELDS[kind].items():
        if name not in entry:
            raise EntryError(f"lacks {name!r}")
        value = entry[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and object not in kinds):
            wanted = " or ".join(each.__name__ for each in kinds)
            raise EntryError(f"must hold a {wanted} as {name!r}, got {type(value).__name__}")
        if is_list(value) and name == "ids" and len(set(map(str, value))) < len(value):
            raise EntryError("names a claim twice")


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_DIGITS].encode()
