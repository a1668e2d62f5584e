"""Witnesses in a report: JSON-like text in lines that fit the page."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from dpcp_audit._plain_data import is_list, is_record

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
