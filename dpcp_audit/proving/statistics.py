"""Statistics: functions of the data, and how far their values on two neighbours can be apart."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpcp_audit.proving.exact_numbers import Surd, root_above

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

Shape: TypeAlias = tuple[int, ...]
MOST_RECORDS = 2**32
"""The number of records that a proof for any number of them is for, at most."""
tokens = itertools.count(1)
"""Names of draws, of places in memory and of released values."""


@dataclass(frozen=True, slots=True)
class Subsample:
    """A sample of the records without replacement, of which only statistics are ever used.

    ``share`` is its size over the number of records.
    """

    token: int
    share: Fraction


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
    says : str
        The statistic, in words.
    part : Part or None
        The part of a vector that a number was taken from.
    where : int
        The records that the statistic may depend on, as bits: 1 << place.
    size : Fraction or None
        Bound of the absolute value of each entry, where one is known.
    floats : bool
        True if the entries are doubles, and no whole numbers of NumPy, which wrap around.
    peak : tuple or None
        The name and the memory of the vector of which this is the largest entry.
    topped : bool
        True if the largest entry is 0.
    sample : Subsample or None
        The sample that it is a statistic of, and of nothing else.
    memory : frozenset of int
        The arrays that this may be, or may be a slice of.
    name : int
        Each vector's own, but for public numbers that are added to it.
    """

    shape: Shape
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    span: Fraction
    integer: bool = False
    says: str = ""
    part: Part | None = None
    where: int = -1
    size: Fraction | None = None
    floats: bool = False
    peak: tuple[int, frozenset[int]] | None = None
    topped: bool = False
    sample: Subsample | None = None
    memory: frozenset[int] = field(default_factory=lambda: frozenset({next(tokens)}), compare=False)
    name: int = field(default_factory=lambda: next(tokens))

    def copied(self) -> Statistic:
        """Return the statistic in memory of its own."""
        return replace(self, memory=frozenset({next(tokens)}))

    def times(self, factor: Surd, *, keeps_integers: bool = False) -> Statistic:
        """Return the statistic times a known number."""
        size = factor.size_above
        part = self.part and replace(self.part, factor=self.part.factor * size)
        found = statistic(
            self.shape,
            self.l1 * size,
            self.l2_squared * factor.square,
            self.linf * size,
            span=self.span * size,
            integer=self.integer and keeps_integers,
            says=self.says,
            part=part,
            where=self.where,
        )
        return replace(
            found,
            size=None if self.size is None else self.size * size,
            floats=self.floats,
            topped=self.topped and factor.sign > 0,
            sample=self.sample,
        )

    def plus(self, other: Statistic) -> Statistic:
        """Return the sum or difference of two statistics of the same shape."""
        where, integer = self.where | other.where, self.integer and other.integer
        floats, size = self.floats or other.floats, None
        if self.size is not None and other.size is not None:
            size = self.size + other.size
        if not self.where & other.where:  # one record moves one of them only
            found = replace(larger_of(self, other), where=where, integer=integer).copied()
            return replace(found, size=size, floats=floats)
        l2 = root_above(self.l2_squared) + root_above(other.l2_squared)
        found = statistic(
            self.shape,
            self.l1 + other.l1,
            l2 * l2,
            self.linf + other.linf,
            span=self.span + other.span,
            integer=integer,
            says=self.says,
            where=where,
            size=size,
            floats=floats,
        )
        return replace(found, sample=self.sample if self.sample == other.sample else None)


def statistic(
    shape: Shape,
    l1: Fraction,
    l2_squared: Fraction,
    linf: Fraction,
    *,
    span: Fraction | None = None,
    integer: bool = False,
    says: str = "",
    part: Part | None = None,
    where: int = -1,
    size: Fraction | None = None,
    floats: bool = False,
) -> Statistic:
    """Return a statistic, each bound as small as the others make it."""
    entries = int(np.prod(shape, dtype=object)) if shape else 1
    linf = min(linf, l1)
    l1 = min(l1, linf * entries)
    l2_squared = min(l2_squared, l1 * linf, linf * linf * entries)
    spread = min(2 * linf, l1) if span is None else min(span, 2 * linf, l1)
    return Statistic(shape, l1, l2_squared, linf, spread, integer, says, part, where, size, floats)


def larger_of(a: Statistic, b: Statistic) -> Statistic:
    """Return what either of two statistics of the same shape is, with the larger distances."""
    found = statistic(
        a.shape,
        max(a.l1, b.l1),
        max(a.l2_squared, b.l2_squared),
        max(a.linf, b.linf),
        span=max(a.span, b.span),
        integer=a.integer and b.integer,
        says=a.says,
        where=a.where | b.where,
        size=None if a.size is None or b.size is None else max(a.size, b.size),
        floats=a.floats and b.floats,
    )
    return replace(found, memory=a.memory | b.memory)


def disjoint(masks: Iterable[int]) -> list[int]:
    """Return disjoint sets of records of which each of these is made, as bits."""
    found = [-1]
    for mask in set(masks):
        found = [part for each in found for part in (each & mask, each & ~mask) if part]
    return found


def number(distance: Fraction, says: str, **rest: Any) -> Statistic:
    """Return a statistic that is one number and moves by at most ``distance``."""
    return statistic((), distance, distance * distance, distance, says=says, **rest)
