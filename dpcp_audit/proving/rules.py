"""The known functions: what each gives for records, statistics and noisy values, and why.

A rule takes the interpreter and the call's arguments, by the names that the function has for them.
``NotImplemented`` leaves the call to the default: of public values the result is public, noise is
released first, and data without a rule are refused.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import dp_sgd, gaps, inverse_laws, list_weights, noise_rules, thresholds
from dpcp_audit.proving.arithmetic import (
    FIXED,
    LARGEST,
    SYMMETRIC,
    binary,
    in_range,
    is_double,
    kind,
)
from dpcp_audit.proving.class_rows import ClassRows
from dpcp_audit.proving.distances import (
    COUNT,
    MOST_RECORDS,
    PYTHON,
    ROUNDED,
    SEED,
    ChosenPlaces,
    Crossed,
    EitherType,
    Noise,
    Noisy,
    Once,
    Origin,
    Private,
    Public,
    PublicAnswer,
    PublicFloat,
    PublicInteger,
    Records,
    Reference,
    Statistic,
    Value,
    Weights,
    is_count,
    is_data,
    is_known,
    is_whole,
    number,
    require_doubles,
    require_of_start,
    require_one,
    shape_of,
    statistic,
    tokens,
)
from dpcp_audit.proving.exact_numbers import (
    Surd,
    exact_of,
    frozen,
    is_scalar,
    plain,
    rational_of,
)
from dpcp_audit.proving.thresholds import Above, Present

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.reading import Interpreter


ZERO, ONE = Fraction(0), Fraction(1)
_RANGE = "give range=(low, high), or the edges"
_FLOATS = {None, float, np.float64, "float", "float64", "f8", np.dtype(float)}


def are_records(value: Value) -> bool:
    """Return True if a value is an array, or a list, of an entry for each record."""
    return isinstance(value, Records) and not value.single


def _constant(a: Records) -> bool:
    """Return True if each record that is counted adds the same whole number."""
    return a.low == a.high and a.low.denominator == 1


def whole_axis(axis: Value) -> bool:
    """Return True if an axis argument means all of a one-dimensional array."""
    return axis is None or (type(axis) is int and axis in {0, -1})


def kept(reader: Interpreter, a: Value, dtype: Value = None, copy: Value = None) -> Value:
    """A copy, a cast to float, or the same array under another name: no distance changes."""
    if not is_known(dtype) or not _float_type(dtype):
        return NotImplemented
    a = reader.gathered(a)
    alone = isinstance(a, Statistic | Noise | Noisy | Public) and shape_of(a) == ()
    if alone or (isinstance(a, Records) and a.single):
        return NotImplemented  # an array of no dimension, which changes in place
    if isinstance(a, Records):
        if dtype is not None:
            a = replace(a, floats=True, whole=False)
        return replace(a, listed=False)
    if isinstance(a, Statistic) and dtype is not None:
        return replace(a, floats=True)
    return a


def _float_type(dtype: Value) -> bool:
    try:
        return dtype in _FLOATS
    except TypeError:
        return False


def finite(reader: Interpreter, x: Value) -> Value:
    """``np.nan_to_num``: records are finite numbers."""
    return replace(x, listed=False) if are_records(x) and x.floats else NotImplemented


def operands(reader: Interpreter, a: Value, b: Value) -> tuple[Value, Value] | None:
    """Return the arrays, one of data, that a function of NumPy computes with; None of others."""
    a, b = (
        replace(each, listed=False) if isinstance(each, Records) else reader.gathered(each)
        for each in (a, b)
    )
    truth = any(isinstance(each, Records) and each.boolean for each in (a, b))
    data = any(isinstance(each, Records | Statistic) for each in (a, b))
    return (a, b) if data and not truth else None


def by_operator(name: str) -> Callable[..., Value]:
    """Return the rule of a function of NumPy that is an operator."""

    def applied(reader: Interpreter, x1: Value, x2: Value) -> Value:
        """The operator, of records or a statistic."""
        pair = operands(reader, x1, x2)
        return NotImplemented if pair is None else reader.operate(name, *pair)

    return applied


def squared(reader: Interpreter, x: Value) -> Value:
    """``np.square``."""
    return by_operator("Pow")(reader, x, 2)


def flat(reader: Interpreter, a: Value) -> Value:
    """One dimension of what has one already."""
    one = isinstance(a, Records) or (isinstance(a, Statistic | Noise) and len(a.shape) == 1)
    if isinstance(a, Records):
        return NotImplemented if a.single else replace(a, listed=False)
    return a if one else NotImplemented


def as_float(reader: Interpreter, a: Value = 0.0) -> Value:
    """A number of one entry stays what it is."""
    if isinstance(a, Records):
        made = {"floats": True, "entry_type": PYTHON, "ends": a.ends}
        return a.within(a.low, a.high, **made) if a.single else NotImplemented
    a = a.number if isinstance(a, EitherType) else a
    if isinstance(a, Statistic) and a.shape == ():
        return replace(a, floats=True)
    if isinstance(a, PublicInteger):
        return PublicFloat((), a.size, None, a.multiple)
    if isinstance(a, Noise) and a.law == SEED:
        return NotImplemented
    one = isinstance(a, gaps.Edge) or (isinstance(a, Noise | PublicFloat) and a.shape == ())
    return a if one or (isinstance(a, Noisy) and a.noise.shape == ()) else NotImplemented


def as_int(reader: Interpreter, a: Value = 0) -> Value:
    """Truncation moves two numbers that lie a whole number apart no further apart."""
    if isinstance(a, gaps.Chosen | PublicInteger):
        return a
    if isinstance(a, PublicAnswer):
        return int(a.holds)
    if isinstance(a, Statistic) and a.shape == () and a.integer:
        return replace(a, floats=False, name=next(tokens))
    if isinstance(a, Noise) and a.shape == () and a.whole and not a.moved:
        return a
    if isinstance(a, Records) and a.single and a.boolean:
        return a.within(a.low, a.high, entry_type=PYTHON, whole=True)
    if isinstance(a, Records) and a.single and a.whole:
        return replace(a, entry_type=PYTHON)
    if isinstance(a, Records) and a.single:
        return whole_numbers(a, int, entry_type=PYTHON)
    return NotImplemented


def whole_numbers(a: Records, of: Any, **given: Any) -> Value:
    """Return records rounded by a function that rises, if what it is computed from is known."""
    if a.ends is None or not a.floats:
        return NotImplemented
    ends: list[Any] = sorted(map(of, a.ends))
    low, high = ends
    if max(-low, high) > LARGEST:
        return NotImplemented  # it may be no 64-bit number of NumPy's
    return a.within(Fraction(low), Fraction(high), floats=False, whole=True, **given)


def as_bool(reader: Interpreter, a: Value) -> Value:
    """The truth of an answer, of Python's type."""
    return a.holds if isinstance(a, PublicAnswer) else NotImplemented


_LARGEST_SCALE = 2**40
"""Scale of rounded noise beyond which it may be as large as NumPy's whole numbers."""


def rounding(of: Callable[[float], float]) -> Callable[[Interpreter, Value], Value]:
    """Return the rule of a function that rounds."""

    def rounded(reader: Interpreter, a: Value) -> Value:
        """Noise as a whole number: beside a whole one it is as if the sum of both was rounded."""
        if isinstance(a, Noise) and a.law in {"laplace", "normal"}:
            if not a.alike or a.scale.square > _LARGEST_SCALE**2:
                raise reader.refuse("noise so large that whole numbers wrap around")
            return replace(a, law=ROUNDED + a.law, moved=0)
        if isinstance(a, Records) and a.floats and a.ends is not None:
            low, high = sorted(map(of, a.ends))
            if type(low) is int:
                return whole_numbers(a, of, entry_type=PYTHON) if a.single else NotImplemented
            return a.within(Fraction(low), Fraction(high), ends=(low, high))
        if isinstance(a, Statistic) and a.shape == () and a.size is not None:
            return _rounded_number(a, of)
        return NotImplemented

    return rounded


_NEARLY_WHOLE, _LARGEST_ROUNDED = Fraction(1, 2**8), 2**37
"""A distance that doubles' rounding stays below, and up to which numbers: by it they may pass a
whole number."""


def _rounded_number(a: Statistic, of: Callable[[float], float]) -> Value:
    """Return a number that is rounded: it moves by the next whole distance, and so do halves.

    Of d that is no whole number it is ⌈d⌉, also where halves go to the even number; of one, d + 1.
    """
    if a.size is None or a.size > _LARGEST_ROUNDED:
        return NotImplemented
    whole = a.integer and not a.floats
    moved = a.linf if whole else Fraction(math.ceil(a.linf + _NEARLY_WHOLE))
    floats = isinstance(of(0.5), float)
    return a.one(moved, integer=True, size=a.size + 1, floats=floats, per=0)


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
    size = None if a.size is None else a.size * summed
    squares, largest = min(a.l1 * a.l1, summed * a.l2_squared), min(a.l1, summed * a.linf)
    kept: dict[str, Any] = {"shape": (entries,), "says": a.says.made("sums of"), "size": size}
    return in_range(reader, a.changed(a.l1, squares, largest, **kept))


def _is_table(a: Value) -> bool:
    return isinstance(a, Statistic) and len(a.shape) == 2


def total(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """A sum: one record's change, or its presence; of a statistic at most its l1 distance."""
    if isinstance(a, dp_sgd.Rows):
        return dp_sgd.summed(reader, a, axis)
    if isinstance(a, Crossed):
        return _each_counted(reader, a, axis)
    if _is_table(a) and type(axis) is int and axis in {0, 1, -1}:
        return _along(reader, a, axis % 2)
    if not whole_axis(axis):
        return NotImplemented
    if are_records(a):
        distance, size = reader.one_record(a), a.largest_sum(reader.n)
        reader.note("sum over records", distance)
        whole = a.boolean or _constant(a)
        given = {"integer": whole, "size": size, "floats": a.floats, "rise": a.rise}
        return number(distance, "a sum over records", **given)
    a = reader.gathered(a)
    if isinstance(a, gaps.Gaps):
        return NotImplemented if a.log else gaps.common(a, "sum")
    if isinstance(a, Statistic) and len(a.shape) == 1:
        size = None if a.size is None else a.size * a.shape[0]
        return in_range(reader, a.one(a.l1, says=a.says.made("a sum of"), size=size))
    if isinstance(a, Weights) and not a.total:
        return replace(a, total=True, shape=())
    return NotImplemented


def added(reader: Interpreter, a: Value, start: Value = 0) -> Value:
    """``sum``, whose first number is one of Python's."""
    if _holds_either_type(reader, a):
        raise reader.refuse(f"sum of {EitherType.called}", "make each a float: float(...)")
    of_records = are_records(a)
    if not is_scalar(start) or not (of_records or start == 0):
        return NotImplemented
    found = total(reader, a)
    if not isinstance(found, Statistic) or not of_records:
        return found
    require_one(reader, a)
    if a.chosen:
        require_of_start(reader, a, start)
    if a.floats and a.chosen and not is_double(start):
        found = replace(found, floats=False, integer=False)  # of none, it is the whole number 0
    floats = found.floats or is_double(start)
    integer, size = found.integer and float(start).is_integer(), a.largest_sum(reader.n)
    rise = 0 if start else found.rise
    return replace(found, integer=integer, size=size + _size(start), floats=floats, rise=rise)


def _holds_either_type(reader: Interpreter, a: Value) -> bool:
    """Return True of a list with numbers whose types tell which of two each is."""
    items = reader.entries_or_none(a) if isinstance(a, Reference | Once | tuple) else ()
    return any(isinstance(each, EitherType) for each in items or ())


def _size(value: Value) -> Fraction:
    """Return a bound of a known number's absolute value; 0 where it is none."""
    exact = exact_of(value)
    return ZERO if exact is None else exact.size_above


def _each_counted(reader: Interpreter, a: Crossed, axis: Value) -> Value:
    """Return the number of records below, or equal to, each number."""
    if type(axis) is not int or axis not in {a.axis, a.axis - 2}:
        return NotImplemented
    if a.disjoint:
        return bins_of(reader, a.records, a.entries)
    return _below_each(reader, a.records, (a.entries,))


def _below_each(reader: Interpreter, a: Records, shape: tuple[int, ...]) -> Statistic:
    """Return the number of records below each of some numbers: all move the same way."""
    entries = Fraction(shape[0])
    reader.note("counts of records below thresholds, each", ONE)
    size = Fraction(a.count or reader.n or MOST_RECORDS)
    says = "counts of records"
    found = statistic(shape, entries, entries, ONE, span=ONE, integer=True, says=says, size=size)
    return _of_these_alone(found, a)


def counted(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """A count of records: one record changes it by at most 1."""
    if isinstance(a, Crossed):
        return _each_counted(reader, a, axis)
    if are_records(a) and whole_axis(axis):
        reader.note("count of records", ONE)
        size = Fraction(a.count or reader.n or MOST_RECORDS)
        found = number(ONE, "a count of records", integer=True, size=size)
        return replace(found, rise=a.rise)
    return NotImplemented


def some_or_all(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """True if any record, or every one, meets a condition: without noise it decides nothing."""
    if are_records(a) and whole_axis(axis):
        hint = "add noise to a count of such records, and compare that"
        return Private(reader.line, "whether a record meets a condition is used", hint, bare=True)
    return NotImplemented


def mean(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """A mean over n records: the sum's change over n."""
    if isinstance(a, dp_sgd.Rows):
        return binary(
            reader, "Div", dp_sgd.summed(reader, a, axis), dp_sgd.number_averaged(reader, a.records)
        )
    if isinstance(a, Crossed):
        counts, n = _each_counted(reader, a, axis), dp_sgd.number_averaged(reader, a.records)
        return counts if counts is NotImplemented else binary(reader, "Div", counts, n)
    if not whole_axis(axis):
        return NotImplemented
    if are_records(a):
        n = dp_sgd.number_averaged(reader, a)
        if is_count(n):
            found = binary(reader, "Div", total(reader, a), n)
            return replace(found, says=Origin("a mean over records"))
        distance = reader.one_record(a) / n
        reader.note("mean over records", distance)
        return number(distance, "a mean over records", size=a.size, floats=True)
    a = reader.gathered(a)
    if isinstance(a, Statistic) and len(a.shape) == 1 and a.shape[0]:
        says = a.says.made("a mean of")
        return a.one(a.l1 / a.shape[0], says=says, integer=False, floats=True)
    return NotImplemented


def length(reader: Interpreter, a: Value) -> Value:
    """The number of records: public under substitution, else it moves by one."""
    a = a.records if isinstance(a, ClassRows) else a
    if are_records(a):
        if not reader.replaced or a.chosen:
            size = Fraction(a.count or reader.n or MOST_RECORDS)
            one = number(ONE, "the number of records", integer=True, size=size)
            return replace(one, counts=a.where == -1 and not a.chosen and a.sample is None)
        return a.count or reader.n or COUNT
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
    one = are_records(a) or isinstance(a, gaps.Edges | gaps.Gaps) or len(shape_of(a) or ()) == 1
    return length(reader, a) if one else NotImplemented


def places(reader: Interpreter, a: Value) -> Value:
    """``np.flatnonzero``: the places of the records that meet a condition."""
    return ChosenPlaces(a) if are_records(a) and a.boolean and not a.listed else NotImplemented


def all_places(reader: Interpreter, a: Value) -> Value:
    """``np.nonzero``, which gives the places along each axis."""
    found = places(reader, a)
    return found if found is NotImplemented else (found,)


def where(reader: Interpreter, condition: Value, *pair: Value) -> Value:
    """``np.where``: of one record it is an array of no dimension, which changes in place."""
    if len(pair) != 2:
        return NotImplemented if pair else all_places(reader, condition)
    x, y = pair
    if isinstance(condition, Present | Above):
        return thresholds.where(reader, condition, x, y)
    found = by_condition(condition, x, y) if are_records(condition) else NotImplemented
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
        value = rational_of(each)
        if value is None:
            return NotImplemented
        ends.append(value)
    if max(map(abs, ends)) > LARGEST:
        return NotImplemented
    floats = any(each.floats if isinstance(each, Records) else is_double(each) for each in (x, y))
    return condition.within(min(ends), max(ends), floats=floats)


def searchsorted(reader: Interpreter, a: Value, v: Value, side: Value = "left") -> Value:
    """Counts of records below public numbers: each moves by at most 1, all the same way."""
    if not (isinstance(a, Records) and a.ordered):
        return NotImplemented
    v = reader.public(reader.gathered(v), "a threshold", FIXED)
    shape = shape_of(v)
    if shape == ():
        return counted(reader, a)
    if shape is None or len(shape) != 1 or shape[0] < 0 or not is_known(side):
        return NotImplemented
    return _below_each(reader, a, shape)


def histogram(reader: Interpreter, a: Value, bins: Value = 10, range: Value = None) -> Value:  # noqa: A002
    """Counts of disjoint bins: a substitution moves one record from a bin to another."""
    if not are_records(a):
        return NotImplemented
    require_doubles(reader, a)
    bins = reader.gathered(bins)
    chosen = isinstance(bins, str) or (is_scalar(bins) and range is None)
    if chosen or is_data(bins) or is_data(range):
        raise reader.leak("the bins of a histogram come from the data without noise", _RANGE)
    if not (is_known(bins) and is_known(range)):
        raise reader.refuse("the bins of the histogram are not known numbers", _RANGE)
    with reader.computing():
        edges = np.histogram(np.zeros(1), plain(bins), plain(range))[1]
    if not np.all(edges[1:] >= edges[:-1]):  # NaN, beside which bins count records twice
        raise reader.refuse("the edges of a histogram's bins do not increase")
    return bins_of(reader, a, len(edges) - 1), frozen(edges)


def bins_of(reader: Interpreter, a: Records, bins: int) -> Statistic:
    """Return the counts of disjoint bins."""
    moved = Fraction(2) if reader.replaced else ONE
    reader.note("histogram in l1", moved)
    size = Fraction(a.count or reader.n or MOST_RECORDS)
    says = "counts of disjoint bins"
    found = statistic((bins,), moved, moved, ONE, integer=True, says=says, size=size)
    return _of_these_alone(found, a)


def _of_these_alone(found: Statistic, a: Records) -> Statistic:
    """Return a statistic as one of these records, and of no others."""
    cell = a.cell if a.chosen else None
    return replace(found, where=a.where, sample=a.sample, cell=cell, rise=a.rise)


def bin_counts(reader: Interpreter, x: Value, weights: Value = None, minlength: Value = 0) -> Value:
    """``np.bincount``, of as many bins for all data: the counts of disjoint bins."""
    if not are_records(x) or not x.whole or weights is not None:
        return NotImplemented
    if not is_whole(minlength) or not is_known(minlength) or not 0 <= x.low <= x.high < minlength:
        reason = "how many bins there are depends on the records, or a bin has no place"
        raise reader.refuse(reason, "clip the bins to 0, ..., k - 1, and give minlength=k")
    return bins_of(reader, x, int(minlength))


def bin_numbers(reader: Interpreter, x: Value, bins: Value, right: Value = False) -> Value:  # noqa: FBT002
    """``np.digitize``: the place of each record among public numbers, which rises with it."""
    bins = reader.gathered(bins)
    known = is_known(bins) and isinstance(right, bool) and len(shape_of(bins) or ()) == 1
    if not are_records(x) or not x.floats or x.ends is None or not known:
        return NotImplemented
    edges: Any = plain(bins)
    if not all(low <= high for low, high in pairwise(edges.tolist())):  # or one is NaN
        raise reader.refuse("the edges of bins do not increase")
    low, high = (int(np.digitize(each, edges, right=right)) for each in sorted(map(float, x.ends)))
    return x.within(Fraction(low), Fraction(high), floats=False, whole=True)


def exponential(reader: Interpreter, a: Value) -> Value:
    """Weights of the exponential mechanism."""
    if isinstance(a, gaps.Gaps):
        return gaps.exponential(reader, a)
    if isinstance(a, list_weights.LogarithmOfSum) and a.apart:
        return replace(noise_rules.softened(reader, a.exponents), normalised=True)
    if isinstance(a, Statistic) and len(a.shape) == 1:
        return noise_rules.exponentials(reader, a)
    return list_weights.exponential(reader, a)


def softmax(reader: Interpreter, x: Value, axis: Value = None) -> Value:
    """The law of the exponential mechanism."""
    if isinstance(x, gaps.Gaps) and whole_axis(axis):
        return gaps.softmax(reader, x)
    if isinstance(x, Statistic) and len(x.shape) == 1 and whole_axis(axis):
        return replace(noise_rules.softened(reader, x), normalised=True)
    return NotImplemented


def cumulated(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """Partial sums: each moves by at most the l1 distance."""
    if not isinstance(a, Statistic) or len(a.shape) != 1 or not whole_axis(axis):
        return NotImplemented
    entries = a.shape[0]
    size = None if a.size is None else a.size * entries
    says = a.says.made("partial sums of")
    found = a.changed(a.l1 * entries, a.l1 * a.l1 * entries, a.l1, says=says, size=size)
    return in_range(reader, found)


def argmax(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """The place of the largest entry: a noisy maximum."""
    a = reader.gathered(a)
    if isinstance(a, gaps.Gaps) and whole_axis(axis):
        return gaps.argmax(reader, a)
    if isinstance(a, Noisy) and len(a.noise.shape) == 1 and whole_axis(axis):
        return noise_rules.argmax(reader, a)
    if isinstance(a, Statistic | Records):
        raise reader.leak(
            f"the largest of {kind(a)} is chosen without noise",
            "add Gumbel or Laplace noise to each before the argmax",
        )
    return NotImplemented


def argmin(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """The place of the smallest entry: of the largest of the negated ones."""
    a = reader.gathered(a)
    if isinstance(a, Noisy) and a.noise.law in SYMMETRIC:
        negated = a.statistic.times(Surd.of(-1), keeps_integers=True)
        return argmax(reader, replace(a, statistic=negated, noise=a.noise.negative), axis)
    return NotImplemented if isinstance(a, Noisy | gaps.Gaps) else argmax(reader, a, axis)


def logarithm(reader: Interpreter, x: Value) -> Value:
    """``np.log``: of the gaps between the sorted records, or of a draw that becomes noise."""
    if isinstance(x, gaps.Gaps):
        return gaps.logarithm(reader, x, quiet=reader.quiet)
    return inverse_laws.logarithm(x)


def differences(reader: Interpreter, a: Value) -> Value:
    """``np.diff``: of the sorted records between two public ends."""
    return gaps.lengths(a) if isinstance(a, gaps.Edges) else NotImplemented


def concatenated(reader: Interpreter, arrays: Value) -> Value:
    """``np.concatenate``: of the sorted records and two public ends, or of clients' records."""
    items = reader.entries_or_none(arrays)
    if items is None or not any(isinstance(each, Records) for each in items):
        return NotImplemented
    if all(isinstance(each, Records) for each in items):
        return _pooled(reader, items)
    return gaps.joined(reader, tuple(reader.gathered(each) for each in items))


def _pooled(reader: Interpreter, parts: tuple[Records, ...]) -> Records:
    """Return the records of several clients, or slices, as one array: no record is in two."""
    where, count, follows = 0, 0, True
    for each in parts:
        plainly = each.placed and each.itself and not (each.single or each.chosen or each.listed)
        if not plainly or each.where < 0 or each.where & where or each.sample is not None:
            raise reader.refuse("records are joined that are not those of other clients each")
        follows = follows and (not where or each.where & -each.where == 1 << where.bit_length())
        where, count = where | each.where, count + (each.count or 0)
    if reader.n is not None and follows and count == reader.n:
        return replace(parts[0], where=-1, count=None, order=next(tokens))
    known = None if reader.n is None else count
    return replace(parts[0], where=where, count=known, placed=follows, order=next(tokens))


def printed(reader: Interpreter, *values: Value, **settings: Value) -> Value:
    """Release the values: printed output is public."""
    reader.require_once("something is printed for each record")
    for value in (*values, *settings.values()):
        reader.public(reader.opened(value), "what is printed")
