"""What a piece of plain data is, told so that type checkers know it too."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Tell whether the value is a list."""
    return isinstance(value, list)


def is_sequence(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Tell whether the value is a list or a tuple."""
    return isinstance(value, list | tuple)


def is_record(value: object) -> TypeGuard[dict[str, Any]]:
    """Tell whether the value is a dictionary; those of JSON and TOML have texts as keys."""
    return isinstance(value, dict)
