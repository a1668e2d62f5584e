"""The law of counts along a noisy binary search over n i.i.d. scores, without sampling.

The number of scores at or below a point is a Markov chain in the point: given the count at a
midpoint, the counts to its left and to its right are independent. What the search has seen on its
way to an interval therefore factors into a function of the count at the interval's left end and one
of the count at its right end. Both are vectors over the few counts near the rank that the noise
can reach, and a step of the search updates one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, gammaln, ndtr

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


_REACH = 9.5
"""Standard deviations that the noise of a round exceeds with probability below 1e-20."""


_LEVELS = 64
"""Levels whose counts' probabilities are kept: neighbouring intervals share theirs."""
_LEAST = 1e-300
"""Stands for a chance of 0 where its logarithm is taken."""


class Interval(NamedTuple):
    """An interval that the search may be in after ``depth`` rounds.

    Attributes
    ----------
    left, right : float
        Its ends, as positions.
    below, upto : float
        F at the points that its ends were counted at: 0 and 1 before any count.
    from_left, from_right : ndarray of shape (cases, counts), or None
        Probability of the answers that led here, given the count at the left (right) end; None
        where no answer was about that end.
    """

    depth: int
    left: float
    right: float
    below: float
    upto: float
    from_left: FloatArray | None
    from_right: FloatArray | None

    @property
    def mass(self) -> float:
        """The probability that a score lies in it."""
        return self.upto - self.below


@dataclass(frozen=True, slots=True, kw_only=True)
class CountLaw:
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
    def given_noise(cls, noise: FloatArray, *, n: int, rank: int) -> CountLaw:
        """Return the answers where the noise is known, in counts, shape (rounds, cases)."""
        least = np.clip(np.ceil(rank - noise), 0, n + 1)
        first, last = int(least.min()), int(least.max())
        counts = np.arange(first, max(last, first + 1))
        return cls(n=n, first=first, answers=(counts < least[..., None]).astype(np.float64))

    @classmethod
    def over_noise(cls, noise_scale: float, *, n: int, rank: int, rounds: int) -> CountLaw:
        """Return the answers under fresh Gaussian noise in each round: one case."""
        reach = int(np.ceil(_REACH * noise_scale))
        counts = np.arange(max(0, rank - reach), min(n, rank + reach) + 1)
        below = ndtr((rank - counts) / noise_scale)
        answers = np.broadcast_to(below, (rounds, 1, counts.size))
        return cls(n=n, first=int(counts[0]), answers=answers)

    @property
    def cases(self) -> int:
        """The number of cases."""
        return int(self.answers.shape[1])

    @property
    def last(self) -> int:
        """The first count past the window."""
        return self.first + int(self.answers.shape[2])

    def step(self, at: Interval, middle: float, level: float) -> tuple[Interval, Interval]:
        """Return the two intervals that round ``at.depth`` may lead to, the right one first.

        Parameters
        ----------
        middle, level : float
            The midpoint and F there, between ``at.below`` and ``at.upto``. The right interval
            starts at the midpoint; the caller moves it on where the search does.
        """
        answer = self.answers[at.depth]
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

    def reach_bound(self, at: Interval) -> FloatArray:
        """Return upper bounds on the probability that the search gets there, shape (cases,)."""
        return np.minimum(self._left_mean(at), self._right_mean(at))

    def reach(self, at: Interval) -> FloatArray:
        """Return the probability that the search gets there, shape (cases,)."""
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

    def _left_mean(self, at: Interval) -> FloatArray:
        if at.from_left is None:
            return np.ones(self.cases)
        before = 1 - _at_least(self.first, self.n, at.below)
        return before + _dot(at.from_left, self._at(at.below))

    def _right_mean(self, at: Interval) -> FloatArray:
        if at.from_right is None:
            return np.ones(self.cases)
        past = _at_least(self.last, self.n, at.upto)
        return past + _dot(at.from_right, self._at(at.upto))

    def _left_given(self, at: Interval, level: float) -> FloatArray | float:
        """Return E[from_left | count at ``level``], for every count of the window."""
        if at.from_left is None:
            return 1.0
        if level == at.below:
            return at.from_left
        counts, share = self.counts, at.below / level
        inside = binomial_masses(self._chosen, counts, counts[:, None] - counts, share)
        return (at.from_left - 1) @ inside.T + 1  # it is 1 before the window

    def _right_given(self, at: Interval, level: float) -> FloatArray | float:
        """Return E[from_right | count at ``level``], for every count of the window."""
        if at.from_right is None:
            return 1.0
        if level == at.upto:
            return at.from_right
        counts, share = self.counts, (at.upto - level) / (1 - level)
        inside = binomial_masses(self._added, counts - counts[:, None], self.n - counts, share)
        return (at.from_right - 1) @ inside.T + 1  # it is 1 past the window


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


@dataclass(slots=True, kw_only=True, eq=False)
class Trials:
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

    def take(self, which: IntArray) -> Trials:
        """Return some of the trials."""
        return Trials(**{each.name: getattr(self, each.name)[which] for each in fields(self)})

    def put(self, which: IntArray, some: Trials) -> None:
        """Take over the counts that some of the trials know, in new arrays."""
        for name in ("low_u", "low_count", "high_u", "high_count", "next_u", "next_count"):
            setattr(self, name, replaced(getattr(self, name), which, getattr(some, name)))


def replaced(column: FloatArray, which: IntArray, values: FloatArray) -> FloatArray:
    """Return a copy of the column in which some values are others."""
    changed = column.copy()
    changed[which] = values
    return changed


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts that are known of trials: of the scores below a point, and at or below it."""

    trials: IntArray
    u: FloatArray
    below: FloatArray
    upto: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class SettledTrials:
    """Trials in whose intervals there is no score, with the rounds that are to come."""

    index: IntArray
    left: FloatArray
    right: FloatArray
    count: FloatArray
    to_come: int


class Bracket(NamedTuple):
    """Known points about another, with the counts at the lower and short of the higher."""

    low_u: FloatArray
    low_count: FloatArray
    high_u: FloatArray
    high_count: FloatArray

    def take(self, which: IntArray) -> Bracket:
        """Return some of the brackets."""
        return Bracket(*(column[which] for column in self))

    def split(self, u: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the members and the fraction of the binomial count between the lower and u."""
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = (u - self.low_u) / (self.high_u - self.low_u)
        fraction = np.fmin(np.fmax(fraction, 0.0), 1.0)  # 0/0, between equal points, becomes 0
        return (self.high_count - self.low_count).astype(np.int64), fraction
