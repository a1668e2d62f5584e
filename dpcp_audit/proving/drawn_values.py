"""Values that fresh draws decide, of finitely many, and how far their laws on two inputs are apart.

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
from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving.distances import Hidden, Value
from dpcp_audit.proving.exact_numbers import ExponentialQuotient

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

ONE = ExponentialQuotient.of(1)
_MOST = 20_000
"""Outcomes of a law that are written out."""


class TooManyOutcomesError(Exception):
    """A law has more outcomes than are written out."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A fresh draw of a few outcomes, each with its chance."""

    token: int
    chances: tuple[ExponentialQuotient, ...]


@dataclass(frozen=True, slots=True)
class Drawn(Hidden):
    """A value that the outcomes of some axes decide: a table, the last axis running fastest."""

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
        That of the path.
    frame : hashable
        The output, with ``("drawn", i)`` in the place of its i-th drawn part.
    groups : tuple of pairs of tuple and Law
        The places of parts that are drawn together, and their law; groups are independent.
    """

    chance: ExponentialQuotient
    frame: Hashable
    groups: tuple[tuple[tuple[int, ...], Law], ...]

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
