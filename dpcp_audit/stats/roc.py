"""Concave ROC curves of two laws, and a confidence band for one over a finite partition.

The Neyman–Pearson curve of two laws is concave from (0, ·) to (1, 1). One that lies above another
everywhere is of laws that are easier to tell apart: every divergence of them is at least as large
(Blackwell's order).

The cells are ordered beforehand. The lower curve passes below the limits of the m − 1 unions of
first cells: whatever the true order is, their points lie below the true curve.

The upper curve needs no order. Let E₁, …, E_{m−1} be the unions that the true likelihood ratio
orders, whose points are the corners of the true curve. They are unknown but fixed, so that each
has binomial counts, and its empirical point lies below the curve T̂ of the counts in *their* best
order. If its rates lie within their limits, the corner lies below the curve that takes each point
(y, T̂(y)) to (lower limit of y, upper limit of T̂(y)), however many cells there are to choose from.
Limits of all cells' ratios also bound the slopes at both ends.

The limits are Clopper–Pearson's; those of an event's two counts share its error by Fisher's method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpcp_audit.stats.rates import lower_limits, upper_limits
from dpcp_audit.stats.roots import find_root
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import FloatArray, IntArray


_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocCurve:
    """A concave, piecewise linear curve.

    Parameters
    ----------
    fpr : ndarray, shape (k,)
        Increasing false-positive rates of the corners, from 0 to 1.
    tpr : ndarray, shape (k,)
        The true-positive rates there; the last one is 1.

    Examples
    --------
    >>> curve = RocCurve.hull([0.1], [0.5])
    >>> curve.fpr.tolist(), curve.tpr.tolist(), float(curve.at(0.05))
    ([0.0, 0.1, 1.0], [0.0, 0.5, 1.0], 0.25)
    """

    fpr: FloatArray
    tpr: FloatArray

    @classmethod
    def hull(cls, fpr: ArrayLike, tpr: ArrayLike) -> RocCurve:
        """Return the least concave curve above points, (0, 0) and (1, 1) among them."""
        x, y = np.append(fpr, [0.0, 1.0]), np.append(tpr, [0.0, 1.0])
        order = np.lexsort((-y, x))
        kept: list[tuple[float, float]] = []
        for point in zip(x[order].tolist(), y[order].tolist(), strict=True):
            if kept and (point[0] == kept[-1][0] or (point[1] <= kept[-1][1] and point[0] < 1)):
                continue
            while len(kept) > 1 and _turns_up(kept[-2], kept[-1], point):
                kept.pop()
            kept.append(point)
        corners = np.array(kept)
        return cls(fpr=corners[:, 0], tpr=corners[:, 1])

    @classmethod
    def below(cls, lines: Sequence[tuple[float, float]]) -> RocCurve:
        """Return the largest curve below lines, each an intercept and a slope, both >= 0.

        A curve lies below 1, too; one of the lines may say so by passing through (1, 1).
        """
        ending = [slope for intercept, slope in lines if intercept + slope <= 1 + _ROUNDING]
        flattest = max(ending, default=0.0)  # flatter ones lie above that line
        kept_lines = [line for line in lines if line[1] >= flattest]
        whole = [] if ending else [(1.0, 0.0)]
        intercepts, slopes = (np.array(part) for part in zip(*kept_lines, *whole, strict=True))
        order = np.lexsort((intercepts, -slopes))
        kept: list[tuple[float, float]] = []
        starts: list[float] = []
        for intercept, slope in zip(intercepts[order], slopes[order], strict=True):
            line = float(intercept), float(slope)
            if kept and (slope == kept[-1][1] or not np.isfinite(slope)):
                continue
            while kept and _crossing(kept[-1], line) <= starts[-1]:
                kept.pop()
                starts.pop()
            starts.append(_crossing(kept[-1], line) if kept else 0.0)
            kept.append(line)
        x = np.array([*(start for start in starts if start < 1), 1.0])
        y = np.min([a + b * x for a, b in kept], axis=0)
        return cls.hull(x, np.minimum(y, 1.0))

    @property
    def lines(self) -> list[tuple[float, float]]:
        """The lines through its edges, each an intercept and a slope."""
        slopes = np.diff(self.tpr) / np.diff(self.fpr)
        return list(
            zip((self.tpr[1:] - slopes * self.fpr[1:]).tolist(), slopes.tolist(), strict=True)
        )

    @property
    def masses(self) -> tuple[FloatArray, FloatArray]:
        """The masses of two laws whose curve it is, the likeliest outcome of the first in front."""
        p, q = np.diff(self.tpr, prepend=0.0), np.diff(self.fpr, prepend=0.0)
        live = (p > 0) | (q > 0)
        return p[live], q[live]

    def at(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest true-positive rate at each rate of false positives."""
        return np.interp(_validate.reals(fpr, name="fpr"), self.fpr, self.tpr)


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Return True if the middle one of three points lies on or below the line of the others."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def _crossing(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return the point at which a line meets a steeper one."""
    return (second[0] - first[0]) / (first[1] - second[1])


_EVEN, _TAIL = 400, 120
"""Counts at which the upper curve is evaluated: evenly spread ones, and ever closer ones towards
either end. Between them it is rounded upward."""


_STEPS = 6
"""Splits of an error between two limits."""
_Errors: TypeAlias = tuple[float, float]
"""The error probabilities of a limit of the first law's rate, and of the second's."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _RocBand:
    """A curve with its band, and each cell's log-ratio with its limits.

    Parameters
    ----------
    least, found, most : RocCurve
        The truth lies between ``least`` and ``most`` everywhere, with the band's confidence.
    ratios : ndarray, shape (3, m)
        log(p/q) of each cell, and its limits: estimate, lower, upper.
    """

    least: RocCurve
    found: RocCurve
    most: RocCurve
    ratios: FloatArray


def roc_band(first: ArrayLike, second: ArrayLike, *, significance: float) -> _RocBand:
    """Return the band of cells that are ordered, those likelier on the first law in front.

    Parameters
    ----------
    first, second : array_like of int, shape (m,)
        Independent multinomial counts of the cells under either law.
    significance : float
        The probability that any part of the band is wrong is at most this: half below, half above.

    Examples
    --------
    >>> band = roc_band([600, 300, 100], [100, 300, 600], significance=0.05)
    >>> [round(float(each.at(0.1)), 2) for each in (band.least, band.found, band.most)]
    [0.45, 0.6, 0.66]
    """
    x, y = _counts(first, "first"), _counts(second, "second")
    if x.shape != y.shape:
        raise ValueError(f"second must have the cells of first, got {y.size} and {x.size}")
    _validate.open_unit(significance=significance)
    corners = x.size - 1
    below = _splits(significance / 2 / max(1, corners))
    above = _splits(significance / 2 / (corners + 2 * x.size))
    ratios = _ratios(x, y, above)
    return _RocBand(
        least=_least(x, y, below),
        found=RocCurve.hull(np.cumsum(_shares(y))[:-1], np.cumsum(_shares(x))[:-1]),
        most=_most(x, y, above, ratios),
        ratios=ratios,
    )


def log_ratio_limits(first: ArrayLike, second: ArrayLike, *, significance: float) -> FloatArray:
    """Return log(p/q) of each cell with limits that all hold at once, shape (3, m).

    Parameters
    ----------
    first, second : array_like of int, shape (m,)
        Independent multinomial counts of the cells under either law, in any order.

    Returns
    -------
    ndarray, shape (3, m)
        Estimates, lower and upper limits; infinite where a count is 0.
    """
    x, y = _counts(first, "first"), _counts(second, "second")
    _validate.open_unit(significance=significance)
    return _ratios(x, y, _splits(significance / (2 * x.size)))


def _counts(counts: ArrayLike, name: str) -> IntArray:
    array = np.asarray(counts)
    if array.ndim != 1 or not array.size or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be whole numbers of shape (m,), got {counts!r}")
    if array.min() < 0 or not array.sum() > 0:
        raise ValueError(f"{name} must be >= 0 and not all 0, got {counts!r}")
    return array.astype(np.int64)


def _shares(counts: IntArray) -> FloatArray:
    """Return the cells' shares, where none of a count stands for half of one."""
    smoothed = np.maximum(counts, 0.5)
    return np.asarray(smoothed / smoothed.sum())


def _splits(error: float) -> list[_Errors]:
    """Return errors of two limits: of all these pairs at least one holds, but for ``error``.

    Two independent p-values have P(UV ≤ c) ≤ c·(1 − log c), here the ``error``. Where
    UV > c, a step u ≤ U ≤ u′ of a grid from c to 1 has V > c/u′. Two counts are seldom unlucky at
    once, so that the limits are closer together than at half of the error each.
    """
    log_c = find_root(lambda x: x + math.log1p(-x) - math.log(error), -750.0, 0.0)
    ends = np.exp(log_c * np.linspace(1.0, 0.0, _STEPS + 1)).tolist()
    return [(u, math.exp(log_c) / following) for u, following in pairwise(ends)]


def _least(x: IntArray, y: IntArray, splits: Sequence[_Errors]) -> RocCurve:
    """Return the hull of what is certain of each union of first cells, whichever split holds."""
    n, n_prime, p_sums, q_sums = int(x.sum()), int(y.sum()), np.cumsum(x)[:-1], np.cumsum(y)[:-1]
    low = np.array([lower_limits(p_sums, n, u) for u, _ in splits])
    high = np.array([upper_limits(q_sums, n_prime, v) for _, v in splits])
    certain: list[RocCurve] = [
        RocCurve.below(
            [line for q, p in zip(*ends, strict=True) for line in RocCurve.hull([q], [p]).lines]
        )
        for ends in zip(high.T.tolist(), low.T.tolist(), strict=True)
    ]
    return RocCurve.hull(
        np.concatenate([np.zeros(1), *(curve.fpr for curve in certain)]),
        np.concatenate([np.zeros(1), *(curve.tpr for curve in certain)]),
    )


def _ratios(x: IntArray, y: IntArray, splits: Sequence[_Errors]) -> FloatArray:
    n, n_prime = int(x.sum()), int(y.sum())
    with np.errstate(divide="ignore"):
        lower = [
            np.log(lower_limits(x, n, u)) - np.log(upper_limits(y, n_prime, v)) for u, v in splits
        ]
        upper = [
            np.log(upper_limits(x, n, u)) - np.log(lower_limits(y, n_prime, v)) for u, v in splits
        ]
        found = np.log(_shares(x)) - np.log(_shares(y))
    return np.stack([found, np.min(lower, axis=0), np.max(upper, axis=0)])


def _most(x: IntArray, y: IntArray, splits: Sequence[_Errors], ratios: FloatArray) -> RocCurve:
    n, n_prime = int(x.sum()), int(y.sum())
    with np.errstate(divide="ignore", invalid="ignore"):  # an empty cell adds nothing, at the end
        order = np.argsort(-x / y, kind="stable")
    empirical = RocCurve.hull(np.cumsum(y[order]) / n_prime, np.cumsum(x[order]) / n)
    grid = _grid(n_prime)
    starts = np.append(0, grid[:-1] + 1)  # the smallest count that a step of the grid holds
    reached = np.floor(empirical.at(grid / n_prime) * n + 1e-6).astype(np.int64)
    hits = np.minimum(reached, n)
    q_low = np.concatenate([lower_limits(starts, n_prime, v) for _, v in splits])
    p_high = np.concatenate([upper_limits(hits, n, u) for u, _ in splits])
    return RocCurve.below([*RocCurve.hull(q_low, p_high).lines, *_caps(ratios)])


def _grid(trials: int) -> IntArray:
    """Return counts from 0 to all, dense at both ends."""
    tail = np.geomspace(1, max(1, trials // 4), _TAIL).astype(np.int64)
    even = np.linspace(0, trials, _EVEN + 1).astype(np.int64)
    return np.unique(np.concatenate([even, tail, trials - tail]))


def _caps(ratios: FloatArray) -> list[tuple[float, float]]:
    """Return the lines that ratios between e^(−b) and e^a allow, where these are finite."""
    above, below = float(ratios[2].max()), float(-ratios[1].min())
    caps = [(0.0, math.exp(above))] if above < 600 else []
    return [*caps, (-math.expm1(-below), math.exp(-below))] if below < 600 else caps
