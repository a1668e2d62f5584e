"""The type of a record's number, NumPy's or Python's own, and truth values beside numbers.

Beside a draw of Python's type, 0 gives a ``float`` and ``np.float64(0)`` an ``np.float64``, which
are written, and divided by 0, in different ways; an array of 0 and 1 holds whole numbers, and cuts
off what is stored in it. So the data may not choose a type: all records' numbers are of one, and a
sum that may have no entries begins with a number of the type that it would have with some.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.proving.distances import Records, Value, is_known
from dpcp_audit.proving.exact_numbers import plain
from dpcp_audit.proving.statistics import Statistic

if TYPE_CHECKING:
    from dpcp_audit.proving.protocol import Interpreter

NUMPY, PYTHON, UNKNOWN = "NumPy", "Python", "of a public number, not known"
_CHOSEN = "the data decide the type of a number: NumPy's, Python's, double, whole or truth value"
_HINT = "make each a float, float(...), and begin a sum with 0.0; or use np.sum, np.clip"


def type_of(value: Value) -> str:
    """Return the type of a known or public number, or of a record's."""
    if isinstance(value, Records):
        return value.entry_type
    if not is_known(value):
        return UNKNOWN
    return NUMPY if isinstance(plain(value), np.generic | np.ndarray) else PYTHON


def of_operator(a: Value, b: Value) -> str:
    """Return the type of an operator's result: NumPy's if one operand is."""
    types = {type_of(a), type_of(b)}
    if NUMPY in types:
        return NUMPY
    return PYTHON if types == {PYTHON} else UNKNOWN


def _kind(value: Value) -> str:
    """Return whether a value is a double, a whole number or a truth value, as far as is known."""
    if isinstance(value, Records | Statistic):
        boolean = isinstance(value, Records) and value.boolean
        return "double" if value.floats else "truth" if boolean else "unknown"
    if isinstance(value, bool | np.bool_):
        return "truth"
    return "double" if isinstance(value, float) else "whole"


def one_of(reader: Interpreter, found: Records, a: Value, b: Value) -> Records:
    """Return a number of each record that is one of two by the data.

    Raises
    ------
    Refusal
        If the two are not known to be of one type.
    """
    made, kind = type_of(a), _kind(a)
    alike = (made, kind) == (type_of(b), _kind(b))
    if not alike or made == UNKNOWN or kind == "unknown":
        raise reader.refuse(_CHOSEN, _HINT)
    return replace(found, entry_type=made, floats=kind == "double", boolean=kind == "truth")


def require_sum_of_one_type(reader: Interpreter, value: Value, start: Value) -> None:
    """Refuse a sum over some of the records, whose type depends on whether there are any.

    Raises
    ------
    Refusal
        If the sum is of another type than what it begins with.
    """
    kinds = _kind(start), _kind(value)
    kept = kinds[0] == "double" or (kinds[0] != "truth" and kinds[1] != "double")
    if not kept or type_of(value) not in {PYTHON, type_of(start)} - {UNKNOWN}:
        raise reader.refuse(_CHOSEN, _HINT)


def require_doubles(reader: Interpreter, value: Records) -> None:
    """Refuse what NumPy does otherwise, or not at all, where all entries are truth values."""
    if not value.floats:
        raise reader.refuse("numbers that may all be truth values", "use .astype(float)")
