"""Calibration sets for a target's calibrator, from a law whose coverage is known.

A law of scores on [0, 1] becomes scores between the target's bounds, or probabilities and
labels, by a map that never decreases, rounding included. So the coverage of a threshold is the
law's own distribution function at the last point that is mapped to or below the threshold:
exact to the last atom, whatever the floating-point numbers do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcp_audit.laws.pools import hps, true_label_scores
from dpcp_audit.laws.populations import Beta, Deferred, PiecewiseConstant, Pool
from dpcp_audit.stats.roots import turns
from dpcp_audit.targets.answers import DegenerateTargetError
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.laws.pools import ProbabilityPool
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_HALVINGS = 200
_FARTHEST = 1e6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreSource:
    """Scores for a quantile.

    Parameters
    ----------
    law : Population
        Law of the scores on [0, 1], or on the target's own scale.
    bounds : tuple of float or None
        The interval that [0, 1] is mapped to, whose ends may be infinite; None leaves the
        scores as the law has them.
    clients : int
        The number of clients who have the scores, in parts that are as equal as can be; 0 for
        none.
    """

    law: Population
    bounds: tuple[float, float] | None = None
    clients: int = 0

    takes_arrays: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The law in words."""
        return f"scores {self.law.words}"

    def draw(self, n: int, count: int, *, rng: np.random.Generator) -> Sequence[Any]:
        """Draw ``count`` arrays of ``n`` scores, or tuples of the clients' arrays."""
        scores = list(self._scaled(self.law.sample((count, n), rng=rng)))
        if not self.clients:
            return scores
        return [tuple(np.array_split(each, self.clients)) for each in scores]

    def coverage(self, thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
        """Return F(q), or F(q−) where ``strict``."""
        if self.bounds in {None, (0.0, 1.0)}:
            return self.law.cdf_left(thresholds) if strict else self.law.cdf(thresholds)
        return mapped_cdf(self.law, self._scaled, thresholds, strict=strict)

    def as_data(self) -> PlainData:
        """Return the law as plain data."""
        return law_as_data(self.law) | ({"clients": self.clients} if self.clients else {})

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

    With ``apart`` the classes differ: class 0 has that probability and scores S of the law, and
    the others share the rest and have scores 1 − S.

    Parameters
    ----------
    law : Population
    classes : int
        K >= 2.
    apart : float or None
        The probability of class 0, in (0, 1), where its scores differ from the others'.
    of_class : int or None
        The class whose coverage is meant; None of all.
    """

    law: Population
    classes: int = 10
    apart: float | None = None
    of_class: int | None = None

    def __post_init__(self) -> None:
        _validate.integer(classes=self.classes, at_least=2)
        if self.apart is not None:
            _validate.open_unit(apart=self.apart)

    takes_arrays: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The law in words, with the number of classes."""
        apart = "" if self.apart is None else f", mirrored but of class 0 ({self.apart:g})"
        return f"scores {self.law.words} in {self.classes} classes{apart}{_of_class(self.of_class)}"

    def draw(self, n: int, count: int, *, rng: np.random.Generator) -> Sequence[Any]:
        """Draw ``count`` pairs of probabilities (n, K) and labels (n,)."""
        sets: list[tuple[FloatArray, IntArray]] = []
        for drawn in self.law.sample((count, n), rng=rng):
            labels = self._labels(n, rng)
            scores, shown = drawn, 1 - drawn
            if self.apart is not None:
                scores, shown = np.where(labels == 0, [drawn, shown], [shown, drawn])
            rivals = (labels + rng.integers(1, self.classes, size=n)) % self.classes
            sets.append((self._probabilities(scores, shown, labels, rivals), labels))
        return sets

    def coverage(self, thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
        """Return the probability that 1 − p_y, as floating point has it, is covered.

        Parameters
        ----------
        thresholds : ndarray, shape (m,) or (m, K)
            One for all classes, or one for each.
        """
        if self.apart is None and thresholds.ndim == 1:
            return self._below(thresholds, strict=strict)
        table, weights = by_class(thresholds, self.classes), self._weights
        meant = np.flatnonzero(weights)
        mirrored = (meant > 0) & (self.apart is not None)
        covered = np.empty((len(table), meant.size))
        for which, cdf in ((~mirrored, self._below), (mirrored, self._mirrored)):
            if which.any():
                covered[:, which] = _each(partial(cdf, strict=strict), table[:, meant[which]])
        return np.asarray(np.minimum(covered @ weights[meant], 1.0))

    def as_data(self) -> PlainData:
        """Return the law and the classes as plain data."""
        data = law_as_data(self.law) | {"classes": self.classes}
        given = {"apart": self.apart, "of_class": self.of_class}
        return data | {name: value for name, value in given.items() if value is not None}

    @property
    def _weights(self) -> FloatArray:
        """The weight of each class's coverage, shape (K,)."""
        if self.of_class is not None:
            return np.asarray(np.eye(self.classes)[self.of_class])
        if self.apart is None:
            return np.full(self.classes, 1 / self.classes)
        rest = (1 - self.apart) / (self.classes - 1)
        return np.array([self.apart, *[rest] * (self.classes - 1)])

    def _labels(self, n: int, rng: np.random.Generator) -> IntArray:
        if self.apart is None:
            return rng.integers(self.classes, size=n)
        others = rng.integers(1, self.classes, size=n)
        return np.where(rng.random(n) < self.apart, 0, others)

    def _below(self, thresholds: FloatArray, *, strict: bool) -> FloatArray:
        return mapped_cdf(self.law, lambda s: 1 - (1 - s), thresholds, strict=strict)

    def _mirrored(self, thresholds: FloatArray, *, strict: bool) -> FloatArray:
        """Return P(1 − S ≤ q), of which 1 − S > q is S − 1 < −q."""
        return 1 - mapped_cdf(self.law, lambda s: s - 1, -thresholds, strict=not strict)

    def _probabilities(
        self, scores: FloatArray, shown: FloatArray, labels: IntArray, rivals: IntArray
    ) -> FloatArray:
        """Return probabilities whose p_y is ``shown``; the others' add up to ``scores``."""
        row, others = np.arange(scores.size), self.classes - 2
        rest = scores if others == 0 else scores / 2
        table = np.zeros((scores.size, self.classes))
        if others:
            table += (rest / others)[:, None]
        table[row, rivals] = rest
        table[row, labels] = shown
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
        True if the pool is one that a run can fit again by its name; else it is written out
        in witnesses.
    of_class : int or None
        The class whose coverage is meant; None of all.
    """

    label: str
    build: Callable[[], ProbabilityPool]
    stored: bool = False
    of_class: int | None = None
    law: Deferred = field(init=False, repr=False)

    def __post_init__(self) -> None:
        scores = Deferred(self.label, lambda: self.build().hps_population())
        object.__setattr__(self, "law", scores)

    takes_arrays: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The pool's name."""
        return f"rows of {self.label}{_of_class(self.of_class)}"

    def draw(self, n: int, count: int, *, rng: np.random.Generator) -> Sequence[Any]:
        """Draw ``count`` pairs of probabilities (n, K) and labels (n,)."""
        pool = self.build()
        chosen = rng.integers(pool.labels.size, size=(count, n))
        return [(pool.probabilities[rows], pool.labels[rows]) for rows in chosen]

    def coverage(self, thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
        """Return the share of the pool, or of its class, whose 1 − p_y is covered.

        Parameters
        ----------
        thresholds : ndarray, shape (m,) or (m, K)
            One for all classes, or one for each.
        """
        if thresholds.ndim == 1 and self.of_class is None:
            return self.law.cdf_left(thresholds) if strict else self.law.cdf(thresholds)
        pool = self.build()
        table = by_class(thresholds, pool.probabilities.shape[1])
        meant = range(table.shape[1]) if self.of_class is None else [self.of_class]
        scores = true_label_scores(hps(pool.probabilities), pool.labels)
        own = [np.sort(scores[pool.labels == label]) for label in meant]
        hits = [
            _at_most(part, table[:, label], strict=strict)
            for label, part in zip(meant, own, strict=True)
        ]
        rows = sum(map(len, own))
        return np.sum(hits, axis=0) / rows if rows else np.ones(len(table))

    def as_data(self) -> PlainData:
        """Return the pool's name, and its rows where it cannot be built by name."""
        meant = {} if self.of_class is None else {"of_class": self.of_class}
        if self.stored:
            return {"family": "classifier-rows", "name": self.label} | meant
        pool = self.build()
        rows = {"probabilities": pool.probabilities.tolist(), "labels": pool.labels.tolist()}
        return {"family": "rows", "name": self.label} | rows | meant


def by_class(thresholds: FloatArray, classes: int) -> FloatArray:
    """Return thresholds of each class, shape (m, K), of one for all, or of one for each.

    Raises
    ------
    DegenerateTargetError
        If there are others than K.

    Examples
    --------
    >>> by_class(np.array([0.5, 0.9]), 2)
    array([[0.5, 0.5],
           [0.9, 0.9]])
    """
    if thresholds.ndim == 1:
        return np.repeat(thresholds[:, None], classes, axis=1)
    if thresholds.shape[1] != classes:
        raise DegenerateTargetError(
            f"calibrate must return one threshold, or one for each of {classes} classes, got "
            f"{thresholds.shape[1]}: say how many classes there are (domain)"
        )
    return thresholds


def _at_most(values: FloatArray, thresholds: FloatArray, *, strict: bool) -> IntArray:
    """Return the number of sorted values at or below each threshold, or below it."""
    if strict:
        return np.searchsorted(values, thresholds, side="left")
    return np.searchsorted(values, thresholds, side="right")


def _each(cdf: Callable[[FloatArray], FloatArray], table: FloatArray) -> FloatArray:
    """Return a distribution function of every threshold of a table, each computed once."""
    values, where = np.unique(table, return_inverse=True)
    return cdf(values)[where].reshape(table.shape)


def _of_class(label: int | None) -> str:
    return "" if label is None else f", class {label}"


def _stretched(scores: FloatArray, low: float, high: float) -> FloatArray:
    """Return scores on [0, 1] as scores without bounds: odds, whose tails are heavy.

    Parameters
    ----------
    low, high : float
        Ends of the interval, at least one infinite. An atom at an end of [0, 1] becomes one at
        ±1e6.
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
