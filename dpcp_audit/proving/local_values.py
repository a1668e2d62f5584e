"""What a function of one user's value computes with: records, seeds, hashes, arrays of draws."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.proving.distances import Hidden, Value, is_known
from dpcp_audit.proving.draw_outcomes import UniformDraw
from dpcp_audit.proving.entry_types import NUMPY
from dpcp_audit.proving.exact_numbers import exact_of, is_scalar, plain
from dpcp_audit.proving.local_draws import MOST_WAYS
from dpcp_audit.proving.path_laws import Drawn, Entries

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpcp_audit.proving.protocol import LocalInterpreter

_LARGEST = 2**62
"""Size from which on whole numbers of NumPy may wrap around."""
Cut = tuple[Fraction, int]
"""A place just below a number (0), or just above it (1)."""


@dataclass(frozen=True, slots=True)
class RecordNumber(Hidden):
    """A record's number times ``factor`` plus ``offset``; of NumPy's type, or Python's."""

    factor: Fraction
    offset: Fraction
    entry_type: str


@dataclass(frozen=True, slots=True)
class Seed(Hidden):
    """The ``place``-th public random whole number of the path: one of ``size``, from ``low`` on."""

    place: int
    low: int
    size: int
    of_numpy: bool


@dataclass(frozen=True, slots=True)
class Hashed(Hidden):
    """A whole number that follows from a value and from seeds, of an absolute value up to this."""

    size: int
    of_numpy: bool


def typed(value: Value) -> Hashable:
    """Return a known value with its type, as a key: values that differ have keys that do."""
    value = plain(value)
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.tobytes()
    if type(value) in {tuple, list}:
        return (type(value).__name__, *map(typed, value))
    return type(value).__name__, repr(value)


def _of_numpy(value: Value) -> bool:
    return (
        value.of_numpy if isinstance(value, Seed | Hashed) else isinstance(plain(value), np.generic)
    )


def items_of(value: Value) -> tuple[Value, ...] | None:
    """Return the entries of an array of one dimension; None of a number."""
    if isinstance(value, Entries):
        return value.items
    return tuple(value) if isinstance(value, np.ndarray) and value.ndim == 1 else None


def possible(value: Value) -> tuple[Value, ...]:
    """Return the numbers that an entry may be."""
    if isinstance(value, UniformDraw):
        return (np.float64(0),)
    return value.values if isinstance(value, Drawn) else (value,)


def is_number(value: Value) -> bool:
    """Tell whether a value is a known number."""
    return is_known(value) and is_scalar(value)


def computable(*values: Value) -> bool:
    """Tell whether values are known numbers or draws, of which one at least is a draw."""
    drawn = [isinstance(each, Drawn) for each in values]
    return any(drawn) and all(x or is_number(each) for x, each in zip(drawn, values, strict=True))


def record_moved(reader: LocalInterpreter, name: str, a: Value, b: Value) -> RecordNumber:
    """Return a record's number plus, minus, times or over a known one."""
    record, other = (a, b) if isinstance(a, RecordNumber) else (b, a)
    exact = exact_of(other) if is_known(other) and is_scalar(other) else None
    number = None if exact is None else exact.rational
    of = NUMPY if isinstance(plain(other), np.generic) else record.entry_type
    if number is not None and name == "Add":
        return RecordNumber(record.factor, record.offset + number, of)
    if number is not None and name == "Sub":
        sign = 1 if record is a else -1
        return RecordNumber(sign * record.factor, sign * (record.offset - number), of)
    if number and name in {"Mult", "Div"} and (name == "Mult" or record is a):
        by = number if name == "Mult" else 1 / number
        return RecordNumber(record.factor * by, record.offset * by, of)
    raise reader.refuse(f"{name} of a record and of what is no known number")


def hashed(reader: LocalInterpreter, name: str, a: Value, b: Value) -> Value:
    """Return a number that follows from seeds, or any number below a known one."""
    sizes = [_size(reader, each) for each in (a, b)]
    of_numpy = any(_of_numpy(each) for each in (a, b))
    whole = type(plain(b)) in {int, np.int64} and plain(b) > 0
    if name == "Mod" and whole and not isinstance(b, Hidden):
        size = int(plain(b))
        if size > MOST_WAYS:
            return Hashed(size, of_numpy)
        if reader.fixed or reader.levels:
            raise reader.refuse("a value is hashed after a draw decides", "hash it first")
        found = reader.choices.choose(size)
        reader.residues += (found,)
        return np.int64(found) if of_numpy else found
    size = {"Add": sum(sizes), "Sub": sum(sizes), "Mult": math.prod(sizes)}.get(name, _LARGEST)
    if size >= _LARGEST:
        raise reader.refuse("a number is hashed by what is not followed, or may wrap around")
    return Hashed(size, of_numpy)


def _size(reader: LocalInterpreter, value: Value) -> int:
    if isinstance(value, Seed):
        return max(abs(value.low), abs(value.low + value.size))
    if isinstance(value, Hashed):
        return value.size
    if type(plain(value)) not in {int, np.int64, bool, np.bool_}:
        raise reader.refuse("a seed beside what is no known whole number")
    return abs(int(plain(value)))
