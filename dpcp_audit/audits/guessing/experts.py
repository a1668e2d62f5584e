"""Experts: each learns log-odds of the coin from the rounds that have been shown.

What an expert believes may be as wrong as it likes: it then guesses badly, and power is lost, never
the level. So that its log-odds can be compared with a claim, small counts are shrunk towards 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import betaln, logit

from dpcp_audit.audits.guessing.log_odds import LogOdds
from dpcp_audit.audits.search.event_search import quantile_cuts
from dpcp_audit.audits.search.features import (
    Coordinate,
    Feature,
    Ones,
    Rank,
    ScalarValue,
)
from dpcp_audit.audits.search.float_features import DecimalPlaces, LastBits, TrailingZeros
from dpcp_audit.audits.search.squashed_scores import squashed_score
from dpcp_audit.stats.isotonic import level_starts

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray

_PRIORS = np.array([0.5, 2.0, 4.0, 16.0, 64.0])
"""Pseudo-counts, half of either coin, among which the likeliest shrinks the counts of cells."""
_PRIOR = 4.0
"""Those of a level of a half-line."""
_COORDINATES = 32
_BITS = (10, 24, 48)


class Expert(Protocol):
    """Learns log-odds."""

    def __call__(self, outputs: FloatArray, coins: BoolArray, /) -> LogOdds:
        """Return the log-odds that rounds so far suggest; a true coin is the first input."""
        ...


@dataclass(frozen=True, slots=True)
class HalfLines:
    """Log-odds that rise, or fall, with a feature: isotonic regression of the coin."""

    feature: Feature

    def __call__(self, outputs: FloatArray, coins: BoolArray, /) -> LogOdds:
        """Return the likelier of the rising and the falling one."""
        values, first, trials = _counts(self.feature(outputs), coins)
        fits: list[tuple[float, FloatArray, FloatArray]] = []
        for increasing in (True, False):
            starts = level_starts(first / trials, trials.astype(np.float64), increasing=increasing)
            hits, sizes = (np.add.reduceat(x, starts) for x in (first, trials))
            rates = (hits + _PRIOR / 2) / (sizes + _PRIOR)
            likelihood = float(hits @ np.log(rates) + (sizes - hits) @ np.log1p(-rates))
            fits.append((likelihood, values[starts[1:] - 1], logit(rates)))
        _, cuts, steps = max(fits, key=lambda one: one[0])
        return LogOdds(feature=self.feature, cuts=cuts, steps=steps)


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """Log-odds of every distinct value of a feature, whatever their number."""

    feature: Feature

    def __call__(self, outputs: FloatArray, coins: BoolArray, /) -> LogOdds:
        """Return shrunk log-odds of the values seen; 0 for any other, and if none came twice."""
        values, first, trials = _counts(self.feature(outputs), coins)
        if values.size == len(outputs):
            return LogOdds(feature=self.feature, cuts=np.zeros(0), steps=np.zeros(1))
        before = np.nextafter(values, -np.inf)
        lower = np.append(-np.inf, values[:-1])
        apart = before > lower  # a cell of unseen values lies between
        cuts, steps = np.concatenate([before[apart], values]), np.zeros(apart.sum())
        order = np.argsort(cuts, kind="stable")
        return LogOdds(
            feature=self.feature,
            cuts=cuts[order],
            steps=np.append(np.concatenate([steps, _shrunk(first, trials)])[order], 0.0),
        )


@dataclass(frozen=True, slots=True)
class QuantileCells:
    """Log-odds of cells of a feature between pooled quantiles."""

    feature: Feature

    def __call__(self, outputs: FloatArray, coins: BoolArray, /) -> LogOdds:
        """Return shrunk log-odds of the cells."""
        values = self.feature(outputs)
        cuts = quantile_cuts(values)
        cells = np.searchsorted(cuts, values, side="left")
        first = _hits(cells, coins, cuts.size + 1)
        trials = np.bincount(cells, minlength=cuts.size + 1)
        return LogOdds(feature=self.feature, cuts=cuts, steps=_shrunk(first, trials))


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """Log-odds of every distinct vector."""

    def __call__(self, outputs: FloatArray, coins: BoolArray, /) -> LogOdds:
        """Return shrunk log-odds of the vectors that came up twice or more; 0 for any other."""
        rows, back, sizes = np.unique(outputs, axis=0, return_inverse=True, return_counts=True)
        again = sizes > 1
        first = _hits(back.reshape(-1), coins, len(rows))[again]
        return LogOdds(
            feature=Rank(rows[again]),
            cuts=np.arange(float(again.sum())),
            steps=np.append(_shrunk(first, sizes[again]), 0.0),
        )


@dataclass(frozen=True, slots=True)
class LinearScore:
    """For vectors: half-lines of a logistic regression on squashed coordinates."""

    def __call__(self, outputs: FloatArray, coins: BoolArray, /) -> LogOdds:
        """Fit the score, and the half-lines of it."""
        return HalfLines(squashed_score(outputs, coins))(outputs, coins)


@dataclass(frozen=True, slots=True)
class Settled:
    """An expert that has made up its mind."""

    log_odds: LogOdds

    def __call__(self, _outputs: FloatArray, _coins: BoolArray, /) -> LogOdds:
        """Return what it has always believed."""
        return self.log_odds


def experts_for(
    outputs: FloatArray, *, bounds: tuple[float, float] | None = None
) -> tuple[Expert, ...]:
    """Return the experts that suit the outputs' shape.

    Parameters
    ----------
    outputs : ndarray, shape (size,) or (size, d)
    bounds : tuple of float or None
        The interval of a bisection, whose bits are looked at too.
    """
    if outputs.ndim == 2:
        columns = range(min(_COORDINATES, outputs.shape[1]))
        return (LinearScore(), DistinctRows(), *(HalfLines(Coordinate(i)) for i in columns))
    value = ScalarValue()
    bits = () if bounds is None else tuple(Ones(bounds=bounds, rounds=r) for r in _BITS)
    parts: tuple[Feature, ...] = (LastBits(), TrailingZeros(), DecimalPlaces(), *bits)
    return (
        HalfLines(value),
        DistinctValues(value),
        QuantileCells(value),
        *(DistinctValues(feature) for feature in parts),
    )


def _counts(values: FloatArray, coins: BoolArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the distinct values, how often either coin came up with each, and how often both."""
    listed, back, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return listed, _hits(back, coins, listed.size), sizes


def _hits(cells: IntArray, coins: BoolArray, count: int) -> FloatArray:
    """Return how often the coin was true in each of so many cells."""
    return np.asarray(np.bincount(cells, weights=coins, minlength=count), dtype=np.float64)


def _shrunk(first: FloatArray, trials: IntArray) -> FloatArray:
    """Return log-odds with the symmetric beta prior under which the counts are likeliest."""
    half = _PRIORS[:, None] / 2
    evidence = betaln(first + half, trials - first + half) - betaln(half, half)
    prior = float(_PRIORS[int(np.argmax(evidence.sum(axis=1)))])
    return np.asarray(np.log(first + prior / 2) - np.log(trials - first + prior / 2))
