"""The bisection that both LDP-CP algorithms share, in the variants of its two editions.

LDP-CP-S: conformal calibration from randomised answers about scores (LDP-CP, Algorithm 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from dpcp_audit.mechanisms.randomized_response import BinaryRandomizedResponse
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
        As in ``WindowSearch``.
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
        """Return how many users are asked in each round, at a cost that does not grow with n."""
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
        """Return what the sum of a block's reports is divided by.

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
