"""DP-SGD's parts: samples of the records, and a vector for each record, clipped by its norm.

A row is a function of one record. Divided by a number that is at least its norm over C, or times
one that is at most C over its norm, its norm is at most C; one record then moves the sum of all
rows by at most 2C, and by C where it is added. A norm of 0 must not be divided by: 0/0 is NaN,
which is in no ball. Rows are of finite numbers, as the records are: doubles do not overflow.

A sample is taken without replacement, or by a draw for each record, as Poisson sampling. What is
ε-DP of a sample is ln(1 + (e^ε - 1)·q)-DP of all records, each of which is in the sample with
probability q, as long as the sample shows in nothing else. Of a Poisson sample the laws of the
outputs on two neighbours are mixtures of the same law without the record, and of those with it; all
three are within ε of each other. Where neighbours differ in a record that one of them has more, the
law on one is P, and on the other (1 - q)·P + q·Q, where P and Q are those of a sample without the
record and with it. The mask has as many entries as there are records, and is used as an index only.

References
----------
Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar and Zhang 2016, "Deep Learning with Differential
Privacy", Algorithm 1. Samples: Balle, Barthe and Gaboardi 2018, "Privacy amplification by
subsampling", Theorems 2, 8 and 9.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcp_audit.proving.distances import (
    COUNT,
    EITHER,
    MOST_RECORDS,
    NUMPY,
    PYTHON,
    Hidden,
    Noise,
    RecordDraws,
    Records,
    SampledPlaces,
    Shifted,
    Statistic,
    Subsample,
    Value,
    is_known,
    is_public,
    operation,
    shape_of,
    statistic,
    tokens,
)
from dpcp_audit.proving.exact_numbers import (
    exact_of,
    form_of,
    is_scalar,
    numbers_of,
    rational_of,
    root_above,
)

if TYPE_CHECKING:
    from dpcp_audit.proving.reading import Interpreter


_RULE = "clipping by norm, of finite gradients: Abadi and others 2016, Algorithm 1"


_SMALLEST = Fraction(1, 2**400)
"""Size of numbers beside norms below which, or over 1 by it, doubles are 0 or infinite."""
_SMALLEST_SINGLE = Fraction(1, 2**40)
"""The same of single precision."""
PYTORCH = "PyTorch"
"""The type of norms that are tensors, which divide by 0 without an error or a warning."""
ONE_VECTOR = "NumPy's number"
"""The type of the norm of one vector, a statistic."""


@dataclass(frozen=True, slots=True)
class Column(Hidden):
    """A number for each record, as a column, or as a row: ``axis`` is that of the records."""

    called = "a column, or row, of a number for each record"

    of: Records | Shifted
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Rows(Hidden):
    """A vector for each record.

    Parameters
    ----------
    records : Records
        The records.
    entries : int
        The length of each vector.
    square : Fraction or None
        Bound of a row's squared norm, where one is known.
    moved : Fraction or None
        Bound of the squared norm of the difference of two rows.
    token : int
        Names the rows.
    """

    called = "vectors for each record"

    records: Records
    entries: int
    square: Fraction | None
    moved: Fraction | None
    token: int


@dataclass(frozen=True, slots=True)
class Norms(Hidden):
    """A number for each row: at least ``floor``, and at least ``scale`` times the row's norm.

    ``column`` tells whether it is one of a column; ``inverse`` that it is at most ``scale`` over
    the norm instead, and infinite where the norm is 0 unless ``floor`` is above 0. ``made`` is
    the type: ``NUMPY``, ``PYTORCH``, ``PYTHON``, ``ONE_VECTOR``, or ``EITHER`` of Python's and one
    of these, by the data.
    """

    called = "the norms of gradients"

    token: int
    scale: Fraction
    floor: Fraction
    column: bool
    inverse: bool = False
    made: str = NUMPY


KINDS = (Column, Rows, Norms)
ZERO, ONE = Fraction(0), Fraction(1)


def _number(value: Value) -> Fraction | None:
    exact = exact_of(value) if is_known(value) and is_scalar(value) else None
    found = None if exact is None else exact.rational
    return found if found is not None and _SMALLEST <= abs(found) <= 1 / _SMALLEST else None


def is_column(index: Value) -> bool:
    """Return True if an index is ``[:, None]``."""
    return _axis_kept(index) == 0


def adds_axis(index: Value) -> bool:
    """Return True if an index is ``[:, None]`` or ``[None, :]``."""
    return _axis_kept(index) is not None


def _axis_kept(index: Value) -> int | None:
    """Return the axis that an index with one new axis keeps; None of any other index."""
    two = isinstance(index, tuple) and len(index) == 2
    new = [each is None for each in index] if two else []
    whole = [isinstance(each, slice) and each == slice(None) for each in index] if two else []
    return whole.index(True) if sorted(new) == sorted(whole) == [False, True] else None


def element(reader: Interpreter, value: Value, index: Value) -> Value:
    """Return a column of a number for each record."""
    if is_column(index) and isinstance(value, Norms) and not value.column:
        return replace(value, column=True)
    single = isinstance(value, Records) and (value.single or value.listed)
    axis = _axis_kept(index)
    if axis is None or not isinstance(value, Records | Shifted) or single:
        raise reader.refuse("some entries of vectors for each record are taken out")
    return Column(value, axis)


def outer(reader: Interpreter, a: Value, b: Value) -> Value:
    """``np.outer``: the number of each record times a public vector."""
    if not isinstance(a, Records | Shifted) or (isinstance(a, Records) and a.single):
        return NotImplemented
    return _rows(reader, a, reader.public(reader.gathered(b), "a factor of all records"))


def _rows(reader: Interpreter, of: Records | Shifted, vector: Value) -> Rows:
    """Return the number of each record times a vector; an infinite factor may give NaN for some."""
    numbers = numbers_of(vector) if shape_of(vector) else None
    records = of if isinstance(of, Records) else of.records
    if not numbers or not records.floats:
        raise reader.refuse(
            "records are multiplied by a value that is not a known vector of finite numbers"
        )
    norm = sum((each * each for each in numbers), Fraction(0))
    square = max(abs(records.low), abs(records.high)) ** 2 * norm
    if square * _SMALLEST**2 > 1:
        raise reader.refuse("gradients so large that their norms may be infinite")
    if isinstance(of, Shifted) and (not reader.replaced or records.chosen):
        raise reader.refuse("a public number that may be infinite is added for some records")
    bound = square if isinstance(of, Records) else None
    return Rows(records, len(numbers), bound, records.width**2 * norm, next(tokens))


def norm(
    reader: Interpreter, x: Value, order: Value = None, axis: Value = None, **rest: Value
) -> Value:
    """``np.linalg.norm`` of each row, or of a statistic of finite numbers."""
    column = rest.get("keepdims", False)
    if isinstance(x, Statistic) and len(x.shape) == 1 and x.size is not None:
        plainly = axis is None and not rest and (order is None or (order == 2 and is_known(order)))
        return Norms(x.name, ONE, ZERO, True, made=ONE_VECTOR) if plainly else NotImplemented
    if not isinstance(x, Rows):
        return NotImplemented
    plainly = type(column) is bool and type(axis) is int and axis in {1, -1}
    if not plainly or order is not None or rest.keys() - {"keepdims"}:
        raise reader.refuse("another norm than the Euclidean one")
    return Norms(x.token, Fraction(1), Fraction(0), column)


def binary(reader: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return the result of an operator on a column, on rows or on norms."""
    first, other = (a, b) if isinstance(a, KINDS) else (b, a)
    if isinstance(first, Column) and not first.axis and name == "Mult" and is_public(other):
        return _rows(reader, first.of, other)
    for rows, norms in ((a, b), (b, a)):
        if isinstance(rows, Rows) and isinstance(norms, Norms) and rows.token == norms.token:
            return _clipped(reader, name, rows, norms, divides=rows is a)
        if isinstance(rows, Statistic) and isinstance(norms, Norms) and rows.name == norms.token:
            return _vector_clipped(reader, name, rows, norms, divides=rows is a)
    number = _number(other)
    if not isinstance(first, Norms) or number is None or number <= 0:
        raise reader.refuse(f"{operation(name)} of vectors for each record is not followed")
    tensor = first.made != NUMPY
    if name == "Add" and not first.inverse:
        return _in_range(reader, replace(first, floor=first.floor + number))
    if name == "Div" and first is b and not first.inverse:
        silent = first.made == PYTORCH or (first.made == NUMPY and reader.quiet)
        if not first.floor and not silent:
            raise reader.refuse("a norm may be 0, and is divided by", "np.maximum(norms, 1e-12)")
        return _in_range(reader, replace(first, scale=number / first.scale, inverse=True))
    if (name == "Mult" or (name == "Div" and first is a)) and not (tensor and first.inverse):
        by = number if name == "Mult" else 1 / number
        return _in_range(reader, replace(first, scale=first.scale * by, floor=first.floor * by))
    raise reader.refuse(f"{operation(name)} of the norms of gradients is not followed")


def _in_range(reader: Interpreter, norms: Norms) -> Norms:
    """Return norms of tensors, which single precision must not round to 0 or to infinity."""
    sizes = [each for each in (norms.scale, norms.floor) if each]
    near = all(_SMALLEST_SINGLE <= each <= 1 / _SMALLEST_SINGLE for each in sizes)
    if norms.made != NUMPY and not near:
        raise reader.refuse("numbers beside norms that single precision may round to 0")
    return norms


def _ball(reader: Interpreter, name: str, norms: Norms, *, divides: bool) -> Fraction:
    """Return the largest norm of vectors over, or times, a number for each that clips them."""
    right = name == "Mult" if norms.inverse else name == "Div" and divides
    if not norms.column or not right:
        raise reader.refuse(f"{operation(name)} of gradients and of their norms", "norms[:, None]")
    if not norms.floor:
        raise reader.refuse("0/0 is NaN where a gradient is 0", "np.maximum(1, norms / C)")
    reader.rules.add(_RULE)
    return norms.scale if norms.inverse else 1 / norms.scale


def _vector_clipped(
    reader: Interpreter, name: str, x: Statistic, norms: Norms, *, divides: bool
) -> Statistic:
    """Return a statistic over, or times, a number that clips it: it moves by twice the norm.

    Where all records of a client change one has its part of that (see ``order._cut_off``).
    """
    bound = _ball(reader, name, norms, divides=divides)
    if not divides and not x.floats:
        raise reader.refuse("whole numbers times one that may be 1", "make them floats before")
    where, changes = reader.of_whole_clients(x.where)
    if changes > 1 and (x.sample or x.cell):
        raise reader.refuse("statistics of some records of a client are clipped")
    reader.note(f"clipped to the norm {float(bound):.6g}", 2 * bound)
    squares, entries = (2 * bound / changes) ** 2, x.shape[0]
    found = statistic(x.shape, root_above(squares * entries), squares, root_above(squares))
    size = max(bound, x.size or ZERO)
    return replace(
        found, says=x.says, where=where, sample=x.sample, cell=x.cell, size=size, floats=True
    )


def _clipped(reader: Interpreter, name: str, rows: Rows, norms: Norms, *, divides: bool) -> Rows:
    """Return rows over, or times, a number for each that clips them."""
    bound = _ball(reader, name, norms, divides=divides)
    reader.note(f"gradients clipped to the norm {float(bound):.6g}")
    shrinks = rows.square is not None and not norms.inverse and norms.floor >= 1
    square = min(rows.square, bound**2) if shrinks and rows.square is not None else bound**2
    return replace(rows, square=square, moved=None, token=next(tokens))


def bounded(
    reader: Interpreter,
    a: Value,
    b: Value,
    *,
    above: bool,
    made: tuple[str, ...] = (NUMPY, ONE_VECTOR),
) -> Norms:
    """``np.maximum`` of norms, and ``np.minimum`` of factors, with a known number."""
    norms, number = (a, _number(b)) if isinstance(a, Norms) else (b, _number(a))
    if number is None or number <= 0 or above is norms.inverse or norms.made not in made:
        raise reader.refuse("norms are bounded by a value that is not a known number above 0")
    floor = max(norms.floor, number) if above else Fraction(1)
    return _in_range(reader, replace(norms, floor=floor))


_BY_PYTHON = (PYTORCH, PYTHON, ONE_VECTOR)


def bounded_by_python(reader: Interpreter, a: Value, b: Value, *, above: bool) -> Norms:
    """``max`` of one norm, and ``min`` of one factor, with a known number: of either type."""
    found = bounded(reader, a, b, above=above, made=_BY_PYTHON)
    return found if found.made == ONE_VECTOR else replace(found, made=EITHER)


def summed(reader: Interpreter, a: Rows, axis: Value) -> Statistic:
    """The sum of the rows of all records."""
    records = a.records
    if axis != 0:
        raise reader.refuse("vectors for each record are summed over another axis", "sum(axis=0)")
    whole = reader.replaced and not records.chosen
    twice = None if a.square is None else a.square * (4 if reader.replaced else 1)
    known = [each for each in (a.moved if whole else None, twice) if each is not None]
    moved = min(known, default=None)
    if moved is None:
        raise reader.refuse(
            "gradients whose norms are not bounded are summed",
            "clip each: g / np.maximum(1, norms / C)",
        )
    count, root = records.count or reader.n or MOST_RECORDS, root_above(moved)
    reader.note("sum of a vector for each record in l2", root)
    found = statistic(
        (a.entries,), root_above(moved * a.entries), moved, root,
        says="a sum of clipped gradients", where=records.where, floats=True,
        size=None if a.square is None else count * root_above(a.square),
    )  # fmt: skip
    return replace(found, sample=records.sample, rise=records.rise)


def number_averaged(reader: Interpreter, a: Records) -> Value:
    """Return the public number of the records that a mean is of."""
    if not reader.replaced or a.chosen:
        raise reader.refuse(
            "a mean over a number of records that is not public",
            "add noise to the sum and to the count",
        )
    return a.count or reader.n or COUNT


OF_STATISTICS = -3
"""The token of a sample of which statistics are used, and no report of each record is made."""
_BELOW = {"Lt": True, "LtE": True, "Gt": False, "GtE": False}
_WITHOUT = "a sample without replacement: Balle, Barthe and Gaboardi 2018, Theorem 9"
_POISSON = "Poisson sampling: Balle, Barthe and Gaboardi 2018, Theorem 2"


def poisson(reader: Interpreter, name: str, a: Value, b: Value) -> SampledPlaces | None:
    """Return the places at which a uniform draw for each record is below a known chance."""
    for draws, chance, first in ((a, b, True), (b, a, False)):
        added = isinstance(draws, RecordDraws)
        uniform = isinstance(draws, Noise) and draws.law == "uniform"
        if name not in _BELOW or not (added or uniform):
            continue
        share = rational_of(chance)
        each = (added or shape_of(draws) == (reader.n,)) and _BELOW[name] is first
        if not each or share is None or not 0 < share < 1 or reader.each_record:
            return None
        reader.use(draws.draw, next(tokens))
        sample = Subsample(next(tokens), share, added)
        return SampledPlaces(sample, None, None if added else form_of(chance))
    return None


def places(reader: Interpreter, given: dict[str, Value]) -> SampledPlaces | None:
    """Return a choice of some of the n places without replacement; None of any other choice."""
    n, size = reader.n, given.get("size")
    of_all = n is not None and type(given.get("a")) is int and given["a"] == n
    if not of_all or n is None or type(size) is not int or not 1 <= size < n:
        return None
    if given.get("replace", True) is not False or given.get("p") is not None:
        return None
    reader.rules.add(_WITHOUT)
    return SampledPlaces(Subsample(next(tokens), Fraction(size, n)), size)


def sampled(reader: Interpreter, records: Records, given: dict[str, Value]) -> Records:
    """Return a sample of the records without replacement: one record is in it at most once."""
    n = reader.n if records.count is None else records.count
    size = given.get("size")
    some = n is not None and not records.single and not records.chosen
    if not some or n is None or type(size) is not int or not 1 <= size <= n:
        raise reader.refuse("a sample of the records whose size, or theirs, is not known")
    if given.get("replace", True) is not False or given.get("p") is not None:
        raise reader.refuse(
            "one record may be more than once in a sample of the records", "give replace=False"
        )
    reader.rules.add(_WITHOUT)
    sample = Subsample(next(tokens), Fraction(size, n)) if records.sample is None else None
    return replace(_taken(records), count=size, sample=sample, entry_type=NUMPY)


def at(reader: Interpreter, records: Records, taken: SampledPlaces) -> Records:
    """Return the records at the places of a sample of all of them, each at its own place."""
    whole = records.placed and records.count is None and records.sample is None
    one_each = records.where == -1 and taken.sample.added is not reader.replaced
    if not whole or not one_each or records.single or records.chosen:
        raise reader.refuse("records are sampled that are not all, each at its own place")
    if records.listed:
        raise reader.refuse("a list of records is indexed", "make it an array: np.array(...)")
    reader.use((taken.sample.token,), OF_STATISTICS)
    if taken.count is None:
        reader.rules.add(_POISSON)
    found = replace(_taken(records), sample=taken.sample)
    return replace(found, chosen=True) if taken.count is None else replace(found, count=taken.count)


def _taken(records: Records) -> Records:
    return records.within(
        records.low,
        records.high,
        boolean=records.boolean,
        order=next(tokens),
        placed=False,
    )
