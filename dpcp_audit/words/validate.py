"""Input checks shared by every public function, and the types of arrays.

Each check takes its arguments by keyword, so that the error names the argument as the
caller knows it, says what it must be and what it got, and gives a hint. Nothing is clipped.
"""

from __future__ import annotations

import math
import operator
from contextlib import suppress
from enum import StrEnum
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpcp_audit.words import errors
from dpcp_audit.words.errors import shown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_E = TypeVar("_E", bound=StrEnum)
_LARGEST_INTEGER = 2**63 - 1


_FINITE = "drop missing and infinite entries first: x[np.isfinite(x)]"
_ENDS = "such as (0.0, 1.0)"


def is_array(value: object) -> TypeGuard[NDArray[Any]]:
    """Return True if the value is an array."""
    return isinstance(value, np.ndarray)


def is_masked(value: object) -> bool:
    """Return True if the value is an array of which some numbers are masked."""
    return isinstance(value, np.ma.MaskedArray) and bool(np.any(cast("Any", value).mask))


def _fail(name: str, must: str, got: Any, hint: str) -> ValueError:
    return errors.value_error(f"{name} must {must}, got {_show(got)}", hint)


def _show(got: object) -> str:
    if not is_array(got):
        return shown(got, 80)
    text = " ".join(np.array2string(got, threshold=6).split())
    return text if len(text) <= 80 else text[:77] + "..."


def _number(name: str, value: Any) -> float:
    given: object = value
    if isinstance(value, bool | np.bool_ | str | bytes) or value is None or _is_complex(value):
        raise _fail(name, "be a number", given, errors.for_number(given))
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise _fail(name, "be a number", value, errors.for_number(value)) from None
    except OverflowError:
        raise _fail(name, "be within a float's range", value, errors.for_number(value)) from None
    if math.isnan(number):
        raise _fail(name, "be a number", value, errors.for_number(value))
    return number


def _is_complex(value: Any) -> bool:
    """Return True if a value is a complex number of NumPy, which ``float`` takes."""
    return isinstance(value, np.complexfloating) or (is_array(value) and value.dtype.kind == "c")


def number(**arguments: object) -> None:
    """Each argument must be a number; infinite ones are."""
    for name, value in arguments.items():
        _number(name, value)


def finite(**arguments: object) -> None:
    """Each argument must be a finite number."""
    for name, value in arguments.items():
        if not math.isfinite(_number(name, value)):
            raise _fail(name, "be finite", value, errors.for_number(value))


def positive(**arguments: object) -> None:
    """Each argument must be a finite number above 0."""
    for name, value in arguments.items():
        if not 0 < _number(name, value) < math.inf:
            raise _fail(name, "be finite and > 0", value, errors.for_number(value))


def non_negative(**arguments: object) -> None:
    """Each argument must be a finite number of at least 0."""
    for name, value in arguments.items():
        if not 0 <= _number(name, value) < math.inf:
            raise _fail(name, "be finite and >= 0", value, errors.for_number(value))


def order(**arguments: object) -> None:
    """Each argument must be an order of a Rényi divergence: a number of at least 1."""
    for name, value in arguments.items():
        if not _number(name, value) >= 1:
            raise _fail(name, "be >= 1", value, errors.for_number(value, "2"))


def open_unit(**arguments: object) -> None:
    """Each argument must lie in the open interval (0, 1)."""
    for name, value in arguments.items():
        if not 0 < _number(name, value) < 1:
            raise _fail(name, "lie in (0, 1)", value, errors.for_probability(value))


def half_open_unit(**arguments: object) -> None:
    """Each argument must lie in [0, 1), the half-open interval."""
    for name, value in arguments.items():
        if not 0 <= _number(name, value) < 1:
            raise _fail(name, "lie in [0, 1)", value, errors.for_probability(value))


def closed_unit(**arguments: object) -> None:
    """Each argument must lie in the closed interval [0, 1]."""
    for name, value in arguments.items():
        if not 0 <= _number(name, value) <= 1:
            raise _fail(name, "lie in [0, 1]", value, errors.for_probability(value))


def integer(*, at_least: int, at_most: int | None = _LARGEST_INTEGER, **arguments: object) -> None:
    """Each argument must be a whole number (not a bool), from ``at_least`` to ``at_most``.

    Numbers of more than 64 bits, which no count is, are refused unless ``at_most`` is None.
    """
    for name, value in arguments.items():
        if must := _no_integer(value, at_least, at_most):
            hint = errors.for_whole(value, at_least=at_least, at_most=at_most)
            raise _fail(name, must, value, hint)


def _no_integer(value: Any, at_least: int, at_most: int | None) -> str:
    """Return what a value must be; "" where it is that."""
    try:
        number = operator.index(value)
    except TypeError:
        return "be an integer"
    if isinstance(value, bool | np.bool_):
        return "be an integer"
    if number < at_least:
        return f"be an integer >= {at_least}"
    return f"be an integer <= {at_most}" if at_most is not None and number > at_most else ""


def bounds(value: object, *, name: str = "bounds") -> tuple[float, float]:
    """Return (a, b), finite with a < b."""
    low, high = _ends(value, name)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise _fail(name, "be finite with a < b", value, _ENDS)
    return low, high


def interval(value: object) -> tuple[float, float]:
    """Return (a, b) with a < b; either end may be infinite. The argument is called bounds."""
    low, high = _ends(value, "bounds")
    if not low < high:
        raise _fail("bounds", "be a pair with a < b", value, _ENDS)
    return low, high


def _ends(value: Any, name: str) -> tuple[float, float]:
    """Return a pair of numbers."""
    try:
        low, high = (_number(name, end) for end in value)
    except (TypeError, ValueError):
        raise _fail(name, "be a pair (a, b) of numbers", value, _ENDS) from None
    return low, high


def choice(kind: type[_E], **arguments: object) -> None:
    """Each argument must be a member of the enumeration ``kind``."""
    for name, value in arguments.items():
        if not isinstance(value, kind):
            must, member = f"be a {kind.__name__} ({', '.join(kind)})", next(iter(kind))
            raise _fail(name, must, value, f"such as {kind.__name__}.{member.name}")


def instance(*kinds: type, **arguments: object) -> None:
    """Each argument must be an instance of one of ``kinds``."""
    for name, value in arguments.items():
        if not isinstance(value, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            hint = f"help({kinds[0].__name__}) shows how one is made"
            raise _fail(name, f"be {names}", value, hint)


def array(value: object, *, name: str, ndim: int) -> FloatArray:
    """Return a finite, non-empty float64 array of ``ndim`` dimensions."""
    result = reals(value, name=name)
    if result.ndim != ndim:
        hint = f"such as an array of shape ({'n,' if ndim == 1 else 'n, k'})"
        raise _fail(name, f"have {ndim} dimension(s)", f"shape {result.shape}", hint)
    if result.size == 0:
        raise _fail(name, "not be empty", value, "give at least one entry")
    if not np.isfinite(result).all():
        missing = result[~np.isfinite(result)][:3]
        raise _fail(name, "hold finite numbers only", missing, _FINITE)
    return result


def reals(value: object, *, name: str) -> FloatArray:
    """Return a float64 array of any shape; texts, complex numbers and dates are no numbers."""
    try:
        given = np.asarray(value)
        real = given.dtype.kind in "biuf" or (given.dtype.kind == "O" and not _holds_texts(given))
        result = given.astype(np.float64) if real else None  # of complex numbers or dates: none
    except (TypeError, ValueError, OverflowError):
        result = None
    if result is None:
        raise _fail(name, "be an array of numbers", value, "such as [0.2, 0.5, 0.9]")
    return result


def _holds_texts(given: Any) -> bool:
    """Return True if an array of any objects holds texts, which NumPy reads as numbers."""
    return any(isinstance(item, str | bytes) for item in given.flat)


def scores(
    value: object, *, within: tuple[float, float] | None = None, name: str = "scores"
) -> FloatArray:
    """Return a score array of shape (n,), finite, and inside ``within`` where that is given."""
    result = array(value, name=name, ndim=1)
    if within is not None:
        outside = result[(result < within[0]) | (result > within[1])]
        if outside.size:
            must = f"lie in [{within[0]:g}, {within[1]:g}]"
            raise _fail(name, must, outside[:3], "clip them first, or widen the bounds")
    return result


def probabilities(value: object) -> FloatArray:
    """Return a (n, k) array of class probabilities; every row sums to 1 within 1e-6."""
    name = "probabilities"
    result = array(value, name=name, ndim=2)
    if ((result < 0) | (result > 1)).any():
        outside = result[(result < 0) | (result > 1)][:3]
        raise _fail(name, "lie in [0, 1]", outside, "turn logits into probabilities first: softmax")
    sums = result.sum(axis=1)
    wrong = np.abs(sums - 1) > 1e-6
    if wrong.any():
        hint = "divide each row by its sum: p / p.sum(axis=1, keepdims=True)"
        raise _fail(name, "sum to 1 in every row", f"sums {sums[wrong][:3]}", hint)
    return result


def labels(
    value: object, *, n_classes: int, name: str = "labels", shape: tuple[int, ...] | None = None
) -> IntArray:
    """Return an integer array of labels in {0, ..., n_classes-1}, of any shape or the given one."""
    try:
        result = np.asarray(value)
    except ValueError:  # rows of several lengths
        raise _fail(name, "hold integers", value, "number the classes 0, 1, 2, …") from None
    if result.size == 0:
        raise _fail(name, "not be empty", value, "give at least one entry")
    if not np.issubdtype(result.dtype, np.integer):
        raise _fail(name, "hold integers", value, "number the classes 0, 1, 2, …")
    if (result < 0).any() or (result >= n_classes).any():
        hint = f"number the {n_classes} classes from 0"
        raise _fail(name, f"lie in 0..{n_classes - 1}", result, hint)
    if shape is not None and result.shape != shape:
        raise errors.value_error(
            f"{name} must have shape {shape}, got shape {result.shape}",
            "give one label for each row",
        )
    return result.astype(np.int64, copy=False)


def generator(rng: Any) -> np.random.Generator:
    """Return a Generator from a Generator, a seed or None, as SPEC 7 asks of ``rng``."""
    if not isinstance(rng, bool | float | str):
        with suppress(TypeError, ValueError):
            return np.random.default_rng(rng)
    must = "be a numpy Generator, an integer seed or None"
    raise _fail("rng", must, rng, "give a seed, such as rng=0")
