"""Kinds of values: what two neighbouring runs with the same observations agree on, and how far not.

Two runs on neighbouring inputs are compared as long as everything that was observed agrees. Then a
*public* value is the same in both; a :class:`Statistic` differs by at most its stated distances;
:class:`Noise` is a fresh draw, and a :class:`Noisy` value is a statistic with one on it. Using a
noisy value observes it: it is charged for, and public from then on. A plain Python value is public
and known. Every object here is immutable.

A record's number has NumPy's type or Python's own. Beside a draw of Python's type, 0 gives a
``float`` and ``np.float64(0)`` an ``np.float64``, which are written, and divided by 0, in different
ways. What takes one of several numbers by the data, such as the first of a sum that may be empty,
may not choose the type with it. An array of a list is one of truth values, of whole numbers or of
doubles by what its entries are, which are all alike.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from dpcp_audit.proving.exact_numbers import (
    Affine,
    Real,
    Surd,
    exact_of,
    is_scalar,
    plain,
    root_above,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from dpcp_audit.proving.exact_numbers import ExponentialQuotient


Shape: TypeAlias = tuple[int, ...]
_End: TypeAlias = "tuple[Fraction | float, int]"
MOST_RECORDS = 2**32
"""The number of records that a proof for any number of them is for, at most."""
tokens = itertools.count(1)
"""Names of draws, of places in memory and of released values."""


@lru_cache(maxsize=4096)
def name_of(*parts: Hashable) -> int:
    """Return the name of what is computed of these in one way: of equal parts alone the same."""
    return next(tokens)


@dataclass(frozen=True, slots=True)
class Subsample:
    """A sample of the records, each at most once, of which only statistics are ever used.

    ``share`` is the chance of each record. ``added`` tells whether neighbours differ in a record
    that one of them has more, and that is in the sample by a draw of its own.
    """

    token: int
    share: Fraction
    added: bool = False


class Origin(NamedTuple):
    """What a statistic is made of, in words, and whether it is an order statistic."""

    text: str = "a statistic"
    ranked: bool = False

    def made(self, how: str) -> Origin:
        """Return the origin of what is made of the statistic: "a sum of"."""
        return self._replace(text=f"{how} {self.text}")

    def __str__(self) -> str:
        return self.text


_PLAIN = Origin()


@dataclass(frozen=True, slots=True)
class Cell:
    """The records of which a column lies between two ends, of which the higher one is outside.

    An end is a number and a side: (v, 0) lies below v, and (v, 1) above it, so that the records
    with v itself are those between the two. ``replaced`` tells whether neighbours differ in a
    record that is replaced by another, and so may leave one cell for another.
    """

    column: str
    low: _End
    high: _End
    replaced: bool

    @classmethod
    def of(cls, column: str, name: str, end: Fraction, *, replaced: bool) -> Cell | None:
        """Return the records of which a column is in a relation to a number; None if not known."""
        below, above = (-math.inf, 0), (math.inf, 0)
        ends: dict[str, tuple[_End, _End]] = {
            "Eq": ((end, 0), (end, 1)),
            "Lt": (below, (end, 0)),
            "LtE": (below, (end, 1)),
            "Gt": ((end, 1), above),
            "GtE": ((end, 0), above),
        }
        return cls(column, *ends[name], replaced) if name in ends else None


def in_both(a: Cell | None, b: Cell | None) -> Cell | None:
    """Return a cell in which all records lie that are in two; of two columns one, the labels."""
    if a is None or b is None:
        return b if a is None else a
    if a.column != b.column:
        return min(a, b, key=lambda each: each.column)
    return replace(a, low=max(a.low, b.low), high=min(a.high, b.high))


_MOST_CELLS, _MOST_TOGETHER = 100, 5_000
"""Cells of a column that are told apart, and what one record can move of several columns."""


def moved_together(cells: Sequence[Cell | None]) -> list[frozenset[int]]:
    """Return the places of what one record can move: that in whose cells it lies, or lay before.

    Of cells of two columns, a record may lie in any of both.
    """
    found = [frozenset(place for place, each in enumerate(cells) if each is None)]
    for column in sorted({each.column for each in cells if each is not None}):
        mine = [(place, e) for place, e in enumerate(cells) if e is not None and e.column == column]
        ends = {end for _, each in mine for end in (each.low, each.high)}
        one = {
            frozenset(place for place, each in mine if each.low <= end < each.high) for end in ends
        }
        whole = frozenset(place for place, _ in mine)
        if any(each.replaced for _, each in mine):
            one = {a | b for a in one for b in one} if len(one) <= _MOST_CELLS else {whole}
        one = {whole} if whole in one else one
        if len(found) * len(one) > _MOST_TOGETHER:
            return [frozenset(range(len(cells)))]
        found = [a | b for a in found for b in one]
    return found


@dataclass(frozen=True, slots=True)
class Part:
    """The place of a number in the vector that it was taken from, and the factor on it."""

    vector: int
    l1: Fraction
    l2_squared: Fraction
    index: Shape
    factor: Fraction


@dataclass(frozen=True, slots=True)
class Statistic:
    """A function of the data: bounds of the distance between its values on two neighbours.

    Parameters
    ----------
    shape : tuple of int
        () for a number.
    l1, l2_squared, linf : Fraction
        Bounds of the distance, in the three norms (the second one squared).
    span : Fraction
        Bound of the largest entry of the difference less the smallest one; what a common
        shift of all entries leaves as it is.
    integer : bool
        True if the difference is one of whole numbers.
    says : Origin
        The statistic, in words.
    part : Part or None
        The part of a vector that a number was taken from.
    where : int
        The records that the statistic may depend on, as bits: 1 << place.
    size : Fraction or None
        Bound of the absolute value of each entry, where one is known.
    floats : bool
        True if the entries are doubles, and no whole numbers of NumPy, which wrap around.
    peak : int or None
        The name of the vector of which this is the largest entry.
    topped : bool
        True if the largest entry is 0.
    sample : Subsample or None
        The sample that it is a statistic of, and of nothing else.
    cell : Cell or None
        The cell that the records lie in that it depends on.
    scaled : int
        The line of its last factor; 0 without one.
    counts : bool
        True if this is the number of all records, which is not public.
    per : int
        Where n is public and not known: all distances are at most these bounds over n^per, and
        thereby at most the bounds.
    rise : int
        Likewise each entry is at most ``size`` times (n / ``MOST_RECORDS``)^rise.
    low, high : Fraction or None
        Ends of each entry that it was cut off at; None without one.
    name : int
        Each vector's own.
    """

    shape: Shape
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    span: Fraction
    integer: bool = False
    says: Origin = _PLAIN
    part: Part | None = None
    where: int = -1
    size: Fraction | None = None
    floats: bool = False
    peak: int | None = None
    topped: bool = False
    sample: Subsample | None = None
    cell: Cell | None = None
    scaled: int = field(default=0, compare=False)
    counts: bool = False
    per: int = 0
    rise: int = 0
    low: Fraction | None = None
    high: Fraction | None = None
    name: int = field(default_factory=lambda: next(tokens))

    def changed(
        self,
        l1: Fraction,
        l2_squared: Fraction,
        linf: Fraction,
        *,
        span: Fraction | None = None,
        **changes: Any,
    ) -> Statistic:
        """Return what is computed of the statistic, of the same records, with other distances.

        These are multiples of its own; where they are none, ``per`` is 0.
        """
        distances = _tight(changes.get("shape", self.shape), l1, l2_squared, linf, span)
        new = {"part": None, "peak": None, "topped": False, "scaled": 0, "counts": False}
        new |= {"rise": 0, "low": None, "high": None}
        return replace(self, **{**new, "name": next(tokens), **distances, **changes})

    def one(self, distance: Fraction, **changes: Any) -> Statistic:
        """Return a number that is computed of the statistic, and moves by at most so much."""
        return self.changed(distance, distance * distance, distance, shape=(), **changes)

    def times(self, factor: Surd, *, keeps_integers: bool = False) -> Statistic:
        """Return the statistic times a known number."""
        size = factor.size_above
        return self.changed(
            self.l1 * size,
            self.l2_squared * factor.square,
            self.linf * size,
            span=self.span * size,
            integer=self.integer and keeps_integers,
            part=self.part and replace(self.part, factor=self.part.factor * size),
            size=None if self.size is None else self.size * size,
            topped=self.topped and factor.sign > 0,
            scaled=self.scaled,
            rise=self.rise,
            name=name_of(self.name, factor),
        )

    def plus(self, other: Statistic) -> Statistic:
        """Return the sum or difference of two statistics of the same shape."""
        either, size = larger_of(self, other), None
        if self.size is not None and other.size is not None:
            size = self.size + other.size
        either = replace(either, size=size, floats=self.floats or other.floats)
        if not self.where & other.where:  # one record moves one of them only
            return either
        l2 = root_above(self.l2_squared) + root_above(other.l2_squared)
        return either.changed(
            self.l1 + other.l1,
            l2 * l2,
            self.linf + other.linf,
            span=self.span + other.span,
            scaled=self.scaled or other.scaled,
            rise=min(self.rise, other.rise),
        )


def _tight(
    shape: Shape, l1: Fraction, l2_squared: Fraction, linf: Fraction, span: Fraction | None
) -> dict[str, Any]:
    """Return the distances, each bound as small as the others make it."""
    entries = int(np.prod(shape, dtype=object)) if shape else 1
    linf = min(linf, l1)
    l1 = min(l1, linf * entries)
    l2_squared = min(l2_squared, l1 * linf, linf * linf * entries)
    spread = min(2 * linf, l1) if span is None else min(span, 2 * linf, l1)
    return {"l1": l1, "l2_squared": l2_squared, "linf": linf, "span": spread}


def statistic(
    shape: Shape,
    l1: Fraction,
    l2_squared: Fraction,
    linf: Fraction,
    *,
    span: Fraction | None = None,
    says: Origin | str = _PLAIN,
    **rest: Any,
) -> Statistic:
    """Return a statistic, each bound as small as the others make it."""
    of = Origin(says) if isinstance(says, str) else says
    return Statistic(shape, says=of, **_tight(shape, l1, l2_squared, linf, span), **rest)


def larger_of(a: Statistic, b: Statistic) -> Statistic:
    """Return a statistic for either of two of the same shape, with the larger distances."""
    return a.changed(
        max(a.l1, b.l1),
        max(a.l2_squared, b.l2_squared),
        max(a.linf, b.linf),
        span=max(a.span, b.span),
        integer=a.integer and b.integer,
        where=a.where | b.where,
        size=None if a.size is None or b.size is None else max(a.size, b.size),
        floats=a.floats and b.floats,
        sample=a.sample if a.sample == b.sample else None,
        cell=a.cell if a.cell == b.cell else None,
        per=min(a.per, b.per),
    )


def disjoint(masks: Iterable[int]) -> list[int]:
    """Return disjoint sets of records of which each of these is made, as bits."""
    found = [-1]
    for mask in set(masks):
        found = [part for each in found for part in (each & mask, each & ~mask) if part]
    return found


def number(distance: Fraction, says: Origin | str, **rest: Any) -> Statistic:
    """Return a statistic that is one number and moves by at most ``distance``."""
    return statistic((), distance, distance * distance, distance, says=says, **rest)


Value: TypeAlias = Any
"""A plain Python object, which is public and known, or one of the kinds below."""


class Line(int):
    """A line number that knows its file; equal numbers of two files are two lines."""

    file: str

    def __new__(cls, number: int, file: str) -> Self:
        """Return the line of a file."""
        line = super().__new__(cls, number)
        line.file = file
        return line

    def __reduce__(self) -> tuple[type[Line], tuple[int, str]]:
        """Return what a copy is made of."""
        return Line, (int(self), self.file)

    def __eq__(self, other: object) -> bool:
        """Return True if number and file are the same; a plain number has any file."""
        return int.__eq__(self, other) is True and getattr(other, "file", self.file) == self.file

    def __hash__(self) -> int:
        """Return the hash of the number."""
        return int.__hash__(self)


class Refusal(Exception):  # noqa: N818  (the result of a reading, not an error in it)
    """A proof stops: the line, the reason, and what would help.

    ``unpaid`` is True where noise is used in a way that costs more than it does once: again, in
    more answers than are claimed, or drawn again until the result is accepted.
    """

    def __init__(
        self, line: int, reason: str, hint: str = "", file: str = "", *, unpaid: bool = False
    ) -> None:
        super().__init__(reason)
        self.unpaid = unpaid
        self.line, self.reason, self.hint = line, reason, hint
        self.file: str = file or getattr(line, "file", "")


class Leak(Refusal):
    """A proof stops at data without noise: what it names is a defect of the code."""

    def unblamed(self) -> Refusal:
        """Return the same where the line may be in order, and the defect another."""
        return Refusal(self.line, self.reason, self.hint, self.file, unpaid=self.unpaid)

    def made_at(self, line: int) -> Leak:
        """Return the same at the line that took the data which are returned."""
        where = f"line {self.line} returns what is made of it"
        reason = f"data is taken here without its noise, and {where}"
        hint = f"at line {self.line}, {self.hint}" if self.hint else ""
        return Leak(line, reason, hint, self.file)


class Suspect(Refusal):
    """A proof stops at a defect, perhaps: records against data without noise, a draw on many."""

    def made_at(self, line: int) -> Suspect:
        """Return the same at the line on which what they are compared with is computed."""
        where = f"records are compared with it at line {self.line}"
        reason = f"what is computed here from the data has no noise, and {where}"
        return Suspect(line, reason, self.hint, self.file)


@dataclass(frozen=True, slots=True)
class Public:
    """Public, its value unknown: released, or computed from released values.

    Parameters
    ----------
    shape : tuple of int or None
        () for one number, None where the shape, or the type, is unknown.
    """

    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Multiple:
    """The number ``factor`` times a power of n, the number of all records, public and not known."""

    factor: Surd
    power: int


@dataclass(frozen=True, slots=True)
class PublicInteger(Public):
    """A public whole number that is no truth value: as an index, it takes one entry.

    ``size`` bounds its absolute value, where it is known to be no larger than doubles tell apart.
    """

    size: int | None = None
    multiple: Multiple | None = None


@dataclass(frozen=True, slots=True)
class PublicAnswer(Public):
    """A truth value, of Python's or NumPy's type, that is known on the path that is read."""

    holds: bool = True


@dataclass(frozen=True, slots=True)
class PublicFloat(Public):
    """A public number, or an array, of doubles: beside it no whole number wraps around.

    ``size`` bounds its absolute value, where it is known to be finite and no NaN. ``affine`` is
    what is known of its difference to others.
    """

    size: int | None = None
    affine: Affine | None = None
    multiple: Multiple | None = None


WHOLE = PublicInteger(())
COUNT = PublicInteger((), MOST_RECORDS, Multiple(Surd.of(1), 1))
"""The number n of all records, at least 1, where it is public and not known."""
SCALAR = Public(())
UNKNOWN = Public(None)


@dataclass(frozen=True, slots=True)
class Records:
    """An array with one entry for each record, the same function of that record alone.

    Parameters
    ----------
    low, high : Fraction
        Bounds of every entry.
    order : int
        Entries of arrays of the same order belong to the same record at each place.
    ordered : bool
        True if the entries are sorted, upwards.
    boolean : bool
        True if every entry is True or False.
    single : bool
        True if this stands for the entry of one record, in a loop over all.
    chosen : bool
        True if only the records that meet a condition have an entry.
    where : int
        The records that these are, as bits: 1 << place.
    count : int or None
        Their number where it is not that of all.
    placed : bool
        True if each is at its own place in the data, counted from the first of these.
    listed : bool
        True if this is a list, whose ``+`` and ``*`` are those of lists.
    floats : bool
        True if the entries are doubles, and no whole numbers of NumPy, which wrap around.
    sample : Subsample or None
        The sample of the records that these are.
    itself : bool
        True if each entry is the record itself, and no function of it.
    column : str
        What each entry is of a record, where it is that itself: "score" or "label".
    cell : Cell or None
        If ``chosen``, a cell in which the chosen records lie; else one outside of which entries are
        False or 0.
    bit : bool
        True if each entry is 0 or 1; so is every truth value.
    entry_type : str
        The type of a number: ``NUMPY``, ``PYTHON`` or ``EITHER``.
    whole : bool
        True if each entry is a whole number, and no truth value and no double.
    ends : tuple of float or None
        The doubles that the program computes of the smallest and of the largest record; between
        them, in either order, lies what it computes of any other.
    """

    low: Fraction
    high: Fraction
    order: int
    ordered: bool = False
    boolean: bool = False
    single: bool = False
    chosen: bool = False

    where: int = -1
    count: int | None = None
    placed: bool = False
    listed: bool = False
    floats: bool = True
    sample: Subsample | None = None
    itself: bool = False
    column: str = "score"
    cell: Cell | None = None
    bit: bool = False
    entry_type: str = "NumPy"
    whole: bool = False
    ends: tuple[float, float] | None = None

    def largest_sum(self, n: int | None) -> Fraction:
        """Return a bound of the absolute value of a sum over these of n records."""
        number = self.count or n or MOST_RECORDS
        return number * self.size

    @property
    def size(self) -> Fraction:
        """A bound of the absolute value of each entry."""
        return max(abs(self.low), abs(self.high))

    @property
    def rise(self) -> int:
        """The power of n that sums over these grow with: 0 of a known number of records."""
        return int(self.count is None)

    @property
    def width(self) -> Fraction:
        """The largest change of one entry."""
        return self.high - self.low

    def goes_with(self, other: Records) -> bool:
        """Return True if the entries at each place belong to the same record."""
        mine, theirs = (
            (self.order, self.single, self.chosen),
            (
                other.order,
                other.single,
                other.chosen,
            ),
        )
        return mine == theirs

    def is_vector(self, shape: Shape, n: int | None) -> bool:
        """Return True if the entries are a vector of this shape that one record moves by its width.

        A record that is replaced moves one entry. Of sorted records it moves many, by no more in
        all as long as the entries rise with them.
        """
        size = n if self.count is None else self.count
        whole = n is not None and not (self.single or self.chosen)
        return shape == (size,) and whole and (self.placed or self.ordered)

    def vector(self, shape: Shape) -> Statistic:
        """Return the entries as a statistic: one of them moves, and sorting contracts distances."""
        width = self.width
        found = statistic(shape, width, width * width, width, says="the records")
        return replace(found, where=self.where, size=self.size, floats=self.floats)

    def within(self, low: Fraction, high: Fraction, **changes: Any) -> Records:
        """Return an entry-wise function of these records with other bounds, no longer sorted."""
        plainly = dict.fromkeys(("ordered", "boolean", "listed", "itself", "bit", "whole"), False)
        floats = self.floats and not changes.get("boolean")
        cell = self.cell if self.chosen else None
        given = plainly | {"floats": floats, "ends": None, "cell": cell} | changes
        return replace(self, low=low, high=high, **given)


FARTHEST_DRAW = 2**10
"""Size, in scales, of a draw: the logarithm of a double above 0 is at least -745."""
DISCRETE = "discrete Gaussian"
"""The law of whole numbers k that is proportional to exp(-k²/(2σ²))."""
SEED = "seed"
"""The law of a whole number that seeds a generator, and shows in nothing else then."""
ROUNDED = "rounded "
"""The prefix of the name of a noise law that was rounded to whole numbers."""


@dataclass(frozen=True, slots=True)
class Noise:
    """A fresh draw, plus a public number.

    Parameters
    ----------
    draw : tuple of int
        Names the draw, and the place in it of an entry that was taken out.
    law : str
        "normal", "laplace", "gumbel", "exponential", "two-sided geometric", or "uniform" (on
        [0, 1), with no public number added); "rounded laplace", "rounded normal" of whole numbers;
        ``DISCRETE``, ``SEED``; of another law a draw hides nothing.
    scale : Surd
        σ, b, β; of the geometric laws the rate -log(1 - p).
    shape : tuple of int
        () for a number; entries are independent.
    sign : int
        -1 where the draw was negated.
    moved : int
        The number of times that a public number was added.
    alike : bool
        True if this is the scale; else it is the smallest, of any number n of records.
    per : int
        Where n is public and not known: the scale is at least this one times
        (``MOST_RECORDS`` / n)^per.
    """

    draw: Shape
    law: str
    scale: Surd
    shape: Shape
    line: int = 0
    sign: int = 1
    moved: int = 0
    alike: bool = True
    per: int = 0

    @property
    def released(self) -> Public:
        """The value that stands for it once it is public."""
        alone = self.alike and not self.moved
        size = math.ceil(FARTHEST_DRAW * self.scale.size_above) if alone else None
        return Public(self.shape) if self.whole else PublicFloat(self.shape, size)

    @property
    def whole(self) -> bool:
        """Return True if it is a whole number, which only such a statistic may be."""
        return "geometric" in self.law or self.law.startswith((ROUNDED, SEED, DISCRETE))

    @property
    def negative(self) -> Noise:
        """The draw times -1."""
        return replace(self, sign=-self.sign)


@dataclass(frozen=True, slots=True)
class Inverse:
    """What is computed of a uniform draw on the way to noise; used otherwise, it is released.

    Parameters
    ----------
    draw : tuple of int
        The draw.
    shape : tuple of int
        Its shape.
    of : str
        "draw" U, "distance" |U - 1/2|, "sign" of U - 1/2, "logarithm" ln(1 - 2|U - 1/2|), or the
        negative of "exponential" or "gumbel" noise.
    slope : Surd
        A factor.
    offset : Fraction
        What is added then.
    line : int
        The line of the draw.
    """

    draw: Shape
    shape: Shape
    of: str
    slope: Surd
    offset: Fraction = Fraction(0)
    line: int = 0

    @property
    def centred(self) -> bool:
        """True of a multiple of U - 1/2."""
        slope = self.slope.rational
        return self.of == "draw" and slope is not None and slope + 2 * self.offset == 0

    @property
    def released(self) -> PublicFloat:
        """The public number that it is once it is used for anything else."""
        plainly = self.of in {"draw", "distance", "sign"}
        size = math.ceil(self.slope.size_above + abs(self.offset))
        return PublicFloat(self.shape, size if plainly else None)

    def noise(self, law: str, factor: Surd) -> Noise:
        """Return the noise that it has become."""
        scale = Surd(1, self.slope.times(factor).square)
        return Noise(self.draw, law, scale, self.shape, self.line)


@dataclass(frozen=True, slots=True)
class Noisy:
    """A statistic with a fresh draw of the same shape on it."""

    statistic: Statistic
    noise: Noise
    line: int
    token: int = field(default_factory=lambda: next(tokens))


@dataclass(frozen=True, slots=True)
class Weights:
    """The exponential of a statistic, entry by entry, up to one common factor.

    ``token`` names them, one by one where they are those of a list. ``total`` is their sum;
    ``normalised`` weights add up to 1; of ``topped`` ones the largest is 1.
    ``line`` is that of the exponential, ``cell`` and ``where`` those of the statistic.
    """

    shape: Shape
    span: Fraction
    token: int | Shape
    normalised: bool = False
    total: bool = False
    topped: bool = False
    line: int = 0
    cell: Cell | None = None
    where: int = -1


@dataclass(frozen=True, slots=True)
class Private:
    """Depends on the data, the distance unknown. It may be computed and must not be used.

    Of a ``bare`` one it is known that no noise is in it: what uses it leaks.
    """

    line: int
    reason: str
    hint: str = ""
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Generator:
    """A source of randomness that was handed in, or that is NumPy's or Python's global one."""

    name: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """A law of scipy.stats, with its location and scale; ``frozen`` where they were given."""

    law: str
    loc: Value = 0.0
    scale: Value = 1.0
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """The address of a list, a dictionary, an array that is filled, or an object."""

    address: int


@dataclass(frozen=True, slots=True)
class Lent:
    """What a variable holds that functions within its own one assign: a place in memory."""

    place: Reference


@dataclass(frozen=True, slots=True)
class Once:
    """An iterator (a zip, enumerate or generator): it can be gone through once."""

    items: tuple[Value, ...]
    sources: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A method of a value."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Closure:
    """A function that was defined in the function that is read."""

    node: Any
    frame: int
    source: Any
    defaults: tuple[tuple[str, Value], ...] = ()


_OPERATIONS = {
    "Add": "a sum", "Sub": "a difference", "Mult": "a product", "Div": "a quotient",
    "FloorDiv": "a rounded quotient", "Mod": "a remainder", "Pow": "a power",
    "MatMult": "a matrix product", "Invert": "a negation", "Not": "a negation",
    "UAdd": "a sign", "USub": "a sign",
}  # fmt: skip


def operation(name: str) -> str:
    """Return an operator's result, in words."""
    return _OPERATIONS.get(name, "an operator")


class Hidden:
    """Depends on the data: kinds of one mechanism's own, which no other rule takes."""

    __slots__ = ()
    called: ClassVar[str] = ""
    """What a value of the kind is, in words."""


@dataclass(frozen=True, slots=True)
class Shifted(Hidden):
    """Records plus a public number that is not known; the bounds are those of the records.

    ``finite`` tells whether that number is known to be finite and no NaN.
    """

    called = "records plus a public number"
    records: Records
    finite: bool = False


@dataclass(frozen=True, slots=True)
class EitherType(Hidden):
    """A statistic that Python's ``min`` or ``max`` gives, or the number beside it, by the data.

    Its type tells which one it is. ``double`` is True if both are doubles: in an array, or as a
    float, they look alike.
    """

    called = "a number whose type tells which of two it is"
    number: Statistic
    double: bool


@dataclass(frozen=True, slots=True)
class RecordDraws(Hidden):
    """A uniform draw for each record, of which there is a number that is not public."""

    called = "a draw for each record"
    draw: Shape


@dataclass(frozen=True, slots=True)
class SampledPlaces(Hidden):
    """The places of a random sample of all records, which nothing but its statistics may show.

    Parameters
    ----------
    sample : Subsample
        The sample.
    count : int or None
        The number of records in it; None where each is in it by a draw of its own.
    chance : ExponentialQuotient or None
        The probability that a record is in the sample, where each of a public number of records
        has its own draw; else None.
    """

    called = "the places of a sample"
    sample: Subsample
    count: int | None
    chance: ExponentialQuotient | None = None


@dataclass(frozen=True, slots=True)
class ChosenPlaces(Hidden):
    """The places of the records that meet a condition: as an index, the condition itself."""

    called = "the places of the records that meet a condition"
    mask: Records


@dataclass(frozen=True, slots=True)
class Together(Hidden):
    """What a loop takes together, by ``zip`` or ``enumerate``: for one record a tuple of these.

    ``records`` are those that are gone through. Numbers beside them that the program knows are
    functions of a record's place, which no neighbour changes. ``sources`` are what is gone through.
    """

    called = "records that are taken together"
    records: Records
    items: tuple[Value, ...]
    sources: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Crossed(Hidden):
    """A table of truth values: whether each record is below, or equal to, each of some numbers.

    Parameters
    ----------
    records : Records
        The records, along ``axis``; along the other one are public numbers.
    entries : int
        How many numbers there are.
    axis : int
        0 or 1.
    disjoint : bool
        True if at most one number is equal to a record; else all comparisons are by one order.
    """

    called = "a table of records against several numbers"
    records: Records
    entries: int
    axis: int
    disjoint: bool = False


DATA = (Records, Statistic, Weights, Private, Hidden)
RANDOM = (Noise, Noisy, Inverse)
_OBJECTS = (Generator, Distribution, Reference, Lent, Once, BoundMethod, Closure)
_HOLDERS = (Distribution, Once, BoundMethod, Closure)
"""Kinds that hold other values."""


def sources_of(iterable: Value) -> list[Value]:
    """Return all that a loop goes through, in zip and enumerate too."""
    found = [iterable]
    if isinstance(iterable, Once | Together):
        for each in iterable.sources:
            found += sources_of(each)
    return found


def is_iterator(value: Value) -> bool:
    """Return True if a value can be gone through once, in any part."""
    parts = value if isinstance(value, tuple) else ()
    return isinstance(value, Once | Together) or any(map(is_iterator, parts))


def is_data(value: Value) -> bool:
    """Return True if a value depends on the data without noise, in any part."""
    return isinstance(value, DATA) or (isinstance(value, tuple) and any(map(is_data, value)))


def is_known(value: Value) -> bool:
    """Return True if a value is a plain Python object through and through."""
    if isinstance(value, tuple):
        return all(map(is_known, value))
    if isinstance(value, slice):
        return all(map(is_known, (value.start, value.stop, value.step)))
    return not isinstance(value, (Public, *DATA, *RANDOM, *_OBJECTS))


def is_public(value: Value) -> bool:
    """Return True if a value is the same on both neighbours."""
    if isinstance(value, tuple):
        return all(map(is_public, value))
    return is_known(value) or isinstance(value, Public)


def shape_of(value: Value) -> Shape | None:
    """Return the shape of a public number or array; None where it has or shows none."""
    if isinstance(value, Public | Statistic | Noise | Inverse):
        return value.shape
    if isinstance(value, Noisy):
        return value.noise.shape
    if is_scalar(value):
        return ()
    numbers = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return value.shape if numbers else None


def is_whole(value: Value) -> bool:
    """Return True for a whole number and no truth value, which as an index adds an axis."""
    return isinstance(value, PublicInteger | int | np.integer) and not isinstance(value, bool)


def same(a: Value, b: Value) -> bool:
    """Return True if two values are the same in all that a program can see of them."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Real):
        numbers = [(each.exact, each.form, each.logarithm) for each in (a, b)]
        return numbers[0] == numbers[1] and same(plain(a), plain(b))
    if isinstance(a, np.ndarray):
        shown = [(each.dtype.char, each.shape, each.strides, each.tobytes()) for each in (a, b)]
        return shown[0] == shown[1] and a.dtype != object
    if isinstance(a, float | complex | np.inexact):  # -0.0 and the sign of NaN can be seen
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, _HOLDERS):
        return all(same(getattr(a, each), getattr(b, each)) for each in type(a).__slots__)
    try:
        return bool(a == b) and repr(a) == repr(b)  # such as range(0) and range(5, 5)
    except (TypeError, ValueError):
        return False


def size_of(value: Value) -> int | None:
    """Return a bound of a public number's absolute value; None where it may not be finite."""
    if isinstance(value, PublicFloat | PublicInteger):
        return value.size
    exact = exact_of(value)
    return None if exact is None else math.ceil(exact.size_above)


def multiple_of(value: Value) -> Multiple | None:
    """Return a number, known or public, as a multiple of a power of n; None of any other."""
    if isinstance(value, PublicFloat | PublicInteger):
        return value.multiple
    exact = exact_of(value)
    return None if exact is None else Multiple(exact, 0)


def is_count(value: Value) -> bool:
    """Return True of the number of all records, where it is public and not known."""
    return isinstance(value, PublicInteger) and value.multiple == COUNT.multiple


def affine_of(value: Value) -> Affine | None:
    """Return what is known of a public number's difference to others; None where nothing is."""
    if isinstance(value, PublicFloat):
        return value.affine
    return Affine.of_known(value) if is_known(value) and is_scalar(value) else None


def join(a: Value, b: Value, line: int, merge: Callable[[Value, Value], Value | None]) -> Value:
    """Return a value that stands for those of both branches of a public condition.

    Both runs take the same branch, so a statistic of either is bounded by the larger distances.
    ``merge`` knows of the draws that a branch has used, and joins noise.
    """
    if isinstance(a, Statistic) and isinstance(b, Statistic) and a.shape == b.shape:
        return a if a == b else larger_of(a, b)
    plain = type(a) is type(b) is tuple
    if plain and isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(join(x, y, line, merge) for x, y in zip(a, b, strict=True))
    if same(a, b):
        return a
    if isinstance(a, RANDOM) or isinstance(b, RANDOM):
        merged = merge(a, b)
        if merged is not None:
            return merged
    if is_whole(a) and is_whole(b):
        return WHOLE
    if is_public(a) and is_public(b):
        shape = shape_of(a) if shape_of(a) == shape_of(b) else None
        doubles = all(isinstance(each, PublicFloat | float) for each in (a, b))
        return PublicFloat(shape) if doubles and shape is not None else Public(shape)
    for value in (a, b):
        if isinstance(value, Private):
            return value
    return Private(line, "its value differs between branches in a way that is not followed")


class Refuses(Protocol):
    """The end of a reading that cannot go on."""

    def refuse(self, reason: str, hint: str = "") -> Refusal:
        """Return the refusal at the line that is read."""
        ...


NUMPY, PYTHON, EITHER = "NumPy", "Python", "either"
_CHOSEN = "the data decide whether a number is of NumPy's type or of Python's"
_HINT = "make each a float before, float(...), or use np.sum, np.maximum or np.minimum"


def type_of(value: Value) -> str:
    """Return the type of a known or public number, or of a record's."""
    if isinstance(value, Records):
        return value.entry_type
    if not is_known(value):
        return EITHER
    return NUMPY if isinstance(plain(value), np.generic | np.ndarray) else PYTHON


def _of_either(a: Value, b: Value) -> str:
    return type_of(a) if type_of(a) == type_of(b) else EITHER


def of_operator(a: Value, b: Value) -> str:
    """Return the type of an operator's result: NumPy's if one operand is."""
    return NUMPY if NUMPY in {type_of(a), type_of(b)} else _of_either(a, b)


def _kind(value: Value) -> str:
    """Return the kind of a value: a double, a whole number or a truth value, if known."""
    if isinstance(value, Records):
        if value.whole:
            return "whole"
        return "double" if value.floats else "truth" if value.boolean else "number or truth"
    if isinstance(value, bool | np.bool_):
        return "truth"
    return "double" if isinstance(value, float) else "whole"


def one_of(reader: Refuses, found: Records, a: Value, b: Value) -> Records:
    """Return a number of each record that is one of two by the data.

    Raises
    ------
    Refusal
        If the two are not both doubles, both whole numbers, or both truth values.
    """
    kind = _kind(a)
    if kind != _kind(b) or kind == "number or truth":
        raise reader.refuse("the data decide between doubles, whole numbers, truth values", _HINT)
    floats, boolean, whole = (kind == each for each in ("double", "truth", "whole"))
    made = _of_either(a, b)
    return replace(found, entry_type=made, floats=floats, boolean=boolean, whole=whole)


def require_one(reader: Refuses, value: Value) -> None:
    """Refuse a choice, or a sum, of numbers of either type.

    Raises
    ------
    Refusal
        If the data decide which type it is.
    """
    if type_of(value) == EITHER:
        raise reader.refuse(_CHOSEN, _HINT)


def require_of_start(reader: Refuses, value: Value, start: Value) -> None:
    """Refuse a sum that may have no entries, and is then of another type than with some.

    Raises
    ------
    Refusal
        If the entries are not of Python's type, or the sum begins with a truth value.
    """
    if type_of(value) != PYTHON or _kind(start) == "truth":
        raise reader.refuse(_CHOSEN, _HINT)


def require_doubles(reader: Refuses, value: Records) -> None:
    """Refuse what NumPy does otherwise, or not at all, where all entries are truth values."""
    if not value.floats:
        raise reader.refuse("numbers that may all be truth values", "use .astype(float)")
