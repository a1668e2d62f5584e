"""Comparisons and signs: what they give for each kind of value."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
import operator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.arithmetic import SYMMETRIC, broadcast, kind, remedy
from dpcp_audit.proving.distances import (
    SCALAR,
    Noise,
    Noisy,
    Private,
    Public,
    PublicFloat,
    Records,
    Statistic,
    Value,
    Weights,
    is_data,
    is_known,
    is_public,
    of_operator,
    require_doubles,
    shape_of,
)
from dpcp_audit.proving.exact_numbers import (
    Surd,
    apply_to_array,
    exact_of,
    frozen,
    is_scalar,
    plain,
    remember,
)
from dpcp_audit.proving.sampling import poisson

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.paths import Interpreter

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
    "Is": operator.is_,
    "IsNot": operator.is_not,
}


def compare(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return the result of a comparison."""
    if name in {"Is", "IsNot"}:
        return _identity(reading, name, a, b)
    if is_known(a) and is_known(b):
        return known_compare(reading, name, a, b)
    for value in (a, b):
        if isinstance(value, Private):
            raise reading.refuse(value.reason, value.hint)
    if isinstance(a, Records) or isinstance(b, Records):
        return replace(_records_compared(reading, name, a, b), entry_type=of_operator(a, b))
    answer = reading.decided(name, a, b)
    sample = poisson(reading, name, a, b) if answer is None else answer
    if sample is not None:
        return sample
    a, b = reading.release(a), reading.release(b)
    if is_data(a) or is_data(b):
        bare = a if is_data(a) else b
        raise reading.leak(f"{kind(bare)} is compared without noise", remedy(bare))
    if not (is_public(a) and is_public(b)):
        raise reading.refuse(f"a comparison of {kind(a)} and {kind(b)}")
    if name in {"In", "NotIn"}:
        return SCALAR
    return Public(broadcast(shape_of(a), shape_of(b)))


def _records_compared(reading: Interpreter, name: str, a: Value, b: Value) -> Records:
    if name in {"In", "NotIn"}:
        raise reading.refuse("records are looked through")
    if any(isinstance(each, Records) and each.listed for each in (a, b)):
        raise reading.refuse("a list of records is compared", "make it an array: np.array(...)")
    if isinstance(a, Records) and isinstance(b, Records):
        if not a.goes_with(b):
            raise reading.refuse("different records are compared")
        return a.within(Fraction(0), Fraction(1), boolean=True)
    records, other = (a, b) if isinstance(a, Records) else (b, a)
    other = reading.release(other)
    if not is_public(other) or shape_of(other) != ():
        raise reading.refuse(f"records are compared with {kind(other)}, not with one number")
    if reading.for_some and not (is_known(other) or isinstance(other, PublicFloat)):
        raise reading.refuse(
            "some records only are compared with what may be too large for a double",
            "make it a float before: float(...)",
        )
    return records.within(Fraction(0), Fraction(1), boolean=True)


def _identity(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return an identity test, which is followed only against None, True and False."""
    for x, y in ((a, b), (b, a)):
        if (y is None or isinstance(y, bool)) and is_known(x):
            return COMPARE[name](x, y)
        plainly = isinstance(x, Records | Statistic | Noise | Noisy | Weights) or (
            isinstance(x, Public) and x.shape is not None
        )
        if y is None and (plainly or not (is_public(x) or is_data(x))):
            return name == "IsNot"
    raise reading.refuse("an identity of objects is tested")


def known_compare(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return a comparison of two plain Python values."""
    within = name in {"In", "NotIn"} or isinstance(a, tuple) or isinstance(b, tuple)
    if within and (_holds_nan(a) or _holds_nan(b)):
        raise reading.refuse("NaN is looked for, which equals itself only as one object")
    try:
        return frozen(COMPARE[name](plain(a), plain(b)))
    except Exception as error:
        raise reading.refuse(f"raises {type(error).__name__}: {error}") from None


def _holds_nan(value: Value) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_holds_nan, value))
    return isinstance(value, float) and value != value  # noqa: PLR0124  (NaN alone differs)


def unary(reading: Interpreter, name: str, value: Value) -> Value:
    """Return the result of -, +, ~ on a value; ``not`` is the interpreter's."""
    if isinstance(value, Private):
        raise reading.refuse(value.reason, value.hint)
    if is_known(value):
        return _known_unary(reading, name, value)
    if name == "UAdd" and not isinstance(value, Records):
        return value
    if isinstance(value, Records):
        if name == "USub":
            require_doubles(reading, value)
            return value.within(-value.high, -value.low)
        if name == "Invert" and value.boolean and not value.single:
            return value.within(Fraction(0), Fraction(1), boolean=True)
        raise reading.refuse(f"{name} of records is not followed")
    if name == "USub" and isinstance(value, Statistic):
        return value.times(Surd.of(-1), keeps_integers=True)
    if name == "USub" and isinstance(value, Noise) and value.law in SYMMETRIC:
        return value.negative
    value = reading.release(value)
    if not is_public(value):
        raise reading.refuse(f"{name} of {kind(value)}")
    return value if isinstance(value, PublicFloat) else Public(shape_of(value))


def _known_unary(reading: Interpreter, name: str, value: Value) -> Value:
    functions: dict[str, Callable[[Any], Any]] = {
        "USub": operator.neg,
        "UAdd": operator.pos,
        "Invert": operator.invert,
    }
    if name == "Invert" and reading.for_some:
        raise reading.refuse("~ of some records only, which may warn")
    try:
        with np.errstate(all="raise" if reading.for_some else "ignore"):
            found = frozen(functions[name](plain(value)))
    except Exception as error:
        raise reading.refuse(f"raises {type(error).__name__}: {error}") from None
    if isinstance(found, np.ndarray):
        return apply_to_array("neg", found, value) if name == "USub" else found
    exact = exact_of(value) if is_scalar(value) else None
    if exact is None or not math.isfinite(found):
        return found
    return remember(found, Surd(-exact.sign if name == "USub" else exact.sign, exact.square))
