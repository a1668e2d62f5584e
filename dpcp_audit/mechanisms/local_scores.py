"""The bisection that both LDP-CP algorithms share, in the variants of its two editions.

LDP-CP-S: conformal calibration from randomised answers about scores (LDP-CP, Algorithm 3).

The exact law of LDP-CP-S's threshold on i.i.d. users: enumerated, and enclosed.

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

import math
from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from flint import arb, fmpq
from scipy.special import betainc

from dpcp_audit.mechanisms.randomized_response import BinaryRandomizedResponse
from dpcp_audit.stats.enclosures import NEGLIGIBLE, UNIT, binomial_tails, decimal
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import LocalDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.stats.enclosures import Number
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_Number = TypeVar("_Number", Fraction, "Number")


class Window(StrEnum):
    """The estimates at which the search stops, for a target coverage c and a width Δ."""

    FINAL = "final"
    """[c, c + Δ]: Algorithms 2 and 3 of the final version."""
    PREPRINT = "preprint"
    """[c − Δ/2, c + Δ/2]: Algorithms 2 and 3 of the preprint."""

    def limits(self, *, alpha: float, width: float, starred: bool) -> tuple[float, float]:
        """Return the lower and upper end of the window.

        The target is 1−α, or 1−α+Δ where ``starred``. ``alpha`` and ``width`` are read as the
        decimals they were written as, so that a coverage of 3/10 meets 1 − 0.7.
        """
        target = 1 - Fraction(repr(float(alpha)))
        bottom, top = self.ends(target, Fraction(repr(float(width))), starred=starred)
        return float(bottom), float(top)

    def ends(self, target: _Number, width: _Number, *, starred: bool) -> tuple[_Number, _Number]:
        """Return the ends of the window around a target 1−α, as exactly as they are given."""
        centre = target + width if starred else target
        bottom = centre - width / 2 if self is Window.PREPRINT else centre
        return bottom, bottom + width


class Debiasing(StrEnum):
    """The number by which LDP-CP-S divides the sum of a block's reports."""

    CORRECTED = "corrected"
    """The number of users in the block, which makes Z unbiased."""
    PRINTED = "printed"
    """n, the number of all users (Algorithm 3, line 8)."""


class Blocks(StrEnum):
    """The users whom LDP-CP-S asks in round j = 1, ..., T, with n′ = ⌊n/T⌋."""

    CORRECTED = "corrected"
    """T disjoint runs that hold all n users; the first n mod T hold n′+1, the others n′."""
    PRINTED = "printed"
    """{j·n′+1, ..., (j+1)·n′} (Algorithm 3, line 5); an index beyond n names nobody."""


class OnMiss(StrEnum):
    """The output of a search when none of its T estimates fell into the window."""

    LAST_MIDPOINT = "last-midpoint"
    """q^(T), as printed, whichever side of the target its estimate lay on."""
    UPPER_END = "upper-end"
    """The upper end of the last bracket: 1, or a point whose estimate was above the window."""


class LabelSearch(StrEnum):
    """The search of LDP-CP-L's aggregator for the threshold."""

    WINDOW = "window"
    """Until an estimate falls into a window of width Δ (Algorithm 2)."""
    NACP = "nacp"
    """Until the interval is small: NACP's public code, see ``NoiseAwareLabels``."""


class SearchResult(NamedTuple):
    """Thresholds, and whether no estimate fell into the window; both of shape (runs,)."""

    threshold: FloatArray
    missed: BoolArray


class LDPTrials(NamedTuple):
    """Independent runs on fresh users; each array has shape (trials,)."""

    threshold: FloatArray
    coverage: FloatArray
    missed: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSearch:
    """Bisection of [0, 1] that stops at the first estimate inside a window.

    LDP-CP paper, Algorithm 2, lines 6 to 14, and Algorithm 3, lines 3 to 13.

    Parameters
    ----------
    alpha : float
        Miscoverage level in (0, 1).
    rounds : int
        T, the largest number of estimates.
    window_width : float
        Δ > 0, in units of coverage.
    window : Window
        The position of the window of width Δ.
    on_miss : OnMiss
        The value to return when no estimate fell into the window.
    starred : bool
        Calibrate at 1−α+Δ in place of 1−α (the paper's L* and S*).
    """

    alpha: float
    rounds: int
    window_width: float
    window: Window = Window.FINAL
    on_miss: OnMiss = OnMiss.LAST_MIDPOINT
    starred: bool = False

    def __post_init__(self) -> None:
        _validate.open_unit(alpha=self.alpha)
        _validate.integer(rounds=self.rounds, at_least=1)
        _validate.positive(window_width=self.window_width)
        _validate.choice(Window, window=self.window)
        _validate.choice(OnMiss, on_miss=self.on_miss)

    @property
    def limits(self) -> tuple[float, float]:
        """The estimates, lowest and highest, at which the search stops."""
        return self.window.limits(alpha=self.alpha, width=self.window_width, starred=self.starred)

    def search(
        self, estimate: Callable[[int, FloatArray, IntArray], FloatArray], *, runs: int
    ) -> SearchResult:
        """Run the bisection in ``runs`` runs side by side.

        Parameters
        ----------
        estimate : callable
            ``estimate(j, q, which)`` returns Z of round j = 0, ..., T−1 at the points ``q``
            of the runs whose indices are ``which``, both of shape (active,): the runs that
            have not stopped.
        runs : int
            Number of runs.
        """
        low, high = np.zeros(runs), np.ones(runs)
        point = np.empty(runs)
        active = np.arange(runs)
        bottom, top = self.limits
        for j in range(self.rounds):
            point[active] = middle = (low[active] + high[active]) / 2
            z = estimate(j, middle, active)
            above, below = z > top, z < bottom
            high[active[above]] = middle[above]
            low[active[below]] = middle[below]
            active = active[above | below]
            if not active.size:
                break
        missed = np.zeros(runs, dtype=np.bool_)
        missed[active] = True
        if self.on_miss is OnMiss.UPPER_END:
            point[missed] = high[missed]
        return SearchResult(point, missed)

    def open_places(self, points: FloatArray, lowest: FloatArray, highest: FloatArray) -> BoolArray:
        """Return at which points the search may ask for an estimate without knowing the answer.

        Parameters
        ----------
        points : ndarray, shape (m,)
            Increasing; an estimate changes at these only, and is 0 before the first.
        lowest, highest : ndarray, shape (m,)
            Limits of the estimate at each point and up to the next.

        Returns
        -------
        ndarray of bool, shape (m,)
        """
        bottom, top = self.limits
        sure = (lowest > top) | (highest < bottom) | ((lowest >= bottom) & (highest <= top))
        return ~sure & asked_places(
            points, lowest < bottom, highest > top, start=0.0, rounds=self.rounds
        )


def asked_places(
    points: FloatArray, below: BoolArray, above: BoolArray, *, start: float, rounds: int
) -> BoolArray:
    """Return at which points a bisection of [start, 1] may ask for an estimate, shape (m,).

    Parameters
    ----------
    points : ndarray, shape (m,)
        Increasing; the estimate changes at these only, and is 0 before the first.
    below, above : ndarray of bool, shape (m,)
        True where the estimate may turn out so low that the search goes on to the right, and so
        high that it goes on to the left.
    """
    below, above = np.append([True], below), np.append([False], above)
    asked = np.zeros(points.size + 1, dtype=np.bool_)
    low, high = np.array([start]), np.ones(1)
    for _ in range(rounds):
        middle = (low + high) / 2
        place = np.searchsorted(points, middle, side="right")
        asked[place] = True
        onward = np.searchsorted(points, low, "right") < np.searchsorted(points, high, "right")
        left, right = onward & above[place], onward & below[place]
        low, high = np.append(low[left], middle[right]), np.append(middle[left], high[right])
    return asked[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class LDPCPScores(WindowSearch):
    """Round j asks its own block of users whether their score lies below the midpoint.

    Each user answers once, b_i = 1(s_i < q) through randomised response. Scores lie in [0, 1].

    Parameters
    ----------
    alpha, rounds, window_width, window, on_miss, starred
        Settings of the search, as in ``WindowSearch``.
    epsilon : float
        Privacy parameter ε > 0 of each user's answer.
    debiasing : Debiasing
        The divisor of the sum of a block's reports.
    blocks : Blocks
        The users who are asked in each round.
    """

    epsilon: float
    debiasing: Debiasing = Debiasing.CORRECTED
    blocks: Blocks = Blocks.CORRECTED

    def __post_init__(self) -> None:
        WindowSearch.__post_init__(self)
        _validate.positive(epsilon=self.epsilon)
        _validate.choice(Debiasing, debiasing=self.debiasing)
        _validate.choice(Blocks, blocks=self.blocks)

    @property
    def guarantee(self) -> LocalDP:
        """ε-LDP, where no user is asked twice (Theorem 4)."""
        return LocalDP(self.epsilon)

    @property
    def response(self) -> BinaryRandomizedResponse:
        """The randomizer that each user who is asked runs on its bit."""
        return BinaryRandomizedResponse(self.epsilon)

    def blocks_of(self, n: int) -> list[IntArray]:
        """Return the 0-based indices of the users asked in each of the T rounds."""
        each = self._block_length(n)
        if self.blocks is Blocks.CORRECTED:
            return np.array_split(np.arange(n), self.rounds)
        return [
            np.arange(min(j * each, n), min((j + 1) * each, n)) for j in range(1, self.rounds + 1)
        ]

    def block_sizes(self, n: int) -> list[int]:
        """Return the number of users asked in each round, at a cost that does not grow with n."""
        each = self._block_length(n)
        if self.blocks is Blocks.CORRECTED:
            return [each + (j < n % self.rounds) for j in range(self.rounds)]
        return [min((j + 1) * each, n) - min(j * each, n) for j in range(1, self.rounds + 1)]

    def debias(self, reports: ArrayLike, *, asked: int, n: int) -> FloatArray:
        """Return Z from the number of ones among the reports of a block (Algorithm 3, line 8).

        Parameters
        ----------
        reports : array_like of int
            Numbers of ones.
        asked, n : int
            Users in the block, and in all.
        """
        return self.response.debias(np.asarray(reports) / self.divisor(asked, n))

    def divisor(self, asked: int, n: int) -> int:
        """Return the divisor of the sum of a block's reports.

        The corrected form divides by ``asked``, or by n′ where a printed block runs past n: users
        who do not exist report nothing.
        """
        whole = max(asked, self._block_length(n))
        return whole if self.debiasing is Debiasing.CORRECTED else n

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same users' scores.

        Parameters
        ----------
        scores : array_like, shape (n,)
            The users' scores in [0, 1], in the order in which blocks are formed.
        size : int
            Number of releases.

        Returns
        -------
        ndarray, shape (size,)
        """
        values = _validate.scores(scores, within=(0.0, 1.0))
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        asked = [np.sort(values[users]) for users in self.blocks_of(values.size)]

        def estimate(j: int, q: FloatArray, _: IntArray) -> FloatArray:
            ones = np.searchsorted(asked[j], q, side="left")
            reports = self.response.sample_counts(ones, asked[j].size - ones, rng=generator)
            return self.debias(reports, asked=asked[j].size, n=values.size)

        return self.search(estimate, runs=size).threshold

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> LDPTrials:
        """Run the algorithm ``trials`` times, each on n fresh users.

        The users of a block are asked once, so their reports are i.i.d. and only their sum is
        drawn: the cost of a trial does not grow with n. The search stays in [0, 1]; scores
        beyond 1 that a population may hold are never covered.
        """
        _validate.integer(trials=trials, at_least=1)
        generator = _validate.generator(rng)
        sizes = self.block_sizes(n)

        def estimate(j: int, q: FloatArray, _: IntArray) -> FloatArray:
            chance = self.response.report_probability(population.cdf_left(q))
            return self.debias(generator.binomial(sizes[j], chance), asked=sizes[j], n=n)

        threshold, missed = self.search(estimate, runs=trials)
        return LDPTrials(threshold, population.cdf(threshold), missed)

    def _block_length(self, n: int) -> int:
        """Return n′ = ⌊n/T⌋."""
        _validate.integer(n=n, at_least=self.rounds)
        return n // self.rounds


def hoeffding_width(*, n: int, epsilon: float, rounds: int, delta: float) -> float:
    """Return Δ_S = (e^ε+1)/(e^ε−1)·sqrt(T·log(2T/δ)/(2n)), the half-width of all T estimates.

    LDP-CP's Theorem 4 gives n = O(T/Δ²·((e^ε+1)/(e^ε−1))²·log(T/δ)); this is Hoeffding's
    inequality (1963, Theorem 2) for the n/T reports of a block, two-sided, with a union bound
    over the T rounds. With probability at least 1−δ every Z is within Δ_S of its mean, where
    T divides n; pass n − (n mod T) where it does not.
    """
    _validate.integer(n=n, at_least=1)
    _validate.integer(rounds=rounds, at_least=1)
    _validate.open_unit(delta=delta)
    gain = BinaryRandomizedResponse(epsilon).gain
    return gain * math.sqrt(rounds * math.log(2 * rounds / delta) / (2 * n))


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
