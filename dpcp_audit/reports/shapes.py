"""Shapes of plain data: checked with errors that name the place, and written as JSON Schema.

One description of a shape gives both, so that the published schema and the check that this
tool makes cannot drift apart.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dpcp_audit._plain_data import is_list, is_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dpcp_audit.results import PlainData

_SHOWN = 60
NOT_FINITE = ("inf", "-inf", "nan")
"""What stands for the numbers that JSON lacks."""


class SchemaError(ValueError):
    """A document that is not of the results' shape; the message names the place."""


class Shape(Protocol):
    """What a piece of plain data must look like."""

    @property
    def words(self) -> str:
        """What it must be, in words that follow "must be"."""
        ...

    def check(self, value: object, place: str, *, words: str = "") -> None:
        """Raise ``SchemaError`` where the value is of another shape.

        ``words`` stand for the shape's own in the error.
        """
        ...

    def schema(self) -> PlainData:
        """Return the shape as JSON Schema."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A value that is looked at as a whole."""

    words: str
    json: PlainData
    holds: Callable[[Any], bool]

    def check(self, value: object, place: str, *, words: str = "") -> None:
        """Raise ``SchemaError`` where the value is of another shape."""
        if not self.holds(value):
            raise _wrong(place, words or self.words, value)

    def schema(self) -> PlainData:
        """Return the shape as JSON Schema."""
        return self.json


@dataclass(frozen=True, slots=True)
class Maybe:
    """The shape or null."""

    shape: Shape

    @property
    def words(self) -> str:
        """The shape's, with the alternative."""
        return f"{self.shape.words} or null"

    def check(self, value: object, place: str, *, words: str = "") -> None:
        """Raise ``SchemaError`` where the value is of another shape."""
        if value is not None:
            self.shape.check(value, place, words=words or self.words)

    def schema(self) -> PlainData:
        """Return the shape as JSON Schema."""
        return {"anyOf": [self.shape.schema(), {"type": "null"}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A list of one shape, of any length unless ``length`` is given."""

    of: Shape
    words: str = "a list"
    length: int | None = None

    def check(self, value: object, place: str, *, words: str = "") -> None:
        """Raise ``SchemaError`` where the value is of another shape."""
        if not is_list(value) or self.length not in {None, len(value)}:
            raise _wrong(place, words or self.words, value)
        for i, item in enumerate(value):
            self.of.check(item, f"{place}[{i}]")

    def schema(self) -> PlainData:
        """Return the shape as JSON Schema."""
        size = {} if self.length is None else {"minItems": self.length, "maxItems": self.length}
        return {"type": "array", "items": self.of.schema(), **size}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An object with known keys; others are let pass, since a later version may add some."""

    required: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    optional: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    rest: Shape | None = None
    words: str = "an object"

    def check(self, value: object, place: str, *, words: str = "") -> None:
        """Raise ``SchemaError`` where the value is of another shape."""
        if not is_record(value):
            raise _wrong(place, words or self.words, value)
        prefix = f"{place}." if place else ""
        for key in self.required:
            if key not in value:
                raise SchemaError(f"{prefix}{key} is missing")
        known = {**self.required, **self.optional}
        for key, item in value.items():
            shape = known.get(key, self.rest)
            if shape is not None:
                shape.check(item, f"{prefix}{key}")

    def schema(self) -> PlainData:
        """Return the shape as JSON Schema."""
        known = {**self.required, **self.optional}
        return {
            "type": "object",
            "properties": {key: shape.schema() for key, shape in known.items()},
            "required": list(self.required),
            **({} if self.rest is None else {"additionalProperties": self.rest.schema()}),
        }


def one_of(names: Iterable[str]) -> Leaf:
    """Return the shape of one of these texts."""
    texts = [str(name) for name in names]
    return Leaf(
        words=f"one of {', '.join(texts)}",
        json={"enum": texts},
        holds=lambda value: isinstance(value, str) and value in texts,
    )


def _wrong(place: str, words: str, value: object) -> SchemaError:
    text = repr(value)
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return SchemaError(f"{place or 'the document'} must be {words}, got {shown}")


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) <= sys.float_info.max
    return isinstance(value, float) or (isinstance(value, str) and value in NOT_FINITE)


def _is_whole(value: object, at_least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


TEXT = Leaf(words="text", json={"type": "string"}, holds=lambda value: isinstance(value, str))
FLAG = Leaf(
    words="true or false", json={"type": "boolean"}, holds=lambda value: isinstance(value, bool)
)
COUNT = Leaf(
    words="a whole number >= 0",
    json={"type": "integer", "minimum": 0},
    holds=lambda value: _is_whole(value, 0),
)
POSITIVE = Leaf(
    words="a whole number >= 1",
    json={"type": "integer", "minimum": 1},
    holds=lambda value: _is_whole(value, 1),
)
NUMBER = Leaf(
    words="a number",
    json={
        "anyOf": [
            {"type": "number", "minimum": -sys.float_info.max, "maximum": sys.float_info.max},
            {"enum": list(NOT_FINITE)},
        ]
    },
    holds=_is_number,
)
NUMBERS = Leaf(
    words="a list of numbers",
    json={"type": "array", "items": NUMBER.json},
    holds=lambda value: is_list(value) and all(map(_is_number, value)),
)
OBJECT = Record()
