"""Outcomes as JSON data that becomes the same outcome again, in another process or another run.

Floats travel by their ``repr``, so that they come back bit for bit; those that JSON lacks stand
as ``{"$float": "inf"}``. In plain data tuples and arrays become lists.
"""

from __future__ import annotations

import json
import math
import types
import typing
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit._plain_data import is_list, is_record, is_sequence
from dpcp_audit.results import Outcome, PlainData

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLOAT = "$float"
_PLAIN: dict[Any, Any] = {str: str, bool: bool, int: int, float: int | float}
"""What the data of a field may be, by its annotation."""


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
    TypeError, KeyError, ValueError
        If the data are of another shape.
    """
    return cast("Outcome", _build(Outcome, data))


def to_json(data: object) -> str:
    """Return encoded data as one line of JSON."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _build(hint: Any, data: Any) -> Any:
    """Return data as the type that an annotation names."""
    if is_dataclass(hint):
        hints = _hints(cast("type", hint))
        return cast("type", hint)(**{name: _build(hints[name], data[name]) for name in data})
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(data)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        (present,) = (one for one in arguments if one is not types.NoneType)
        return None if data is None else _build(present, data)
    if origin in {tuple, list}:
        items: list[Any] = [_build(arguments[0], item) for item in _required(list, data)]
        return tuple(items) if origin is tuple else items
    restored = restore(data)
    if origin is dict:
        return _required(dict, restored)
    return _required(_PLAIN[hint], restored) if hint in _PLAIN else restored


def _required(kind: Any, data: Any) -> Any:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise TypeError(f"data must be {kind}, got {type(data).__name__}")
    return data


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)
