"""The noisy search on n i.i.d. scores, many trials side by side, of which only counts are drawn.

The search sees its scores through the counts at its midpoints alone. Given the counts at two known
points, the count at a point between them is binomial, so a trial costs O(rounds) whatever n is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_CHUNK = 16_384


class _Bracket(NamedTuple):
    """Known points about another, in terms of F, and how many scores are at or below each."""

    low: FloatArray
    low_count: FloatArray
    high: FloatArray
    high_count: FloatArray

    def draw(self, level: FloatArray, *, rng: np.random.Generator) -> FloatArray:
        """Draw the numbers of scores at or below the points where F has the levels."""
        width = self.high - self.low
        share = np.divide(level - self.low, width, out=np.zeros_like(width), where=width > 0)
        between = (self.high_count - self.low_count).astype(np.int64)
        return self.low_count + rng.binomial(between, np.clip(share, 0.0, 1.0))

    def narrowed(self, below: BoolArray, level: FloatArray, count: FloatArray) -> _Bracket:
        """Return the brackets with the points as lower ends where ``below``, else as upper ones."""
        return _Bracket(
            np.where(below, level, self.low),
            np.where(below, count, self.low_count),
            np.where(below, self.high, level),
            np.where(below, self.high_count, count),
        )


class _Search:
    """Trials of the search, with the counts that each of them has drawn."""

    def __init__(
        self, population: Population, *, n: int, bounds: tuple[float, float], trials: int
    ) -> None:
        self._population, self._n = population, n
        self._left, self._right = (np.full(trials, end) for end in bounds)
        self._bracket = _Bracket(
            np.zeros(trials), np.zeros(trials), np.ones(trials), np.full(trials, float(n))
        )
        self._counted: list[tuple[FloatArray, FloatArray]] = []
        """The levels of F that were counted in each round, and their counts."""

    def run(
        self,
        *,
        rank: int,
        noise_scale: float,
        resolution: float,
        rounds: int,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the thresholds and the counts of scores at or below them."""
        for _ in range(rounds):
            middle, level, count = self._at_middle(rng)
            self._counted.append((level, count))
            noise = noise_scale * rng.standard_normal(count.size)
            below = count + noise < rank
            self._bracket = self._bracket.narrowed(below, level, count)
            self._left = np.where(below, middle + resolution, self._left)
            self._right = np.where(below, self._right, middle)
        threshold, _, count = self._at_middle(rng)
        return threshold, count

    def _at_middle(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the midpoints, F there, and counts drawn given all that were drawn before."""
        middle = (self._left + self._right) / 2
        level, bracket = self._population.cdf(middle), self._bracket
        strayed = np.flatnonzero(self._left > self._right)  # by the drift of Δ a round
        if strayed.size:
            bracket = _Bracket(*(column.copy() for column in bracket))
            known = self._known_about(strayed, level[strayed])
            for column, values in zip(bracket, known, strict=True):
                column[strayed] = values
        return middle, level, bracket.draw(level, rng=rng)

    def _known_about(self, which: IntArray, level: FloatArray) -> _Bracket:
        """Return the brackets of levels among all points counted in some of the trials."""
        levels = np.array([levels[which] for levels, _ in self._counted])
        counts = np.array([counts[which] for _, counts in self._counted])
        lower, higher = levels <= level, levels >= level
        return _Bracket(
            np.where(lower, levels, 0.0).max(axis=0),
            np.where(lower, counts, 0.0).max(axis=0),
            np.where(higher, levels, 1.0).min(axis=0),
            np.where(higher, counts, float(self._n)).min(axis=0),
        )


def iid_trials(
    population: Population,
    *,
    n: int,
    rank: int,
    noise_scale: float,
    bounds: tuple[float, float],
    resolution: float,
    rounds: int,
    trials: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return the thresholds of searches on n i.i.d. scores, and the scores at or below them.

    Parameters
    ----------
    population : Population
        The law of the scores; atoms are allowed.
    n, rank : int
        Number of scores and the rank searched for, 1 <= rank <= n + 1.
    noise_scale : float
        Standard deviation of the noise of a count.

    Returns
    -------
    tuple of ndarray, each of shape (trials,)
    """
    sizes = [min(_CHUNK, trials - start) for start in range(0, trials, _CHUNK)]
    parts = [
        _Search(population, n=n, bounds=bounds, trials=size).run(
            rank=rank, noise_scale=noise_scale, resolution=resolution, rounds=rounds, rng=rng
        )
        for size in sizes
    ]
    threshold, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return threshold, count
