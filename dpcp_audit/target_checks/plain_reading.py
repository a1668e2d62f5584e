"""Reading plain data that a person wrote: every value checked, every error naming its key."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, TypeVar

from dpcp_audit.errors import UsageError

E = TypeVar("E", bound=StrEnum)
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@contextmanager
def named(where: str) -> Iterator[None]:
    """Put the place in front of usage errors raised inside."""
    try:
        yield
    except UsageError as error:
        if not where:
            raise
        raise UsageError(f"{where}: {error}") from error


def known(data: Mapping[str, Any], keys: frozenset[str] | set[str]) -> None:
    """Refuse keys that are not known, naming the nearest one that is."""
    for key in data:
        if key not in keys:
            near = difflib.get_close_matches(key, sorted(keys), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f", use {', '.join(sorted(keys))}"
            raise UsageError(f"unknown key {key!r}{hint}")


def text(data: Mapping[str, Any], key: str) -> str | None:
    """Return a non-empty text, or None where the key is missing."""
    value = data.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise _wrong(key, "a text", value)
    return value


def words(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a command line, given as one text or as a list of words."""
    value = data.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            raise UsageError(f"{key}: {error}") from error
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise _wrong(key, "a command line", value)
    if not value:
        raise _wrong(key, "a command line", data[key])
    return tuple(value)


def flag(data: Mapping[str, Any], key: str, *, default: bool) -> bool:
    """Return true or false."""
    value = data.get(key, default)
    if not isinstance(value, bool):
        raise _wrong(key, "true or false", value)
    return value


def choice(kind: type[E], data: Mapping[str, Any], key: str) -> E | None:
    """Return a member of an enumeration by its value, or None where the key is missing."""
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or value not in list(kind):
        raise _wrong(key, f"one of {', '.join(kind)}", value)
    return kind(value)


def whole(data: Mapping[str, Any], key: str, *, at_least: int = 1) -> int | None:
    """Return a whole number, or None where the key is missing."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise _wrong(key, f"a whole number >= {at_least}", value)
    return value


def sizes(data: Mapping[str, Any], key: str) -> tuple[int, ...]:
    """Return distinct sizes, given as one whole number or as a list of them."""
    value = data.get(key, [])
    listed = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in listed):
        raise _wrong(key, "a whole number >= 1, or a list of them", value)
    return tuple(sorted(set(listed)))


def number(value: object, key: str) -> float:
    """Return a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(key, "a number", value)
    return float(value)


def checked(validate: Callable[..., object], data: Mapping[str, Any], key: str) -> float | None:
    """Return a number that a validator lets pass, or None where the key is missing."""
    if data.get(key) is None:
        return None
    value = number(data[key], key)
    try:
        validate(**{key: value})
    except ValueError as error:
        raise UsageError(str(error)) from error
    return value


def pair(data: Mapping[str, Any], key: str) -> tuple[float, float] | None:
    """Return two numbers, or None where the key is missing."""
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise _wrong(key, "two numbers", value)
    low, high = (number(item, key) for item in value)
    return low, high


def claims(data: Mapping[str, Any], key: str, *, numbers: int) -> list[tuple[float, ...]]:
    """Return claims of ``numbers`` numbers each, given as one claim or as a list of them."""
    value = data.get(key)
    if value is None:
        return []
    listed = value if isinstance(value, list | tuple) else [value]
    if numbers > 1 and not any(isinstance(item, list | tuple) for item in listed):
        listed = [listed]
    found = []
    for item in listed:
        each = item if isinstance(item, list | tuple) else [item]
        if len(each) != numbers:
            words_ = "a number" if numbers == 1 else f"{numbers} numbers"
            raise _wrong(key, f"{words_}, or a list of such", value)
        found.append(tuple(number(part, key) for part in each))
    return found


def table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a table of keyword arguments, empty where the key is missing."""
    value = data.get(key, {})
    if not isinstance(value, Mapping):
        raise _wrong(key, "a table", value)
    return dict(value)


def duration(data: Mapping[str, Any], key: str, *, default: float) -> float:
    """Return seconds, given as a number or as a text such as "60s", "2m" or "1h"."""
    value = data.get(key, default)
    return seconds(value, key)


def seconds(value: object, key: str) -> float:
    """Return a positive number of seconds."""
    found: float | None = None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|m|min|h|)\s*", value)
        found = float(match[1]) * _UNITS[match[2]] if match else None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    if found is None or not 0 < found < 1e9:
        raise _wrong(key, 'a time such as 60, "60s", "2m" or "1h"', value)
    return found


def _wrong(key: str, wanted: str, value: object) -> UsageError:
    shown = repr(value)
    return UsageError(
        f"{key} must be {wanted}, got {shown if len(shown) <= 60 else shown[:57] + '...'}"
    )
