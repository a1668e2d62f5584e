"""The shapes that an option's value can have: one reader and one error for all faces of it.

``read`` takes what Python or TOML holds. ``of_words`` first makes such a value of the words of a
command line; words that are no such value stay as they are, so that ``read`` refuses them by
the same message. ``as_data`` is the way back to plain data.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Generic, TypeGuard, TypeVar, cast

from dpcp_audit.words import errors
from dpcp_audit.words.errors import UsageError, shown

if TYPE_CHECKING:
    from pathlib import Path


E = TypeVar("E", bound=StrEnum)
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
LEAST_PROBABILITY = 1e-100
MOST_DRAWS = 10**12
"""Calls of a target; more than a hundred times what any run plans."""
_LONGEST = 1e9
"""Seconds."""
_COMMAND = "such as 'python mine.py'"
_MOST_OF_RANGE = 24
"""Numbers that a range stands for; also the columns of a heat map."""


class Value(ABC):
    """The shape of an option's value."""

    @abstractmethod
    def read(self, value: object, name: str) -> Any:
        """Return the checked value.

        Raises
        ------
        UsageError
            If the value is invalid; the message names the option, the rule and the value.
        """

    def of_words(self, words: Any, name: str) -> object:  # noqa: ARG002  (for those with parts)
        """Return the value that a command line's words stand for."""
        return words

    def as_data(self, value: Any) -> object:
        """Return the value as plain data that ``read`` takes."""
        return value

    def arguments(self, *, default: object) -> dict[str, Any]:  # noqa: ARG002  (of flags)
        """Return the option's arguments of ``argparse``."""
        return {}

    @property
    def words(self) -> str:
        """The words that it can be, where these are few: of a choice, its members."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Value):
    """A text that is not empty, and without whitespace where it is ``one_word``."""

    one_word: bool = False

    def read(self, value: object, name: str) -> str:
        """Return the text."""
        if not isinstance(value, str) or not value.strip():
            raise wrong(name, "a text", value)
        if self.one_word and any(map(str.isspace, value)):
            hint = f"write {'-'.join(value.split())}"
            raise wrong(name, "a text without whitespace", value, hint=hint)
        return value


class Words(Value):
    """A command line, as one text or as a list of words."""

    def read(self, value: object, name: str) -> tuple[str, ...]:
        """Return the words."""
        words = value
        if isinstance(value, str):
            try:
                words = shlex.split(value)
            except ValueError as error:
                raise UsageError(f"{name}: {error}", hint=_COMMAND) from error
        if not is_sequence(words) or not words:
            raise wrong(name, "a command line", value, hint=_COMMAND)
        if not all(isinstance(word, str) for word in words):
            raise wrong(name, "a command line", value, hint=_COMMAND)
        return tuple(words)

    def as_data(self, value: tuple[str, ...]) -> list[str]:
        """Return a list."""
        return list(value)


class Flag(Value):
    """True or false; an option of the command line that takes no word."""

    def read(self, value: object, name: str) -> bool:
        """Return the truth value."""
        if not isinstance(value, bool):
            raise wrong(
                name, "true or false", value, hint="in Python True or False, in TOML true or false"
            )
        return value

    def arguments(self, *, default: object) -> dict[str, Any]:
        """Return an action that says the contrary of the default."""
        return {"action": "store_const", "const": not default}


@dataclass(frozen=True, slots=True)
class Choice(Value, Generic[E]):
    """A member of an enumeration, by its value; of some members alone where they are given."""

    kind: type[E]
    members: tuple[E, ...] = ()

    def read(self, value: object, name: str) -> E:
        """Return the member."""
        members = self._members
        if not isinstance(value, str) or value not in members:
            near = difflib.get_close_matches(str(value), members, n=1)
            hint = f"did you mean {str(near[0])!r}?" if near else f"such as {str(members[0])!r}"
            raise wrong(name, f"one of {', '.join(members)}", value, hint=hint)
        return self.kind(value)

    @property
    def words(self) -> str:
        """The members."""
        return "|".join(self._members)

    @property
    def _members(self) -> tuple[E, ...]:
        return self.members or tuple(self.kind)

    def as_data(self, value: E) -> str:
        """Return the member's value."""
        return str(value)


class Numeric(Value):
    """A number of some sort."""

    def of_words(self, words: str, name: str) -> object:  # noqa: ARG002
        """Return a number, or the word."""
        return number_of(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Numeric):
    """A whole number, bounded where more cannot be meant."""

    at_least: int = 1
    at_most: int | None = None

    def of_words(self, words: str, name: str) -> object:  # noqa: ARG002
        """Return a whole number, in digits or as 1e4."""
        return whole_of(words)

    def read(self, value: object, name: str) -> int:
        """Return the number."""
        wanted = f"a whole number >= {self.at_least}"
        if is_whole(value) and value >= self.at_least:
            if self.at_most is None or value <= self.at_most:
                return int(value)
            wanted = f"at most {self.at_most:,}"
        hint = errors.for_whole(value, at_least=self.at_least, at_most=self.at_most)
        raise wrong(name, wanted, value, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Positive(Numeric):
    """A finite number above 0, or above another, and within a range where one is given."""

    above: float = 0.0
    at_least: float = 0.0
    at_most: float = math.inf

    def read(self, value: object, name: str) -> float:
        """Return the number."""
        found = number(value, name)
        if not self.above < found < math.inf:
            hint = errors.for_number(value, f"{self.above + 1:g}" if self.above else "0.5")
            raise wrong(name, f"finite and > {self.above:g}", value, hint=hint)
        if not self.at_least <= found <= self.at_most:
            at_most = f" and at most {self.at_most:g}" if self.at_most < math.inf else ""
            least = f"at least {self.at_least:g}{at_most}"
            nearest = min(max(found, self.at_least), self.at_most)
            raise wrong(name, least, value, hint=f"the nearest is {nearest:g}")
        return found


class NonNegative(Numeric):
    """A finite number of at least 0."""

    def read(self, value: object, name: str) -> float:
        """Return the number."""
        found = number(value, name)
        if not 0 <= found < math.inf:
            raise wrong(name, "finite and >= 0", value, hint=errors.for_number(value))
        return found


class Probability(Numeric):
    """A number in (0, 1); below 1e-100 the arithmetic of intervals gives out."""

    def read(self, value: object, name: str) -> float:
        """Return the number."""
        found = number(value, name)
        if not LEAST_PROBABILITY <= found < 1:
            least = f", at least {LEAST_PROBABILITY:g}" if 0 < found < 1 else ""
            raise UsageError(
                f"{name} must lie in (0, 1){least}, got {shown(value, 60)}",
                hint=errors.for_probability(value),
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes(Value):
    """Distinct sizes, as one whole number or as a list of them."""

    at_most: int

    def read(self, value: object, name: str) -> tuple[int, ...]:
        """Return them in ascending order."""
        sizes: set[int] = set()
        for n in value if _is_collection(value) else [value]:
            if not is_whole(n) or n < 1:
                raise wrong(
                    name, "a whole number >= 1, or a list of them", value, hint=errors.for_whole(n)
                )
            if n > self.at_most:
                hint = errors.for_whole(n, at_most=self.at_most)
                raise wrong(name, f"at most {self.at_most:,}", n, hint=hint)
            sizes.add(int(n))
        return tuple(sorted(sizes))

    def of_words(self, words: str, name: str) -> object:  # noqa: ARG002
        """Return the numbers between commas, in digits or as 1e4."""
        return [whole_of(part) for part in words.split(",")]

    def as_data(self, value: tuple[int, ...]) -> list[int]:
        """Return a list."""
        return list(value)


@dataclass(frozen=True, slots=True)
class Several(Value):
    """One value of a number's shape or several: a list, or a text such as "0.5,1,2" or "100..1e6".

    A range a..b is its two ends and the numbers 1, 2 and 5 times a power of ten between them; of
    more than 24 numbers, the powers of ten alone.

    Examples
    --------
    >>> Several(Whole()).read("100..1e3,4e3", "n")
    (100, 200, 500, 1000, 4000)
    """

    one: Numeric

    def read(self, value: object, name: str) -> tuple[Any, ...]:
        """Return the checked values, in their order and each once."""
        items: list[Any] = list(value) if _is_collection(value) else [value]
        if isinstance(value, str):
            items = [each for part in value.split(",") for each in self._numbers(part, name)]
        if not items:
            raise wrong(name, "a number, or a list of them", value, hint="such as [0.5, 1, 2]")
        return tuple(dict.fromkeys(self.one.read(each, name) for each in items))

    def of_words(self, words: str, name: str) -> object:
        """Return a number, or the text where it writes several."""
        several = "," in words or ".." in words
        return words if several else self.one.of_words(words, name)

    def _numbers(self, part: str, name: str) -> list[object]:
        low, dots, high = part.partition("..")
        if not dots:
            return [self.one.of_words(part.strip(), name)]
        ends = [self.one.of_words(end.strip(), name) for end in (low, high)]
        first, last = (self.one.read(end, name) for end in ends)
        if not 0 < first < last:
            raise wrong(name, "a range a..b with 0 < a < b", part, hint="such as 100..1000")
        return [first, *(type(first)(each) for each in _between(first, last)), last]


class Pair(Value):
    """The two ends of an interval: numbers, or "none", in Python None, where there is no end."""

    def read(self, value: object, name: str) -> tuple[float, float]:
        """Return the two, infinite where there is no end."""
        if not is_sequence(value) or len(value) != 2:
            raise wrong(name, "two numbers", value, hint="such as 0 and 1; 'none' for no end")
        low, high = (
            none if item is None or item == "none" else number(item, name)
            for item, none in zip(value, (-math.inf, math.inf), strict=True)
        )
        return low, high

    def of_words(self, words: list[str], name: str) -> object:  # noqa: ARG002
        """Return a number for each word."""
        return [number_of(word) for word in words]

    def as_data(self, value: tuple[float, float]) -> list[float | str]:
        """Return a list."""
        return ["none" if math.isinf(end) else end for end in value]

    def arguments(self, *, default: object) -> dict[str, Any]:  # noqa: ARG002
        """Return argparse's settings: two words."""
        return {"nargs": 2}


class KeywordTable(Value):
    """Keyword arguments: a table, or NAME=VALUE words whose value is JSON or else a text."""

    def read(self, value: object, name: str) -> Mapping[str, Any]:
        """Return a copy of the table."""
        if not isinstance(value, Mapping):
            raise wrong(name, "a table", value, hint='such as {"size": 10}')
        return dict(cast("Mapping[str, Any]", value))

    def of_words(self, words: list[str], name: str) -> object:
        """Return the table that the words write."""
        return dict(self._entry(word, name) for word in words)

    def as_data(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a dictionary."""
        return dict(value)

    def arguments(self, *, default: object) -> dict[str, Any]:  # noqa: ARG002
        """Return argparse's settings: repeatable."""
        return {"action": "append"}

    @staticmethod
    def _entry(word: str, name: str) -> tuple[str, Any]:
        key, equals, text = word.partition("=")
        if not equals or not key.isidentifier():
            raise wrong(name, "NAME=VALUE", word, hint="such as size=10")
        try:
            return key, json.loads(text)
        except ValueError:
            return key, text


class Duration(Value):
    """A positive time in seconds, as a number or as a text such as "60s", "2m" or "1h"."""

    def read(self, value: object, name: str) -> float:
        """Return the seconds."""
        found = _seconds(value)
        if not 0 < found < _LONGEST:
            hint = "give a positive time below 30 years"
            raise wrong(name, 'a time such as 60, "60s", "2m" or "1h"', value, hint=hint)
        return found


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return True if the value is a list."""
    return isinstance(value, list)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Return True if the value is a tuple."""
    return isinstance(value, tuple)


def is_sequence(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Return True if the value is a list or a tuple."""
    return isinstance(value, list | tuple)


def is_record(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True if the value is a dictionary; those of JSON and TOML have texts as keys."""
    return isinstance(value, dict)


def number(value: object, name: str) -> float:
    """Return a number that is one, no truth value, and within a float's range."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong(name, "a number", value, hint=errors.for_number(value))
    try:
        return float(value)
    except OverflowError:
        hint = errors.for_number(value)
        raise wrong(name, "a number within a float's range", value, hint=hint) from None


def is_whole(value: object) -> TypeGuard[int]:
    """Return True if the value is a whole number, also one of NumPy, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_of(word: str) -> object:
    """Return the whole number that a word writes, in digits or as 1e4, or else what it writes."""
    found = number_of(word)
    return int(found) if isinstance(found, float) and found.is_integer() else found


def _between(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten between two numbers, or the powers if too many."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1,)):
        found = [x for e in powers for d in digits if low < (x := float(f"{d}e{e}")) < high]
        if len(found) + 2 <= _MOST_OF_RANGE:
            return found
    raise UsageError(
        f"a range must span at most 22 powers of ten, got {low:g}..{high:g}",
        hint="give the numbers instead: 1,1e6,1e12",
    )


def number_of(word: str) -> object:
    """Return the number that a word writes, or else the word."""
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def wrong(name: str, wanted: str, value: object, *, hint: str = "") -> UsageError:
    """Return the error of a value that is not what it must be."""
    return UsageError(f"{name} must be {wanted}, got {shown(value, 60)}", hint=hint)


def _is_collection(value: object) -> TypeGuard[Collection[object]]:
    """Return True if the value holds items: a list, a range, an array of a dimension at least."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        return False
    return getattr(cast("object", value), "shape", None) != ()


def _seconds(value: object) -> float:
    """Return the seconds that a value stands for, or NaN."""
    if not isinstance(value, str):
        try:
            return number(value, "")
        except UsageError:
            return math.nan
    text = value.strip()
    digits = text.rstrip("smhin").rstrip()
    plain = digits.isascii() and digits.replace(".", "", 1).isdigit()
    unit = text[len(digits) :].strip()
    return float(digits) * _UNITS[unit] if plain and unit in _UNITS else math.nan


def is_file(path: str | Path) -> bool:
    """Return True if there is a file; no path is too long, or too odd, to be asked about.

    Examples
    --------
    >>> is_file("9" * 5000)
    False
    """
    return os.path.isfile(path)  # noqa: PTH113  (Path's own raises on such)
