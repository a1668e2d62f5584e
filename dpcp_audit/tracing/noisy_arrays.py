# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportIncompatibleMethodOverride=false
"""An array of noisy numbers as one object: ``offset + scale·Z`` of each entry in arrays of NumPy.

Sums with data, multiples, bounds and all that only moves entries work on the arrays; so does a
comparison, which is one observation for all entries, and a reading. The entries lie in one array
of records, so that a slice is a view, and a change in place is seen through it, as in NumPy's own
arrays. Whatever else is done with such an array is done with an array of objects, entry by entry.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpcp_audit.tracing.draws import Ordering, UnfollowableError, target_line
from dpcp_audit.tracing.traced_arrays import TracedArray, traced_array
from dpcp_audit.tracing.traced_numbers import Traced, WholeArray, traced_in, values_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.tracing.draws import NoiseVector
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.tracing.traced_numbers import Terms


_CELL = np.dtype(
    [("value", float), ("offset", float), ("scale", float), ("draw", np.intp), ("pure", bool)]
)
"""An entry: what ``Traced`` holds of one draw, whose number is ``draw``."""
_PLAIN = -1
"""The draw of an entry without noise. Numbers below it count what has several draws."""


class NoisyArray(WholeArray, NDArrayOperatorsMixin):
    """An array of noisy numbers with one draw each, and of plain ones.

    Parameters
    ----------
    path : PathRun
        The run that it belongs to.
    cells : ndarray
        Its entries.
    """

    __slots__ = ("cells", "path")
    __class__ = property(lambda _: TracedArray)

    def __init__(self, path: PathRun, cells: Any) -> None:
        self.path = path
        self.cells = cells

    @classmethod
    def drawn(cls, path: PathRun, vector: NoiseVector, values: Any, loc: Any, scale: Any) -> Any:
        """Return new draws."""
        cells = np.empty(np.shape(values), _CELL)
        cells["value"], cells["offset"], cells["scale"], cells["pure"] = values, loc, scale, True
        cells["draw"] = vector.start + np.arange(cells.size).reshape(cells.shape)
        return cls(path, cells)

    def objects(self) -> TracedArray:
        """Return the entries as objects; nothing is written there, as it would be lost."""
        numbers = [self._number(*each) for each in self.cells.ravel().tolist()]
        found = traced_array(np.fromiter(numbers, object, self.cells.size).reshape(self.shape))
        found.flags.writeable = False
        return found

    def _number(self, value: float, offset: float, scale: float, draw: int, pure: bool) -> Any:  # noqa: FBT001  (a record)
        if draw == _PLAIN:
            return value
        if draw < _PLAIN:
            return self.path.sums_held[_PLAIN - 1 - draw]
        return Traced(self.path, value, offset, {self.path.draws[draw]: scale}, pure=pure)

    def read(self) -> Any:
        """Observe all values and return them."""
        values = self.cells["value"].copy()
        noisy = self.cells["draw"] != _PLAIN
        if self.path.closed or not noisy.any():
            return values
        seen = self.path.read_all(self.cells[noisy])
        if seen is None:
            return values_of(self.objects())
        values[noisy] = seen
        return values

    def ufunc(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Apply a function of NumPy to whole arrays; ``NotImplemented`` where that is not known."""
        found: Any = NotImplemented
        first = inputs[0] is self
        other = _finite(inputs[-1] if first else inputs[0])
        if (self.cells["draw"] < _PLAIN).any() or len(inputs) > 2:
            return found
        if ufunc in _FINITE:
            found = ufunc(self.cells["offset"])
        elif ufunc is np.negative:
            found = self._scaled(np.multiply, -1.0)
        elif other is None:
            pass
        elif ufunc in _ORDERINGS:
            how = _ORDERINGS[ufunc]
            found = self._compared(how if first else how.mirrored, other)
        elif ufunc in _BOUNDS:
            found = self._bounded(_BOUNDS[ufunc], other, first=first)
        elif ufunc is np.add or (ufunc is np.subtract and first):
            found = self._shifted(ufunc, other)
        elif ufunc is np.subtract:
            found = self._scaled(np.multiply, -1.0) + other
        elif (ufunc is np.multiply or (ufunc is np.divide and first)) and np.all(other):
            found = self._scaled(ufunc, other)
        return found

    def _broad(self, other: Any) -> Any:
        """Return a copy of the entries in the common shape."""
        cells = np.empty(np.broadcast_shapes(self.shape, np.shape(other)), _CELL)
        cells[...] = self.cells
        return cells

    def _shifted(self, ufunc: Any, other: Any) -> NoisyArray:
        cells = self._broad(other)
        for name in ("value", "offset"):
            cells[name] = ufunc(cells[name], other)
        cells["pure"] = False
        return NoisyArray(self.path, cells)

    def _scaled(self, ufunc: Any, factor: Any) -> NoisyArray:
        cells = self._broad(factor)
        for name in ("value", "offset", "scale"):
            cells[name] = ufunc(cells[name], factor)
        return NoisyArray(self.path, cells)

    def _compared(self, how: Ordering, other: Any) -> Any:
        cells = self._broad(other)
        bits = _HOLDS[how](cells["value"], other)
        noisy = cells["draw"] != _PLAIN
        if self.path.closed or not noisy.any():
            return bits
        asked = cells[noisy]
        asked["offset"] -= np.broadcast_to(other, cells.shape)[noisy]
        seen = self.path.compare_all(asked, how, bits[noisy])
        if seen is None:
            return NotImplemented
        bits[noisy] = seen
        return bits

    def _bounded(self, how: Ordering, other: Any, *, first: bool) -> Any:
        """Return the larger, or the smaller, of each entry and a bound."""
        bits = self._compared(how if first else how.mirrored, other)
        if bits is NotImplemented:
            return bits
        cells = self._broad(other)
        out = ~bits if first else bits
        cells[out] = _cells_of(self.path, np.broadcast_to(other, cells.shape)[out])
        return NoisyArray(self.path, cells)

    def total(self) -> Any:
        """Return the sum of all entries; ``NotImplemented`` where that is not known."""
        cells = self.cells.ravel()
        if (cells["draw"] < _PLAIN).any() or not np.isfinite(cells["offset"]).all():
            return NotImplemented
        noisy = cells[cells["draw"] != _PLAIN]
        value, offset = cells["value"].sum(), cells["offset"].sum()
        terms: Terms = {}
        for draw, scale in zip(noisy["draw"].tolist(), noisy["scale"].tolist(), strict=True):
            own = self.path.draws[draw]
            terms[own] = terms.get(own, 0.0) + scale
        left = {draw: scale for draw, scale in terms.items() if scale}
        return Traced(self.path, value, float(offset), left) if left else offset

    def chosen(self, condition: Any, first: Any, other: Any) -> Any:
        """Return the entries of one array where a condition holds, and of another elsewhere."""
        known = all(_is_noisy(each) or _finite(each) is not None for each in (first, other))
        if _is_noisy(condition) or not known:
            return NotImplemented
        return self._wrapped(
            np.where(condition, _cells_of(self.path, first), _cells_of(self.path, other))
        )

    def moved(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Apply a function that only moves entries."""
        return self._wrapped(function(self.cells, *values_of(args), **kwargs))

    def _wrapped(self, found: Any) -> Any:
        if isinstance(found, np.void):
            cell: Any = found.item()
            return self._number(*cell)
        if isinstance(found, list | tuple):
            return type(found)(self._wrapped(each) for each in cast("list[Any]", found))
        return NoisyArray(self.path, found)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.path.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.path.array_function(func, args, kwargs)

    def __array__(self, dtype: Any = None, *, copy: Any = None) -> Any:
        if dtype is None or np.dtype(dtype) == object:
            return self.objects().copy() if copy else self.objects()
        found = self.read().astype(dtype)
        found.flags.writeable = bool(copy) or found.dtype != float
        return found

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.cells["value"].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, as NumPy has it."""
        found: tuple[int, ...] = self.cells.shape
        return found

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.cells = self.cells.view()
        self.cells.shape = shape

    @property
    def T(self) -> Any:  # noqa: N802
        """The transpose."""
        return self._wrapped(self.cells.T)

    def __getattr__(self, name: str) -> Any:
        if name in {"size", "ndim"}:
            return getattr(self.cells, name)
        if name == "real":
            return self[...]
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        if name in _IN_PLACE:
            raise UnfollowableError(f"noise is changed in place by {name}", target_line())
        if name in _MOVES:
            return partial(self.moved, getattr(np.ndarray, name))
        return getattr(self.objects(), name)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the values, read, in another type; floats stay traced."""
        if np.dtype(dtype) == float and not args and not kwargs.keys() - {"copy"}:
            return self.moved(np.copy) if kwargs.get("copy", True) else self
        found = self.objects() if np.dtype(dtype) == object else self.read()
        return found.astype(dtype, *args, **kwargs)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """Return the same entries; of another type, what is read alone."""
        return self.objects().view(*args, **kwargs) if args or kwargs else self[...]

    def sum(self, axis: Any = None, **kwargs: Any) -> Any:
        """Return the sum, still traced."""
        return np.add.reduce(cast("Any", self), axis=axis, **kwargs)

    def mean(self, axis: Any = None, **kwargs: Any) -> Any:
        """Return the mean, still traced."""
        if axis is None and not kwargs:
            return self.sum() / self.cells.size
        return self.objects().mean(axis, **kwargs)

    def clip(self, min: Any = None, max: Any = None, **kwargs: Any) -> Any:  # noqa: A002  (as NumPy)
        """Return the entries between bounds."""
        return np.clip(cast("Any", self), min, max, **kwargs)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Sort in place; the values are read."""
        self[...] = np.sort(self.read(), *args, **kwargs)

    def fill(self, value: Any) -> None:
        """Fill in place."""
        self[...] = value

    def __getitem__(self, key: Any) -> Any:
        return self._wrapped(self.cells[values_of(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.cells[values_of(key)] = _cells_of(self.path, value)

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Any:
        return map(self.__getitem__, range(len(self)))

    def __copy__(self) -> Any:
        return self.moved(np.copy)

    def __deepcopy__(self, memory: Any) -> Any:
        return self.moved(np.copy)

    def __reduce__(self) -> Any:
        return self.read().__reduce__()


def _of_objects(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: NoisyArray, *args: Any) -> Any:
        return function(self.objects(), *args)

    return apply


for _plain in (bool, float, int, complex, repr, str, format, operator.index):
    setattr(NoisyArray, f"__{_plain.__name__}__", _of_objects(_plain))


def _is_noisy(value: Any) -> bool:
    return isinstance(value, WholeArray | Traced | TracedArray)


def _finite(value: Any) -> Any:
    """Return a plain number or array of finite numbers; None of anything else."""
    if _is_noisy(value):
        return None
    found = np.asarray(value)
    return found if found.dtype.kind in "biuf" and np.isfinite(found).all() else None


def _cells_of(path: PathRun, value: Any) -> Any:
    """Return numbers as entries."""
    if isinstance(value, NoisyArray):
        return value.cells
    if next(traced_in(value), None) is None:
        values = np.asarray(value, dtype=float)
        cells = np.zeros(values.shape, _CELL)
        cells["value"] = cells["offset"] = values
        cells["draw"] = _PLAIN
        return cells
    numbers = np.asarray(value, dtype=object)
    listed = [_cell(path, each) for each in numbers.ravel().tolist()]
    return np.array(listed, _CELL).reshape(numbers.shape)


def _cell(path: PathRun, number: Any) -> tuple[Any, ...]:
    if not isinstance(number, Traced):
        return float(number), float(number), 0.0, _PLAIN, False
    if len(number.terms) == 1:
        ((draw, scale),) = number.terms.items()
        return number.value, number.offset, scale, draw.index, number.pure
    path.sums_held.append(number)
    return number.value, np.nan, np.nan, _PLAIN - len(path.sums_held), False


_ORDERINGS: dict[Any, Ordering] = {
    np.less: Ordering.LESS,
    np.less_equal: Ordering.LESS_EQUAL,
    np.greater: Ordering.GREATER,
    np.greater_equal: Ordering.GREATER_EQUAL,
}
_HOLDS: dict[Ordering, Any] = {how: ufunc for ufunc, how in _ORDERINGS.items()}
_BOUNDS: dict[Any, Ordering] = {
    np.maximum: Ordering.GREATER_EQUAL,
    np.fmax: Ordering.GREATER_EQUAL,
    np.minimum: Ordering.LESS_EQUAL,
    np.fmin: Ordering.LESS_EQUAL,
}
"""Functions that keep a number which compares with a bound in this way."""
_FINITE = frozenset({np.isnan, np.isinf, np.isfinite})
_MOVES = frozenset({"reshape", "ravel", "flatten", "transpose", "squeeze", "swapaxes", "copy"})
_IN_PLACE = frozenset({"put", "partition", "resize", "setfield", "byteswap", "data"})
