"""Counting scores at or below a moving point, many trials side by side.

A noisy binary search sees its scores only through such counts. Given the scores, they are
look-ups (``FixedScores``). For n i.i.d. scores from a population they need no scores at
all (``IIDScores``): given the counts at two known points, the count at a point between
them splits binomially, so a trial costs O(rounds) whatever n is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray
    from dpcp_audit.mechanisms.populations import Population


class Counter(Protocol):
    """Decides, for each trial, whether the noisy count at a point stays below a rank."""

    def below_rank(self, point: FloatArray, noise: FloatArray) -> BoolArray:
        """Tell whether #{scores <= point} + noise < rank; ``point`` and ``noise`` are (trials,)."""
        ...


class FixedScores:
    """The same scores in every trial, as a mechanism's input."""

    def __init__(self, sorted_scores: FloatArray, rank: int) -> None:
        self._scores = sorted_scores
        self._rank = rank

    def below_rank(self, point: FloatArray, noise: FloatArray) -> BoolArray:
        """Tell whether the noisy count at each point is below the rank."""
        return np.searchsorted(self._scores, point, side="right") + noise < self._rank


class IIDScores:
    """n fresh i.i.d. scores in every trial, of which only counts are ever drawn.

    In terms of U = F(S), the rank-th order statistic is Beta(r, n+1−r) and is drawn first.
    A count so far from the rank that neither the binomial nor the noise can bridge the gap
    (probability below 1e-17 a round) is not drawn. Every other count is drawn given all
    counts drawn before, so the trials have the law of the algorithm on i.i.d. scores.

    Parameters
    ----------
    population : Population
        The law of the scores; atoms are allowed.
    n, rank : int
        Number of scores and the rank searched for, 1 <= rank <= n + 1.
    noise_scale : float
        Standard deviation of the noise that ``below_rank`` will be given.
    trials : int
        Number of trials side by side.
    """

    def __init__(
        self,
        population: Population,
        *,
        n: int,
        rank: int,
        noise_scale: float,
        trials: int,
        rng: np.random.Generator,
    ) -> None:
        self._cdf = population.cdf
        self._rng = rng
        self._rank, self._n = float(rank), float(n)
        # A mean of 340 falls below 170 with probability e^(−340/8) < 1e-18 (Chernoff), and
        # Gaussian noise exceeds 12 standard deviations with probability below 1e-32.
        self._far = max(24 * noise_scale, 340.0)
        self._pivot = (
            rng.beta(rank, n + 1 - rank, size=trials) if rank <= n else np.full(trials, np.inf)
        )
        self._low_u, self._low_count = np.zeros(trials), np.zeros(trials)
        self._high_u, self._high_count = np.ones(trials), np.full(trials, float(n))
        self._history: list[tuple[IntArray, FloatArray, FloatArray]] = []

    def below_rank(self, point: FloatArray, noise: FloatArray) -> BoolArray:
        """Tell whether the noisy count at each point is below the rank, and remember counts."""
        u = self._cdf(point)
        above = u >= self._pivot
        low_count, members, fraction = self._split(u, above)
        distance = members * np.where(above, fraction, 1 - fraction)
        near = np.flatnonzero(distance < self._far)
        below = ~above
        if near.size:
            count = low_count[near] + self._rng.binomial(
                members[near].astype(np.int64), fraction[near]
            )
            below[near] = count + noise[near] < self._rank
            self._remember(near, u[near], count, below[near])
        return below

    def count(self, point: FloatArray) -> FloatArray:
        """Draw #{scores <= point} for each trial, given all that was drawn before."""
        u = self._cdf(point)
        low_count, members, fraction = self._split(u, u >= self._pivot)
        return low_count + self._rng.binomial(members.astype(np.int64), fraction)

    def _split(self, u: FloatArray, above: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the law of the count at u: a known part, plus Binomial(members, fraction)."""
        low_u, low_count, high_u, high_count = self._bracket(u, above)
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = (u - low_u) / (high_u - low_u)
        fraction = np.fmin(np.fmax(fraction, 0.0), 1.0)  # 0/0, between equal points, becomes 0
        return low_count, high_count - low_count, fraction

    def _bracket(self, u: FloatArray, above: BoolArray) -> tuple[FloatArray, ...]:
        """Return the nearest known points on either side of u, with their counts."""
        low_u, low_count, high_u, high_count = (
            np.where(above, np.maximum(self._low_u, self._pivot), self._low_u),
            np.where(above, np.maximum(self._low_count, self._rank), self._low_count),
            np.where(above, self._high_u, np.minimum(self._high_u, self._pivot)),
            np.where(above, self._high_count, np.minimum(self._high_count, self._rank - 1)),
        )
        # With left ← mid + Δ and a coarse Δ, the last midpoint may leave the bracket.
        strays = np.flatnonzero((u < self._low_u) | (u > self._high_u))
        if strays.size:
            found = self._search_history(strays, u[strays])
            low_u[strays], low_count[strays], high_u[strays], high_count[strays] = found
        return low_u, low_count, high_u, high_count

    def _search_history(self, trials: IntArray, u: FloatArray) -> tuple[FloatArray, ...]:
        """Return the bracket of u among all points ever counted in these trials."""
        size = trials.size
        points = [
            (np.zeros(size), np.zeros(size), np.zeros(size)),
            (np.ones(size), np.full(size, self._n), np.full(size, self._n)),
            (self._pivot[trials], np.full(size, self._rank - 1), np.full(size, self._rank)),
        ]
        for known_trials, known_u, known_count in self._history:
            at = np.minimum(np.searchsorted(known_trials, trials), known_trials.size - 1)
            hit = known_trials[at] == trials
            count = known_count[at]
            points.append((np.where(hit, known_u[at], np.nan), count, count))
        places = np.stack([p[0] for p in points])
        left = np.where(places <= u, places, -np.inf).argmax(axis=0)
        right = np.where(places >= u, places, np.inf).argmin(axis=0)
        just_below = np.stack([p[1] for p in points])
        at_or_below = np.stack([p[2] for p in points])
        rows = np.arange(size)
        return (
            places[left, rows],
            at_or_below[left, rows],
            places[right, rows],
            just_below[right, rows],
        )

    def _remember(
        self, trials: IntArray, u: FloatArray, count: FloatArray, below: BoolArray
    ) -> None:
        low, high = trials[below], trials[~below]
        self._low_u[low], self._low_count[low] = u[below], count[below]
        self._high_u[high], self._high_count[high] = u[~below], count[~below]
        self._history.append((trials, u, count))
