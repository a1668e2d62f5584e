"""The coverage of P-COQS on n i.i.d. scores, averaged over them: exactly, given the noise or not.

The tree of intervals is followed while scores may lie at uneven places within them: always where
there are atoms. In a small interval in which the law has a monotone density they are spread evenly,
and every later round splits them by fair coins: what is still to come depends on the counts alone,
and is computed once for all intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.mechanisms.pcoqs.count_law import CountLaw, Interval
from dpcp_audit.mechanisms.pcoqs.iid_search import EvenHalving
from dpcp_audit.stats.intervals import binomial_exceeded
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.mechanisms.pcoqs.iid_search import Ending
    from dpcp_audit.mechanisms.pcoqs.release import PCOQS
    from dpcp_audit.words.arrays import FloatArray


_PRUNE = 1e-15
_RANKS = 1e-2
"""The numerical error aimed at, in ranks: 1/n of coverage."""
_CROWD = 1.0
"""Scores that an interval may be expected to hold where it is taken to be small."""
_SELDOM = 1e-3
"""The probability that a small interval holds more scores than are followed."""
_CASES = 200
"""Cases that are followed side by side: an interval holds two vectors of counts for each."""
_GRID = np.arange(1, 8) / 8
_BETWEEN_GRID = 8 / 7
"""Largest value of a concave function that is 0 at 0 and 1, over its largest one on the grid."""


class MeanCoverage(NamedTuple):
    """Mean coverages, shape (cases,), and how far each may be from the truth."""

    coverage: FloatArray
    error: float


def coverage_given_noise(
    mechanism: PCOQS, population: Population, *, n: int, noise: FloatArray
) -> MeanCoverage:
    """Return E[F(q)] over n i.i.d. scores, given the noise of all rounds.

    Parameters
    ----------
    noise : ndarray, shape (N, cases)
        Standard normal draws, a column for each case.

    Returns
    -------
    MeanCoverage
        Shape (cases,); the error bounds what is pruned, cut off or taken as evenly spread.
    """
    _validate.integer(n=n, at_least=1)
    if noise.ndim != 2 or noise.shape[0] != mechanism.rounds:
        raise ValueError(f"noise must have {mechanism.rounds} rows, got shape {noise.shape}")
    parts = [
        _MeanSearch(
            mechanism=mechanism,
            population=population,
            counted=CountLaw.given_noise(
                mechanism.noise_scale * noise[:, start : start + _CASES],
                n=n,
                rank=mechanism.rank(n),
            ),
        ).run()
        for start in range(0, noise.shape[1], _CASES)
    ]
    coverage = np.concatenate([part.coverage for part in parts])
    return MeanCoverage(coverage, max(part.error for part in parts))


def mean_coverage(mechanism: PCOQS, population: Population, *, n: int) -> MeanCoverage:
    """Return E[F(q)] over n i.i.d. scores and the noise, shape (1,), and its error.

    Examples
    --------
    >>> from dpcp_audit.laws.populations import Uniform
    >>> from dpcp_audit.mechanisms.pcoqs.release import PCOQS
    >>> found = mean_coverage(PCOQS(alpha=0.1, rho=0.5), Uniform(), n=500)
    >>> round(float(found.coverage[0]), 4), found.error < 1e-6
    (0.9011, True)
    """
    _validate.integer(n=n, at_least=1)
    counted = CountLaw.over_noise(
        mechanism.noise_scale, n=n, rank=mechanism.rank(n), rounds=mechanism.rounds
    )
    return _MeanSearch(mechanism=mechanism, population=population, counted=counted).run()


def coverage_outside(
    mechanism: PCOQS, population: Population, *, n: int, lower: float, upper: float = 1.0
) -> tuple[float, float]:
    """Return P(F(q) < lower or F(q) > upper) over i.i.d. scores and noise, and its error.

    The coverage of one calibrated set: the conditional reading of Theorem 1.
    """
    _validate.integer(n=n, at_least=1)
    counted = CountLaw.over_noise(
        mechanism.noise_scale, n=n, rank=mechanism.rank(n), rounds=mechanism.rounds
    )

    def settled(at: Interval) -> bool:
        inside = lower <= at.below and at.upto <= upper
        return inside or at.upto < lower or at.below > upper

    outside, error = 0.0, 0.0
    for leaf, pruned in _leaves(mechanism, population, counted, settled):
        if leaf is None:
            error += pruned
            continue
        level = leaf.below if settled(leaf) else _level(population, leaf)
        outside += float(counted.reach(leaf)[0]) * (level < lower or level > upper)
    return min(1.0, outside), error + 1e-10


def _leaves(
    mechanism: PCOQS,
    population: Population,
    counted: CountLaw,
    stop: Callable[[Interval], bool],
) -> Iterator[tuple[Interval | None, float]]:
    """Yield the intervals at which the tree is left; None and a probability where it is pruned."""
    start = Interval(0, *mechanism.bounds, 0.0, 1.0, None, None)
    stack = [start]
    while stack:
        at = stack.pop()
        bound = float(counted.reach_bound(at).max())
        if bound < _PRUNE:
            yield None, bound
        elif at.depth == mechanism.rounds or stop(at):
            yield at, 0.0
        else:
            middle = (at.left + at.right) / 2
            level = float(np.clip(population.cdf(np.array(middle)), at.below, at.upto))
            right, left = counted.step(at, middle, level)
            stack += [left, right._replace(left=middle + mechanism.resolution)]


def _level(population: Population, leaf: Interval) -> float:
    """Return F at the threshold that is released when the search ends in an interval."""
    return float(population.cdf(np.array((leaf.left + leaf.right) / 2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _MeanSearch:
    """The mean of F(q): intervals by the tree, then by even halving."""

    mechanism: PCOQS
    population: Population
    counted: CountLaw
    _errors: list[float] = field(default_factory=lambda: [0.0])

    def run(self) -> MeanCoverage:
        """Return the mean coverage of every case."""
        total = np.zeros(self.counted.answers.shape[1])
        reached, pruned = np.zeros_like(total), 0.0
        small: list[Interval] = []
        for leaf, lost in _leaves(self.mechanism, self.population, self.counted, self._stop):
            if leaf is None:
                pruned += lost
            elif leaf.depth < self.mechanism.rounds and leaf.mass > self._tolerance:
                small.append(leaf)
            else:
                share = self.counted.reach(leaf)
                total += share * _level(self.population, leaf)
                reached += share
        unfollowed = np.zeros_like(total)
        for ending in self._halved(small):
            total += ending.value
            reached += ending.reached
            unfollowed += ending.error
        missing = float(np.abs(1 - reached).max())
        error = max(self._errors) + float(unfollowed.max()) + pruned + missing
        return MeanCoverage(total, error)

    @property
    def _tolerance(self) -> float:
        return _RANKS / self.counted.n

    def _stop(self, at: Interval) -> bool:
        if at.mass <= self._tolerance:
            self._errors.append(at.mass)
            return True
        if at.mass * self.counted.n > _CROWD or not self._monotone(at):
            return False
        error = self._unevenness(at)
        if error > self._tolerance:
            return False
        self._errors.append(error)
        return True

    def _monotone(self, at: Interval) -> bool:
        """Return whether the density is monotone from where the left end was counted, Δ before.

        Never where the drift of Δ a round has taken the left end past the right one.
        """
        counted = max(at.left - 2 * self.mechanism.resolution, self.mechanism.bounds[0])
        return at.left < at.right and self.population.monotone_between(counted, at.right)

    def _unevenness(self, at: Interval) -> float:
        """Return the error of taking the scores of an interval as evenly spread.

        Their total variation distance from an even spread is sup|G − x| for a monotone density,
        and G − x is then concave or convex; it moves the mean of F(q) by at most the interval's
        mass for every score inside. The drift of the left ends by Δ a round is a displacement of
        the same kind.
        """
        width, crowd = at.right - at.left, at.mass * self.counted.n
        levels = self.population.cdf(at.left + width * _GRID)
        uneven = float(np.abs((levels - at.below) / at.mass - _GRID).max())
        drift = (self.mechanism.rounds + 2 * crowd) * self.mechanism.resolution / width
        return at.mass * ((crowd + 1) * _BETWEEN_GRID * uneven + drift)

    def _halved(self, small: list[Interval]) -> Iterator[Ending]:
        """Yield what becomes of the search in each small interval."""
        if not small:
            return
        most = binomial_exceeded(_SELDOM, self.counted.n, max(leaf.mass for leaf in small))
        halving = EvenHalving(self.counted, most=int(most) + 1)
        for depth in range(self.mechanism.rounds - 1, min(leaf.depth for leaf in small) - 1, -1):
            halving.back(depth)
            yield from (halving.mean(leaf) for leaf in small if leaf.depth == depth)
