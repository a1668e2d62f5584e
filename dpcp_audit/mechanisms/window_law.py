"""The exact law of LDP-CP-S's threshold on i.i.d. users: enumerated, and enclosed.

The users of a round are asked once, so the sum of their reports is binomial given the
midpoint, and rounds are independent. The search therefore walks a tree of at most 2^T
midpoints with computable step probabilities: no simulation is needed, and failure
probabilities as small as 1e-300 are as easy as large ones.

Where only the side of a level counts on which F(q̂) lies, few nodes of the search tree matter. F
does not decrease, so a midpoint parts the thresholds into those of one side alone and others. The
search is followed through the others: a path of at most T midpoints.

The algorithm is taken in exact arithmetic, as its theorem is: α is the decimal it was written as,
as in ``Window.limits``, and every other parameter is the double that it is.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import arb, fmpq
from scipy.special import betainc

from dpcp_audit.mechanisms.local_scores import OnMiss
from dpcp_audit.stats.enclosures import NEGLIGIBLE, UNIT, binomial_tails, decimal
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.mechanisms.local_scores import LDPCPScores
    from dpcp_audit.stats.enclosures import Number
    from dpcp_audit.words.validate import BoolArray, FloatArray


class ThresholdLaw(NamedTuple):
    """A law of thresholds.

    Attributes
    ----------
    threshold, mass : ndarray, shape (m,)
        Possible thresholds and their probabilities; thresholds may repeat.
    missed : ndarray of bool, shape (m,)
        True where the search ended there without a hit.
    slack : float
        Probability of branches that were pruned, so that all of ``mass`` sums to 1 − slack.
    """

    threshold: FloatArray
    mass: FloatArray
    missed: BoolArray
    slack: float

    def probability(self, event: BoolArray) -> float:
        """Return the mass of the thresholds in ``event``, shape (m,); at most ``slack`` low."""
        return float(self.mass[event].sum())


def threshold_law(
    mechanism: LDPCPScores, population: Population, *, n: int, prune: float = 1e-25
) -> ThresholdLaw:
    """Return the exact law of the threshold of ``mechanism`` on n i.i.d. users.

    Parameters
    ----------
    prune : float
        Branches with a smaller probability are cut off and counted in the slack.
    """
    _validate.closed_unit(prune=prune)
    sizes = mechanism.block_sizes(n)
    bottom, top = mechanism.limits
    counts = {  # of reports, from which an estimate reaches, or exceeds, the window
        asked: (
            _reports_at(mechanism, bottom, asked=asked, n=n, strictly=False),
            _reports_at(mechanism, top, asked=asked, n=n, strictly=True),
        )
        for asked in set(sizes)
    }
    low, high, mass = np.array([0.0]), np.array([1.0]), np.array([1.0])
    stopped: list[tuple[FloatArray, FloatArray]] = []
    slack = 0.0
    middle = low
    for asked in sizes:
        if not mass.size:
            break
        middle = (low + high) / 2
        chance = mechanism.response.report_probability(population.cdf_left(middle))
        below, inside, above = (mass * part for part in _parts(*counts[asked], asked, chance))
        stopped.append((middle, inside))
        low = np.concatenate([low, middle])
        high = np.concatenate([middle, high])
        last = np.concatenate([middle, middle])
        mass = np.concatenate([above, below])
        kept = mass >= prune
        slack += float(mass[~kept].sum())
        low, high, mass, middle = low[kept], high[kept], mass[kept], last[kept]
    end = high if mechanism.on_miss is OnMiss.UPPER_END else middle
    return ThresholdLaw(
        threshold=np.concatenate([*(point for point, _ in stopped), end]),
        mass=np.concatenate([*(part for _, part in stopped), mass]),
        missed=np.repeat([False, True], [sum(p.size for p, _ in stopped), end.size]),
        slack=slack,
    )


@lru_cache(maxsize=1024)
def _reports_at(mechanism: LDPCPScores, level: float, *, asked: int, n: int, strictly: bool) -> int:
    """Return the fewest reports whose estimate Z reaches (or exceeds) a level; asked + 1 if none.

    The estimate is computed as the mechanism computes it, so that both round alike.
    """

    def reached(count: int) -> bool:
        z = float(mechanism.debias(count, asked=asked, n=n))
        return z > level or (z == level and not strictly)

    return bisect_left(range(asked + 1), x=True, key=reached)


def _binomial_below(count: int, trials: int, p: FloatArray) -> FloatArray:
    """Return P(Binomial(trials, p) < count), accurate in the tail."""
    if count <= 0:
        return np.zeros_like(p)
    if count > trials:
        return np.ones_like(p)
    return betainc(trials - count + 1, count, 1 - p)


def _binomial_from(count: int, trials: int, p: FloatArray) -> FloatArray:
    """Return P(Binomial(trials, p) >= count), accurate in the tail."""
    if count <= 0:
        return np.ones_like(p)
    if count > trials:
        return np.zeros_like(p)
    return betainc(count, trials - count + 1, p)


def _parts(
    low: int, high: int, trials: int, p: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(X < low), P(low <= X < high) from the smaller tails, and P(X >= high)."""
    from_low, from_high = _binomial_from(low, trials, p), _binomial_from(high, trials, p)
    to_low, to_high = _binomial_below(low, trials, p), _binomial_below(high, trials, p)
    between = np.where(from_low < 0.5, from_low - from_high, to_high - to_low)
    return to_low, np.maximum(0.0, between), from_high


_HALF = fmpq(1, 2)


def enclosed_hoeffding_width(*, n: int, epsilon: float, rounds: int, delta: float) -> arb:
    """Enclose Δ_S, ``hoeffding_width``."""
    log = (2 * rounds / arb(delta)).log()
    return (arb(epsilon) / 2).coth() * (rounds * log / (2 * n)).sqrt()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnclosedSearch:
    """LDP-CP-S on n i.i.d. users in ball arithmetic, at FLINT's current precision.

    Parameters
    ----------
    width : arb
        Δ, the width of the window, of which ``mechanism.window_width`` is the rounded value.
    """

    mechanism: LDPCPScores
    population: Population
    n: int
    width: arb

    @property
    def target(self) -> fmpq:
        """1 − α."""
        return 1 - decimal(self.mechanism.alpha)

    def below(self, level: Number) -> arb:
        """Enclose P(F(q̂) < level)."""
        return self._failing(level, low=True)

    def above(self, level: Number) -> arb:
        """Enclose P(F(q̂) > level)."""
        return self._failing(level, low=False)

    def _failing(self, level: Number, *, low: bool) -> arb:
        """Enclose the probability of the low thresholds, or of the high ones.

        A threshold whose side is undecided counts in the upper end alone.
        """
        covered = cache(self.population.enclosed_cdf)
        tails = cache(self._tails)

        def surely(point: fmpq) -> bool:
            return covered(point) < level if low else covered(point) > level

        def perhaps(point: fmpq) -> bool:
            return not (covered(point) >= level if low else covered(point) <= level)

        return self._follow(surely, tails, low=low).union(self._follow(perhaps, tails, low=low))

    def _follow(
        self,
        fails: Callable[[fmpq], bool],
        tails: Callable[[fmpq, int, bool], tuple[arb, arb]],
        *,
        low: bool,
    ) -> arb:
        """Enclose P(``fails``), which the ``low`` thresholds do, or the high ones."""
        bottom, middle, top = fmpq(0), fmpq(0), fmpq(1)
        mass, failed = arb(1), arb(0)
        for asked in self.mechanism.block_sizes(self.n):
            if mass < NEGLIGIBLE:
                return failed.union(failed + mass)
            middle = (bottom + top) / 2
            failing = fails(middle)
            rightward = failing is low
            onward, settled = tails(middle, asked, rightward)
            failed += mass * settled if failing else 0
            mass *= onward
            bottom, top = (middle, top) if rightward else (bottom, middle)
        returned = top if self.mechanism.on_miss is OnMiss.UPPER_END else middle
        return failed + mass if fails(returned) else failed

    def _tails(self, middle: fmpq, asked: int, rightward: bool) -> tuple[arb, arb]:  # noqa: FBT001
        """Enclose the probability that the search goes on to one side of a midpoint, and not."""
        centre: Number = self.target
        width: Number = self.width
        ends = self.mechanism.window.ends(centre, width, starred=self.mechanism.starred)
        count = self._reports(ends[not rightward], asked=asked, strictly=not rightward)
        if count is None:
            return UNIT, UNIT
        chance = self._reported(self.population.enclosed_cdf_left(middle))
        below, reached = binomial_tails(count, asked, chance)
        return (below, reached) if rightward else (reached, below)

    def _reports(self, level: Number, *, asked: int, strictly: bool) -> int | None:
        """Return the fewest reports whose Z reaches (or exceeds) a level; asked + 1 if none.

        None where the balls are too wide to decide it.
        """
        point = self.mechanism.divisor(asked, self.n) * self._reported(level)
        if point > asked:
            return asked + 1
        if point < 0:
            return 0
        whole = point.floor() if strictly else point.ceil()
        found = whole.unique_fmpz() if isinstance(whole, arb) else whole
        return None if found is None else int(found) + strictly

    def _reported(self, ones: Number) -> Number:
        """Return the mean of the reports of users of whom a fraction ``ones`` holds 1."""
        above = ones - _HALF
        return _HALF if above == 0 else _HALF + above * (arb(self.mechanism.epsilon) / 2).tanh()
