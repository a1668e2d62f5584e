"""The coverage of P-COQS on n i.i.d. scores, averaged over them: exactly, given the noise or not.

The number of scores at or below a point is a Markov chain in the point: given the count at a
midpoint, the counts to its left and to its right are independent. What the search has seen on its
way to an interval therefore factors into a function of the count at the interval's left end and one
of the count at its right end. Both are vectors over the few counts near the rank that the noise
can reach, and a step of the search updates one of them.

The tree of intervals is followed while scores may lie at uneven places within them: always where
there are atoms. In a small interval in which the law has a monotone density they are spread evenly,
and every later round splits them by fair coins: what is still to come depends on the counts alone,
and is computed once for all intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, gammaln, ndtr

from dpcp_audit.stats.rates import binomial_exceeded
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.mechanisms.pcoqs import PCOQS
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_REACH = 9.5
"""Standard deviations that the noise of a round exceeds with probability below 1e-20."""


_LEVELS = 64
"""Levels whose counts' probabilities are kept: neighbouring intervals share theirs."""
_LEAST = 1e-300
"""Stands for a chance of 0 where its logarithm is taken."""
_NO_MASS = 1e-20
"""The largest mass that a mean does without: all of them add up to less than rounding does."""
_ROWS = 16
"""Counts whose means are taken together, over the counts that any of them may lead to."""


class _Interval(NamedTuple):
    """An interval that the search may be in after ``depth`` rounds.

    Attributes
    ----------
    left, right : float
        Ends of the interval, as positions.
    below, upto : float
        F at the points that its ends were counted at: 0 and 1 before any count.
    cases : ndarray
        Indices of the cases in which the search may be in it.
    from_left, from_right : ndarray of shape (len(cases), counts), or None
        Probability of the answers that led here, given the count at the left (right) end; None
        where no answer was about that end.
    """

    depth: int
    left: float
    right: float
    below: float
    upto: float
    cases: IntArray
    from_left: FloatArray | None
    from_right: FloatArray | None

    @property
    def mass(self) -> float:
        """The probability that a score lies in it."""
        return self.upto - self.below

    def only(self, kept: BoolArray) -> _Interval:
        """Return it without some of its cases."""
        left, right = (
            None if given is None else given[kept] for given in (self.from_left, self.from_right)
        )
        return self._replace(cases=self.cases[kept], from_left=left, from_right=right)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountLaw:
    """The probability of each answer of each round given the count, for several cases at once.

    Parameters
    ----------
    n : int
        Number of scores.
    first : int
        The smallest count of the window; smaller counts are always judged below the rank, and
        those past the window never.
    answers : ndarray, shape (rounds, cases, counts)
        Probability of the answer "below" at counts ``first``, ``first`` + 1, ….
    """

    n: int
    first: int
    answers: FloatArray
    counts: FloatArray = field(init=False, repr=False)
    """The counts of the window."""
    _all: FloatArray = field(init=False, repr=False)
    """log C(n, c) for counts c."""
    _chosen: FloatArray = field(init=False, repr=False)
    """log C(c, b) for counts c down and b ≤ c across."""
    _added: FloatArray = field(init=False, repr=False)
    """log C(n − c, d − c) for counts c down and d ≥ c across."""
    _known: dict[float, FloatArray] = field(
        init=False, repr=False, default_factory=dict[float, "FloatArray"]
    )
    """The probabilities of the window's counts at the levels that were asked for last."""

    def __post_init__(self) -> None:
        counts = np.arange(self.first, self.last, dtype=np.float64)
        added = log_choices(self.n - counts[:, None], counts - counts[:, None])
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "_all", log_choices(self.n, counts))
        object.__setattr__(self, "_chosen", log_choices(counts[:, None], counts))
        object.__setattr__(self, "_added", added)

    @classmethod
    def given_noise(cls, noise: FloatArray, *, n: int, rank: int) -> _CountLaw:
        """Return the answers where the noise is known, in counts, shape (rounds, cases)."""
        least = np.clip(np.ceil(rank - noise), 0, n + 1)
        first, last = int(least.min()), int(least.max())
        counts = np.arange(first, max(last, first + 1))
        return cls(n=n, first=first, answers=(counts < least[..., None]).astype(np.float64))

    @classmethod
    def over_noise(cls, noise_scale: float, *, n: int, rank: int, rounds: int) -> _CountLaw:
        """Return the answers under fresh Gaussian noise in each round: one case."""
        reach = int(np.ceil(_REACH * noise_scale))
        counts = np.arange(max(0, rank - reach), min(n, rank + reach) + 1)
        below = ndtr((rank - counts) / noise_scale)
        answers = np.broadcast_to(below, (rounds, 1, counts.size))
        return cls(n=n, first=int(counts[0]), answers=answers)

    def start(self, left: float, right: float) -> _Interval:
        """Return the interval of every search before its first round."""
        cases: IntArray = np.arange(int(self.answers.shape[1]))
        return _Interval(0, left, right, 0.0, 1.0, cases, None, None)

    @property
    def last(self) -> int:
        """The first count past the window."""
        return self.first + int(self.answers.shape[2])

    def step(self, at: _Interval, middle: float, level: float) -> tuple[_Interval, _Interval]:
        """Return the two intervals that round ``at.depth`` may lead to, the right one first.

        Parameters
        ----------
        middle, level : float
            The midpoint and F there, between ``at.below`` and ``at.upto``. The right interval
            starts at the midpoint; the caller moves it on where the search does.
        """
        answer = self.answers[at.depth, at.cases]
        right = at._replace(
            depth=at.depth + 1,
            left=middle,
            below=level,
            from_left=answer * self._left_given(at, level),
        )
        left = at._replace(
            depth=at.depth + 1,
            right=middle,
            upto=level,
            from_right=(1 - answer) * self._right_given(at, level),
        )
        return right, left

    def reach_bound(self, at: _Interval) -> FloatArray:
        """Return upper bounds on the probability that the search gets there, in its cases."""
        return np.minimum(self._left_mean(at), self._right_mean(at))

    def reach(self, at: _Interval) -> FloatArray:
        """Return the probability that the search gets there, in each of the interval's cases."""
        if at.from_left is None or at.from_right is None:
            return self.reach_bound(at)
        here = self._at(at.below)
        if at.mass == 0:
            return _dot(at.from_left * at.from_right, here)
        right = self._right_given(at, at.below)
        past = _at_least(self.last, self.n, at.below)
        return np.maximum(0.0, self._right_mean(at) - past - _dot((1 - at.from_left) * right, here))

    def _at(self, level: float) -> FloatArray:
        """Return the probabilities of the window's counts at a level of F."""
        found = self._known.get(level)
        if found is None:
            if len(self._known) == _LEVELS:
                self._known.clear()
            found = binomial_masses(self._all, self.counts, self.n - self.counts, level)
            self._known[level] = found
        return found

    def _left_mean(self, at: _Interval) -> FloatArray:
        if at.from_left is None:
            return np.ones(at.cases.size)
        before = 1 - _at_least(self.first, self.n, at.below)
        return before + _dot(at.from_left, self._at(at.below))

    def _right_mean(self, at: _Interval) -> FloatArray:
        if at.from_right is None:
            return np.ones(at.cases.size)
        past = _at_least(self.last, self.n, at.upto)
        return past + _dot(at.from_right, self._at(at.upto))

    def _left_given(self, at: _Interval, level: float) -> FloatArray | float:
        """Return E[from_left | count at ``level``], for every count of the window."""
        if at.from_left is None:
            return 1.0
        if level == at.below:
            return at.from_left
        counts, share = self.counts, at.below / level
        inside = binomial_masses(self._chosen, counts, counts[:, None] - counts, share)
        return _weighted(at.from_left - 1, inside) + 1  # it is 1 before the window

    def _right_given(self, at: _Interval, level: float) -> FloatArray | float:
        """Return E[from_right | count at ``level``], for every count of the window."""
        if at.from_right is None:
            return 1.0
        if level == at.upto:
            return at.from_right
        counts, share = self.counts, (at.upto - level) / (1 - level)
        inside = binomial_masses(self._added, counts - counts[:, None], self.n - counts, share)
        return _weighted(at.from_right - 1, inside) + 1  # it is 1 past the window


def _weighted(values: FloatArray, masses: FloatArray) -> FloatArray:
    """Return ``values @ masses.T``, where masses far off a diagonal are 0 but for rounding."""
    found = np.zeros((values.shape[0], masses.shape[0]))
    for start in range(0, masses.shape[0], _ROWS):
        rows = masses[start : start + _ROWS]
        seen = np.flatnonzero(rows.max(axis=0) > _NO_MASS)
        if seen.size:
            band = slice(seen[0], seen[-1] + 1)
            found[:, start : start + _ROWS] = values[:, band] @ rows[:, band].T
    return found


def _dot(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of every row."""
    summed: FloatArray = np.matmul(rows, weights)
    return summed


@lru_cache(maxsize=256)
def _at_least(count: int, trials: int, chance: float) -> float:
    """Return P(Binomial(trials, chance) ≥ count)."""
    if 0 < count <= trials:
        return float(betainc(count, trials - count + 1, chance))
    return float(count <= 0)


def log_choices(trials: FloatArray | float, count: FloatArray) -> FloatArray:
    """Return log C(trials, count); −∞ for counts outside of 0, …, ``trials``."""
    misses = np.asarray(trials) - count
    possible = (count >= 0) & (misses >= 0)
    hits, misses = np.where(possible, count, 0.0), np.where(possible, misses, 0.0)
    choices = gammaln(hits + misses + 1) - gammaln(hits + 1) - gammaln(misses + 1)
    return np.where(possible, choices, -np.inf)


def binomial_masses(
    log_choices: FloatArray, hits: FloatArray, misses: FloatArray, chance: float
) -> FloatArray:
    """Return the binomial masses of hits and misses, from the logarithms of their choices."""
    hit = math.log(max(chance, _LEAST))
    miss = math.log1p(-chance) if chance < 1 else math.log(_LEAST)
    return np.exp(log_choices + (hits * hit + misses * miss))


class _Ending(NamedTuple):
    """The state of the search in an interval; arrays of the shape of its cases.

    Attributes
    ----------
    cases : ndarray
        The interval's cases.
    value : ndarray
        E[F(q); the search gets there].
    reached : ndarray
        The probability that it does.
    error : ndarray
        The largest error of the value, for numbers of scores that are not followed.
    """

    cases: IntArray
    value: FloatArray
    reached: FloatArray
    error: FloatArray


class _EvenHalving:
    """The mean place of the threshold within an interval, by the counts at its ends.

    The place is 0 at the left end and 1 at the right one. Each round splits the scores inside by
    fair coins; ``back`` goes from the last round to earlier ones.

    Parameters
    ----------
    counted : _CountLaw
        The answers of the rounds.
    most : int
        The largest number of scores inside that is followed; with more, the place is taken as 1/2.
    """

    def __init__(self, counted: _CountLaw, *, most: int) -> None:
        self._counted, self._most = counted, most
        self._lefts = counted.last - counted.first + most
        cases = counted.answers.shape[1]
        self._place = np.full((most + 1, cases, self._lefts), 0.5)
        # counts at the left end, from ``most`` before the window to its last, and those inside
        self._counts = np.arange(counted.first - most, counted.last, dtype=np.float64)
        self._inside = np.arange(most + 1.0)[:, None]
        self._choices = log_choices(counted.n, self._counts)
        self._choices_inside = log_choices(counted.n - self._counts, self._inside)

    def back(self, depth: int) -> None:
        """Go one round back: to the places before round ``depth``."""
        below = self._widened(self._counted.answers[depth], before=1.0, after=0.0)
        later, self._place = self._place, np.empty_like(self._place)
        lefts = self._lefts
        for inside in range(self._most + 1):
            mean = np.zeros(later.shape[1:])
            for low in range(inside + 1):
                chance = math.comb(inside, low) / 2 ** (inside + 1)
                mean += chance * later[low]
                # to the right, from the score ``low`` on, by half an interval and its place there
                right = np.ones_like(mean)
                right[:, : lefts - low] += later[inside - low][:, low:]
                right -= later[low]
                right *= below[:, low : low + lefts]
                right *= chance
                mean += right
            self._place[inside] = mean

    def mean(self, at: _Interval) -> _Ending:
        """Return E[F(q); the search gets there], with the probability of that."""
        counted, lefts = self._counted, self._lefts
        from_left = (
            np.ones((1, lefts))
            if at.from_left is None
            else self._widened(at.from_left, before=1.0, after=None)
        )
        from_right = (
            np.ones((1, lefts + self._most))
            if at.from_right is None
            else self._widened(at.from_right, before=0.0, after=1.0)
        )
        others = counted.n - self._counts
        here = binomial_masses(self._choices, self._counts, others, at.below) * from_left
        share = min(1.0, at.mass / (1 - at.below))
        masses = binomial_masses(self._choices_inside, self._inside, others - self._inside, share)
        followed, place = np.zeros(at.cases.size), np.zeros(at.cases.size)
        for inside, mass in enumerate(masses):
            joint = here * from_right[:, inside : inside + lefts]
            joint *= mass
            followed += joint.sum(axis=1)
            joint = joint * self._place[inside, at.cases]
            place += joint.sum(axis=1)
        reached = counted.reach(at)
        more = np.maximum(reached - followed, 0.0)
        value = at.below * reached + at.mass * (place + more / 2)
        return _Ending(at.cases, value, reached, at.mass / 2 * more)

    def _widened(self, inner: FloatArray, *, before: float, after: float | None) -> FloatArray:
        """Return a function of the window's counts on all counts, ``most`` more on either side."""
        cases, most = inner.shape[0], self._most
        parts = [np.full((cases, most), before), inner]
        if after is not None:
            parts.append(np.full((cases, most), after))
        return np.concatenate(parts, axis=1)


_PRUNE = 1e-15
_RANKS = 1e-2
"""The numerical error aimed at, in ranks: 1/n of coverage."""
_CROWD = 1.0
"""Scores that an interval may be expected to hold where it is taken to be small."""
_SELDOM = 1e-3
"""The probability that a small interval holds more scores than are followed."""
_CASES = 400
"""Cases that are followed side by side: an interval holds two vectors of counts for each."""
_GRID = np.arange(1, 8) / 8
_BETWEEN_GRID = 8 / 7
"""Largest value of a concave function that is 0 at 0 and 1, over its largest one on the grid."""


class _MeanCoverage(NamedTuple):
    """Mean coverages, shape (cases,), and how far each may be from the truth."""

    coverage: FloatArray
    error: float


def coverage_given_noise(
    mechanism: PCOQS, population: Population, *, n: int, noise: FloatArray
) -> _MeanCoverage:
    """Return E[F(q)] over n i.i.d. scores, given the noise of all rounds.

    Parameters
    ----------
    noise : ndarray, shape (N, cases)
        Standard normal draws, a column for each case.

    Returns
    -------
    _MeanCoverage
        Shape (cases,); the error bounds what is pruned, cut off or taken as evenly spread.
    """
    _validate.integer(n=n, at_least=1)
    if noise.ndim != 2 or noise.shape[0] != mechanism.rounds:
        raise ValueError(f"noise must have {mechanism.rounds} rows, got shape {noise.shape}")
    parts = [
        _MeanSearch(
            mechanism=mechanism,
            population=population,
            counted=_CountLaw.given_noise(
                mechanism.noise_scale * noise[:, start : start + _CASES],
                n=n,
                rank=mechanism.rank(n),
            ),
        ).run()
        for start in range(0, noise.shape[1], _CASES)
    ]
    coverage = np.concatenate([part.coverage for part in parts])
    return _MeanCoverage(coverage, max(part.error for part in parts))


def mean_coverage(mechanism: PCOQS, population: Population, *, n: int) -> _MeanCoverage:
    """Return E[F(q)] over n i.i.d. scores and the noise, shape (1,), and its error.

    Examples
    --------
    >>> from dpcp_audit.laws.populations import Uniform
    >>> from dpcp_audit.mechanisms.pcoqs import PCOQS
    >>> found = mean_coverage(PCOQS(alpha=0.1, rho=0.5), Uniform(), n=500)
    >>> round(float(found.coverage[0]), 4), found.error < 1e-6
    (0.9011, True)
    """
    _validate.integer(n=n, at_least=1)
    counted = _CountLaw.over_noise(
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
    counted = _CountLaw.over_noise(
        mechanism.noise_scale, n=n, rank=mechanism.rank(n), rounds=mechanism.rounds
    )

    def settled(at: _Interval) -> bool:
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
    counted: _CountLaw,
    stop: Callable[[_Interval], bool],
) -> Iterator[tuple[_Interval | None, float]]:
    """Yield the intervals at which the tree is left; None and a probability where it is pruned."""
    stack = [counted.start(*mechanism.bounds)]
    while stack:
        at = stack.pop()
        bound = counted.reach_bound(at)
        kept = bound >= _PRUNE
        if not kept.all():
            yield None, float(bound[~kept].max())
            at = at.only(kept)
        if not at.cases.size:
            continue
        if at.depth == mechanism.rounds or stop(at):
            yield at, 0.0
        else:
            middle = (at.left + at.right) / 2
            level = float(np.clip(population.cdf(np.array(middle)), at.below, at.upto))
            right, left = counted.step(at, middle, level)
            stack += [left, right._replace(left=middle + mechanism.resolution)]


def _level(population: Population, leaf: _Interval) -> float:
    """Return F at the threshold that is released when the search ends in an interval."""
    return float(population.cdf(np.array((leaf.left + leaf.right) / 2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _MeanSearch:
    """The mean of F(q): intervals by the tree, then by even halving."""

    mechanism: PCOQS
    population: Population
    counted: _CountLaw
    _errors: list[float] = field(default_factory=lambda: [0.0])

    def run(self) -> _MeanCoverage:
        """Return the mean coverage of every case."""
        total = np.zeros(self.counted.answers.shape[1])
        reached, pruned = np.zeros_like(total), 0.0
        small: list[_Interval] = []
        for leaf, lost in _leaves(self.mechanism, self.population, self.counted, self._stop):
            if leaf is None:
                pruned += lost
            elif leaf.depth < self.mechanism.rounds and leaf.mass > self._tolerance:
                small.append(leaf)
            else:
                share = self.counted.reach(leaf)
                total[leaf.cases] += share * _level(self.population, leaf)
                reached[leaf.cases] += share
        unfollowed = np.zeros_like(total)
        for ending in self._halved(small):
            total[ending.cases] += ending.value
            reached[ending.cases] += ending.reached
            unfollowed[ending.cases] += ending.error
        missing = float(np.abs(1 - reached).max())
        error = max(self._errors) + float(unfollowed.max()) + pruned + missing
        return _MeanCoverage(total, error)

    @property
    def _tolerance(self) -> float:
        return _RANKS / self.counted.n

    def _stop(self, at: _Interval) -> bool:
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

    def _monotone(self, at: _Interval) -> bool:
        """Return True if the density is monotone from where the left end was counted, Δ before.

        Never where the drift of Δ a round has taken the left end past the right one.
        """
        counted = max(at.left - 2 * self.mechanism.resolution, self.mechanism.bounds[0])
        return at.left < at.right and self.population.monotone_between(counted, at.right)

    def _unevenness(self, at: _Interval) -> float:
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

    def _halved(self, small: list[_Interval]) -> Iterator[_Ending]:
        """Yield the further course of the search in each small interval."""
        if not small:
            return
        most = binomial_exceeded(_SELDOM, self.counted.n, max(leaf.mass for leaf in small))
        halving = _EvenHalving(self.counted, most=int(most) + 1)
        for depth in range(self.mechanism.rounds - 1, min(leaf.depth for leaf in small) - 1, -1):
            halving.back(depth)
            yield from (halving.mean(leaf) for leaf in small if leaf.depth == depth)
