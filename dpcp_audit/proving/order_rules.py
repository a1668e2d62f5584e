"""Rules of functions that order or bound numbers: order statistics, extremes, clips, sizes."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving import clipping, gaps
from dpcp_audit.proving.distances import (
    Public,
    Records,
    Reference,
    Shifted,
    Statistic,
    Value,
    is_known,
    is_public,
    number,
    one_of,
    require_doubles,
    require_one,
    shape_of,
    statistic,
    tokens,
)
from dpcp_audit.proving.exact_numbers import numbers_of, plain
from dpcp_audit.proving.rules import ZERO, are_records, rational, whole_axis

if TYPE_CHECKING:
    from fractions import Fraction

    from dpcp_audit.proving.paths import Interpreter


def sort(reader: Interpreter, a: Value, axis: Value = -1, kind: Value = None) -> Value:
    """The same records in another order."""
    if are_records(a) and is_known(kind) and whole_axis(axis):
        return replace(a, ordered=True, order=next(tokens), placed=False, listed=False)
    return NotImplemented


def in_order(reader: Interpreter, a: Value) -> Value:
    """``sorted``: the same records in another order; of public values a list of them."""
    if are_records(a):
        return replace(a, ordered=True, order=next(tokens), placed=False, listed=True)
    found = reader.entries_or_none(a)
    if found is not None and any(isinstance(each, Reference) for each in found):
        raise reader.refuse("lists or objects are sorted")
    if found is None or not all(is_public(each) for each in found):
        return NotImplemented
    if all(is_known(each) for each in found):
        return reader.listed(sorted(plain(each) for each in found))
    one = all(shape_of(each) == () for each in found)
    return reader.listed([Public(() if one else None)] * len(found))


def order_statistic(reader: Interpreter, a: Value, q: Value = 0, **settings: Value) -> Value:
    """A number between the smallest and the largest record: it moves by the range."""
    public = all(is_known(each) for each in settings.values()) and is_public(q)
    if (
        not are_records(a)
        or not public
        or shape_of(q) != ()
        or settings.get("axis")
        or settings.keys() - {"method", "axis"}
    ):
        return NotImplemented
    if a.chosen:
        raise reader.refuse("an order statistic of a selection that may be empty")
    require_one(reader, a)
    require_doubles(reader, a)
    reader.note(f"order statistic, sensitivity {float(a.width):.6g}")
    size = max(abs(a.low), abs(a.high))
    return number(a.width, "an order statistic of the records", size=size, floats=a.floats)


def smallest(reader: Interpreter, *values: Value, **settings: Value) -> Value:
    """``min``: 1-Lipschitz in the largest distance."""
    if len(values) == 2 and any(isinstance(each, Records) and each.single for each in values):
        return NotImplemented if settings else _one_of(reader, smaller, *values)
    return _of_python(reader, min, *values, **settings)


def largest(reader: Interpreter, *values: Value, **settings: Value) -> Value:
    """``max``: 1-Lipschitz in the largest distance."""
    if len(values) == 2 and any(isinstance(each, Records) and each.single for each in values):
        return NotImplemented if settings else _one_of(reader, larger, *values)
    return _of_python(reader, max, *values, **settings)


def _one_of(reader: Interpreter, which: Any, a: Value, b: Value) -> Value:
    """Return the smaller or larger of two numbers of a record, of the type of either."""
    found = which(reader, a, b)
    return one_of(reader, found, a, b) if isinstance(found, Records) else found


def _of_python(reader: Interpreter, which: Any, *values: Value, **settings: Value) -> Value:
    """``min`` or ``max``, which gives one of its arguments, in that one's type."""
    if len(values) != 1 or settings:
        return NotImplemented
    array = isinstance(values[0], Records | Statistic)
    if array or isinstance(reader.gathered(values[0]), gaps.Gaps):
        return _smallest_or_largest(reader, which, values[0])
    return NotImplemented


def smallest_of(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """``np.min``, whose second argument is an axis."""
    return _smallest_or_largest(reader, min, a) if axis is None else NotImplemented


def largest_of(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """``np.max``, whose second argument is an axis."""
    return _smallest_or_largest(reader, max, a) if axis is None else NotImplemented


def _smallest_or_largest(reader: Interpreter, which: Any, a: Value) -> Value:
    if are_records(a):
        return order_statistic(reader, a)
    value = reader.gathered(a)
    if isinstance(value, gaps.Gaps) and which is max:
        return gaps.common(value, "max")
    if isinstance(value, Statistic) and len(value.shape) == 1:
        says = f"the largest or smallest of {value.says}"
        found = number(value.linf, says, size=value.size, floats=value.floats)
        return replace(found, peak=(value.name, value.memory) if which is max else None)
    return NotImplemented


def larger(reader: Interpreter, a: Value, b: Value) -> Value:
    """``np.maximum``: entry by entry, 1-Lipschitz."""
    if isinstance(a, clipping.Norms) or isinstance(b, clipping.Norms):
        return clipping.bounded(reader, a, b, above=True)
    return _against(reader, a, b, max)


def smaller(reader: Interpreter, a: Value, b: Value) -> Value:
    """``np.minimum``: entry by entry, 1-Lipschitz."""
    if isinstance(a, clipping.Norms) or isinstance(b, clipping.Norms):
        return clipping.bounded(reader, a, b, above=False)
    return _against(reader, a, b, min)


def _against(reader: Interpreter, a: Value, b: Value, choose: Any) -> Value:
    x, other = (a, b) if isinstance(a, Records | Statistic) else (b, a)
    if isinstance(x, Records):
        value = rational(other)
        if value is None:
            return NotImplemented
        low, high = choose(x.low, value), choose(x.high, value)
        return x.within(low, high, ordered=x.ordered)
    if isinstance(x, Statistic):
        return _contracted(reader, x, other)
    return NotImplemented


def _contracted(reader: Interpreter, x: Statistic, *bounds: Value) -> Value:
    """A function that moves each entry no further than the entry itself moves."""
    shapes = []
    for each in bounds:
        if not is_public(each):
            return NotImplemented
        if each is not None:
            shapes.append(shape_of(each))
    if any(shape is None or shape not in {(), x.shape} for shape in shapes):
        return NotImplemented
    sizes = [x.size, *(_largest(each) for each in bounds if each is not None)]
    size = None if None in sizes else max(each for each in sizes if each is not None)
    return statistic(x.shape, x.l1, x.l2_squared, x.linf, says=x.says, size=size, floats=x.floats)


def _largest(value: Value) -> Fraction | None:
    """Return the largest absolute value of a known number or array."""
    numbers = numbers_of(value) if is_known(value) else None
    return None if numbers is None else max(map(abs, numbers), default=ZERO)


def clip(reader: Interpreter, a: Value, a_min: Value = None, a_max: Value = None) -> Value:
    """Entries between two public bounds."""
    if isinstance(a, Statistic):
        return _contracted(reader, a, a_min, a_max)
    if isinstance(a, Shifted):
        return _clipped_anywhere(reader, a, a_min, a_max)
    if not isinstance(a, Records):
        return NotImplemented
    low, high = a.low, a.high
    if a_min is not None:
        least = rational(a_min)
        if least is None:
            return NotImplemented
        low, high = max(low, least), max(high, least)
    if a_max is not None:
        most = rational(a_max)
        if most is None:
            return NotImplemented
        low, high = min(low, most), min(high, most)
    reader.note(f"records within [{float(low):.6g}, {float(high):.6g}]")
    return a.within(low, high, ordered=a.ordered)


def _clipped_anywhere(reader: Interpreter, a: Shifted, a_min: Value, a_max: Value) -> Value:
    """Records plus a public number, clipped at both ends: no further apart than before."""
    if not a.finite:
        raise reader.refuse(
            "a public number that may be NaN is added to scores: a sum shows if there are any",
            "add a known number, or a noisy one",
        )
    low, high = rational(a_min), rational(a_max)
    if low is None or high is None or low > high:
        return NotImplemented
    return a.records.within(low, high)


def absolute(reader: Interpreter, a: Value) -> Value:
    """The distance to 0, which is 1-Lipschitz."""
    if isinstance(a, Records):
        ends = (abs(a.low), abs(a.high))
        return a.within(ZERO if a.low <= 0 <= a.high else min(ends), max(ends))
    if isinstance(a, Statistic):
        kept: dict[str, Any] = {"says": a.says, "size": a.size, "floats": a.floats}
        return statistic(a.shape, a.l1, a.l2_squared, a.linf, **kept)
    return NotImplemented


def absolute_double(reader: Interpreter, a: Value) -> Value:
    """``np.fabs``: of conditions it is of half precision."""
    doubles = isinstance(a, Records | Statistic) and a.floats
    return absolute(reader, a) if doubles else NotImplemented
