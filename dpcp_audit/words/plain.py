"""Plain data: what a piece of it is, how it is printed, and numbers that JSON lacks."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import annotated_types

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import core_schema

NOT_FINITE = ("inf", "-inf", "nan")
"""The words for the numbers that JSON lacks."""


class _JsonNumber:
    """A number as pydantic reads it: whole or not, or a string for those that JSON lacks."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415  (only where data are read)

        return core_schema.no_info_plain_validator_function(_number)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        largest = sys.float_info.max
        finite = {"type": "number", "minimum": -largest, "maximum": largest}
        return {"anyOf": [finite, {"enum": list(NOT_FINITE)}]}


Number = Annotated[float, _JsonNumber()]
"""A float; in JSON also "inf", "-inf" or "nan"."""
Whole = Annotated[int, annotated_types.Ge(0)]
"""A whole number, at least 0."""


def _number(value: Any) -> Any:
    if isinstance(value, str) and value in NOT_FINITE:
        return float(value)
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return value  # stays whole
    raise ValueError(f"must be a number, got {shown(value, 60)}")


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Tell whether the value is a list."""
    return isinstance(value, list)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Tell whether the value is a tuple."""
    return isinstance(value, tuple)


def is_sequence(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Tell whether the value is a list or a tuple."""
    return isinstance(value, list | tuple)


def is_record(value: object) -> TypeGuard[dict[str, Any]]:
    """Tell whether the value is a dictionary; those of JSON and TOML have texts as keys."""
    return isinstance(value, dict)


def shown(value: object, limit: int) -> str:
    """Return a value as messages show it, cut off; of an integer too long to print, its kind.

    Examples
    --------
    >>> shown([1, 2], 60), shown("abcdefgh", 8), shown(10**5000, 60)
    ('[1, 2]', "'abcd...", 'an integer of more than 4300 digits')
    """
    try:
        text = repr(value)
    except ValueError:
        text = f"an integer of more than {sys.get_int_max_str_digits()} digits"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


_WIDTH = 76
_SHOWN_ITEMS = 40


def plain(value: object, *, indent: int = 0) -> str:
    """Return JSON-like text: short values on one line, long lists wrapped and cut off.

    A list of more than 40 items shows its first 20 and says how many more there are.
    """
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) <= _WIDTH - indent:
        return flat
    if is_record(value):
        return _block("{", [f"{_key(k)}: {plain(v, indent=indent + 2)}" for k, v in value.items()])
    if is_list(value):
        return _list(value, indent)
    return flat


def _key(key: object) -> str:
    return json.dumps(str(key), ensure_ascii=False)


def _list(items: list[Any], indent: int) -> str:
    shown = items if len(items) <= _SHOWN_ITEMS else items[: _SHOWN_ITEMS // 2]
    hidden = len(items) - len(shown)
    more = [f"… {hidden:,} more"] if hidden else []
    if any(isinstance(item, dict | list) for item in shown):
        return _block("[", [*(plain(item, indent=indent + 2) for item in shown), *more])
    text = ", ".join(json.dumps(item, ensure_ascii=False) for item in shown)
    width = _WIDTH - indent
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return "[\n" + textwrap.indent("\n".join([*lines, *more]), "  ") + "\n]"


def _block(opening: str, parts: list[str]) -> str:
    inner = textwrap.indent(",\n".join(parts), "  ")
    return f"{opening}\n{inner}\n{'}' if opening == '{' else ']'}"
