"""Experts of the guessing game: each learns log-odds of the coin from the rounds shown so far.

What an expert believes may be as wrong as it likes: it then guesses badly, and power is lost, never
the level. So that its log-odds can be compared with a claim, small counts are shrunk towards 0.

A fit of steps follows the noise of the rounds it was made of; the log-odds of most mechanisms
change slowly. The average over a fifth of the outputs, those nearest in rank, tells better where
they exceed a claim: on a Laplace release bets grow by a fifth faster, and a game of 1,800 outputs
of each input refutes 90 % of ε 54 times of 100 in place of 46.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln, logit

from dpcp_audit.audits.search.event_search import (
    Coordinate,
    DecimalPlaces,
    Feature,
    Ones,
    Rank,
    ScalarValue,
    feature_as_data,
    feature_from_data,
    quantile_cuts,
    squashed_score,
)
from dpcp_audit.stats.roots import level_starts

if TYPE_CHECKING:
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogOdds:
    """A step function of a feature: the log-odds that an output is of the first input.

    Parameters
    ----------
    feature : Feature
    cuts : ndarray, shape (m,)
        Increasing right ends of the first m cells of the feature's range.
    steps : ndarray, shape (m+1,)
        The log-odds on each cell; 0 where nothing is known, and then no guess is made.
    """

    feature: Feature
    cuts: FloatArray
    steps: FloatArray

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the log-odds of outputs of shape (size,) or (size, d)."""
        return self.at(self.feature(outputs))

    def at(self, values: FloatArray) -> FloatArray:
        """Return the log-odds where the feature has these values."""
        return self.steps[np.searchsorted(self.cuts, values, side="left")]

    def above(self, threshold: float) -> LogOdds:
        """Return the same to two decimals, with 0 where they are below ``threshold`` in size."""
        steps = np.where(np.abs(self.steps) >= threshold, np.round(self.steps, 2), 0.0)
        part = np.flatnonzero(np.diff(steps))  # cells of equal steps are one
        return LogOdds(
            feature=self.feature, cuts=self.cuts[part], steps=np.append(steps[part], steps[-1])
        )

    def as_data(self) -> PlainData:
        """Return the function as plain data."""
        return {
            "feature": feature_as_data(self.feature),
            "cuts": self.cuts.tolist(),
            "steps": self.steps.tolist(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> LogOdds:
        """Build the function that ``as_data`` wrote."""
        return cls(
            feature=feature_from_data(data["feature"]),
            cuts=np.asarray(data["cuts"], dtype=np.float64),
            steps=np.asarray(data["steps"], dtype=np.float64),
        )


_PRIORS = np.array([0.5, 2.0, 4.0, 16.0, 64.0])
"""Pseudo-counts, half of either coin, among which the likeliest shrinks the counts of cells."""
_PRIOR = 4.0
"""Those of a level of a half-line."""
_COORDINATES = 32
_BITS = (10, 24, 48)


Expert = Callable[["FloatArray", "BoolArray"], LogOdds]
"""Learns log-odds from the outputs of rounds and their coins; a true coin is the first input."""


def half_lines(feature: Feature, outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return log-odds that rise, or fall, with a feature: isotonic regression of the coin."""
    values, first, trials = _counts(feature(outputs), coins)
    fits: list[tuple[float, FloatArray, FloatArray]] = []
    for increasing in (True, False):
        starts = level_starts(first / trials, trials.astype(np.float64), increasing=increasing)
        hits, sizes = (np.add.reduceat(x, starts) for x in (first, trials))
        rates = (hits + _PRIOR / 2) / (sizes + _PRIOR)
        likelihood = float(hits @ np.log(rates) + (sizes - hits) @ np.log1p(-rates))
        fits.append((likelihood, values[starts[1:] - 1], logit(rates)))
    _, cuts, steps = max(fits, key=lambda one: one[0])
    return LogOdds(feature=feature, cuts=cuts, steps=steps)


def distinct_values(feature: Feature, outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return shrunk log-odds of a feature's values; 0 for any other, and if none came twice."""
    values, first, trials = _counts(feature(outputs), coins)
    if values.size == len(outputs):
        return LogOdds(feature=feature, cuts=np.zeros(0), steps=np.zeros(1))
    before = np.nextafter(values, -np.inf)
    lower = np.append(-np.inf, values[:-1])
    apart = before > lower  # a cell of unseen values lies between
    cuts, steps = np.concatenate([before[apart], values]), np.zeros(apart.sum())
    order = np.argsort(cuts, kind="stable")
    return LogOdds(
        feature=feature,
        cuts=cuts[order],
        steps=np.append(np.concatenate([steps, _shrunk(first, trials)])[order], 0.0),
    )


def quantile_cells(feature: Feature, outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return shrunk log-odds of cells of a feature between pooled quantiles."""
    values = feature(outputs)
    cuts = quantile_cuts(values)
    cells = np.searchsorted(cuts, values, side="left")
    first = _hits(cells, coins, cuts.size + 1)
    trials = np.bincount(cells, minlength=cuts.size + 1)
    return LogOdds(feature=feature, cuts=cuts, steps=_shrunk(first, trials))


def distinct_rows(outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return shrunk log-odds of the vectors that came up twice or more; 0 for any other."""
    rows, back, sizes = np.unique(outputs, axis=0, return_inverse=True, return_counts=True)
    again = sizes > 1
    first = _hits(back.reshape(-1), coins, len(rows))[again]
    return LogOdds(
        feature=Rank(rows[again]),
        cuts=np.arange(float(again.sum())),
        steps=np.append(_shrunk(first, sizes[again]), 0.0),
    )


def linear_score(outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return half-lines of a logistic regression on a vector's squashed coordinates."""
    return half_lines(squashed_score(outputs, coins), outputs, coins)


def settled(rule: LogOdds) -> Expert:
    """Return an expert that has made up its mind."""
    return lambda _outputs, _coins: rule


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
        return (
            linear_score,
            distinct_rows,
            *(partial(half_lines, Coordinate(i)) for i in columns),
        )
    value = ScalarValue()
    bits = () if bounds is None else tuple(Ones(bounds=bounds, rounds=r) for r in _BITS)
    parts: tuple[Feature, ...] = (DecimalPlaces(9), DecimalPlaces(6), *bits)
    return (
        partial(half_lines, value),
        partial(distinct_values, value),
        partial(quantile_cells, value),
        *(partial(distinct_values, feature) for feature in parts),
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


_WINDOW = 0.1
"""The share of the outputs on either side that an average is over."""
_CELLS = 200


def smoothed(expert: Expert, outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return an expert's log-odds, averaged over neighbouring outputs, constant between quantiles.

    The expert must know an order of the outputs, by a feature.
    """
    rule = expert(outputs, coins)
    values = np.sort(rule.feature(outputs))
    sums = np.append(0.0, np.cumsum(rule.at(values)))
    reach = max(1, round(_WINDOW * values.size))
    ranks = np.arange(values.size)
    first, last = np.maximum(ranks - reach, 0), np.minimum(ranks + reach + 1, values.size)
    means = (sums[last] - sums[first]) / (last - first)
    cuts = np.unique(values[np.linspace(0, values.size - 1, _CELLS).astype(np.int64)])
    ends = np.searchsorted(values, cuts, side="right")
    totals = np.diff(np.append(0.0, np.cumsum(means))[ends], prepend=0.0)
    steps = totals / np.diff(ends, prepend=0)
    return replace(rule, cuts=cuts, steps=np.append(steps, steps[-1]))


def smoothed_experts(
    outputs: FloatArray, *, bounds: tuple[float, float] | None
) -> tuple[Expert, ...]:
    """Return the experts that suit the outputs' shape, smoothed ones of those that know an order.

    Parameters
    ----------
    outputs : ndarray, shape (size,) or (size, d)
    bounds : tuple of float or None
        The interval of a bisection.
    """
    experts = experts_for(outputs, bounds=bounds)
    ordered = [each for each in experts if _of(each) in {half_lines, linear_score}]
    return (*(partial(smoothed, each) for each in ordered), *experts)


def _of(expert: Expert) -> Callable[..., LogOdds]:
    """Return the function that an expert is, whatever its feature."""
    return expert.func if isinstance(expert, partial) else expert
