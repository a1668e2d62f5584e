"""The noisy search on n i.i.d. scores, many trials side by side, of which only counts are drawn.

The search sees its scores through the counts at its midpoints alone. Given the counts at two known
points, the count at a point between them is binomial, so a trial costs O(rounds) whatever n is.
Where no score is left in the interval, all remaining comparisons are of one count: bits of one
chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr

from dpcp_audit.stats.bits import Selection, bernoulli_bits, binomials

if TYPE_CHECKING:
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_REACH = 8.8
"""Standard deviations of the noise that none exceeds: it does with probability below 1e-18."""
_CHUNK = 16_384
_SHARE = 1 / 2
"""Trials without a score are set apart once they are more than this share."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Trials:
    """Trials that are still followed; arrays of shape (trials,).

    In terms of U = F(S): ``low_u`` and ``high_u`` are the nearest points judged below and not below
    the rank, with the number of scores at or below ``low_u`` and of those short of ``high_u`` or,
    where it was counted, at it; ``next_u`` is the nearest such point above ``high_u``.
    """

    index: IntArray
    left: FloatArray
    right: FloatArray
    low_u: FloatArray
    low_count: FloatArray
    high_u: FloatArray
    high_count: FloatArray
    next_u: FloatArray
    next_count: FloatArray
    strayed: BoolArray
    """True if a midpoint has ever been right of ``right``."""

    def take(self, which: IntArray) -> _Trials:
        """Return some of the trials."""
        return _Trials(**{each.name: getattr(self, each.name)[which] for each in fields(self)})

    def put(self, which: IntArray, some: _Trials) -> None:
        """Take over the counts that some of the trials know, in new arrays."""
        for name in ("low_u", "low_count", "high_u", "high_count", "next_u", "next_count"):
            setattr(self, name, replaced(getattr(self, name), which, getattr(some, name)))


def replaced(column: FloatArray, which: IntArray, values: FloatArray) -> FloatArray:
    """Return a copy of the column in which some values are others."""
    changed = column.copy()
    changed[which] = values
    return changed


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """Counts that are known of trials: of the scores below a point, and at or below it."""

    trials: IntArray
    u: FloatArray
    below: FloatArray
    upto: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _SettledTrials:
    """Trials in whose intervals there is no score, with the rounds that are to come."""

    index: IntArray
    left: FloatArray
    right: FloatArray
    count: FloatArray
    to_come: int


class _Bracket(NamedTuple):
    """Known points about another, with the counts at the lower and short of the higher."""

    low_u: FloatArray
    low_count: FloatArray
    high_u: FloatArray
    high_count: FloatArray

    def take(self, which: IntArray) -> _Bracket:
        """Return some of the brackets."""
        return _Bracket(*(column[which] for column in self))

    def split(self, u: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the members and the fraction of the binomial count between the lower and u."""
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = (u - self.low_u) / (self.high_u - self.low_u)
        fraction = np.fmin(np.fmax(fraction, 0.0), 1.0)  # 0/0, between equal points, becomes 0
        return (self.high_count - self.low_count).astype(np.int64), fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class _IIDSearch:
    """The search for a rank among n i.i.d. scores, of which only counts are ever drawn.

    Two order statistics, so far from the rank that no noise bridges the gap (but for a probability
    below 1e-18 a round), are drawn first: counts beyond them need not be. Every count between them
    is drawn given all counts drawn before, so the trials have the law of the algorithm on i.i.d.
    scores.
    """

    population: Population
    n: int
    rank: int
    noise_scale: float
    bounds: tuple[float, float]
    resolution: float
    rounds: int

    def run(self, trials: int, *, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return the thresholds and the counts of scores at or below them."""
        at, history = self._started(trials, rng)
        settled: list[_SettledTrials] = []
        for remaining in reversed(range(self.rounds)):
            self._round(at, history, rng)
            held = np.flatnonzero((at.high_count == at.low_count) & ~at.strayed)
            if held.size > _SHARE * at.index.size:
                apart, at = self._apart(at, held, remaining, rng)
                settled.append(apart)
            if not at.index.size:
                break
        last = (at.left + at.right) / 2
        threshold, count = np.empty(trials), np.empty(trials)
        threshold[at.index], count[at.index] = last, self._count(at, history, last, rng)
        for part, ends in zip(settled, self._last_bits(settled, rng), strict=True):
            threshold[part.index], count[part.index] = ends, part.count
        return threshold, count

    def _started(self, trials: int, rng: np.random.Generator) -> tuple[_Trials, list[_Counted]]:
        """Return the trials about two order statistics, which are sums of exponentials."""
        reach = math.ceil(_REACH * self.noise_scale) + 1
        lower, upper = max(0, self.rank - reach), min(self.n + 1, self.rank + reach)
        shapes = lower, upper - lower, self.n + 1 - upper
        parts = [rng.standard_gamma(shape, size=trials) for shape in shapes]
        first, total = parts[0] + parts[1], parts[0] + parts[1] + parts[2]
        low_u, high_u = parts[0] / total, first / total
        index = np.arange(trials)
        low_count, high_count = np.full(trials, float(lower)), np.full(trials, upper - 1.0)
        at = _Trials(
            index=index,
            left=np.full(trials, self.bounds[0]),
            right=np.full(trials, self.bounds[1]),
            low_u=low_u,
            low_count=low_count,
            high_u=high_u,
            high_count=high_count,
            next_u=high_u,
            next_count=high_count,
            strayed=np.zeros(trials, dtype=bool),
        )
        return at, [
            _Counted(index, low_u, np.maximum(low_count - 1, 0), low_count),
            _Counted(index, high_u, high_count, np.minimum(high_count + 1, self.n)),
        ]

    def _round(self, at: _Trials, history: list[_Counted], rng: np.random.Generator) -> None:
        """Compare the counts at the midpoints with the rank.

        A count beyond the two order statistics need not be drawn.
        """
        middle = (at.left + at.right) / 2
        u = self.population.cdf(middle)
        at.strayed = at.left > at.right  # by the drift of Δ a round: for good
        bracket = self._about(at, history, np.flatnonzero(at.strayed), u)
        below = u < bracket.low_u
        unsure = np.flatnonzero(~(below | (u > bracket.high_u)))
        if unsure.size == u.size:
            below = self._compared(at, bracket, history, u, rng)
        elif unsure.size:
            some = at.take(unsure)
            below[unsure] = self._compared(some, bracket.take(unsure), history, u[unsure], rng)
            at.put(unsure, some)
        choose = Selection(below)
        at.left = choose(middle + self.resolution, at.left)
        at.right = choose(at.right, middle)

    def _compared(
        self,
        at: _Trials,
        bracket: _Bracket,
        history: list[_Counted],
        u: FloatArray,
        rng: np.random.Generator,
    ) -> BoolArray:
        """Draw the counts at u, and tell whether they are below the rank with noise added."""
        members, fraction = bracket.split(u)
        count = bracket.low_count + binomials(members, fraction, rng=rng)
        history.append(_Counted(at.index, u, count, count))
        noisy = rng.standard_normal(u.size)
        noisy *= self.noise_scale
        noisy += count
        below = noisy < self.rank
        self._remember(at, u, count, below)
        return below

    def _remember(self, at: _Trials, u: FloatArray, count: FloatArray, below: BoolArray) -> None:
        """Keep the counts that are nearest to the rank."""
        higher = Selection(below & (u > at.low_u))
        at.low_u = higher(u, at.low_u)
        at.low_count = higher(count, at.low_count)
        lower = Selection(~below & (u < at.high_u))
        at.next_u = lower(at.high_u, at.next_u)
        at.next_count = lower(at.high_count, at.next_count)
        at.high_u = lower(u, at.high_u)
        at.high_count = lower(count, at.high_count)

    def _known(
        self, at: _Trials, history: list[_Counted], which: IntArray, u: FloatArray
    ) -> _Bracket:
        """Return the bracket of u among all points ever counted in some trials."""
        index = at.index[which]
        low_u, low_count = np.zeros(u.size), np.zeros(u.size)
        high_u, high_count = np.ones(u.size), np.full(u.size, float(self.n))
        for past in history:
            place = np.searchsorted(past.trials, index)  # which increases
            place = np.minimum(place, past.trials.size - 1)
            there = past.trials[place] == index
            point, below, upto = past.u[place], past.below[place], past.upto[place]
            lower, higher = there & (point <= u), there & (point >= u)
            low_u = np.where(lower, np.maximum(low_u, point), low_u)
            low_count = np.where(lower, np.maximum(low_count, upto), low_count)
            high_u = np.where(higher, np.minimum(high_u, point), high_u)
            high_count = np.where(higher, np.minimum(high_count, below), high_count)
        return _Bracket(low_u, low_count, high_u, high_count)

    def _about(
        self, at: _Trials, history: list[_Counted], which: IntArray, u: FloatArray
    ) -> _Bracket:
        """Return the brackets of u, those of some trials among all points."""
        bracket = _Bracket(at.low_u, at.low_count, at.high_u, at.high_count)
        if not which.size:
            return bracket
        found = self._known(at, history, which, u[which])
        pairs = zip(bracket, found, strict=True)
        return _Bracket(*(replaced(column, which, values) for column, values in pairs))

    def _count(
        self, at: _Trials, history: list[_Counted], point: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draw #{scores <= point} for each trial, given all that was drawn before."""
        u = self.population.cdf(point)
        outside = np.flatnonzero(at.strayed | (u < at.low_u) | (u > at.high_u))
        bracket = self._about(at, history, outside, u)
        members, fraction = bracket.split(u)
        return bracket.low_count + binomials(members, fraction, rng=rng)

    def _apart(
        self, at: _Trials, held: IntArray, remaining: int, rng: np.random.Generator
    ) -> tuple[_SettledTrials, _Trials]:
        """Return the trials whose midpoints to come have one count, and the others.

        Midpoints never fall below min(left, right), nor rise above max(left, right) by more than
        one resolution a round; the scores on that last stretch are drawn here.
        """
        some = at.take(held)
        top = self.population.cdf(some.right + remaining * self.resolution)
        known = (some.left <= some.right) & (top < some.next_u)
        known &= self.population.cdf(some.left) >= some.low_u
        known &= self.population.cdf(some.right) <= some.high_u
        ahead = _Bracket(some.high_u, some.high_count, some.next_u, some.next_count)
        members, fraction = ahead.split(top)
        more = binomials(members * known, fraction, rng=rng)
        choose = Selection(known)
        some.next_u = choose(top, some.next_u)
        some.next_count = choose(some.high_count + more, some.next_count)
        at.put(held, some)
        empty = known & (more == 0)
        settled = held[empty]
        others = np.ones(at.index.size, dtype=bool)
        others[settled] = False
        ends = at.left[settled], at.right[settled]
        part = _SettledTrials(at.index[settled], *ends, some.low_count[empty], remaining)
        return part, at.take(np.flatnonzero(others))

    def _last_bits(
        self, settled: list[_SettledTrials], rng: np.random.Generator
    ) -> list[FloatArray]:
        """Return the thresholds of trials in whose intervals there is no score.

        The parts have come one after another, each with fewer rounds to come.
        """
        if not settled:
            return []
        left = np.concatenate([part.left for part in settled])
        right = np.concatenate([part.right for part in settled])
        count = np.concatenate([part.count for part in settled])
        sizes = np.cumsum([part.index.size for part in settled])
        rounds = settled[0].to_come
        bits = bernoulli_bits(rounds, ndtr((self.rank - count) / self.noise_scale), rng=rng)
        for bit, remaining in zip(bits, reversed(range(rounds)), strict=True):
            size = sizes[sum(part.to_come > remaining for part in settled) - 1]
            choose, first, last = Selection(bit[:size]), left[:size], right[:size]
            middle = (first + last) / 2
            left[:size] = choose(middle + self.resolution, first)
            right[:size] = choose(last, middle)
        return np.split((left + right) / 2, sizes[:-1])


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
    search = _IIDSearch(
        population=population,
        n=n,
        rank=rank,
        noise_scale=noise_scale,
        bounds=bounds,
        resolution=resolution,
        rounds=rounds,
    )
    parts = [search.run(min(_CHUNK, trials - start), rng=rng) for start in range(0, trials, _CHUNK)]
    threshold, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return threshold, count
