"""The type of a record's number, NumPy's or Python's own, and truth values beside numbers.

Beside a draw of Python's type, 0 gives a ``float`` and ``np.float64(0)`` an ``np.float64``, which
are written, and divided by 0, in different ways. What takes one of several numbers by the data,
such as the first of a sum that may be empty, may not choose the type with it. An array of a list is
one of truth values, of whole numbers or of doubles by what its entries are, which are all alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.proving.distances import Records, Value, is_known
from dpcp_audit.proving.exact_numbers import plain

if TYPE_CHECKING:
    from dpcp_audit.proving.protocol import Interpreter

NUMPY, PYTHON, EITHER = "NumPy", "Python", "either"
_CHOSEN = "the data decide whether a number is of NumPy's type or of Python's"
_HINT = "make each a float before, float(...), or use np.sum, np.maximum or np.minimum"


def type_of(value: Value) -> str:
    """Return the type of a known or public number, or of a record's."""
    if isinstance(value, Records):
        return value.entry_type
    if not is_known(value):
        return EITHER
    return NUMPY if isinstance(plain(value), np.generic | np.ndarray) else PYTHON


def _of_either(a: Value, b: Value) -> str:
    return type_of(a) if type_of(a) == type_of(b) else EITHER


def of_operator(a: Value, b: Value) -> str:
    """Return the type of an operator's result: NumPy's if one operand is."""
    return NUMPY if NUMPY in {type_of(a), type_of(b)} else _of_either(a, b)


def _kind(value: Value) -> str:
    """Return whether a value is a double, a whole number or a truth value, as far as is known."""
    if isinstance(value, Records):
        return "double" if value.floats else "truth" if value.boolean else "number or truth"
    if isinstance(value, bool | np.bool_):
        return "truth"
    return "double" if isinstance(value, float) else "whole"


def one_of(reader: Interpreter, found: Records, a: Value, b: Value) -> Records:
    """Return a number of each record that is one of two by the data.

    Raises
    ------
    Refusal
        If the two are not both doubles, both whole numbers, or both truth values.
    """
    kind = _kind(a)
    if kind != _kind(b) or kind == "number or truth":
        raise reader.refuse("the data decide between doubles, whole numbers, truth values", _HINT)
    floats, boolean = kind == "double", kind == "truth"
    return replace(found, entry_type=_of_either(a, b), floats=floats, boolean=boolean)


def require_one(reader: Interpreter, value: Value) -> None:
    """Refuse a choice, or a sum, of numbers of either type.

    Raises
    ------
    Refusal
        If the data decide which type it is.
    """
    if type_of(value) == EITHER:
        raise reader.refuse(_CHOSEN, _HINT)


def require_of_start(reader: Interpreter, value: Value, start: Value) -> None:
    """Refuse a sum that may have no entries, and is then of another type than with some.

    Raises
    ------
    Refusal
        If the entries are not of Python's type, or the sum begins with a truth value.
    """
    if type_of(value) != PYTHON or _kind(start) == "truth":
        raise reader.refuse(_CHOSEN, _HINT)


def require_doubles(reader: Interpreter, value: Records) -> None:
    """Refuse what NumPy does otherwise, or not at all, where all entries are truth values."""
    if not value.floats:
        raise reader.refuse("numbers that may all be truth values", "use .astype(float)")
