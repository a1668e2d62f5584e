"""A partition of the outputs by a learned likelihood ratio: chosen on pilots, counted on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.guessing.experts import DistinctValues, HalfLines, experts_for
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from dpcp_audit.audits.guessing.experts import Expert, LogOdds
    from dpcp_audit.audits.search.features import Feature
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray
    from dpcp_audit.words.results import PlainData

_MIDDLE = (0.1, 0.2, 0.35, 0.5)
_STEP = 3.0
_FEWEST = 40
"""Outputs of either input that a cell at an end should hold."""
_MOST = 20_000
"""Outputs of either input that a partition is learned from."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutputPartition:
    """Cells of outputs whose learned log-odds are alike, the first input's likeliest in front.

    Parameters
    ----------
    log_odds : LogOdds
        Learned from pilot outputs.
    edges : ndarray, shape (m − 1,)
        Decreasing log-odds: a cell holds those from its edge up to the one before.
    """

    log_odds: LogOdds
    edges: FloatArray

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.edges.size + 1

    def counts(self, outputs: FloatArray) -> IntArray:
        """Return how many outputs lie in each cell, shape (m,)."""
        cells = np.searchsorted(-self.edges, -self.log_odds(outputs), side="left")
        return np.bincount(cells, minlength=self.size)

    def as_data(self) -> PlainData:
        """Return the partition as plain data."""
        return {"log_odds": self.log_odds.as_data(), "edges": self.edges.tolist()}


def learn_partition(
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    trials: int,
    bounds: tuple[float, float] | None = None,
    feature: Feature | None = None,
) -> OutputPartition:
    """Return the partition of the expert that predicts the input best on every other output.

    Parameters
    ----------
    outputs, neighbour_outputs : ndarray, shape (size,) or (size, d)
        Pilot outputs of either input, equally many.
    trials : int
        Outputs of either input that will be counted: the more, the finer the cells at both ends.
    bounds : tuple of float or None
        The interval that a bisecting target would start from.
    feature : Feature or None
        A number to look at beside those that suit the outputs' shape.
    """
    _validate.integer(trials=trials, at_least=1)
    size = min(len(outputs), len(neighbour_outputs), _MOST)
    pooled = np.concatenate([outputs[:size], neighbour_outputs[:size]])
    coins = np.arange(2 * size) < size
    chosen = () if feature is None else (HalfLines(feature), DistinctValues(feature))
    able: list[Expert] = [*experts_for(pooled, bounds=bounds), *chosen]
    best = max(able, key=lambda expert: _predicts(expert, pooled, coins))
    learned = best(pooled, coins)
    return OutputPartition(log_odds=learned, edges=_edges(learned(pooled), trials))


def _predicts(expert: Expert, pooled: FloatArray, coins: BoolArray) -> float:
    """Return the log-likelihood of the coins of one half, as learned from the other."""
    belief = expert(pooled[::2], coins[::2])(pooled[1::2])
    signed = np.where(coins[1::2], belief, -belief)
    return -float(np.logaddexp(0.0, -signed).sum())


def _edges(log_odds: FloatArray, trials: int) -> FloatArray:
    """Return the edges of cells by their share of the pooled outputs: small ones at both ends."""
    levels, counts = np.unique(-log_odds, return_counts=True)
    reached = np.cumsum(counts) / log_odds.size
    least = max(_FEWEST / trials, 2 * _FEWEST / log_odds.size)
    tail: list[float] = []
    while least < _MIDDLE[0] / 2:
        tail.append(least)
        least *= _STEP
    shares = np.array([*tail, *_MIDDLE])
    from_top = np.searchsorted(reached, shares * (1 - 1e-12), side="left")
    below = 1 - reached + counts / log_odds.size
    from_bottom = levels.size - 2 - np.searchsorted(below[::-1], shares * (1 - 1e-12), side="left")
    ends = np.unique(np.concatenate([from_top, from_bottom]))
    return np.asarray(-levels[ends[(ends >= 0) & (ends < levels.size - 1)]])
