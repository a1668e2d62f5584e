"""The known functions: what each gives for records, statistics and noisy values, and why.

A rule takes the interpreter and the call's arguments, by the names that the function has for them.
``NotImplemented`` leaves the call to the default: of public values the result is public, noise is
released first, and data without a rule are refused.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import clipping, gaps
from dpcp_audit.proving.arithmetic import LARGEST, in_range, is_double
from dpcp_audit.proving.distances import (
    ROUNDED,
    Noise,
    Noisy,
    Public,
    PublicAnswer,
    Records,
    Reference,
    Shifted,
    Value,
    Weights,
    is_known,
    is_public,
    shape_of,
)
from dpcp_audit.proving.entry_types import (
    PYTHON,
    one_of,
    require_doubles,
    require_of_start,
    require_one,
)
from dpcp_audit.proving.exact_numbers import exact_of, frozen, is_scalar, numbers_of, plain
from dpcp_audit.proving.statistics import MOST_RECORDS, Statistic, number, statistic, tokens

if TYPE_CHECKING:
    from dpcp_audit.proving.protocol import Interpreter

ZERO, ONE = Fraction(0), Fraction(1)
_FLOATS = {None, float, np.float64, "float", "float64", "f8", np.dtype(float)}


def _plain_records(value: Value) -> bool:
    return isinstance(value, Records) and not value.single


def _constant(a: Records) -> bool:
    """Tell whether each record that is counted adds the same whole number."""
    return a.low == a.high and a.low.denominator == 1


def whole_axis(axis: Value) -> bool:
    """Tell whether an axis argument means all of a one-dimensional array."""
    return axis is None or axis in {0, -1}


def kept(reader: Interpreter, a: Value, dtype: Value = None, copy: Value = None) -> Value:
    """A copy, a cast to float, or the same array under another name: no distance changes."""
    if not is_known(dtype) or not _float_type(dtype):
        return NotImplemented
    a = reader.gathered(a)
    alone = isinstance(a, Statistic | Noise | Noisy | PublicAnswer) and shape_of(a) == ()
    if alone or (isinstance(a, Records) and a.single):
        return NotImplemented  # an array of no dimension, which changes in place
    if isinstance(a, Records):
        return replace(a, listed=False, floats=a.floats or dtype is not None)
    if isinstance(a, Statistic) and dtype is not None:
        return replace(a, floats=True)
    return a


def _float_type(dtype: Value) -> bool:
    try:
        return dtype in _FLOATS
    except TypeError:
        return False


def flat(reader: Interpreter, a: Value) -> Value:
    """One dimension of what has one already."""
    one = isinstance(a, Records) or (isinstance(a, Statistic | Noise) and len(a.shape) == 1)
    if isinstance(a, Records):
        return NotImplemented if a.single else replace(a, listed=False)
    return a if one else NotImplemented


def as_float(reader: Interpreter, a: Value = 0.0) -> Value:
    """A number of one entry stays what it is."""
    if isinstance(a, Records):
        made = {"floats": True, "entry_type": PYTHON}
        return a.within(a.low, a.high, **made) if a.single else NotImplemented
    if isinstance(a, Statistic) and a.shape == ():
        return replace(a, floats=True)
    one = isinstance(a, Noise) and a.shape == ()
    return a if one or (isinstance(a, Noisy) and a.noise.shape == ()) else NotImplemented


def as_int(reader: Interpreter, a: Value = 0) -> Value:
    """Truncation moves two numbers that lie a whole number apart no further apart."""
    if isinstance(a, gaps.Chosen):
        return a
    if isinstance(a, PublicAnswer):
        return int(a.holds)
    if isinstance(a, Statistic) and a.shape == () and a.integer:
        return replace(a, floats=False)
    if isinstance(a, Noise) and a.shape == () and a.law.startswith(ROUNDED) and not a.moved:
        return a
    if isinstance(a, Records) and a.single and a.boolean:
        return a.within(a.low, a.high, entry_type=PYTHON)
    return NotImplemented


def as_bool(reader: Interpreter, a: Value) -> Value:
    """The truth of an answer, of Python's type."""
    return a.holds if isinstance(a, PublicAnswer) else NotImplemented


_LARGEST_SCALE = 2**40
"""Scale of rounded noise beyond which it may be as large as NumPy's whole numbers."""


def rounded(reader: Interpreter, a: Value) -> Value:
    """Noise as a whole number: beside a whole number it is as if the sum of both was rounded."""
    if isinstance(a, Noise) and a.law in {"laplace", "normal"}:
        if a.scale.square > _LARGEST_SCALE**2:
            raise reader.refuse("noise so large that whole numbers wrap around")
        return replace(a, law=ROUNDED + a.law, moved=False)
    return NotImplemented


def reshaped(reader: Interpreter, a: Value, *shape: Value) -> Value:
    """The same numbers of a vector as a table."""
    given: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    if not isinstance(a, Statistic) or len(a.shape) != 1 or len(given) != 2:
        return NotImplemented
    if not all(type(each) is int and each > 0 for each in given):
        return NotImplemented
    rows, columns = given
    if rows * columns != a.shape[0]:
        raise reader.refuse("raises ValueError: a table of another size")
    return replace(a, shape=(rows, columns), part=None, peak=None, topped=False, name=next(tokens))


def _along(reader: Interpreter, a: Statistic, axis: int) -> Statistic:
    """Return the sums of a table along an axis: an entry of it is in one sum."""
    summed, entries = a.shape[axis], a.shape[1 - axis]
    found = statistic(
        (entries,),
        a.l1,
        min(a.l1 * a.l1, summed * a.l2_squared),
        min(a.l1, summed * a.linf),
        integer=a.integer,
        says=f"sums of {a.says}",
        size=None if a.size is None else a.size * summed,
        floats=a.floats,
    )
    return in_range(reader, found)


def _is_table(a: Value) -> bool:
    return isinstance(a, Statistic) and len(a.shape) == 2


def total(reader: Interpreter, a: Value, start: Value = 0, axis: Value = None) -> Value:
    """A sum: one record's change, or its presence; of a statistic at most its l1 distance."""
    if isinstance(a, clipping.Rows):
        return clipping.summed(reader, a, axis) if start == 0 else NotImplemented
    along = _is_table(a) and type(axis) is int and axis in {0, 1, -1}
    if along and is_scalar(start) and start == 0:
        return _along(reader, a, axis % 2)
    if not whole_axis(axis):
        return NotImplemented
    if _plain_records(a) and (start is None or is_scalar(start)):
        distance = reader.one_record(a)
        reader.note(f"sum over records, sensitivity {float(distance):.6g}")
        return number(
            distance,
            "a sum over records",
            integer=a.boolean or _constant(a),
            size=a.largest_sum(reader.n) + _size(start),
            floats=a.floats or is_double(start),
        )
    a = reader.gathered(a)
    if isinstance(a, gaps.Gaps):
        return gaps.common(a, "sum") if start == 0 else NotImplemented
    if not is_known(start) or (is_scalar(start) and start != 0):
        return NotImplemented
    if isinstance(a, Statistic) and len(a.shape) == 1:
        size = None if a.size is None else a.size * a.shape[0]
        parts = {"integer": a.integer, "size": size, "floats": a.floats}
        return in_range(reader, number(a.l1, f"a sum of {a.says}", **parts))
    if isinstance(a, Weights) and not a.total:
        return replace(a, total=True, shape=())
    return NotImplemented


def added(reader: Interpreter, a: Value, start: Value = 0) -> Value:
    """``sum``, whose first number is one of Python's."""
    found = total(reader, a, start)
    if isinstance(found, Statistic) and isinstance(a, Records):
        require_one(reader, a)
        if a.chosen:
            require_of_start(reader, a, start)
        if a.floats and a.chosen and not is_double(start):
            return replace(found, floats=False, integer=False)  # of none, it is the whole number 0
    return found


def _size(value: Value) -> Fraction:
    """Return a bound of a known number's absolute value; 0 where it is none."""
    exact = exact_of(value) if is_scalar(value) else None
    return ZERO if exact is None else exact.size_above


def _of_parts(a: Statistic, size: Fraction | None = None) -> dict[str, Any]:
    """Return what is known of numbers that are entries of a statistic, or sums of them."""
    return {"size": a.size if size is None else size, "floats": a.floats}


def counted(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """A count of records: one record changes it by at most 1."""
    if _plain_records(a) and whole_axis(axis):
        reader.note("count of records, sensitivity 1")
        size = Fraction(a.count or reader.n or MOST_RECORDS)
        return number(ONE, "a count of records", integer=True, size=size)
    return NotImplemented


def mean(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """A mean over n records: the sum's change over n."""
    if isinstance(a, clipping.Rows):
        return clipping.summed(reader, a, axis, mean=True)
    if not whole_axis(axis):
        return NotImplemented
    if _plain_records(a):
        if reader.n is None or a.chosen:
            raise reader.refuse(
                "a mean over a number of records that is not public",
                "add noise to the sum and to the count",
            )
        distance = reader.one_record(a) / (a.count or reader.n)
        reader.note(f"mean over records, sensitivity {float(distance):.6g}")
        size = max(abs(a.low), abs(a.high))
        return number(distance, "a mean over records", size=size, floats=True)
    a = reader.gathered(a)
    if isinstance(a, Statistic) and len(a.shape) == 1 and a.shape[0]:
        return number(a.l1 / a.shape[0], f"a mean of {a.says}", size=a.size, floats=True)
    return NotImplemented


def length(reader: Interpreter, a: Value) -> Value:
    """The number of records: public under substitution, else it moves by one."""
    if _plain_records(a):
        if reader.n is None or a.chosen:
            size = Fraction(a.count or reader.n or MOST_RECORDS)
            return number(ONE, "the number of records", integer=True, size=size)
        return reader.n if a.count is None else a.count
    if isinstance(a, Statistic | Noise | Public) and a.shape and a.shape[0] >= 0:
        return a.shape[0]
    if isinstance(a, Noisy) and a.noise.shape:
        return a.noise.shape[0]
    if isinstance(a, gaps.Edges | gaps.Gaps):
        return gaps.size(a)
    found = reader.entries_or_none(a)
    return NotImplemented if found is None else len(found)


def size(reader: Interpreter, a: Value) -> Value:
    """The number of entries: of one dimension the length."""
    a = reader.gathered(a)
    one = _plain_records(a) or isinstance(a, gaps.Edges | gaps.Gaps) or len(shape_of(a) or ()) == 1
    return length(reader, a) if one else NotImplemented


def sort(reader: Interpreter, a: Value, axis: Value = -1, kind: Value = None) -> Value:
    """The same records in another order."""
    if _plain_records(a) and is_known(kind) and whole_axis(axis):
        return replace(a, ordered=True, order=next(tokens), placed=False, listed=False)
    return NotImplemented


def in_order(reader: Interpreter, a: Value) -> Value:
    """``sorted``: the same records in another order; of public values a list of them."""
    if _plain_records(a):
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
        not _plain_records(a)
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
    if _plain_records(a):
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
        value = _rational(other)
        if value is None:
            return NotImplemented
        low, high = choose(x.low, value), choose(x.high, value)
        return x.within(low, high, ordered=x.ordered)
    if isinstance(x, Statistic):
        return _contracted(reader, x, other)
    return NotImplemented


def _rational(value: Value) -> Fraction | None:
    exact = exact_of(value) if is_scalar(value) else None
    return None if exact is None else exact.rational


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
        return _clipped_anywhere(a, a_min, a_max)
    if not isinstance(a, Records):
        return NotImplemented
    low, high = a.low, a.high
    if a_min is not None:
        least = _rational(a_min)
        if least is None:
            return NotImplemented
        low, high = max(low, least), max(high, least)
    if a_max is not None:
        most = _rational(a_max)
        if most is None:
            return NotImplemented
        low, high = min(low, most), min(high, most)
    reader.note(f"records within [{float(low):.6g}, {float(high):.6g}]")
    return a.within(low, high, ordered=a.ordered)


def _clipped_anywhere(a: Shifted, a_min: Value, a_max: Value) -> Value:
    """Records plus a public number, clipped at both ends: no further apart than before."""
    low, high = _rational(a_min), _rational(a_max)
    if low is None or high is None or low > high:
        return NotImplemented
    return a.records.within(low, high)


def absolute(reader: Interpreter, a: Value) -> Value:
    """The distance to 0, which is 1-Lipschitz."""
    if isinstance(a, Records):
        ends = (abs(a.low), abs(a.high))
        return a.within(ZERO if a.low <= 0 <= a.high else min(ends), max(ends))
    if isinstance(a, Statistic):
        return statistic(a.shape, a.l1, a.l2_squared, a.linf, says=a.says, **_of_parts(a))
    return NotImplemented


def absolute_double(reader: Interpreter, a: Value) -> Value:
    """``np.fabs``: of conditions it is of half precision."""
    doubles = isinstance(a, Records | Statistic) and a.floats
    return absolute(reader, a) if doubles else NotImplemented


def where(reader: Interpreter, condition: Value, x: Value, y: Value) -> Value:
    """``np.where``: of one record it is an array of no dimension, which changes in place."""
    found = by_condition(condition, x, y) if _plain_records(condition) else NotImplemented
    if isinstance(found, Records) and all(type(each) is int and each in {0, 1} for each in (x, y)):
        return replace(found, bit=True)
    return found


def by_condition(condition: Value, x: Value, y: Value) -> Value:
    """Return one of two values for each record, by a condition on that record."""
    if not (isinstance(condition, Records) and condition.boolean):
        return NotImplemented
    ends: list[Fraction] = []
    for each in (x, y):
        if isinstance(each, Records):
            if not each.goes_with(condition) or each.listed:
                return NotImplemented
            ends += [each.low, each.high]
            continue
        value = _rational(each)
        if value is None:
            return NotImplemented
        ends.append(value)
    if max(map(abs, ends)) > LARGEST:
        return NotImplemented
    floats = any(each.floats if isinstance(each, Records) else is_double(each) for each in (x, y))
    return condition.within(min(ends), max(ends), floats=floats)


def searchsorted(reader: Interpreter, a: Value, v: Value, side: Value = "left") -> Value:
    """Counts of records below public numbers: each moves by at most 1, all the same way."""
    if not (isinstance(a, Records) and a.ordered and not a.chosen):
        return NotImplemented
    v = reader.public(reader.gathered(v), "a threshold")
    shape = shape_of(v)
    if shape == ():
        return counted(reader, a)
    if shape is None or len(shape) != 1 or shape[0] < 0 or not is_known(side):
        return NotImplemented
    entries = Fraction(shape[0])
    reader.note("counts of records below thresholds, each of sensitivity 1")
    return statistic(
        shape,
        entries,
        entries,
        ONE,
        span=ONE,
        integer=True,
        says="counts of records",
        size=Fraction(a.count or reader.n or MOST_RECORDS),
    )


def histogram(reader: Interpreter, a: Value, bins: Value = 10, range: Value = None) -> Value:  # noqa: A002
    """Counts of disjoint bins: a substitution moves one record from a bin to another."""
    if not _plain_records(a):
        return NotImplemented
    require_doubles(reader, a)
    bins = reader.gathered(bins)
    public = is_known(bins) and is_known(range) and not isinstance(bins, str)
    if not public or (is_scalar(bins) and range is None):
        raise reader.refuse(
            "a histogram whose bins come from the data", "give range=(low, high), or the edges"
        )
    try:
        edges = np.histogram(np.zeros(1), plain(bins), plain(range))[1]
    except Exception as error:
        raise reader.refuse(f"raises {type(error).__name__}: {error}") from None
    moved = ONE if reader.n is None else Fraction(2)
    reader.note(f"histogram, l1 sensitivity {moved}")
    counts = statistic(
        (len(edges) - 1,),
        moved,
        moved,
        ONE,
        integer=True,
        says="counts of disjoint bins",
        size=Fraction(a.count or reader.n or MOST_RECORDS),
    )
    return counts, frozen(edges)
