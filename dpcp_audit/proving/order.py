"""Order: comparisons, signs, sorted records and order statistics, extremes, bounds."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
import operator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import dp_sgd, gaps, inverse_laws
from dpcp_audit.proving.arithmetic import (
    LARGEST,
    SYMMETRIC,
    binary,
    broadcast,
    decided_by_difference,
    is_double,
    kind,
    remedy,
)
from dpcp_audit.proving.distances import (
    COUNT,
    SCALAR,
    Cell,
    Crossed,
    EitherType,
    Inverse,
    Noise,
    Noisy,
    Origin,
    Public,
    PublicAnswer,
    PublicFloat,
    Records,
    Reference,
    Shifted,
    Statistic,
    Value,
    Weights,
    is_count,
    is_data,
    is_known,
    is_public,
    is_whole,
    number,
    of_operator,
    one_of,
    operation,
    require_doubles,
    require_one,
    shape_of,
    tokens,
)
from dpcp_audit.proving.dp_sgd import poisson
from dpcp_audit.proving.exact_numbers import (
    Surd,
    apply_to_array,
    exact_of,
    frozen,
    is_scalar,
    numbers_of,
    plain,
    rational_of,
    remember,
)
from dpcp_audit.proving.rules import ZERO, are_records, operands, whole_axis
from dpcp_audit.proving.thresholds import above

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.reading import Interpreter


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
    reading.require_followed(a, b)
    crossed = _crossed(reading, name, a, b)
    if crossed is not None:
        return crossed
    if isinstance(a, Records) or isinstance(b, Records):
        return replace(_records_compared(reading, name, a, b), entry_type=of_operator(a, b))
    found = _by_mechanism(reading, name, a, b)
    if found is not None:
        return found
    a, b = reading.release(a), reading.release(b)
    if is_data(a) or is_data(b):
        bare = a if is_data(a) else b
        raise reading.leak(
            f"a comparison depends on {kind(bare)} without noise", remedy(reading, bare)
        )
    if not (is_public(a) and is_public(b)):
        raise reading.refuse(f"a comparison of {kind(a)} and {kind(b)}")
    return SCALAR if name in {"In", "NotIn"} else _of_public(name, a, b)


def _of_public(name: str, a: Value, b: Value) -> Public:
    """Return a comparison of public values: known, where their difference is."""
    known = decided_by_difference(name, a, b)
    if known is not None:
        return PublicAnswer((), known)
    if is_count(a) and type(b) in {int, float} and (b < 1 or (b == 1 and name in {"Lt", "GtE"})):
        return PublicAnswer((), name in {"Gt", "GtE", "NotEq"})
    return Public(broadcast(shape_of(a), shape_of(b)))


def _by_mechanism(reading: Interpreter, name: str, a: Value, b: Value) -> Value | None:
    """Return a comparison that is part of a mechanism; None of any other one."""
    answer = reading.decided(name, a, b)
    answer = poisson(reading, name, a, b) if answer is None else answer
    return above(reading, name, a, b) if answer is None else answer


def by_comparison(name: str) -> Callable[..., Value]:
    """Return the rule of a function of NumPy that is a comparison."""

    def applied(reader: Interpreter, x1: Value, x2: Value) -> Value:
        """The comparison, of records or a statistic."""
        pair = operands(reader, x1, x2)
        return NotImplemented if pair is None else compare(reader, name, *pair)

    return applied


_MIRRORED = {"Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}


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
    other = _beside_records(reading, other)
    if shape_of(other) != ():
        raise reading.refuse(f"records are compared with {kind(other)}, not with one number")
    if reading.for_some and not (is_known(other) or isinstance(other, PublicFloat)):
        raise reading.refuse(
            "some of the records are compared with a number that may be too large for a double",
            "make it a float before: float(...)",
        )
    found = records.within(Fraction(0), Fraction(1), boolean=True)
    if records.chosen or not records.itself or not is_known(other):
        return found
    name = name if records is a else _MIRRORED.get(name, name)
    end, replaced = plain(other), reading.replaced
    if type(end) not in {int, float, np.int64, np.float64} or not abs(end) <= LARGEST:
        return found
    cell = Cell.of(records.column, name, Fraction(end), replaced=replaced)
    return replace(found, cell=cell)


def _beside_records(reading: Interpreter, other: Value) -> Value:
    """Return the public value that records are compared with."""
    other = reading.release(other)
    if is_data(other):
        raise reading.suspect(
            f"records are compared with {kind(other)} without noise",
            "take a number that holds for all data, or add noise to it",
        )
    if not is_public(other):
        raise reading.refuse(f"records are compared with {kind(other)}, not with one number")
    return other


def _crossed(reading: Interpreter, name: str, a: Value, b: Value) -> Crossed | None:
    """Return the comparison of each record with each of some public numbers; None of any other.

    The records are a column beside a vector, or a row, or a vector, beside a column.
    """
    for x, other in ((a, b), (b, a)):
        row = isinstance(x, Records) and len(shape_of(other) or ()) == 2
        if not row and not isinstance(x, dp_sgd.Column):
            continue
        records, axis = (x.of, x.axis) if isinstance(x, dp_sgd.Column) else (x, 1)
        y = _beside_records(reading, other)
        shape = tuple(shape_of(y) or ())
        fits = len(shape) == 2 and shape[1] == 1 if axis else shape[:-1] in {(), (1,)} and shape
        if not isinstance(records, Records) or records.single or records.listed or not fits:
            raise reading.refuse("records are compared with a table of another shape")
        disjoint = name == "Eq" and is_known(y) and len(set(map(float, y.flat))) == y.size
        if min(shape) < 0 or not (disjoint or name in {"Lt", "LtE", "Gt", "GtE"}):
            raise reading.refuse(f"{name} of records and several numbers at once")
        return Crossed(records, shape[0] if axis else shape[-1], axis, disjoint)
    return None


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
    with reading.computing():
        return frozen(COMPARE[name](plain(a), plain(b)))


def _holds_nan(value: Value) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_holds_nan, value))
    return isinstance(value, float) and value != value  # noqa: PLR0124  (NaN alone differs)


def unary(reading: Interpreter, name: str, value: Value) -> Value:
    """Return the result of -, +, ~ on a value; ``not`` is the interpreter's."""
    reading.require_followed(value)
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
        raise reading.refuse(f"{operation(name)} of records is not followed")
    if name == "USub" and isinstance(value, Statistic):
        return value.times(Surd.of(-1), keeps_integers=True)
    if name == "USub" and isinstance(value, Noise) and value.law in SYMMETRIC:
        return value.negative
    if name == "USub" and isinstance(value, Inverse):
        return binary(reading, "Mult", -1, value)
    value = reading.release(value)
    if not is_public(value):
        raise reading.refuse(f"{name} of {kind(value)}")
    plainly = isinstance(value, PublicFloat)
    return replace(value, affine=None, multiple=None) if plainly else Public(shape_of(value))


def _known_unary(reading: Interpreter, name: str, value: Value) -> Value:
    functions: dict[str, Callable[[Any], Any]] = {
        "USub": operator.neg,
        "UAdd": operator.pos,
        "Invert": operator.invert,
    }
    if name == "Invert" and reading.for_some:
        raise reading.refuse("~ of some records only, which may warn")
    with reading.computing():
        found = frozen(functions[name](plain(value)))
    if isinstance(found, np.ndarray):
        return apply_to_array("neg", found, value) if name == "USub" else found
    exact = exact_of(value)
    if exact is None or not isinstance(found, float) or not math.isfinite(found):
        return found
    return remember(found, Surd(-exact.sign if name == "USub" else exact.sign, exact.square))


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
    reader.note("order statistic", a.width)
    says = Origin("an order statistic of the records", ranked=True)
    return number(a.width, says, size=a.size, floats=a.floats)


def of_python(choose: Callable[..., Any]) -> Callable[..., Value]:
    """Return the rule of ``min`` or ``max``, which gives an argument, in that one's type."""

    def chosen(reader: Interpreter, *values: Value) -> Value:
        """1-Lipschitz in the largest distance; the larger of n and of a smaller number is n."""
        others = [each for each in values if not is_count(each)]
        small = all(type(each) is int and each <= 1 for each in others)
        if choose is max and len(others) < len(values) and small:
            return COUNT
        if len(values) == 1:
            array = isinstance(values[0], Records | Statistic)
            gathered = array or isinstance(reader.gathered(values[0]), gaps.Gaps)
            return _smallest_or_largest(reader, choose, values[0]) if gathered else NotImplemented
        if len(values) == 2 and any(isinstance(each, dp_sgd.Norms) for each in values):
            return dp_sgd.bounded_by_python(reader, *values, above=choose is max)
        if len(values) == 2 and any(isinstance(each, Records) and each.single for each in values):
            found = _against(reader, *values, choose)
            return one_of(reader, found, *values) if isinstance(found, Records) else found
        return _of_one_number(reader, values, choose) if len(values) == 2 else NotImplemented

    return chosen


def _of_one_number(reader: Interpreter, values: tuple[Value, ...], choose: Any) -> Value:
    """Return the smaller or larger of a statistic and a number, which tells by its type which."""
    a, b = (each.number if isinstance(each, EitherType) else each for each in values)
    x, other = (a, b) if isinstance(a, Statistic) else (b, a)
    if not isinstance(x, Statistic) or x.shape or not is_known(other) or not is_scalar(other):
        return NotImplemented
    if math.isnan(plain(other)):
        raise reader.refuse(f"{choose.__name__} of NaN, which is by order of the arguments")
    found = _against(reader, x, other, choose)
    doubles = all(each.double for each in values if isinstance(each, EitherType))
    return EitherType(found, doubles and x.floats and is_double(other))


def of_all(choose: Callable[..., Any]) -> Callable[..., Value]:
    """Return the rule of ``np.min`` or ``np.max``, whose second argument is an axis."""

    def chosen(reader: Interpreter, a: Value, axis: Value = None) -> Value:
        """1-Lipschitz in the largest distance."""
        return _smallest_or_largest(reader, choose, a) if axis is None else NotImplemented

    return chosen


def of_each(choose: Callable[..., Any]) -> Callable[..., Value]:
    """Return the rule of ``np.minimum`` or ``np.maximum``."""

    def chosen(reader: Interpreter, a: Value, b: Value) -> Value:
        """Entry by entry, 1-Lipschitz."""
        if isinstance(a, dp_sgd.Norms) or isinstance(b, dp_sgd.Norms):
            return dp_sgd.bounded(reader, a, b, above=choose is max)
        return _against(reader, a, b, choose)

    return chosen


def _smallest_or_largest(reader: Interpreter, choose: Any, a: Value) -> Value:
    if are_records(a):
        return order_statistic(reader, a)
    value = reader.gathered(a)
    if isinstance(value, gaps.Gaps) and choose is max:
        return gaps.common(value, "max")
    if isinstance(value, Statistic) and len(value.shape) == 1:
        says = value.says.made("the largest or smallest of")
        peak = value.name if choose is max else None
        return value.one(value.linf, says=says, integer=False, peak=peak)
    return NotImplemented


def _against(reader: Interpreter, a: Value, b: Value, choose: Any) -> Value:
    x, other = (a, b) if isinstance(a, Records | Statistic) else (b, a)
    if isinstance(x, Statistic):
        return _cut_off(reader, x, *((other, None) if choose is max else (None, other)))
    value = rational_of(other)
    if isinstance(x, Records) and value is not None:
        low, high = choose(x.low, value), choose(x.high, value)
        ends = x.ends and tuple(choose(each, float(plain(other))) for each in x.ends)
        whole = x.whole and is_whole(other)
        return x.within(low, high, ordered=x.ordered, whole=whole, ends=ends)
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
    return x.changed(x.l1, x.l2_squared, x.linf, integer=False, size=size)


def _cut_off(reader: Interpreter, x: Statistic, least: Value, most: Value) -> Value:
    """Entries no smaller, and then no larger, than bounds: no further apart than these, either.

    NaN is passed on, and lies in no range. A statistic of known size is none; of any other one
    nothing counts but its own distance.

    Where all k records of a client change, one after the other, a distance is that of one change.
    Between the first and the last value lie k - 1 others, as far apart from each other as the k-th
    part of the range, so that this is one as well, of all records of the client.
    """
    found = _contracted(reader, x, least, most)
    if found is NotImplemented or x.size is None or x.per:
        return found
    low, high = x.low, x.high
    for bound, choose in ((least, max), (most, min)):
        numbers = numbers_of(bound) if is_known(bound) and bound is not None else None
        if bound is not None and not numbers:
            low = high = None
        elif numbers and choose is max:
            low = min(numbers) if low is None else max(low, min(numbers))
            high = None if high is None else max(high, *numbers)
        elif numbers:
            high = max(numbers) if high is None else min(high, max(numbers))
            low = None if low is None else min(low, *numbers)
    found = replace(found, low=low, high=high)
    where, changes = reader.of_whole_clients(x.where)
    if low is None or high is None or (changes > 1 and (x.sample or x.cell)):
        return found
    distance = (high - low) / changes
    if distance >= found.linf:
        return found
    reader.note(f"clipped to [{float(low):.6g}, {float(high):.6g}]", high - low)
    l1 = min(x.l1, distance * math.prod(x.shape))
    given: dict[str, Any] = {"low": low, "high": high, "size": found.size, "where": where}
    return x.changed(l1, x.l2_squared, distance, integer=False, **given)


def _largest(value: Value) -> Fraction | None:
    """Return the largest absolute value of a known number or array."""
    numbers = numbers_of(value) if is_known(value) else None
    return None if numbers is None else max(map(abs, numbers), default=ZERO)


def clip(reader: Interpreter, a: Value, a_min: Value = None, a_max: Value = None) -> Value:
    """Entries between two public bounds."""
    if isinstance(a, Noise | Noisy | Public) and (is_data(a_min) or is_data(a_max)):
        raise reader.leak(
            "a noisy value is clipped to bounds that come from the data without noise",
            "take bounds that hold for all data, such as 0 and 1",
        )
    if isinstance(a, Statistic):
        return _cut_off(reader, a, a_min, a_max)
    if isinstance(a, Shifted):
        return _clipped_anywhere(reader, a, a_min, a_max)
    a = reader.release(a) if isinstance(a, Noisy) else a
    ends = [_largest(each) if shape_of(each) == () else None for each in (a_min, a_max)]
    if isinstance(a, PublicFloat) and a.size is not None and None not in ends:
        return PublicFloat(a.shape, math.ceil(max(each for each in ends if each is not None)))
    if not isinstance(a, Records):
        return NotImplemented
    found = a
    for bound, choose in ((a_min, max), (a_max, min)):
        found = found if bound is None else _against(reader, found, bound, choose)
        if found is NotImplemented:
            return NotImplemented
    reader.note(f"records within [{float(found.low):.6g}, {float(found.high):.6g}]")
    return found


def _clipped_anywhere(reader: Interpreter, a: Shifted, a_min: Value, a_max: Value) -> Value:
    """Records plus a public number, clipped at both ends: no further apart than before."""
    if not a.finite:
        raise reader.refuse(
            "a public number that may be NaN is added to scores: a sum shows if there are any",
            "add a known number, or a noisy one",
        )
    low, high = rational_of(a_min), rational_of(a_max)
    if low is None or high is None or low > high:
        return NotImplemented
    return a.records.within(low, high)


def absolute(reader: Interpreter, a: Value) -> Value:
    """The distance to 0, which is 1-Lipschitz."""
    if isinstance(a, Records):
        ends = (abs(a.low), abs(a.high))
        return a.within(ZERO if a.low <= 0 <= a.high else min(ends), max(ends))
    if isinstance(a, Statistic):
        return a.changed(a.l1, a.l2_squared, a.linf, integer=False)
    return inverse_laws.absolute(a)
