# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false
"""Arrays of traced numbers: arrays of objects that NumPy's functions do not take apart unseen.

Arithmetic, comparisons, sums and the functions that only move elements keep the noise. Extremes
are one observation: which element is the largest. Every other function of NumPy reads the values.
"""

from __future__ import annotations

import bisect
import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.tracing.traced_numbers import (
    Traced,
    WholeArray,
    as_float,
    is_plain,
    made,
    traced_in,
    values_in,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class TracedArray(np.ndarray):
    """An array of objects some of which are traced numbers, all of one path."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(func, args, kwargs)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the values, read, in another type; objects stay traced, and floats."""
        if np.dtype(dtype) == object:
            return super().astype(dtype, *args, **kwargs)
        if np.dtype(dtype) == float and not args and not kwargs.keys() - {"copy"}:
            if not kwargs.get("copy", True) and _shadow(self.view(np.ndarray)).dtype == float:
                return self
            listed = [_float(each) for each in self.ravel().tolist()]
            return traced_array(np.fromiter(listed, object, self.size).reshape(self.shape))
        return values_of(self).astype(dtype, *args, **kwargs)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Observe which element is the largest."""
        return _extreme(np.argmax, self, axis, largest=True, out=out, keepdims=keepdims)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Observe which element is the smallest."""
        return _extreme(np.argmin, self, axis, largest=False, out=out, keepdims=keepdims)

    def max(self, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Return the largest element, still traced."""
        return _peak(np.max, self, axis, largest=True, out=out, **kwargs)

    def min(self, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Return the smallest element, still traced."""
        return _peak(np.min, self, axis, largest=False, out=out, **kwargs)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Return the mean, still traced."""
        if dtype is not None or out is not None or kwargs:
            return values_of(self).mean(axis, dtype, out, **kwargs)
        total = np.add.reduce(self, axis=axis)
        return total / (self.size / np.size(total))

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Sort in place; the values are read."""
        self[...] = np.sort(values_of(self), *args, **kwargs)

    def tobytes(self, *args: Any, **kwargs: Any) -> bytes:
        """Return the bytes of the values, read: those of objects are addresses."""
        found: bytes = values_of(self).tobytes(*args, **kwargs)
        return found

    def __reduce__(self) -> Any:
        return values_of(self).__reduce__()

    def __repr__(self) -> str:
        return repr(values_of(self))

    def __str__(self) -> str:
        return str(values_of(self))


def _of_values(name: str) -> Callable[..., Any]:
    def apply(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(values_of(self), name)(*args, **kwargs)

    return apply


for _name in ("argsort", "searchsorted", "round", "var", "std"):
    setattr(TracedArray, _name, _of_values(_name))


def traced_array(numbers: Any) -> TracedArray:
    """Return an array of objects as one that NumPy's functions do not take apart."""
    return np.asarray(numbers, dtype=object).view(TracedArray)


def _float(number: Any) -> Any:
    return as_float(number) if isinstance(number, Traced) else float(number)


def apply_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    """Apply a ufunc; what it does not keep traced, it reads."""
    if method == "__call__" and not kwargs and ufunc in _OPERATORS:
        plain = [_scalar(each) for each in inputs]
        if not any(each is None for each in plain):
            return _OPERATORS[ufunc](*plain)
    if not kwargs and method == "__call__" and ufunc.__name__ in _MADE:
        result = _made(ufunc, inputs[0])
        if result is not None:
            return result
    kwargs = {key: value for key, value in kwargs.items() if not _is_default(key, value)}
    targets = kwargs.pop("out", None)
    if any(isinstance(each, WholeArray) for each in inputs):
        result = _of_whole(ufunc, method, inputs, kwargs)
    elif ufunc is np.add and method == "reduce" and not kwargs.keys() - {"axis"}:
        result = _summed(inputs[0], kwargs.get("axis", 0))
    elif ufunc in _EXTREMES and method == "reduce" and not kwargs.keys() - {"axis"}:
        numbers = traced_array(inputs[0])
        axis = kwargs.get("axis", 0)
        result = _peak(ufunc.reduce, numbers, axis, largest=_EXTREMES[ufunc])
    elif ufunc in _FINITE and method == "__call__" and not kwargs:
        result = _finite(ufunc, inputs[0])
    elif ufunc.__name__ in _KEEPING and method in _METHODS and not kwargs:
        result = _wrapped(getattr(ufunc, method)(*map(_objects, inputs)))
    else:
        result = getattr(ufunc, method)(*map(values_of, inputs), **values_in(kwargs))
    return result if targets is None else _stored(result, targets)


def _of_whole(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    """Apply a ufunc to arrays that are one object; to objects where that is not known."""
    whole = next(each for each in inputs if isinstance(each, WholeArray))
    result = NotImplemented
    if method == "__call__" and not kwargs:
        result = whole.ufunc(ufunc, inputs)
    elif ufunc is np.add and method == "reduce" and kwargs == {"axis": None}:
        result = whole.total()
    if result is not NotImplemented:
        return result
    objects = tuple(each.objects() if isinstance(each, WholeArray) else each for each in inputs)
    return apply_ufunc(ufunc, method, objects, kwargs)


def _made(ufunc: Any, number: Any) -> Any:
    """Apply a function whose result has a draw of its own, elementwise; None of other numbers."""
    if isinstance(number, Traced):
        return made(ufunc.__name__, number)
    listed = number.ravel().tolist()
    found = [made(ufunc.__name__, each) for each in listed if isinstance(each, Traced)]
    if len(found) < len(listed) or any(each is None for each in found):
        return None
    return traced_array(np.fromiter(found, object, len(found)).reshape(number.shape))


_MADE = frozenset({"log", "log1p", "sign", "sqrt", "cos", "sin"})
"""Functions of uniform draws that noise is made with."""


def apply_function(  # noqa: PLR0911  (one return a kind of function)
    function: Any, args: Any, kwargs: Any
) -> Any:
    """Apply a function of NumPy; what it does not keep traced, it reads."""
    name = function.__name__
    if name in _SEARCHES and len(args) == 2 and _is_sought(args, _SEARCHES[name]):
        return _searched(name, args, kwargs)
    if name in _OWN and not isinstance(args[0], Traced):
        own = args[0] if isinstance(args[0], WholeArray) else traced_array(args[0])
        return getattr(own, _OWN[name])(*args[1:], **kwargs)
    if name in _LIKE:
        return function(np.zeros(_shape_of(args[0])), *args[1:], **kwargs)
    if name == "clip" and not kwargs.keys() - {"out"} and len(args) == 3:
        clipped, out = _clipped(*args), kwargs.get("out")
        return clipped if out is None else _stored(clipped, (out,))
    if name in _MOVING:
        found = _moved_whole(function, args, kwargs)
        if found is not NotImplemented:
            return found
        return _wrapped(function(*map(_bare, args), **{k: _bare(v) for k, v in kwargs.items()}))
    return function(
        *(_lent(each) for each in args), **{key: _lent(each) for key, each in kwargs.items()}
    )


def _lent(value: Any) -> Any:
    """Return plain data to be read alone: what is written there, or to a view, would be lost."""
    found = values_of(value)
    if found is not value and isinstance(found, np.ndarray):
        found.flags.writeable = False
    return found


def _moved_whole(function: Any, args: Any, kwargs: Any) -> Any:
    """Move the entries of an array that is one object; else ``NotImplemented``."""
    name = function.__name__
    whole = next((each for each in args if isinstance(each, WholeArray)), None)
    if whole is not None and name in _SHIFTING and whole is args[0]:
        return whole.moved(function, *args[1:], **kwargs)
    if whole is not None and name == "where" and len(args) == 3:
        return whole.chosen(*args)
    return NotImplemented


def _clipped(numbers: Any, low: Any, high: Any) -> Any:
    """Return numbers between bounds: two comparisons of each that is above the first."""
    above = numbers if low is None else np.maximum(numbers, low)
    return above if high is None else np.minimum(above, high)


def _searched(name: str, args: Any, kwargs: Any) -> Any:
    """Return the place of a number in an ordered array: bisection by comparisons."""
    number = args[_SEARCHES[name]]
    edges = np.asarray(args[1 - _SEARCHES[name]]).tolist()
    left = {"side": "left", "right": False} | kwargs
    if left.keys() - {"side", "right"} or (name == "digitize" and edges != sorted(edges)):
        return getattr(np, name)(*values_of(tuple(args)), **values_in(kwargs))
    at_left = left["side"] == "left" if name == "searchsorted" else left["right"]
    find = bisect.bisect_left if at_left else bisect.bisect_right
    if isinstance(number, Traced):
        return np.intp(find(edges, number))
    places = [find(edges, each) for each in number.ravel().tolist()]
    return np.array(places, dtype=np.intp).reshape(number.shape)


def _is_sought(args: Any, place: int) -> bool:
    """Return True if the noise is in what is sought, and not in the array."""
    array = args[1 - place]
    return isinstance(args[place], Traced | TracedArray) and next(traced_in(array), None) is None


_SEARCHES = {"searchsorted": 1, "digitize": 0}
"""Functions that find places in an ordered array, and which argument is sought."""


def _shape_of(value: Any) -> tuple[int, ...]:
    if isinstance(value, np.ndarray):
        shape: tuple[int, ...] = value.shape
        return shape
    return () if isinstance(value, Traced) else np.shape(value)


def _objects(value: Any) -> Any:
    if isinstance(value, WholeArray):
        return value.objects().view(np.ndarray)
    if isinstance(value, Traced):
        box = np.empty((), dtype=object)
        box[()] = value
        return box
    if isinstance(value, TracedArray):
        return value.view(np.ndarray)
    return np.asarray(value).astype(object)


def _bare(value: Any) -> Any:
    """Return the plain array of objects behind a traced one, also in lists and tuples."""
    if isinstance(value, Traced | TracedArray):
        return _objects(value)
    if isinstance(value, list | tuple):
        return type(value)(_bare(each) for each in cast("list[Any]", value))
    return value


def _wrapped(result: Any) -> Any:
    """Return arrays of objects as traced arrays, also in lists and tuples."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result.view(TracedArray)
    if type(result) in {list, tuple}:
        return type(result)([_wrapped(each) for each in result])
    return result


def _stored(result: Any, targets: tuple[Any, ...]) -> Any:
    """Write a result into the arrays that were given for it: plain ones take values, read."""
    target = targets[0]
    if isinstance(target, WholeArray):
        target[...] = result
    elif isinstance(target, np.ndarray) and target.dtype == object:
        target.view(np.ndarray)[...] = _objects(result)
    else:
        target[...] = values_of(result)
    return target


def _summed(numbers: Any, axis: Any) -> Any:
    """Return sums whose values are rounded as NumPy rounds sums of plain numbers."""
    plain = np.asarray(numbers).view(np.ndarray)
    sums = np.add.reduce(plain, axis=axis)
    shadow = np.add.reduce(_shadow(plain), axis=axis)
    if not isinstance(sums, np.ndarray):
        return _with_value(sums, shadow)
    pairs = zip(sums.ravel().tolist(), np.ravel(shadow), strict=True)
    boxed = np.fromiter((_with_value(each, value) for each, value in pairs), object, sums.size)
    return traced_array(boxed.reshape(sums.shape))


def _shadow(numbers: Any) -> Any:
    """Return the numbers that an untraced run would hold, without an observation."""
    plain = [each.value if isinstance(each, Traced) else each for each in numbers.ravel().tolist()]
    return np.array(plain).reshape(numbers.shape)


def _with_value(number: Any, value: Any) -> Any:
    if not isinstance(number, Traced):
        return number
    return Traced(number.path, value, number.offset, number.terms, pure=number.pure)


def _finite(ufunc: Any, number: Any) -> Any:
    """Return True if numbers are NaN or infinite: noise never is, so nothing is read."""
    if isinstance(number, Traced):
        return ufunc(number.offset)
    plain = [e.offset if isinstance(e, Traced) else e for e in number.ravel().tolist()]
    return ufunc(np.array(plain, dtype=float).reshape(number.shape))


def _extreme(
    fallback: Callable[..., Any],
    numbers: Any,
    axis: Any,
    *,
    largest: bool,
    out: Any = None,
    keepdims: bool = False,
) -> Any:
    plain = numbers.view(np.ndarray)
    if out is not None or keepdims:
        return fallback(values_of(numbers), axis, out, keepdims=keepdims)
    if axis is None or plain.ndim == 1:
        return _place(plain.ravel(), largest=largest)
    moved = np.moveaxis(plain, axis, -1)
    places = [_place(row, largest=largest) for row in moved.reshape(-1, moved.shape[-1])]
    return np.array(places, dtype=np.intp).reshape(moved.shape[:-1])


def _peak(
    fallback: Callable[..., Any],
    numbers: Any,
    axis: Any,
    *,
    largest: bool,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    plain = numbers.view(np.ndarray)
    if out is not None or kwargs or (axis is not None and plain.ndim != 1):
        return fallback(values_of(numbers), axis=axis, out=out, **kwargs)
    flat = plain.ravel()
    return flat[_place(flat, largest=largest)]


def _place(numbers: Any, *, largest: bool) -> int:
    listed: list[Any] = numbers.tolist()
    path: Any = next((each.path for each in listed if isinstance(each, Traced)), None)
    if path is None:
        return int(np.argmax(listed) if largest else np.argmin(listed))
    return int(path.extreme(listed, largest=largest))


def _is_default(name: str, value: Any) -> bool:
    """Return True if a keyword that NumPy's methods pass on says nothing."""
    if name in {"dtype", "out"}:
        return value is None or (isinstance(value, tuple) and value[0] is None)
    return (name == "keepdims" and value is False) or (name == "where" and value is True)


def _scalar(value: Any) -> Any:
    """Return a number as Python's operators take it, None of an array."""
    if isinstance(value, Traced):
        return value
    if isinstance(value, np.ndarray):
        return None
    if isinstance(value, np.generic):
        return value.item()
    return value if is_plain(value) else None


_OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}
"""Ufuncs of two numbers, as Python's operators."""
_EXTREMES = {np.maximum: True, np.minimum: False}
_FINITE = frozenset({np.isnan, np.isinf, np.isfinite})
_METHODS = frozenset({"__call__", "accumulate", "outer"})
_OPERATIONS = """
add subtract multiply divide negative positive absolute conjugate less less_equal greater
greater_equal equal not_equal maximum minimum fmax fmin clip matmul
"""
_KEEPING = frozenset(_OPERATIONS.split())
"""Ufuncs whose loop over objects uses Python's operators alone."""
_OWN = {
    "argmax": "argmax",
    "argmin": "argmin",
    "argsort": "argsort",
    "max": "max",
    "amax": "max",
    "min": "min",
    "amin": "min",
    "mean": "mean",
    "sum": "sum",
}
_LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like", "shape", "ndim", "size"})
_MOVES = """
append array_split atleast_1d atleast_2d broadcast_to clip column_stack concatenate copy
cumsum delete diff dot dstack expand_dims flip fliplr flipud hsplit hstack inner insert
moveaxis outer ravel repeat reshape roll rollaxis split squeeze stack swapaxes take
tensordot tile transpose vdot vsplit vstack where
"""
_SHIFTS = """
array_split atleast_1d atleast_2d broadcast_to copy delete dsplit expand_dims flip fliplr flipud
hsplit moveaxis ravel repeat reshape roll rollaxis split squeeze swapaxes take tile transpose vsplit
"""
_SHIFTING = frozenset(_SHIFTS.split())
"""Functions that move the elements of one array."""
_MOVING = frozenset(_MOVES.split())
"""Functions that only move elements, or add, multiply and compare them."""
