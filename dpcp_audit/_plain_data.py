"""What a piece of plain data is, told so that type checkers know it too."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard


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
