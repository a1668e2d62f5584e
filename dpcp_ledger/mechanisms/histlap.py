"""Two ways to calibrate that papers compare with: split conformal, without privacy, and HistLap.

HistLap is the quantile of a histogram with Laplace noise (P-COQS paper, Section 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import PureDP, Relation
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import LaplacePair
from dpcp_audit.extensions.mechanisms import (
    ThresholdTrials,
    bin_index,
    conformal_rank,
    drawn_mass,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray, IntArray
    from dpcp_audit.extensions.laws import Population


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitConformal:
    """Split conformal prediction (Vovk et al. 2005; Papadopoulos et al. 2002).

    The threshold is the r-th smallest calibration score, or +∞ where r = n + 1.
    """

    alpha: float

    def threshold(self, scores: ArrayLike) -> float:
        """Return the conformal threshold of the scores, shape (n,)."""
        values = _validate.scores(scores)
        rank = conformal_rank(values.size, alpha=self.alpha)
        return math.inf if rank > values.size else float(np.partition(values, rank - 1)[rank - 1])

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> ThresholdTrials:
        """Calibrate ``trials`` times on n fresh i.i.d. scores, drawing one number a trial.

        In terms of U = F(S) the r-th smallest score is Beta(r, n+1−r).
        """
        generator = _validate.generator(rng)
        rank = conformal_rank(n, alpha=self.alpha)
        if rank > n:
            return ThresholdTrials(np.full(trials, np.inf), np.ones(trials))
        threshold = population.quantile(generator.beta(rank, n + 1 - rank, size=trials))
        return ThresholdTrials(threshold, population.cdf(threshold))


_CHUNK_CELLS = 20_000
"""Counts that are held at a time: they stay in the processor's cache."""


class EmptyHistogram(StrEnum):
    """The output of HistLap where no noisy count is positive."""

    UPPER_BOUND = "upper-bound"
    """b, which covers all."""
    MEDIAN = "median"
    """The median of the scores, without noise: the published code, and not private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistLap:
    """A private threshold from a noisy histogram of the scores.

    Laplace noise is added to every bin count and negative counts are set to 0; the threshold
    is where their cumulated share, linear inside a bin, reaches 1−α. The paper gives no algorithm;
    this is what reproduces its tables.

    Parameters
    ----------
    alpha : float
        Miscoverage level in (0, 1); the target level is 1−α, without a "+1".
    epsilon : float
        Privacy parameter ε > 0.
    n_bins : int
        Number of equal bins.
    bounds : tuple of float
        The public interval [a, b] that holds every score.
    noise : Relation
        The neighbours that the noise is made for: one score's substitution moves two counts
        (scale 2/ε), adding or removing it moves one (scale 1/ε).
    empty : EmptyHistogram
        The value to return where no noisy count is positive.
    """

    alpha: float
    epsilon: float
    n_bins: int = 50
    bounds: tuple[float, float] = (0.0, 1.0)
    noise: Relation = Relation.SUBSTITUTION
    empty: EmptyHistogram = EmptyHistogram.UPPER_BOUND

    @property
    def guarantee(self) -> PureDP:
        """ε-DP, under the relation that ``noise`` names; not kept where ``empty`` is the median."""
        return PureDP(self.epsilon)

    @property
    def noise_scale(self) -> float:
        """The scale of the Laplace noise, in counts."""
        return (2.0 if self.noise is Relation.SUBSTITUTION else 1.0) / self.epsilon

    @property
    def edges(self) -> FloatArray:
        """The edges of the bins, shape (n_bins + 1,)."""
        return np.linspace(*self.bounds, self.n_bins + 1)

    def histogram_pair(self, relation: Relation) -> LaplacePair:
        """Return the exact laws of the noisy histogram on the worst neighbours of a relation.

        Adding, removing or zeroing out a score moves one count. Substitution, or another label
        (which gives its record another score), moves one count down and another up; with a
        single bin it moves none, and is refused.
        """
        shift = 1 / self.noise_scale
        if relation in {Relation.ADD_REMOVE, Relation.ZERO_OUT}:
            return LaplacePair((shift,))
        return LaplacePair((shift, shift))

    def sample_histogram(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` noisy histograms of the same scores, before negatives are set to 0.

        Returns
        -------
        ndarray, shape (size, n_bins)
        """
        values = _validate.scores(scores, within=self.bounds)
        counts = np.bincount(bin_index(values, self.edges), minlength=self.n_bins)
        return self._noisy(np.broadcast_to(counts, (size, self.n_bins)), _validate.generator(rng))

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same scores, shape (n,).

        Returns
        -------
        ndarray, shape (size,)
        """
        histograms = self.sample_histogram(scores, size, rng=rng)
        found = self.threshold(histograms)
        if self.empty is EmptyHistogram.MEDIAN:
            found = np.where((histograms <= 0).all(axis=1), np.median(np.asarray(scores)), found)
        return found

    def threshold(self, histograms: FloatArray) -> FloatArray:
        """Return the thresholds of noisy histograms, shape (size, n_bins) to (size,).

        It is b where no count is positive.
        """
        cumulative = np.cumsum(np.maximum(histograms, 0.0), axis=1)
        total = cumulative[:, -1:]
        level = (1 - self.alpha) * total
        at = np.minimum(np.sum(cumulative < level, axis=1, keepdims=True), self.n_bins - 1)
        upper = np.take_along_axis(cumulative, at, axis=1)
        lower = np.where(at > 0, np.take_along_axis(cumulative, np.maximum(at - 1, 0), axis=1), 0)
        empty = total == 0
        inside = (level - lower) / np.where(empty, 1.0, upper - lower)
        low, high = self.bounds
        result = low + (high - low) * (at + inside) / self.n_bins
        return np.where(empty, high, np.minimum(result, high))[:, 0]

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> ThresholdTrials:
        """Run the mechanism ``trials`` times, each on n fresh i.i.d. scores.

        Only the bin counts are drawn, so that the cost of a trial does not grow with n; they do
        not tell the scores' median.
        """
        if self.empty is EmptyHistogram.MEDIAN:
            raise ValueError("empty must be upper-bound for trials, which draw bin counts alone")
        generator = _validate.generator(rng)
        mass = drawn_mass(population, self.edges, n=n, trials=trials)
        rows = max(1, _CHUNK_CELLS // self.n_bins)
        parts: list[FloatArray] = []
        for start in range(0, trials, rows):
            counts = generator.multinomial(n, mass, size=min(rows, trials - start))
            parts.append(self.threshold(self._noisy(counts, generator)))
        threshold = np.concatenate(parts)
        return ThresholdTrials(threshold, population.cdf(threshold))

    def _noisy(self, counts: IntArray, rng: np.random.Generator) -> FloatArray:
        return counts + rng.laplace(scale=self.noise_scale, size=counts.shape)
