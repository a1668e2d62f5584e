"""What a report of one user's value is computed with: values that few draws decide, and their laws.

A value of this kind is a table over *axes*: independent draws with a few outcomes each, whose
chances are exact. Parts of an output that share no axis are independent, so that the ratio of two
laws is the product of the parts' ratios; else the law is written out.

References
----------
Warner 1965, "Randomized response"; Kairouz, Bonawitz and Ramage 2016, "Discrete distribution
estimation under local privacy" (one of k values); Erlingsson, Pihur and Korolova 2014, "RAPPOR";
Wang, Blocki, Li and Jha 2017, "Locally differentially private protocols for frequency estimation"
(unary encodings, local hashing). The local privacy of a finite law is that of its ratios:
Kasiviswanathan and others 2011, Definition 2.2.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.distances import NUMPY, Hidden, Value, is_known, tokens
from dpcp_audit.proving.exact_numbers import (
    ExponentialQuotient,
    RealArray,
    form_of,
    is_scalar,
    plain,
    rational_of,
)
from dpcp_audit.proving.expressions import NO_DOUBLE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence


ONE = ExponentialQuotient.of(1)
_MOST = 20_000
"""Outcomes of a law that are written out."""


class TooManyOutcomesError(Exception):
    """A law has more outcomes than are written out."""


@dataclass(frozen=True, slots=True)
class UniformDraw(Hidden):
    """A uniform draw on [0, 1), known by the comparisons it was used in; NumPy's in an array."""

    called = "a uniform draw"

    token: int
    of_numpy: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """A fresh draw of a few outcomes, each with its chance."""

    token: int
    chances: tuple[ExponentialQuotient, ...]


@dataclass(frozen=True, slots=True)
class Drawn(Hidden):
    """A value that the outcomes of some axes decide: a table, the last axis running fastest."""

    called = "a drawn value"

    axes: tuple[Axis, ...]
    values: tuple[Value, ...]

    def at(self, outcome: Mapping[int, int]) -> Value:
        """Return the value at one outcome of each axis."""
        place = 0
        for axis in self.axes:
            place = place * len(axis.chances) + outcome[axis.token]
        return self.values[place]


@dataclass(frozen=True, slots=True)
class Entries(Hidden):
    """An array of one dimension, entry by entry: numbers of one of NumPy's types, or draws."""

    called = "an array of draws"

    items: tuple[Value, ...]


def axes_of(values: Iterable[Value]) -> tuple[Axis, ...]:
    """Return the axes of several values, each once."""
    found = {axis.token: axis for each in values if isinstance(each, Drawn) for axis in each.axes}
    return tuple(found[token] for token in sorted(found))


def _outcomes(
    axes: tuple[Axis, ...], fixed: Mapping[int, int]
) -> Iterator[tuple[dict[int, int], ExponentialQuotient]]:
    """Yield each outcome of the axes with its chance; a fixed axis has one, of chance 1."""
    if math.prod(len(each.chances) for each in axes) > _MOST:
        raise TooManyOutcomesError
    ways = [[fixed[a.token]] if a.token in fixed else range(len(a.chances)) for a in axes]
    for places in itertools.product(*ways):
        chance = ONE
        for axis, place in zip(axes, places, strict=True):
            chance = chance if axis.token in fixed else chance * axis.chances[place]
        if chance.top:
            yield dict(zip((a.token for a in axes), places, strict=True)), chance


def tabled(of: Callable[..., Value], *values: Value) -> Drawn:
    """Return a function of several values, of which one at least is drawn."""
    axes = axes_of(values)
    if math.prod(len(each.chances) for each in axes) > _MOST:
        raise TooManyOutcomesError
    table: list[Value] = []
    for places in itertools.product(*(range(len(each.chances)) for each in axes)):
        at = dict(zip((each.token for each in axes), places, strict=True))
        table.append(of(*(each.at(at) if isinstance(each, Drawn) else each for each in values)))
    return Drawn(axes, tuple(table))


Law = dict[Any, ExponentialQuotient]


@dataclass(frozen=True, slots=True)
class PathLaw:
    """The output's law on one path of a function.

    Parameters
    ----------
    chance : ExponentialQuotient
        The probability of the path.
    frame : hashable
        The output, with ``("drawn", i)`` in the place of its i-th drawn part.
    groups : tuple of pairs of tuple and Law
        The places of parts that are drawn together, and their law; groups are independent.
    line : int
        The line that returns the output; 0 where it is not known.
    """

    chance: ExponentialQuotient
    frame: Hashable
    groups: tuple[tuple[tuple[int, ...], Law], ...]
    line: int = field(default=0, compare=False)

    @classmethod
    def of(
        cls,
        chance: ExponentialQuotient,
        frame: Hashable,
        parts: list[Drawn],
        fixed: Mapping[int, int],
        key: Callable[[Value], Hashable],
    ) -> PathLaw:
        """Return the law of an output with these drawn parts, some axes of which are fixed."""
        groups: list[tuple[set[int], list[int]]] = []
        for place, part in enumerate(parts):
            tokens, places = {each.token for each in part.axes} - fixed.keys(), [place]
            for one in [each for each in groups if each[0] & tokens]:
                groups.remove(one)
                tokens, places = tokens | one[0], [*one[1], *places]
            groups.append((tokens, places))
        laws: list[tuple[tuple[int, ...], Law]] = []
        for _, places in groups:
            law: Law = {}
            for at, share in _outcomes(axes_of(parts[i] for i in places), fixed):
                values = tuple(key(parts[i].at(at)) for i in places)
                law[values] = law[values] + share if values in law else share
            laws.append((tuple(places), law))
        return cls(chance, frame, tuple(laws))

    def written_out(self) -> Iterator[tuple[Hashable, ExponentialQuotient]]:
        """Yield each output with its chance."""
        if math.prod(len(law) for _, law in self.groups) > _MOST:
            raise TooManyOutcomesError
        for chosen in itertools.product(*(law.items() for _, law in self.groups)):
            chance, values = self.chance, dict[int, Any]()
            for (places, _), (some, share) in zip(self.groups, chosen, strict=True):
                chance = chance * share
                values.update(zip(places, some, strict=True))
            yield _filled(self.frame, values), chance


def _filled(frame: Any, values: Mapping[int, Hashable]) -> Hashable:
    if isinstance(frame, tuple) and len(frame) == 2 and frame[0] == "drawn":
        return values[frame[1]]
    return tuple(_filled(each, values) for each in frame) if isinstance(frame, tuple) else frame


def _largest_ratio(p: Law, q: Law) -> ExponentialQuotient | None:
    """Return the largest ratio of two laws; None where it is infinite."""
    largest = ONE
    for value, chance in p.items():
        if value not in q:
            return None
        ratio = chance / q[value]
        largest = max(largest, ratio)
    return largest


def _ratio(p: list[PathLaw], q: list[PathLaw]) -> ExponentialQuotient | None:
    """Return the largest ratio of the outputs' chances on one input to those on another."""
    same_form = len(p) == len(q) == 1 and p[0].frame == q[0].frame
    if same_form and [each for each, _ in p[0].groups] == [each for each, _ in q[0].groups]:
        found = ONE
        for (_, one), (_, other) in zip(p[0].groups, q[0].groups, strict=True):
            factor = ONE if one == other else _largest_ratio(one, other)
            if factor is None:
                return None
            found = found * factor
        return found
    return _largest_ratio(_law(p), _law(q))


def _law(paths: list[PathLaw]) -> Law:
    found: Law = {}
    for path in paths:
        for output, chance in path.written_out():
            found[output] = found[output] + chance if output in found else chance
    return found


def loss(inputs: list[list[PathLaw]]) -> Fraction | None:
    """Return ε of one report, whose law on each input is that of its paths; None if infinite.

    Raises
    ------
    TooManyOutcomesError
        If a law has to be written out that has too many outcomes.
    """
    for paths in inputs:
        left = ONE
        for path in paths:
            left = left - path.chance
        if left.sign:
            raise AssertionError("the chances of the paths do not add up to 1")
    distinct: list[list[PathLaw]] = []
    for paths in inputs:
        distinct += [] if paths in distinct else [paths]
    largest = Fraction(0)
    for p, q in itertools.permutations(distinct, 2):
        ratio = _ratio(p, q)
        if ratio is None:
            return None
        largest = max(largest, ratio.log_above())
    return largest


def telling_line(inputs: list[list[PathLaw]]) -> int:
    """Return the line of an output on one input that another input never has; 0 if not known."""
    try:
        for p, q in itertools.permutations(inputs, 2):
            law = _law(q)
            for path in p:
                if any(output not in law for output, _ in path.written_out()):
                    return path.line
    except TooManyOutcomesError:
        pass
    return 0


_MOST_WAYS = 2_000
"""Outcomes of one draw that are told apart; a number of more values is a public random one."""
_OFF = 1e-9
"""Distance of the sum of given chances from 1 beyond which NumPy may raise an error."""
_ROUNDING = Fraction(1, 2**50)
"""Bound of the relative error of an operation on doubles."""
_LARGEST = 2**62
"""Size from which on whole numbers of NumPy may wrap around."""


@dataclass(frozen=True, slots=True)
class RecordNumber(Hidden):
    """A record's number times ``factor`` plus ``offset``; of NumPy's type, or Python's.

    Doubles round it: ``steps`` are the operations that made it, as a number made by other ones may
    lie on the other side of a level, and ``error`` bounds how far rounding moves it. It moves 0
    only if it is ``added`` to.
    """

    called = "a record's number"

    factor: Fraction
    offset: Fraction
    entry_type: str
    error: Fraction
    added: bool
    steps: tuple[tuple[str, float, bool], ...] = ()

    def error_at(self, end: Fraction) -> Fraction:
        """Return the largest distance of doubles from the number where the record is at an end."""
        return self.error if end or self.added else Fraction(0)

    def moved(self, reader: Any, name: str, a: Value, b: Value) -> RecordNumber:
        """Return the record's number plus, minus, times or over a known one."""
        other, first = (b, True) if a is self else (a, False)
        number = rational_of(other)
        by, moved, adds = Fraction(1), Fraction(0), name in {"Add", "Sub"}
        if number is not None and adds:
            by = Fraction(1 if first or name == "Add" else -1)
            moved = number if name == "Add" or not first else -number
        elif number and (name == "Mult" or (name == "Div" and first)):
            by = number if name == "Mult" else 1 / number
        else:
            raise reader.refuse("only +, -, * and / of a record and a known number are followed")
        factor, offset = self.factor * by, self.offset * by + moved
        size = max(abs(end) for end, _ in reader.whole) * abs(factor) + abs(offset)
        if max(size, abs(number or 0)) > NO_DOUBLE:
            raise reader.refuse("a record becomes a number that may be infinite")
        made = NUMPY if isinstance(plain(other), np.generic) else self.entry_type
        steps = (*self.steps, (name, float(plain(other)), first))
        error = self.error * abs(by) + size * _ROUNDING
        return RecordNumber(factor, offset, made, error, self.added or adds, steps)


@dataclass(frozen=True, slots=True)
class Hashed(Hidden):
    """A whole number that follows from a value and from public random numbers.

    Parameters
    ----------
    size : int
        A bound of its absolute value.
    of_numpy : bool
        True if it is of NumPy's type.
    seed : tuple
        Of a public random number itself its place among those of the path, and its range.
    """

    called = "a hash"

    size: int
    of_numpy: bool
    seed: tuple[int, ...] = ()

    def moved(self, reader: Any, name: str, a: Value, b: Value) -> Value:
        """Return a number that follows from this one; modulo a known number, any one below it."""
        sizes, types = zip(*(_size(reader, each) for each in (a, b)), strict=True)
        modulus = plain(b) if name == "Mod" and is_whole(b) and plain(b) > 0 else None
        if modulus is not None and modulus <= _MOST_WAYS:
            return (np.int64 if any(types) else int)(reader.residue(int(modulus)))
        bounds: dict[str, Any] = {"Add": sum, "Sub": sum, "Mult": math.prod}
        size = int(modulus or bounds.get(name, lambda _: _LARGEST)(sizes))
        if size >= _LARGEST:
            raise reader.refuse("a hash of a number is not followed, or may wrap around")
        return Hashed(size, any(types))


def _size(reader: Any, value: Value) -> tuple[int, bool]:
    """Return a bound of a whole number, and whether it is of NumPy's type."""
    if isinstance(value, Hashed):
        return value.size, value.of_numpy
    if not is_whole(value):
        raise reader.refuse(
            "a public random number is combined with a value that is not a known whole number"
        )
    return abs(int(plain(value))), isinstance(plain(value), np.generic)


def is_whole(value: Value) -> bool:
    """Return True if a value is a known whole number, and no truth value."""
    return type(plain(value)) in {int, np.int64}


def typed(value: Value) -> Hashable:
    """Return a known value with its type, as a key: values that differ have keys that do."""
    if isinstance(value, np.ndarray):
        exact = isinstance(value, RealArray) and (value.exact or value.logs) is not None
        own = exact or value.base is None  # an exact array is a view of one that has its memory
        return "array", value.dtype.char, value.shape, value.strides, own, value.tobytes()
    value = plain(value)
    if type(value) in {tuple, list}:
        return (type(value), *map(typed, value))
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("NaN is returned, whose sign may differ")
    return type(value), value.hex() if isinstance(value, float) else repr(value)


def items_of(value: Value) -> tuple[Value, ...] | None:
    """Return the entries of an array of one dimension; None of a number."""
    if isinstance(value, Entries):
        return value.items
    return tuple(value) if isinstance(value, np.ndarray) and value.ndim == 1 else None


def computable(*values: Value) -> bool:
    """Return True if values are known numbers or draws, of which one at least is a draw."""
    drawn = [isinstance(each, Drawn) for each in values]
    numbers = [is_known(each) and is_scalar(each) for each in values]
    return any(drawn) and all(x or y for x, y in zip(drawn, numbers, strict=True))


# ---------------------------------------------------------------------- draws

_UNIFORM = {"random": ("size",), "random_sample": ("size",), "rand": ("size",)}
ARGUMENTS = _UNIFORM | {
    "uniform": ("low", "high", "size"),
    "integers": ("low", "high", "size"),
    "randint": ("low", "high", "size"),
    "choice": ("a", "size"),
    "binomial": ("n", "p", "size"),
}
_TYPES: dict[str, Any] = {"integers": np.int64, "randint": int}
"""Of one number; those of an array are NumPy's."""


def draw(reader: Any, name: str, args: list[Value], kw: dict[str, Value]) -> Value:
    """Return the draw of a generator's method."""
    names = ARGUMENTS.get(name)
    if names is None or len(args) > len(names):
        raise reader.refuse(
            f"a draw by {name} for each record or value, whose outcomes are not enumerated",
            "draw for all records at once: size=len(scores)" if reader.each_record else "",
        )
    given = dict(zip(names, args, strict=False)) | kw
    if name == "rand" and (kw or type(given.get("size")) is tuple):
        raise reader.refuse("np.random.rand takes whole numbers alone")
    if name in _UNIFORM and given.keys() - {"size"}:
        raise reader.refuse(f"a draw by {name} with arguments that are not followed")
    size = given.pop("size", None)
    if name in _UNIFORM or (name == "uniform" and given in ({}, {"low": 0, "high": 1})):
        return _sized(reader, size, lambda: UniformDraw(next(tokens), of_numpy=size is not None))
    if name == "binomial" and given.keys() == {"n", "p"} and given["n"] == 1:
        return _binary(reader, reader.gathered(given["p"]), size)
    law = {"choice": _choice, "integers": _integers, "randint": _integers}.get(name)
    if law is None:
        raise reader.refuse(f"a draw by {name} with arguments that are not followed")
    values, weights = law(reader, given)
    if len(values) > _MOST_WAYS:
        return reader.seed(values, of_numpy=name == "integers", single=size is None)
    made = reader.as_numpy if size is not None else _TYPES.get(name, lambda each: each)
    table, total = tuple(made(each) for each in values), ExponentialQuotient.of(0)
    for each in weights:
        total = total + each
    wrong = given.get("p") is not None and abs(float(total) - 1) > _OFF
    if wrong or total.sign <= 0 or len(weights) != len(values) or any(x.sign < 0 for x in weights):
        raise reader.refuse("a draw whose law is not known")
    chances = tuple(each / total for each in weights)
    reader.check_chances(chances)
    return _sized(reader, size, lambda: Drawn((Axis(next(tokens), chances),), table))


def _sized(reader: Any, size: Value, one: Callable[[], Value]) -> Value:
    """Return one draw, or an array of a known number of them."""
    if size is None:
        return one()
    size = size[0] if type(size) is tuple and len(size) == 1 else size
    if not is_whole(size) or not 0 < size <= _MOST_WAYS:
        raise reader.refuse("the size of a draw is not a known whole number, or is too large")
    return reader.array(tuple(one() for _ in range(int(size))))


Weights = tuple["Sequence[Value]", "list[ExponentialQuotient]"]


def _integers(reader: Any, given: dict[str, Value]) -> Weights:
    low, high = given.get("low", 0), given.get("high")
    low, high = (0, low) if high is None else (low, high)
    if given.keys() - {"low", "high"} or not is_whole(low) or not is_whole(high) or low >= high:
        raise reader.refuse("whole numbers of a range that is not known are drawn")
    values = range(int(low), int(high))
    return values, [ONE] * min(len(values), _MOST_WAYS)


def _choice(reader: Any, given: dict[str, Value]) -> Weights:
    """Return the values that may be chosen, each of the type of the result, and their weights."""
    a: Value = given.get("a")
    p: Value = given.get("p")
    if given.keys() - {"a", "p"}:
        raise reader.refuse("a choice with arguments that are not followed")
    if is_whole(a) and 0 < a <= _MOST_WAYS:
        values: Sequence[Value] = range(int(a))
    else:
        values = items_of(np.array(a) if isinstance(a, range) else plain(reader.gathered(a))) or ()
    weights = [] if p is None else [form_of(each) for each in reader.entries(p, "a law")]
    if not all(map(is_known, values)) or len(values) > _MOST_WAYS or None in weights:
        raise reader.refuse("a choice whose law is not known")
    return values, [ONE] * len(values) if p is None else [each for each in weights if each]


def _binary(reader: Any, p: Value, size: Value) -> Value:
    """``binomial(1, p)``: whether a uniform draw is below p, as a number."""
    rows = items_of(p)
    given = [each.values if isinstance(each, Drawn) else (each,) for each in rows or (p,)]
    known = all(is_known(each) and is_scalar(each) for some in given for each in some)
    if not known or not all(0 <= plain(each) <= 1 for some in given for each in some):
        raise reader.refuse("the probability of a draw is not a known number from 0 to 1")
    size = len(rows) if rows is not None and size is None else size
    below = reader.decided("Lt", _sized(reader, size, lambda: UniformDraw(next(tokens))), p)
    made = int if size is None else np.int64
    return reader.lift(lambda each: made(bool(each)), below)
