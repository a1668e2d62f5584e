"""The type of a record's number, NumPy's or Python's own, and truth values beside numbers.

Beside a draw of Python's type, 0 gives a ``float`` and ``np.float64(0)`` an ``np.float64``, which
are written, and divided by 0, in different ways. What takes one of several numbers by the data,
such as the first of a sum that may be empty, may not choose the type with it. An array of a list is
one of truth values if all of its entries are, and adds them otherwise than an array of numbers.
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
        If it may be a truth value for some records, and a number for others.
    """
    kinds = {_kind(a), _kind(b)}
    if kinds - {"double", "whole"} and kinds != {"truth"}:
        raise reader.refuse("a truth value of some records beside a number of others", _HINT)
    made = _of_either(a, b) if len(kinds) == 1 else EITHER
    floats, boolean = kinds == {"double"}, kinds == {"truth"}
    return replace(found, entry_type=made, floats=floats, boolean=boolean)


def require_one(reader: Interpreter, value: Value, *, may_be_none: bool = False) -> None:
    """Refuse a sum or a choice of these whose type depends on the data.

    Raises
    ------
    Refusal
        If entries are of either type, or of NumPy's where there may be none of them.
    """
    found = type_of(value)
    if found == EITHER or (found == NUMPY and may_be_none):
        raise reader.refuse(
            "the data decide whether a number is of NumPy's type or of Python's", _HINT
        )


def require_doubles(reader: Interpreter, value: Records) -> None:
    """Refuse what NumPy does otherwise, or not at all, where all entries are truth values."""
    if not value.floats:
        raise reader.refuse("numbers that may all be truth values", "use .astype(float)")
