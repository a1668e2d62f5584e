"""A confidence band for the ROC curve of two laws over a finite partition, from counts.

The cells are ordered beforehand. The lower curve passes below the Clopper–Pearson limits of the
m − 1 unions of first cells: whatever the true order is, their points lie below the true curve.

The upper curve needs no order. Let E₁, …, E_{m−1} be the unions that the true likelihood ratio
orders, whose points are the corners of the true curve. They are unknown but fixed, so that each
has binomial counts, and its empirical point lies below the curve T̂ of the counts in *their* best
order. If its rates lie within their limits, the corner lies below the curve that takes each point
(y, T̂(y)) to (lower limit of y, upper limit of T̂(y)), however many cells there are to choose from.
Limits of all cells' ratios also bound the slopes at both ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.stats.roc_curve import RocCurve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray, IntArray

_EVEN, _TAIL = 600, 240
"""Counts at which the upper curve is evaluated: evenly spread ones, and ever closer ones towards
either end. Between them it is rounded upward."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocBand:
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


def roc_band(first: ArrayLike, second: ArrayLike, *, significance: float) -> RocBand:
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
    [0.44, 0.6, 0.68]
    """
    x, y = _counts(first, "first"), _counts(second, "second")
    if x.shape != y.shape:
        raise ValueError(f"second must have the cells of first, got {y.size} and {x.size}")
    _validate.open_unit(significance=significance)
    corners = x.size - 1
    below, above = (
        significance / 2 / max(1, 2 * corners),
        significance / 2 / (2 * corners + 4 * x.size),
    )
    ratios = _ratios(x, y, above)
    return RocBand(
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
    return _ratios(x, y, significance / (4 * x.size))


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


def _limits(counts: IntArray, trials: int, error: float) -> tuple[FloatArray, FloatArray]:
    """Return limits that are each wrong with probability at most ``error``."""
    return clopper_pearson(counts, trials, significance=2 * error)


def _least(x: IntArray, y: IntArray, error: float) -> RocCurve:
    if x.size == 1:
        return RocCurve.hull([], [])
    p_low, _ = _limits(np.cumsum(x)[:-1], int(x.sum()), error)
    _, q_high = _limits(np.cumsum(y)[:-1], int(y.sum()), error)
    return RocCurve.hull(q_high, p_low)


def _ratios(x: IntArray, y: IntArray, error: float) -> FloatArray:
    (p_low, p_high), (q_low, q_high) = (_limits(c, int(c.sum()), error) for c in (x, y))
    with np.errstate(divide="ignore"):
        rows = [np.log(a) - np.log(b) for a, b in ((p_low, q_high), (p_high, q_low))]
        return np.stack([np.log(_shares(x)) - np.log(_shares(y)), *rows])


def _most(x: IntArray, y: IntArray, error: float, ratios: FloatArray) -> RocCurve:
    n, n_prime = int(x.sum()), int(y.sum())
    with np.errstate(divide="ignore", invalid="ignore"):  # a cell may be empty: last
        order = np.argsort(-(x / n) / (y / n_prime), kind="stable")
    empirical = RocCurve.hull(np.cumsum(y[order]) / n_prime, np.cumsum(x[order]) / n)
    grid = _grid(n_prime)
    starts = np.append(0, grid[:-1] + 1)  # the smallest count that a step of the grid holds
    reached = np.floor(empirical.at(grid / n_prime) * n + 1e-6).astype(np.int64)
    q_low, _ = _limits(starts, n_prime, error)
    _, p_high = _limits(np.minimum(reached, n), n, error)
    edges = RocCurve.hull(q_low, p_high).lines
    return RocCurve.below([*edges, *_caps(ratios)])


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
