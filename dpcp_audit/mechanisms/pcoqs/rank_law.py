"""The exact law of the rank at which P-COQS's search ends, on given scores.

Also for scores in random order of which one is held out for testing: the noise being the same
whichever it is, all of them walk together until a noisy count lies between the two counts that
they see, one with and one without the score that is held out. Then the scores up to the midpoint
are covered and the others are not. Intervals without scores are followed no further, so that the
tree has at most about as many leaves as there are scores, and only those are pruned that are
reached with probability 0 in floating point.

The rank that a noisy binary search must aim at, so that its upper end keeps a coverage.

The search releases the upper end of its bracket, min(b, q̂ + Δ), which is post-processing. That end
is b, or a midpoint whose noisy count reached the rank r, so that at least r − M scores lie at or
below it, M the largest noise of the N rounds, which does not depend on the scores. With
j = ⌈r − M⌉ the end is at least the j-th smallest score, or b: a new exchangeable score is covered
with probability at least j/(n+1), whatever the ties and Δ are, and the mean of that over M, of law
P(M ≤ t) = Φ(t/σ)^N, is promised. Of i.i.d. scores of law F, F at the j-th smallest score is at
least a Beta(j, n+1−j) variable. Corollary 1 of P-COQS needs M(Δ), and more ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, log_ndtr, ndtr

from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.mechanisms.pcoqs.release import PCOQS
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


class RankLaw(NamedTuple):
    """A law of ranks.

    Attributes
    ----------
    rank, mass : ndarray, shape (m,)
        Numbers of scores at or below the threshold, and their probabilities; ranks may repeat.
    """

    rank: FloatArray
    mass: FloatArray

    def probability(self, event: BoolArray) -> float:
        """Return the mass of the ranks in ``event``, shape (m,)."""
        return min(1.0, float(self.mass[event].sum()))


class _Nodes(NamedTuple):
    left: FloatArray
    right: FloatArray
    mass: FloatArray

    def where(self, keep: BoolArray) -> _Nodes:
        return _Nodes(*(part[keep] for part in self))


def rank_law(mechanism: PCOQS, scores: ArrayLike) -> RankLaw:
    """Return the law of #{s ≤ q} for the threshold q calibrated on ``scores``, shape (n,)."""
    values = np.sort(_validate.scores(scores, within=mechanism.bounds))
    return _follow(mechanism, values, mechanism.rank(values.size), held_out=False)


def held_out_law(mechanism: PCOQS, scores: ArrayLike) -> RankLaw:
    """Return the law, over the noise, of how many of n + 1 scores are covered when held out.

    Given the noise, the coverage of scores in random order is that number over n + 1.

    Parameters
    ----------
    scores : array_like, shape (n + 1,)
        A finite population: in each order, the last is tested and the others calibrate.
    """
    values = np.sort(_validate.scores(scores, within=mechanism.bounds))
    _validate.integer(population_size=values.size, at_least=2)
    return _follow(mechanism, values, mechanism.rank(values.size - 1), held_out=True)


def _follow(mechanism: PCOQS, values: FloatArray, rank: int, *, held_out: bool) -> RankLaw:
    low, high = mechanism.bounds
    nodes = _Nodes(np.array([low]), np.array([high]), np.ones(1))
    ends: list[tuple[FloatArray, FloatArray]] = []
    for done in range(mechanism.rounds):
        drift = (mechanism.rounds - done) * mechanism.resolution
        first, last = np.minimum(nodes.left, nodes.right), np.maximum(nodes.left, nodes.right)
        seen = _counts(values, first)
        settled = seen == _counts(values, last + drift)
        ends.append((seen[settled], nodes.mass[settled]))
        nodes = nodes.where(~settled & (nodes.mass > 0))
        middle = (nodes.left + nodes.right) / 2
        count = _counts(values, middle)
        below, apart, least = _answers(
            (rank - count) / mechanism.noise_scale, mechanism, held_out=held_out
        )
        ends.append((count, nodes.mass * apart))
        nodes = _Nodes(
            np.concatenate([middle + mechanism.resolution, nodes.left]),
            np.concatenate([nodes.right, middle]),
            np.concatenate([nodes.mass * below, nodes.mass * least]),
        )
    ends.append((_counts(values, (nodes.left + nodes.right) / 2), nodes.mass))
    ranks, masses = (np.concatenate(part) for part in zip(*ends, strict=True))
    return RankLaw(ranks, masses)


def _counts(values: FloatArray, points: FloatArray) -> FloatArray:
    return np.searchsorted(values, points, side="right").astype(np.float64)


def _answers(
    ahead: FloatArray, mechanism: PCOQS, *, held_out: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the probabilities of "below" for all, of a split, and of "at least" for all.

    ``ahead`` is how far the count with every score is short of the rank, in noise scales.
    """
    below = ndtr(ahead)
    if not held_out:
        return below, np.zeros_like(below), ndtr(-ahead)
    without = ahead + 1 / mechanism.noise_scale
    upper = without > 0
    apart = np.where(upper, ndtr(-ahead) - ndtr(-without), ndtr(without) - below)
    return below, np.maximum(apart, 0.0), ndtr(-without)


_BELOW, _ABOVE = 10.0, 40.0
"""Between these, in noise scales, the largest noise lies but for 1e-20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpperEnd:
    """The ranks that promise a coverage for the upper end of P-COQS's bracket.

    A search for rank r ends at the j-th smallest score or above it, j = ⌈r − M⌉, for the largest
    noise M of its N rounds.

    Parameters
    ----------
    search : PCOQS
        Its ρ, bounds and Δ; not its α.
    n : int
        Number of scores.
    alpha : float
        The miscoverage that is asked for, in (0, 1).
    confidence : float
        1 for coverage on average over exchangeable scores, below 1 for coverage in this share of
        calibrations on i.i.d. scores.

    Notes
    -----
    P(j > r − i) = P(M < i) = Φ(i/σ)^N. Where σ is large, whole numbers i are taken ``step`` at a
    time, each for the least favourable of its step.
    """

    search: PCOQS
    n: int
    alpha: float
    confidence: float = 1.0

    @property
    def least_rank(self) -> int:
        """The lowest rank that promises the coverage; n + 1 where none up to n does."""
        low, high = 0, self.n + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keeps(middle) else (middle, high)
        return high

    @property
    def _step(self) -> int:
        return max(1, min(self.n, math.floor(self.search.noise_scale / 1000)))

    def keeps(self, rank: int) -> bool:
        """Tell whether the coverage asked for is proved at a rank."""
        mean = self.confidence == 1
        return self._mean(rank) if mean else self._sure(rank)

    def _mean(self, rank: int) -> bool:
        """Σ_j P(j ≥ k), k = 1 … n+1, is to be at least (1−α)(n+1)."""
        n, start = self.n, rank - self.n
        first, last = self._reach(start, rank)
        lost = self._step * np.sum(
            -self._log_less(np.arange(first, last + 1, self._step), np.expm1)
        )
        return float(lost) + (first - start) <= self.alpha * (n + 1) * (1 - 1e-12)

    def _sure(self, rank: int) -> bool:
        """Σ_k P(j = k)·P(Beta(k, n+1−k) < 1−α) is to be at most the failure asked for."""
        n, start = self.n, rank - self.n + 1
        first, last = self._reach(start, rank)
        ends = np.append(np.arange(first, last + 1, self._step) - 1, last)
        less = self._log_less(ends, np.exp)
        places = np.clip(rank - ends[1:] + 1.0, 1, n)
        failing = np.sum(np.diff(less) * betainc(places, n + 1 - places, 1 - self.alpha))
        left_out = float(1 - less[-1]) + (float(less[0]) if first > start else 0.0)
        return float(failing) + left_out <= (1 - self.confidence) * (1 - 1e-12)

    def _reach(self, start: int, end: int) -> tuple[int, int]:
        """Return the numbers between which M may lie, but for 1e-20, within the two given."""
        return (
            max(start, -math.ceil(_BELOW * self.search.noise_scale)),
            min(end, math.ceil(_ABOVE * self.search.noise_scale)),
        )

    def _log_less(self, than: IntArray, of: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return a function of log P(M < i)."""
        return of(self.search.rounds * log_ndtr(than / self.search.noise_scale))
