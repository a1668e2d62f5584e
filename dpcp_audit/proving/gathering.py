"""Lists and arrays: what they hold, entry by entry, and taken together as one array."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import (
    class_rows,
    dp_sgd,
    gaps,
    list_weights,
    noise_rules,
    torch_tensors,
    torch_values,
)
from dpcp_audit.proving.arithmetic import LARGEST, kind
from dpcp_audit.proving.class_rows import ClassRows
from dpcp_audit.proving.distances import (
    NUMPY,
    PYTHON,
    SCALAR,
    UNKNOWN,
    ChosenPlaces,
    EitherType,
    Inverse,
    Noise,
    Noisy,
    Once,
    Part,
    Private,
    Public,
    Records,
    Reference,
    SampledPlaces,
    Shifted,
    Statistic,
    Together,
    Value,
    Weights,
    disjoint,
    is_data,
    is_known,
    is_public,
    is_whole,
    larger_of,
    moved_together,
    number,
    require_doubles,
    require_one,
    same,
    shape_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import (
    OutsideList,
    Real,
    as_numpy,
    exact_of,
    frozen,
    is_scalar,
    plain,
    rational_of,
    remember,
)
from dpcp_audit.proving.paths import Contents
from dpcp_audit.proving.sources import DIMENSIONLESS, is_dimensionless

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.proving.reading import Interpreter

_KEPT: dict[Any, Any] = {int: np.int64, np.int64: np.int64, bool: np.bool_, np.bool_: np.bool_}
"""Types of entries, beside doubles, that an array begins with known numbers of."""
LONGEST = 200_000
_INDEX_HINT = "index with int(...): a truth value as an index adds an axis"


def entries(reader: Interpreter, value: Value) -> tuple[Value, ...] | None:
    """Return the items of a loop over a value; None where they are not known."""
    if isinstance(value, Reference):
        cells = reader.cells(value)
        return None if cells.kind == "object" else cells.keys or cells.items
    if isinstance(value, Once):
        return value.items
    if isinstance(value, gaps.Edges):
        return tuple(gaps.element(reader, value, place) for place in range(gaps.size(value)))
    if isinstance(value, Noisy | Inverse):
        value = reader.release(value)
    if isinstance(value, Public | Statistic | Noise):
        if not value.shape or not 0 <= value.shape[0] <= LONGEST:
            return None
        return tuple(element(reader, value, i) for i in range(value.shape[0]))
    if isinstance(value, tuple):
        return value
    if isinstance(value, range | str) and len(value) <= LONGEST:
        return tuple(value)
    if isinstance(value, np.ndarray) and value.ndim and len(value) <= LONGEST:
        return tuple(value)
    return None


_BY_MECHANISM: tuple[tuple[Any, Callable[[Any, Value, Value], Value]], ...] = (
    (ClassRows, class_rows.element),
    (torch_values.KINDS, torch_tensors.element),
    (dp_sgd.KINDS, dp_sgd.element),
)
"""Kinds of one mechanism's own, and what an entry of them is."""


def element(reader: Interpreter, value: Value, index: Value) -> Value:
    """Return an entry, or a slice."""
    if isinstance(value, gaps.KINDS) or isinstance(index, gaps.KINDS):
        return gaps.element(reader, value, index)
    for kinds, of in _BY_MECHANISM:
        if isinstance(value, kinds):
            return of(reader, value, index)
    if isinstance(value, Records | Shifted) and dp_sgd.adds_axis(index):
        return dp_sgd.element(reader, value, index)
    if isinstance(value, Records):
        return _record(reader, value, index)
    if isinstance(index, Records | SampledPlaces | ChosenPlaces):
        raise reader.refuse(f"{kind(value)} is selected by what selects records")
    if isinstance(value, Reference):
        return _of_cells(reader, value, index)
    if isinstance(value, tuple) and not is_known(value):
        return value[_whole(reader, index)] if is_known(index) else _any_of(reader, value, index)
    if isinstance(value, Statistic):
        return _coordinate(reader, value, index)
    return _of_public(reader, value, index)


def _of_public(reader: Interpreter, value: Value, index: Value) -> Value:
    """Return an entry of a draw, or of a public value."""
    if isinstance(value, Noise) and len(value.shape) >= 1 and _is_whole(index):
        place = _place(reader, int(index), value.shape[0])
        return replace(value, draw=(*value.draw, place), shape=value.shape[1:])
    value = reader.release(value)
    if not (is_public(value) and is_public(index)):
        raise reader.refuse(f"an entry of {kind(value)} is not followed")
    if is_known(value) and is_known(index):
        with reader.computing():
            found = value[plain(index)]
        if is_dimensionless(found):
            raise reader.refuse(DIMENSIONLESS, "index with whole numbers alone")
        return found
    return _public_element(value, index)


def _public_element(value: Value, index: Value) -> Public:
    shape = shape_of(value)
    if shape and is_whole(index):
        return replace(value, shape=shape[1:]) if isinstance(value, Public) else Public(shape[1:])
    if shape and is_known(index) and isinstance(index, slice) and min(shape) >= 0:
        return Public(np.empty(shape)[index].shape)
    return UNKNOWN


def _is_whole(index: Value) -> bool:
    return isinstance(index, int | np.integer) and not isinstance(index, bool)


def _place(reader: Interpreter, index: int, length: int) -> int:
    if not -length <= index < length:
        raise reader.refuse("raises IndexError")
    return index % length


def _whole(reader: Interpreter, index: Value) -> Any:
    if _is_whole(index) or isinstance(index, slice):
        return plain(index)
    raise reader.refuse("an index is not a whole number")


def _any_of(reader: Interpreter, items: tuple[Value, ...], index: Value) -> Value:
    """Return an entry at a public place that is not known."""
    if items and all(is_public(each) for each in items):
        shapes = {shape_of(each) for each in items}
        whole = is_whole(index)  # and not several entries, or a slice
        return Public(shapes.pop()) if whole and len(shapes) == 1 else UNKNOWN
    raise reader.refuse("an entry at a place that is not known beforehand")


def _of_cells(reader: Interpreter, value: Reference, index: Value) -> Value:
    cells = reader.cells(value)
    if cells.kind == "object":
        raise reader.refuse("an object is indexed")
    if cells.kind == "dict":
        if is_known(index) and index in cells.keys:
            return cells.items[cells.keys.index(index)]
        raise reader.refuse("a key of a dictionary is not known")
    if not is_known(index):
        return _any_of(reader, cells.items, index)
    place = _whole(reader, index)
    if isinstance(place, slice):
        if cells.kind == "array":
            raise reader.refuse("a view of an array that is filled")
        return reader.listed(cells.items[place])
    return cells.items[_place(reader, place, len(cells.items))]


def _record(reader: Interpreter, value: Records, index: Value) -> Value:
    if isinstance(index, SampledPlaces):
        return dp_sgd.at(reader, value, index)
    index = index.mask if isinstance(index, ChosenPlaces) else index
    if isinstance(index, Records):
        if index.boolean and index.order == value.order and not (value.single or index.single):
            cell = value.cell if value.chosen else index.cell
            made = {"chosen": True, "order": next(tokens), "cell": cell}
            return value.within(value.low, value.high, **made)
        raise reader.refuse(
            "records are selected by something other than a condition on each record"
        )
    if isinstance(index, slice) and is_known(index):
        return _slice(reader, value, index)
    if value.single or value.chosen or not value.ordered or not reader.replaced:
        raise reader.refuse(
            "one record is taken out",
            "use all records alike, or sort them first where their number is public",
        )
    if not is_whole(index):
        raise reader.refuse("several records are taken out", _INDEX_HINT)
    require_one(reader, value)
    require_doubles(reader, value)
    reader.note("order statistic", value.width)
    says = "an order statistic of the records"
    return number(value.width, says, size=value.size, floats=value.floats)


def _slice(reader: Interpreter, value: Records, index: slice) -> Records:
    """Return the records at some places: another slice's records are other people's."""
    if value.single or value.chosen or not value.placed or reader.n is None:
        raise reader.refuse("records are taken out that are not each at their own place")
    count = reader.n if value.count is None else value.count
    taken = range(count)[plain(index)]
    if not len(taken) or taken.step != 1:
        raise reader.refuse("a slice of the records that is empty, or has a step")
    first = (value.where & -value.where).bit_length() - 1 if value.where > 0 else 0
    where = ((1 << len(taken)) - 1) << (first + taken.start)
    reader.note(f"records {first + taken.start} to {first + taken.stop - 1}")
    return replace(value, where=where, count=len(taken), order=next(tokens))


def _coordinate(reader: Interpreter, value: Statistic, index: Value) -> Statistic:
    if not value.shape:
        raise reader.refuse("an entry of a number")
    if isinstance(index, slice):
        if index.step == 0:
            raise reader.refuse("raises ValueError: a slice without a step")
        length = len(range(value.shape[0])[plain(index)])
        rest = (length, *value.shape[1:])
        return replace(value, shape=rest, part=None, name=next(tokens), topped=False)
    if len(value.shape) > 1 or not is_whole(index):
        raise reader.refuse("several entries of a statistic are taken out", _INDEX_HINT)
    if not _is_whole(index):
        return value.one(value.linf)
    place = _place(reader, int(index), value.shape[0])  # pyright: ignore[reportGeneralTypeIssues]
    part = Part(value.name, value.l1, value.l2_squared, (place,), Fraction(1))
    return value.one(value.linf, part=part)


MISSING = object()
"""What ``actual`` returns of a value that is not known through and through."""
_TYPES = {"float": np.float64, "int": np.int64}


def actual(reader: Interpreter, value: Value) -> Any:
    """Return the very object that Python has for a known value; else ``MISSING``.

    A function of a library that is called with it does what it does in the program itself.
    """
    if isinstance(value, Reference):
        cells = reader.cells(value)
        items = [actual(reader, each) for each in cells.items]
        if cells.kind not in {"list", "array"} or any(each is MISSING for each in items):
            return MISSING
        if cells.kind == "list":
            return items
        of = _TYPES.get(cells.of, np.bool_)
        whole = all(type(plain(each)) is of for each in items)
        return (
            np.array(plain(items), dtype=of) if whole and (items or cells.of in _TYPES) else MISSING
        )
    if isinstance(value, tuple):
        parts = tuple(actual(reader, each) for each in value)
        return MISSING if any(each is MISSING for each in parts) else parts
    return value if is_known(value) else MISSING


def gathered(reader: Interpreter, value: Value) -> Value:
    """Return a list, or an array that was filled, as one array; other values as they are."""
    if isinstance(value, Reference):
        cells = reader.cells(value)
        if cells.kind not in {"list", "array"}:
            return value
        if cells.kind == "array" and all(map(is_known, cells.items)):
            found = actual(reader, value)
            if found is MISSING:
                raise reader.refuse("an array that is filled, whose type is not followed")
            return frozen(found)
        items = cells.items
    elif isinstance(value, Once) or (isinstance(value, tuple) and not is_known(value)):
        items = value.items if isinstance(value, Once) else value
    else:
        return value
    return _one_array(reader, tuple(gathered(reader, each) for each in items))


def _one_array(reader: Interpreter, items: tuple[Value, ...]) -> Value:
    items = tuple(
        each.number if isinstance(each, EitherType) and each.double else each for each in items
    )
    if all(is_known(each) for each in items):
        return _known_array(reader, items)
    if all(is_public(each) for each in items):
        shapes = {shape_of(each) for each in items}
        shape = shapes.pop() if len(shapes) == 1 else None
        return UNKNOWN if shape is None else Public((len(items), *shape))
    if all(isinstance(each, Noise) and each.shape == () for each in items):
        return _noise_vector(reader, items)
    if all(isinstance(each, Noisy) and each.noise.shape == () for each in items):
        found = _noisy_vector(reader, items)
        if found is not None:
            return found
    weights = _weights(reader, items)
    if weights is not None:
        return weights
    if any(isinstance(each, Statistic) for each in items):
        return _vector(reader, tuple(reader.release(each) for each in items))
    released = tuple(reader.release(each) for each in items)
    if all(is_public(each) for each in released):
        return _one_array(reader, released)
    raise reader.refuse("a list of values that are not followed is taken as an array")


def _weights(reader: Interpreter, items: tuple[Value, ...]) -> gaps.Gaps | Weights | None:
    """Return weights of candidates, or of gaps, that were computed one by one; None of others."""
    if items and isinstance(items[0], gaps.Gaps):
        return gaps.gathered(items)
    names = list_weights.names_of(items)
    if not names:
        return None
    exponents = _vector(reader, tuple(each.exponents[0] for each in items))
    found = noise_rules.softened(reader, exponents)
    return replace(found, token=names, normalised=bool(items[0].over))


def _known_array(reader: Interpreter, items: tuple[Value, ...]) -> Value:
    with reader.computing():
        found = np.array(plain(list(items)))
    found.flags.writeable = False
    reader.require_wide(found)
    return found


def _vector(reader: Interpreter, items: tuple[Value, ...]) -> Statistic:
    """Return the statistic whose entries these are."""
    if not all(shape_of(each) == () for each in items):
        raise reader.refuse("a list of statistics that are not numbers")
    parts = [each for each in items if isinstance(each, Statistic)]
    either = functools.reduce(larger_of, parts)
    l1, squares = Fraction(0), Fraction(0)
    together = moved_together([each.cell for each in parts])
    for some, records in itertools.product(together, disjoint(each.where for each in parts)):
        moved = [parts[place].linf for place in some if parts[place].where & records]
        l1 = max(l1, sum(moved, Fraction(0)))
        squares = max(squares, sum((each * each for each in moved), Fraction(0)))
    places = {each.part.index for each in parts if each.part is not None}
    vectors = {each.part.vector for each in parts if each.part is not None}
    one = len(vectors) == 1 and all(each.part is not None for each in parts)
    if one and len(places) == len(parts):
        part = parts[0].part
        factor = max(each.part.factor for each in parts if each.part is not None)
        if part is not None:
            l1 = min(l1, part.l1 * factor)
            squares = min(squares, part.l2_squared * factor * factor)
    sizes = [_size(each) for each in items]
    return either.changed(
        l1,
        squares,
        either.linf,
        shape=(len(items),),
        integer=either.integer and len(parts) == len(items),
        size=None if None in sizes else max(each for each in sizes if each is not None),
        floats=any(each.floats for each in parts),
    )


def _size(value: Value) -> Fraction | None:
    """Return a bound of a number's absolute value."""
    if isinstance(value, Statistic):
        return value.size
    exact = exact_of(value)
    return None if exact is None else exact.size_above


def _of_one_law(noises: Sequence[Noise]) -> bool:
    """Return True of draws of one law, or of laws whose scales are all at least those of one.

    Gumbel noise chooses by weight if all scales are the same, and are known to be.
    """
    laws = {(each.law, each.scale, each.alike, each.per) for each in noises}
    return len(laws) == 1 and all(each.alike or each.law != "gumbel" for each in noises)


def _noise_vector(reader: Interpreter, items: tuple[Noise, ...]) -> Value:
    """Return fresh draws of one law as one vector; they cannot be used one by one after that."""
    if not _of_one_law(items) or len({each.draw for each in items}) < len(items):
        for each in items:
            reader.release(each)
        return Public((len(items),))
    for each in items:
        reader.use(each.draw, next(tokens))
    first = items[0]
    moved = max(each.moved for each in items)
    return replace(first, draw=(next(tokens),), shape=(len(items),), moved=moved)


def _noisy_vector(reader: Interpreter, items: tuple[Noisy, ...]) -> Noisy | None:
    """Return numbers with a fresh draw each as one vector, if none of the draws was used."""
    noises = [each.noise for each in items]
    draws = [each.draw for each in noises]
    key = tuple((each.token, each.noise.scale, each.noise.sign) for each in items)
    used = reader.path.used
    if key in reader.vectors and all(used.get(d) == reader.vectors[key][0] for d in draws):
        return reader.vectors[key][1]
    fresh = all(map(reader.path.is_fresh, draws))
    if not _of_one_law(noises) or not fresh or len(set(draws)) < len(draws):
        return None
    moved = next(tokens)
    for draw in draws:
        reader.use(draw, moved)
    below = _vector(reader, tuple(each.statistic for each in items))
    shifts = max(each.noise.moved for each in items)
    noise = replace(items[0].noise, draw=(next(tokens),), shape=(len(items),), moved=shifts)
    reader.vectors[key] = moved, Noisy(below, noise, items[-1].line)
    return reader.vectors[key][1]


def _at_their_places(reader: Interpreter, records: Records) -> int:
    """Return the number of records, if each is at its own place in the data; else 0."""
    known = reader.n is not None and records.placed and not (records.chosen or records.single)
    return (records.count or reader.n or 0) if known else 0


def beside(reader: Interpreter, records: Records, value: Value) -> Value:
    """Return what ``zip`` takes beside records: other functions of the same, or known numbers."""
    if isinstance(value, Together | ClassRows):
        beside(reader, records, value.records)
        return value
    if isinstance(value, Records):
        if value.single or not value.goes_with(records):
            raise reader.refuse("different records are taken together")
        return value
    count = _at_their_places(reader, records)
    items = entries(reader, value) or ()
    numbers = [rational_of(each) for each in items if is_scalar(each)]
    known = [each for each in numbers if each is not None and abs(each) <= LARGEST]
    if not count or len(items) != count or len(known) != count:
        raise reader.refuse(
            "records are taken together with values that are not a known number for each",
            "zip records with as many known numbers, under substitution",
        )
    (kind_of, *others) = {type(plain(each)) for each in items}
    if others or kind_of not in {float, int, np.float64, np.int64}:
        raise reader.refuse("records are taken together with numbers of several types")
    numpys, floats = kind_of in {np.float64, np.int64}, kind_of in {float, np.float64}
    made = {"floats": floats, "whole": not floats, "entry_type": NUMPY if numpys else PYTHON}
    return records.within(min(known), max(known), **made)


def places(reader: Interpreter, records: Records, start: int) -> Value:
    """Return the places that ``enumerate`` counts, which must not tell how many records there are.

    Where a record may be missing, or the records are sorted, what is at a place depends on others.
    """
    count = _at_their_places(reader, records)
    if not count or abs(start) > LARGEST:
        reason = "the place of a record is used, which depends on the other records"
        return Private(reader.line, reason, "use the records alone")
    low, high = Fraction(start), Fraction(start + count - 1)
    return records.within(low, high, floats=False, whole=True, entry_type=PYTHON)


def changeable(reader: Interpreter, owner: Reference) -> Contents:
    """Return the value at a place that is to be changed, while no loop goes through it."""
    references = [each for each in reader.iterated if isinstance(each, Reference)]
    lost = any(reader.path.heap[each.address].kind == "lost" for each in references)
    if lost or any(each is owner or same(each, owner) for each in reader.iterated):
        raise reader.refuse("a list is changed while a loop goes through it")
    cells = reader.cells(owner)
    if cells.of is OutsideList:
        raise reader.refuse("a list from outside of the function is changed")
    return cells


def is_shown(reader: Interpreter, value: Value) -> bool:
    """Return True of a list or a dictionary of public values, of which nothing else is known."""
    cells = reader.path.heap[value.address] if isinstance(value, Reference) else None
    return cells is not None and cells.kind == "lost" and is_public(cells.items[0])


def take_up(reader: Interpreter, value: Value) -> None:
    """Add a public value to a list or dictionary; refuse a list, which may be filled later."""
    parts = [value]
    for each in parts:
        parts += each if isinstance(each, tuple) else ()
    if any(isinstance(each, Reference | Once) for each in parts):
        raise reader.refuse("a list is put into another one, of which not all is known")
    reader.public(value, "what a list or a dictionary takes up")


def kind_of(reader: Interpreter, value: Reference) -> str:
    """Return the kind of what a reference refers to, even where that must not be used."""
    return reader.path.heap[value.address].kind


def store(reader: Interpreter, owner: Value, index: Value, value: Value) -> None:
    """Put a value into a list, a dictionary or an array that is filled."""
    if isinstance(owner, Noisy) and is_data(value):
        says = f"a noisy number is replaced by {kind(value)} without noise"
        raise reader.leak(says, "keep the noisy number")
    if not isinstance(owner, Reference):
        raise reader.refuse(f"an entry of {kind(owner)} is changed in place")
    if is_shown(reader, owner):
        take_up(reader, (index, value))
        return
    cells = changeable(reader, owner)
    if cells.kind == "object":
        raise reader.refuse("an entry of an object is assigned")
    if cells.kind == "dict":
        reader.path.heap[owner.address] = _with_key(reader, cells, index, value)
        return
    if cells.kind == "array":
        value = storable(reader, cells, value)
    if not is_known(index) and is_whole(index):
        reader.path.heap[owner.address] = _at_any(reader, cells, value)
        return
    place = index if is_known(index) else None
    if place is None or isinstance(place, slice | np.ndarray | tuple):
        raise reader.refuse("an entry at a place that is not known beforehand is changed")
    position = _place(reader, int(_whole(reader, place)), len(cells.items))
    items = (*cells.items[:position], value, *cells.items[position + 1 :])
    reader.path.heap[owner.address] = replace(cells, items=items)


def _at_any(reader: Interpreter, cells: Contents, value: Value) -> Contents:
    """Return public numbers of which one, at a public place, is now another."""
    value = reader.release(value)
    if not all(is_public(each) and shape_of(each) == () for each in (value, *cells.items)):
        raise reader.refuse("an entry at a place that is not known beforehand is changed")
    return replace(cells, items=(SCALAR,) * len(cells.items))


def storable(reader: Interpreter, cells: Contents, value: Value) -> Value:
    """Return the stored form of a number in an array of floats; storing noise releases it."""
    value = reader.release(value)
    if is_scalar(value) and cells.of == "float":
        exact = exact_of(value)
        as_double = np.float64(value) if exact is None else remember(np.float64(value), exact)
        return as_numpy(value) if isinstance(value, Real) else as_double
    if cells.of == "int" and type(value) in {int, bool, np.int64, np.bool_} and abs(value) < 2**53:
        return np.int64(value)
    if is_public(value):
        return SCALAR
    if isinstance(value, Statistic) and value.shape == () and cells.of == "float":
        return value
    raise reader.refuse(f"{kind(value)} is stored in an array")


def _with_key(reader: Interpreter, cells: Contents, key: Value, value: Value) -> Contents:
    if not isinstance(key, str | int | float):
        raise reader.refuse("a key of a dictionary is not known")
    if key in cells.keys:
        at = cells.keys.index(key)
        return replace(cells, items=(*cells.items[:at], value, *cells.items[at + 1 :]))
    return replace(cells, items=(*cells.items, value), keys=(*cells.keys, key))


def filled(reader: Interpreter, shape: Value, value: Value, dtype: Value) -> Value:
    """Return a new array that can be filled, of one dimension and known length."""
    if isinstance(shape, tuple) and len(shape) == 1:
        shape = shape[0]
    if not _is_whole(shape) or not 0 <= shape <= LONGEST or not is_known(dtype):  # pyright: ignore[reportOperatorIssue]
        return NotImplemented
    reader.require_wide(dtype)
    of = "float" if dtype in {None, float, np.float64} else "other"
    of = "int" if dtype in {int, np.int64} else of
    if of == "float" and is_scalar(value):
        value = as_numpy(float(value)) if not isinstance(value, Real) else as_numpy(value)
    elif is_scalar(value):
        value = SCALAR if dtype not in _KEPT else _KEPT[dtype](value)
    return reader.path.store(Contents("array", (value,) * int(shape), of=of))  # pyright: ignore[reportArgumentType]
