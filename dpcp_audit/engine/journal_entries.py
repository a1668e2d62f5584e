"""The lines of a journal: an entry each, with a digest of itself; and what an entry must hold."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from dpcp_audit._plain_data import is_list, is_record
from dpcp_audit.engine import encoding

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
    """What is wrong with an entry, as a predicate: the caller says which it is."""


def line_of(entry: dict[str, Any]) -> bytes:
    """Return an entry as a line."""
    text = encoding.to_json(entry).encode()
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
