"""Populations: the laws that conformity scores are drawn from.

A population is known by its distribution function, so that the coverage of a threshold q
is F(q) exactly, with no test set, and so that the number of scores below a point can be
drawn without drawing the scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import betainc, betaincinv

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.formatting import all_digits

if TYPE_CHECKING:
    from collections.abc import Callable

    from flint import arb, fmpq
    from numpy.typing import ArrayLike

    from dpcp_audit.stats.enclosures import Number
    from dpcp_audit.words.arrays import FloatArray


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
        """Return whether [left, right] has no atom and a monotone density; False if unknown."""
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
        """Return whether [left, right] lies in [0, 1]."""
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
        if np.isnan(betainc(self.a, self.b, 0.5)):
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
            return betainc(self.a, self.b, points)
        distinct, place = np.unique(points, return_inverse=True)
        return betainc(self.a, self.b, distinct)[place].reshape(points.shape)

    def enclosed_cdf(self, x: fmpq) -> arb:
        """Enclose I_x(a, b), of the doubles a and b."""
        from flint import arb  # noqa: PLC0415  (slow to import)

        from dpcp_audit.stats.enclosures import beta_cdf  # noqa: PLC0415

        return beta_cdf(_clamped(x), arb(self.a), arb(self.b))

    def monotone_between(self, left: float, right: float) -> bool:
        """Return whether [left, right] lies in [0, 1], and not around the mode or antimode."""
        rising, falling = self.a - 1, self.b - 1
        turns = rising * falling > 0 and left <= rising / (rising + falling) <= right
        return left >= 0 and right <= 1 and not turns

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the inverse of I_x(a, b)."""
        return betaincinv(self.a, self.b, u)

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
        """Return whether no score lies in [left, right]."""
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
        """Return whether the built population has no atom and a monotone density there."""
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
