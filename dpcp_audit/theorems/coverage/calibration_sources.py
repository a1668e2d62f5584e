"""What a target's calibrator is called on: calibration sets from a law whose coverage is known.

A law of scores on [0, 1] becomes scores between the target's bounds, or probabilities and
labels, by a map that never decreases, rounding included. So the coverage of a threshold is the
law's own distribution function at the last point that is mapped to or below the threshold:
exact to the last atom, whatever the floating-point numbers do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.data.piecewise import PiecewiseConstant
from dpcp_audit.data.populations import Beta, Deferred, Pool
from dpcp_audit.stats.bisection import turns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit._types import BoolArray, FloatArray, IntArray
    from dpcp_audit.data.pools import ProbabilityPool
    from dpcp_audit.data.populations import Population
    from dpcp_audit.results import PlainData

_HALVINGS = 200
_FARTHEST = 1e6


class CalibrationSource(Protocol):
    """Draws calibration sets, and knows the coverage of every threshold."""

    takes_arrays: ClassVar[bool]
    """Whether the code may return an array in place of one threshold."""

    @property
    def name(self) -> str:
        """In words, for the report."""
        ...

    @property
    def law(self) -> Population:
        """The law of the scores before they are mapped."""
        ...

    def draw(self, n: int, count: int, *, rng: np.random.Generator) -> Sequence[Any]:
        """Draw ``count`` calibration sets of ``n`` i.i.d. records, as the target takes them."""
        ...

    def coverage(self, thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
        """Return the probability of a score at or below each threshold.

        Below it, where ``strict``: for sets {y : score < threshold}.
        """
        ...

    def as_data(self) -> PlainData:
        """Return the source as plain data, for a witness."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreSource:
    """Scores for a quantile.

    Parameters
    ----------
    law : Population
        Of scores on [0, 1], or on the target's own scale.
    bounds : tuple of float or None
        The interval that [0, 1] is mapped to, whose ends may be infinite; None leaves the
        scores as the law has them.
    """

    law: Population
    bounds: tuple[float, float] | None = None

    takes_arrays: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The law's name."""
        return self.law.name

    def draw(self, n: int, count: int, *, rng: np.random.Generator) -> Sequence[Any]:
        """Draw ``count`` arrays of ``n`` scores."""
        return list(self._scaled(self.law.sample((count, n), rng=rng)))

    def coverage(self, thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
        """Return F(q), or F(q−) where ``strict``."""
        if self.bounds in {None, (0.0, 1.0)}:
            return self.law.cdf_left(thresholds) if strict else self.law.cdf(thresholds)
        return mapped_cdf(self.law, self._scaled, thresholds, strict=strict)

    def as_data(self) -> PlainData:
        """Return the law as plain data."""
        return law_as_data(self.law)

    def _scaled(self, scores: FloatArray) -> FloatArray:
        if self.bounds is None or self.bounds == (0.0, 1.0):
            return scores
        low, high = self.bounds
        if np.isinf(low) or np.isinf(high):
            return _stretched(scores, low, high)
        inside = np.minimum(high, low + (high - low) * scores)
        return np.where(scores >= 1, high, inside)  # low + (high − low) may not be high


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledSource:
    """Probabilities and labels for a calibrator, from a law of the score 1 − p_y on [0, 1].

    The label is uniform on the K classes. Of the rest 1 − p_y one rival class has half, and
    the others share what is left; with two classes the rival has all of it.
    """

    law: Population
    classes: int = 10

    def __post_init__(self) -> None:
        _validate.integer(classes=self.classes, at_least=2)

    takes_arrays: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The law's name, with the number of classes."""
        return f"{self.law.name} in {self.classes} classes"

    def draw(self, n: int, count: int, *, rng: np.random.Generator) -> Sequence[Any]:
        """Draw ``count`` pairs of probabilities (n, K) and labels (n,)."""
        sets: list[tuple[FloatArray, IntArray]] = []
        for scores in self.law.sample((count, n), rng=rng):
            labels = rng.integers(self.classes, size=n)
            rivals = (labels + rng.integers(1, self.classes, size=n)) % self.classes
            sets.append((self._probabilities(scores, labels, rivals), labels))
        return sets

    def coverage(self, thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
        """Return the probability that 1 − p_y, as floating point has it, is covered."""
        return mapped_cdf(self.law, lambda s: 1 - (1 - s), thresholds, strict=strict)

    def as_data(self) -> PlainData:
        """Return the law and the number of classes as plain data."""
        return law_as_data(self.law) | {"classes": self.classes}

    def _probabilities(
        self, scores: FloatArray, labels: np.ndarray, rivals: np.ndarray
    ) -> FloatArray:
        row, others = np.arange(scores.size), self.classes - 2
        rest = scores if others == 0 else scores / 2
        table = np.zeros((scores.size, self.classes))
        if others:
            table += (rest / others)[:, None]
        table[row, rivals] = rest
        table[row, labels] = 1 - scores
        return table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowSource:
    """Probabilities and labels drawn from a pool of a classifier's rows, with replacement.

    Parameters
    ----------
    label : str
        The pool's name.
    build : callable
        Returns the pool; called when it is first needed.
    stored : bool
        Whether the pool is one that a run can fit again by its name; else it is written out
        in witnesses.
    """

    label: str
    build: Callable[[], ProbabilityPool]
    stored: bool = False
    law: Deferred = field(init=False, repr=False)

    def __post_init__(self) -> None:
        scores = Deferred(self.label, lambda: self.build().hps_population())
        object.__setattr__(self, "law", scores)

    takes_arrays: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The pool's name."""
        return f"rows of {self.label}"

    def draw(self, n: int, count: int, *, rng: np.random.Generator) -> Sequence[Any]:
        """Draw ``count`` pairs of probabilities (n, K) and labels (n,)."""
        pool = self.build()
        chosen = rng.integers(pool.labels.size, size=(count, n))
        return [(pool.probabilities[rows], pool.labels[rows]) for rows in chosen]

    def coverage(self, thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
        """Return the share of the pool whose 1 − p_y is covered."""
        return self.law.cdf_left(thresholds) if strict else self.law.cdf(thresholds)

    def as_data(self) -> PlainData:
        """Return the pool's name, and its rows where it cannot be built by name."""
        if self.stored:
            return {"family": "classifier-rows", "name": self.label}
        pool = self.build()
        rows = {"probabilities": pool.probabilities.tolist(), "labels": pool.labels.tolist()}
        return {"family": "rows", "name": self.label} | rows


def _stretched(scores: FloatArray, low: float, high: float) -> FloatArray:
    """Return scores on [0, 1] as scores without bounds: odds, whose tails are heavy.

    Parameters
    ----------
    low, high : float
        At least one infinite. An atom at an end of [0, 1] becomes one at ±1e6.
    """
    with np.errstate(divide="ignore"):
        up = np.minimum(scores / (1 - scores), _FARTHEST)
        down = np.minimum((1 - scores) / scores, _FARTHEST)
    if np.isinf(low) and np.isinf(high):
        return np.asarray(up - down)
    return np.asarray(low + up if np.isinf(high) else high - down)


def mapped_cdf(
    law: Population,
    scale: Callable[[FloatArray], FloatArray],
    thresholds: FloatArray,
    *,
    strict: bool = False,
) -> FloatArray:
    """Return P(scale(S) ≤ q), or < q where ``strict``, for S of a law on [0, 1].

    Parameters
    ----------
    scale : callable
        Elementwise, and never decreasing as computed.
    thresholds : ndarray, shape (m,)
        May be infinite.

    Notes
    -----
    The last double u in [0, 1] with scale(u) ≤ q is found by bisection, so that no rounding in
    an inverse of ``scale`` can lose an atom; S is itself a double, hence P(S ≤ u) is the answer.
    """

    def below(points: FloatArray) -> BoolArray:
        image = scale(points)
        return np.asarray(image < thresholds if strict else image <= thresholds)

    low, high = np.zeros_like(thresholds), np.ones_like(thresholds)
    none, everything = ~below(low), below(high)
    _, last = turns(below, high, low, steps=_HALVINGS)
    return np.where(everything, 1.0, np.where(none, 0.0, law.cdf(last)))


def law_as_data(law: Population) -> PlainData:
    """Return a law as plain data, which ``law_from_data`` reads."""
    if isinstance(law, PiecewiseConstant):
        return {"family": "piecewise"} | law.as_plain()
    if isinstance(law, Beta):
        return {"family": "beta", "a": law.a, "b": law.b}
    if isinstance(law, Pool):
        return {"family": "scores", "name": law.name, "values": law.scores.tolist()}
    if isinstance(law, Deferred):
        return {"family": "classifier", "name": law.name}
    raise ValueError(f"law must be piecewise, beta or a pool, got {law!r}")
