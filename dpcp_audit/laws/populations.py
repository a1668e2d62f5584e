"""Populations: the laws that conformity scores are drawn from.

A population is known by its distribution function, so that the coverage of a threshold q
is F(q) exactly, with no test set, and so that the number of scores below a point can be
drawn without drawing the scores. A piecewise-constant one is a law on [0, 1] with atoms, given
by a handful of numbers.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import scipy

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.formatting import all_digits, share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flint import arb, fmpq
    from numpy.typing import ArrayLike

    from dpcp_audit.stats.enclosures import Number
    from dpcp_audit.words.validate import FloatArray, IntArray


_BLOCK = 2**14
"""Scores that are drawn at a time: what a quantile works with stays in the cache."""
_MANY, _FEW = 1024, 128
"""The first ``_FEW`` of at least ``_MANY`` points show whether points repeat."""


class Population(ABC):
    """A law of scores on the real line."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name, as it stands in the id of a finding."""

    @property
    def words(self) -> str:
        """The law in words that follow "scores": "of digits-logistic", "uniform on [0, 1]"."""
        return f"of {self.name}"

    @abstractmethod
    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x) = P(S <= x), elementwise: the coverage of the threshold x."""

    def cdf_left(self, x: FloatArray) -> FloatArray:
        """Return P(S < x), elementwise; F itself unless there are atoms."""
        return self.cdf(x)

    def enclosed_cdf(self, x: fmpq) -> Number:
        """Enclose F(x) at FLINT's current precision; a rational where F(x) is one.

        Raises
        ------
        NotImplementedError
            If F has no formula in exact or ball arithmetic here; nothing is proved of it then.
        """
        raise NotImplementedError(f"the distribution function of {self.name} is not enclosed")

    def enclosed_cdf_left(self, x: fmpq) -> Number:
        """Enclose P(S < x); as ``enclosed_cdf`` unless there are atoms."""
        return self.enclosed_cdf(x)

    def monotone_between(self, left: float, right: float) -> bool:  # noqa: ARG002
        """Return True if [left, right] has no atom and a monotone density; False if unknown."""
        return False

    @abstractmethod
    def quantile(self, u: FloatArray) -> FloatArray:
        """Return inf{x : F(x) >= u}, elementwise, for ``u`` in (0, 1)."""

    def sample(
        self, size: int | tuple[int, ...], *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Draw i.i.d. scores."""
        drawn = _validate.generator(rng).random(size)
        flat = drawn.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            block[:] = self.quantile(1 - block)
        return drawn


@dataclass(frozen=True, slots=True)
class Uniform(Population):
    """The uniform law on [0, 1]."""

    @property
    def name(self) -> str:
        """``uniform``."""
        return "uniform"

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return x, clamped to [0, 1]."""
        return np.minimum(1.0, np.maximum(0.0, x))

    def enclosed_cdf(self, x: fmpq) -> fmpq:
        """Return x, clamped to [0, 1]."""
        return _clamped(x)

    def monotone_between(self, left: float, right: float) -> bool:
        """Return True if [left, right] lies in [0, 1]."""
        return left >= 0 and right <= 1

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return u."""
        return u


@dataclass(frozen=True, slots=True)
class Beta(Population):
    """The Beta(a, b) law on [0, 1]; b < 1 heaps its mass near 1."""

    a: float
    b: float

    def __post_init__(self) -> None:
        _validate.positive(a=self.a, b=self.b)
        if np.isnan(scipy.special.betainc(self.a, self.b, 0.5)):
            raise ValueError(f"a and b must be small enough to compute with, got {self.a, self.b}")

    @property
    def name(self) -> str:
        """For example ``beta(5,0.2)``: all digits, so that no two laws share a name."""
        return f"beta({all_digits(self.a)},{all_digits(self.b)})"

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return the regularised incomplete beta function I_x(a, b).

        Points that repeat, as the midpoints of searches do, are computed once.
        """
        points = np.clip(x, 0.0, 1.0)
        if points.size < _MANY or np.unique(points.ravel()[:_FEW]).size > _FEW / 4:
            return scipy.special.betainc(self.a, self.b, points)
        distinct, place = np.unique(points, return_inverse=True)
        return scipy.special.betainc(self.a, self.b, distinct)[place].reshape(points.shape)

    def enclosed_cdf(self, x: fmpq) -> arb:
        """Enclose I_x(a, b), of the doubles a and b."""
        from flint import arb  # noqa: PLC0415  (slow to import)

        from dpcp_audit.stats.enclosures import beta_cdf  # noqa: PLC0415

        return beta_cdf(_clamped(x), arb(self.a), arb(self.b))

    def monotone_between(self, left: float, right: float) -> bool:
        """Return True if [left, right] lies in [0, 1], and not around the mode or antimode."""
        rising, falling = self.a - 1, self.b - 1
        turns = rising * falling > 0 and left <= rising / (rising + falling) <= right
        return left >= 0 and right <= 1 and not turns

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the inverse of I_x(a, b)."""
        return scipy.special.betaincinv(self.a, self.b, u)

    def sample(
        self, size: int | tuple[int, ...], *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Draw i.i.d. scores, without the inverse, which takes ten times as long."""
        return _validate.generator(rng).beta(self.a, self.b, size)


def _clamped(x: fmpq) -> fmpq:
    rational = type(x)
    return min(rational(1), max(rational(0), x))


@dataclass(frozen=True, slots=True, eq=False)
class Pool(Population):
    """A finite pool of scores taken as the population: F is its ECDF, draws are with replacement.

    Parameters
    ----------
    scores : array_like, shape (m,)
        The pool: real scores, or the atoms of a discrete law.
    label : str
        The pool's name.
    """

    scores: FloatArray
    label: str
    _sorted: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", _validate.scores(self.scores))
        object.__setattr__(self, "_sorted", np.sort(self.scores))

    @property
    def name(self) -> str:
        """The label."""
        return self.label

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return the fraction of the pool at or below x."""
        return np.searchsorted(self._sorted, x, side="right") / self._sorted.size

    def cdf_left(self, x: FloatArray) -> FloatArray:
        """Return the fraction of the pool below x."""
        return np.searchsorted(self._sorted, x, side="left") / self._sorted.size

    def enclosed_cdf(self, x: fmpq) -> fmpq:
        """Return the fraction of the pool at or below x."""
        return type(x)(self._counted(x, "right"), self._sorted.size)

    def enclosed_cdf_left(self, x: fmpq) -> fmpq:
        """Return the fraction of the pool below x."""
        return type(x)(self._counted(x, "left"), self._sorted.size)

    def _counted(self, x: fmpq, side: Literal["left", "right"]) -> int:
        """Count the scores at or below x, or those below it, without rounding x."""
        point = Fraction(int(x.p), int(x.q))
        near = float(point)
        if near > point:  # doubles at or below x are those below ``near``
            return int(np.searchsorted(self._sorted, near, side="left"))
        if near < point:
            return int(np.searchsorted(self._sorted, near, side="right"))
        return int(np.searchsorted(self._sorted, near, side=side))

    def monotone_between(self, left: float, right: float) -> bool:
        """Return True if no score lies in [left, right]."""
        return bool(self.cdf(np.array(right)) <= self.cdf_left(np.array(left)))

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the pool's order statistic at level u."""
        level, size = np.asarray(u, dtype=np.float64), self._sorted.size
        rank = np.ceil(level * size)
        rank -= (rank - 1) / size >= level  # u·m may round up past a whole number,
        rank += rank / size < level  # or down to one
        return self._sorted[np.clip(rank.astype(np.int64) - 1, 0, size - 1)]


@dataclass(frozen=True, slots=True, eq=False)
class Deferred(Population):
    """A population that is built when it is first used, for example from a fitted classifier."""

    label: str
    build: Callable[[], Population]
    _built: list[Population] = field(default_factory=list[Population], init=False, repr=False)

    @property
    def name(self) -> str:
        """The label, known without building."""
        return self.label

    @property
    def population(self) -> Population:
        """The population itself."""
        if not self._built:
            self._built.append(self.build())
        return self._built[0]

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x) of the built population."""
        return self.population.cdf(x)

    def cdf_left(self, x: FloatArray) -> FloatArray:
        """Return P(S < x) of the built population."""
        return self.population.cdf_left(x)

    def enclosed_cdf(self, x: fmpq) -> Number:
        """Enclose F(x) of the built population."""
        return self.population.enclosed_cdf(x)

    def enclosed_cdf_left(self, x: fmpq) -> Number:
        """Enclose P(S < x) of the built population."""
        return self.population.enclosed_cdf_left(x)

    def monotone_between(self, left: float, right: float) -> bool:
        """Return True if the built population has no atom and a monotone density there."""
        return self.population.monotone_between(left, right)

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the quantile of the built population."""
        return self.population.quantile(u)


def atoms(values: ArrayLike, counts: ArrayLike, *, name: str) -> Pool:
    """Return a discrete population with mass proportional to whole ``counts`` at ``values``."""
    points = _validate.scores(values, name="values")
    weights = np.asarray(counts)
    if weights.shape != points.shape or not np.issubdtype(weights.dtype, np.integer):
        raise ValueError(f"counts must be integers, one a value, got {counts!r}")
    if (weights < 0).any() or weights.sum() == 0:
        raise ValueError(f"counts must be >= 0 with a positive sum, got {counts!r}")
    return Pool(np.repeat(points, weights), name)


class _Steps(NamedTuple):
    """F at its breakpoints, from the left and itself; F is linear between them. Shape (m,)."""

    at: FloatArray
    left: FloatArray
    right: FloatArray


class _Pieces(NamedTuple):
    """The distance between neighbouring breakpoints; F's inverse is linear there."""

    mass_before: FloatArray
    mass: FloatArray
    start: FloatArray
    length: FloatArray

    @classmethod
    def of(cls, steps: _Steps) -> _Pieces:
        """Return the pieces; levels above a piece's mass fall into the jump at its end."""
        at, left, right = steps
        before = np.concatenate([[-1.0], right[:-1]])  # nothing lies before the first one
        mass = np.maximum(np.concatenate([[0.0], left[1:] - right[:-1]]), np.finfo(float).tiny)
        start = np.concatenate([at[:1], at[:-1]])
        return cls(before, mass, start, at - start)


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecewiseConstant(Population):
    """A density that is constant in each cell of a partition of [0, 1], and atoms.

    The mass of a cell or an atom is its weight over the sum of all weights, so that a law
    with whole weights is written without rounding. Two laws are equal if their fields are.

    Parameters
    ----------
    edges : sequence of float, length m + 1
        0 = e_0 < e_1 < ... < e_m = 1.
    cells : sequence of float, length m
        Weights >= 0 of the cells [e_i, e_(i+1)], spread evenly within each.
    atoms : sequence of pairs (location, weight)
        Increasing locations in [0, 1], weights > 0.

    Examples
    --------
    >>> law = PiecewiseConstant(edges=(0, 1), cells=(1,), atoms=((0.5, 3),))
    >>> law.cdf(np.array([0.25, 0.5])).tolist(), law.cdf_left(np.array([0.5])).tolist()
    ([0.0625, 0.875], [0.125])
    """

    edges: Sequence[float] = (0.0, 1.0)
    cells: Sequence[float] = (0.0,)
    atoms: Sequence[tuple[float, float]] = ()
    _steps: _Steps = field(init=False, repr=False, compare=False)
    _pieces: _Pieces = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _edges(self.edges))
        object.__setattr__(self, "cells", _cells(self.cells, count=len(self.edges) - 1))
        object.__setattr__(self, "atoms", _atoms(self.atoms))
        total = sum(self.cells) + sum(weight for _, weight in self.atoms)
        if not 0 < total < math.inf:
            raise ValueError(f"cells and atoms must have a finite weight > 0 in all, got {total!r}")
        object.__setattr__(self, "_steps", _steps(self.edges, self.cells, self.atoms))
        object.__setattr__(self, "_pieces", _Pieces.of(self._steps))

    @property
    def name(self) -> str:
        """The weights of the cells and atoms that have any: ``piecewise([0,0.5]:3,{1}:7)``."""
        ends = zip(self.edges[:-1], self.edges[1:], self.cells, strict=True)
        parts = [f"[{_short(low)},{_short(high)}]:{_short(w)}" for low, high, w in ends if w]
        parts += [f"{{{_short(at)}}}:{_short(weight)}" for at, weight in self.atoms]
        return f"piecewise({','.join(parts)})"

    @property
    def words(self) -> str:
        """The cells and atoms with their shares: "70 % equal to 1, 30 % uniform on [0, 0.5]"."""
        ends = zip(self.edges[:-1], self.edges[1:], self.cells, strict=True)
        parts = [(f"equal to {at:.6g}", weight) for at, weight in self.atoms]
        parts += [(f"uniform on [{low:.6g}, {high:.6g}]", w) for low, high, w in ends if w]
        if len(parts) == 1:
            ((said, _),) = parts
            return f"all {said}" if self.atoms else said
        total = sum(weight for _, weight in parts)
        parts.sort(key=lambda part: -part[1])
        return ", ".join(f"{share(weight / total)} {said}" for said, weight in parts)

    def as_plain(self) -> dict[str, list[float] | list[list[float]]]:
        """Return the law as plain data; ``PiecewiseConstant(**plain)`` is the law again."""
        return {
            "edges": list(self.edges),
            "cells": list(self.cells),
            "atoms": [list(atom) for atom in self.atoms],
        }

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x): linear within a cell, with a jump at each atom."""
        point = np.asarray(x, dtype=np.float64)
        return self._within(point, np.searchsorted(self._steps.at, point, side="right") - 1)

    def cdf_left(self, x: FloatArray) -> FloatArray:
        """Return P(S < x)."""
        point = np.asarray(x, dtype=np.float64)
        after = np.searchsorted(self._steps.at, point, side="left")
        end = np.minimum(after, self._steps.at.size - 1)
        at_breakpoint = self._steps.at[end] == point
        return np.where(at_breakpoint, self._steps.left[end], self._within(point, after - 1))

    def enclosed_cdf(self, x: fmpq) -> fmpq:
        """Return F(x), of the doubles that the edges, locations and weights are."""
        return self._rational_cdf(x, operator.le)

    def enclosed_cdf_left(self, x: fmpq) -> fmpq:
        """Return P(S < x)."""
        return self._rational_cdf(x, operator.lt)

    def _rational_cdf(self, x: fmpq, counts: Callable[[fmpq, fmpq], bool]) -> fmpq:
        from dpcp_audit.stats.enclosures import exact  # noqa: PLC0415  (slow to import)

        nothing = exact(0)
        mass = sum((exact(weight) for at, weight in self.atoms if counts(exact(at), x)), nothing)
        for low, high, weight in zip(self.edges[:-1], self.edges[1:], self.cells, strict=True):
            start, end = exact(low), exact(high)
            mass += exact(weight) * (min(end, max(start, x)) - start) / (end - start)
        weights = (*self.cells, *(weight for _, weight in self.atoms))
        return mass / sum(map(exact, weights), nothing)

    def monotone_between(self, left: float, right: float) -> bool:
        """Return True if no edge and no atom lies in [left, right]."""
        at = self._steps.at
        return bool(np.searchsorted(at, left) == np.searchsorted(at, right, side="right"))

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return inf{x : F(x) >= u} for ``u`` in (0, 1]."""
        level = np.asarray(u, dtype=np.float64)
        if level.size and not (level.min() > 0 and level.max() <= 1):
            raise ValueError(f"u must lie in (0, 1], got {u!r}")
        before, mass, start, length = self._pieces
        which = np.searchsorted(self._steps.right, level, side="left")
        part = (level - before.take(which)) / mass.take(which)
        return np.where(
            part < 1, start.take(which) + part * length.take(which), self._steps.at.take(which)
        )

    def largest_mass(self, length: float) -> float:
        """Return the largest mass of any closed interval of ``length`` in (0, 1].

        The mass of [x, x + length] is linear in x between the breakpoints of F and those
        shifted by ``length``, so it is largest where an end of the interval is one of them.
        The other end is rounded to a double.
        """
        if not 0 < length <= 1:
            raise ValueError(f"length must lie in (0, 1], got {length!r}")
        at, left, right = self._steps
        after = self.cdf(at + length) - left
        before = right - self.cdf_left(at - length)
        return float(max(after.max(), before.max()))

    def _within(self, x: FloatArray, start: IntArray) -> FloatArray:
        """Return F(x) for x in the segment that follows breakpoint ``start``; −1 is before 0."""
        at, left, right = self._steps
        low = np.minimum(np.maximum(start, 0), at.size - 2)
        begin, end, reached = at[low], left[low + 1], right[low]
        part = np.minimum(np.maximum((x - begin) / (at[low + 1] - begin), 0.0), 1.0)
        bounded = np.where(start < 0, 0.0, np.minimum(reached + part * (end - reached), end))
        return np.where(start >= at.size - 1, right[-1], bounded)


def _short(value: float) -> str:
    return repr(value).removesuffix(".0")


def _edges(edges: Sequence[float]) -> tuple[float, ...]:
    values = _validate.array(edges, name="edges", ndim=1)
    if values.size < 2 or values[0] != 0 or values[-1] != 1 or (np.diff(values) <= 0).any():
        raise ValueError(f"edges must increase from 0 to 1, got {edges!r}")
    return tuple(values.tolist())


def _cells(cells: Sequence[float], *, count: int) -> tuple[float, ...]:
    values = _validate.array(cells, name="cells", ndim=1)
    if values.size != count or (values < 0).any():
        raise ValueError(f"cells must be {count} weights >= 0, one a cell, got {cells!r}")
    return tuple(values.tolist())


def _atoms(atoms: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    if len(atoms) == 0:
        return ()
    values = _validate.array(atoms, name="atoms", ndim=2)
    if values.shape[1] != 2 or (values[:, 1] <= 0).any():
        raise ValueError(f"atoms must be pairs (location, weight > 0), got {atoms!r}")
    where = values[:, 0]
    if (where < 0).any() or (where > 1).any() or (np.diff(where) <= 0).any():
        raise ValueError(f"atoms must increase in location, within [0, 1], got {atoms!r}")
    return tuple((float(at), float(weight)) for at, weight in values)


def _steps(
    edges: Sequence[float], cells: Sequence[float], atoms: Sequence[tuple[float, float]]
) -> _Steps:
    at = np.unique(np.concatenate([edges, [location for location, _ in atoms]]))
    spread = np.interp(at, edges, np.concatenate([[0.0], np.cumsum(cells)]))
    spread = np.maximum.accumulate(spread)  # interpolation may round past the next edge
    jump = np.zeros_like(at)
    jump[np.searchsorted(at, [location for location, _ in atoms])] = [w for _, w in atoms]
    up_to = np.cumsum(jump)
    before = np.concatenate([[0.0], up_to[:-1]])
    total = spread[-1] + up_to[-1]
    return _Steps(at, (spread + before) / total, (spread + up_to) / total)
