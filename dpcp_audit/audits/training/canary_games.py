"""One-run audits: what the number of right guesses among many canaries says about a claim.

Each of m canaries is in the data by a fair coin of its own. The auditor looks at all outputs and
guesses ``guesses`` = c of the coins; ``correct`` of them are right. All canaries may have been in
one run, or in several: what was seen of one may depend on all the others.

**By the region that the claim allows** (Mahloujifar, Melis and Chaudhuri 2024, Theorem 9). With p_i
the probability of exactly i right guesses, u_j = Σ_{i≥j} i·p_i/m and w_j = Σ_{i≥j} (c−i)·p_i/m,

    w_{j−1} ≥ tradeoff(1 − u_j)   for every j,

because: hold all coins but one, of canary k, and let E be the outputs that guess s for it and in
which at least j−1 of the other guesses are right. If the coin is s, E means a right guess of k
among at least j; if it is not, a wrong one beside at least j−1. The guarantee bounds the one
probability by ``power`` of the other, and power is concave, so that it also bounds the means over
s, the other coins and k, which are u_j and w_{j−1}. Given P(at least v right) = τ, the least total
probability in keeping with these inequalities puts τ at v, and at v−1, v−2, … only what w lacks;
where the total exceeds 1, τ is impossible. (For any other law of the same τ the sums u_j, u_j + w_j
and u_j − κ·w_j, κ = (j−1)/(c−j+1), are never smaller, by induction over j.) The largest possible τ
is the p-value. Only ``power`` of the claim enters: no law is assumed.

It holds for any dependence among the canaries. It costs power where c·significance is below mδ:
with probability mδ/c an (ε, δ)-DP mechanism may show the coins of c canaries at once. Groups of
independent runs are not so limited: their p-values are combined by Fisher's method. Nor are
bets on independent runs (``run_bets``).

**What one run with many canaries shows of ε(δ)**, under what assumption:

==================  ============================================================================
none                Whatever the mechanism: the guesses against (ε, δ)-DP, by its region.
trade-off           The mechanism differs from the claim in its noise alone; canaries may depend
                    on one another as they like. The guesses against the claim's curve at other
                    noises, by its region.
==================  ============================================================================

A test of the claim itself by its region assumes nothing beyond the claim. The assumption is that of
a *bound* of ε, and it is false of some mechanism. No bound here takes canaries for independent of
one another: a μ-GDP mechanism that gives many of its canaries away at once, rarely, breaks every
bound that does.

Under ``trade-off`` the shares of ε that are certified cannot be had better: μ-GDP allows, with
probability τ, to show a random c of the m canaries at the largest τc/m of its losses, so that no
valid test at level τ refutes what these would show. From about 1,000 guesses on the region reaches
that limit.

Games on trainings: canaries that are in by fair coins, and bets on independent runs.

In a run, A of the canaries that are guessed "in" are in, and B are not. As every coin is fair,
A has the mean Σ_i P(i guessed | in)/2 and B the mean Σ_i P(i guessed | out)/2, so that under
(ε, δ)-DP, with d = m·δ/2,

    E[A] ≤ e^ε·E[B] + d,

however the canaries of a run depend on one another. With at most g guesses a run the factor
1 + λ(A − e^ε·B − d) is non-negative for a stake λ ≤ 1/(e^ε·g + d), and has a mean of at most 1: the
capital, its product over runs, reaches 1/significance with probability at most the significance,
whenever one stops (Ville's inequality). At a fixed stake the capital falls as ε grows.

Against the product of likelihood ratios over the guesses of a run, as against the p-values of
``one_run`` for all runs together, δ enters as itself: neither multiplied by what was won before it,
nor as an event that gives away all runs at once.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, cast

import numpy as np
from scipy.special import chdtrc
from scipy.stats import betabinom

from dpcp_audit.laws.losses import loss_of
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.stats.roots import turn, turns
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import ApproxDP, PureDP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.words.guarantees import GaussianDP, PrivacyGuarantee
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_ROUNDING = 1e-15
_LOOK = 8
"""Right guesses between two looks at whether the rest can be left out."""
_SMALLEST = -12.0
_LEVELS = 49
_REFINEMENTS = 2
_LARGEST_EPSILON = 20.0
_RESOLUTION = 1e-3
_DIGITS = 6
"""Decimals of scores that count: the last ones differ with the number of threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """The outcome of the guesses about canaries; their number was fixed beforehand.

    Parameters
    ----------
    correct, guesses, canaries : int
        v ≤ c ≤ m.
    """

    correct: int
    guesses: int
    canaries: int

    def __post_init__(self) -> None:
        _validate.integer(correct=self.correct, at_least=0)
        _validate.integer(guesses=self.guesses, canaries=self.canaries, at_least=1)
        if not self.correct <= self.guesses <= self.canaries:
            raise ValueError(
                "correct must not exceed guesses, nor guesses canaries, got "
                f"{self.correct}, {self.guesses} and {self.canaries}"
            )

    def __add__(self, other: Guesses) -> Guesses:
        """Return the guesses of both, as those of one run of all canaries."""
        return Guesses(
            correct=self.correct + other.correct,
            guesses=self.guesses + other.guesses,
            canaries=self.canaries + other.canaries,
        )


def total(groups: Sequence[Guesses]) -> Guesses:
    """Return the guesses of all groups together."""
    return reduce(add, groups)


def top_guesses(scores: FloatArray, members: BoolArray, *, guesses: int) -> Guesses:
    """Guess "in" for the canaries of the largest scores, to six decimals; of equal ones, the first.

    Parameters
    ----------
    scores : ndarray of float
        Larger where a canary is rather in; of any shape.
    members : ndarray of bool
        True where a canary was in, of the same shape.
    guesses : int
        The number of guesses.
    """
    _validate.integer(guesses=guesses, at_least=1)
    if scores.shape != members.shape or guesses > scores.size:
        raise ValueError(
            f"scores and members must share a shape of at least {guesses} canaries, got "
            f"{scores.shape} and {members.shape}"
        )
    best = falling(scores.ravel())[:guesses]
    correct = int(members.ravel()[best].sum())
    return Guesses(correct=correct, guesses=guesses, canaries=scores.size)


def falling(scores: FloatArray) -> IntArray:
    """Return the order of falling scores along the last axis, to six decimals and stable."""
    return np.argsort(-np.round(scores, _DIGITS), axis=-1, kind="stable")


def refutes(guarantee: PrivacyGuarantee, *groups: Guesses, significance: float) -> bool:
    """Return True if so many right guesses, in each group of independent runs, refute the claim.

    A true claim is refuted with probability at most ``significance``.
    """
    _validate.open_unit(significance=significance)
    if len(groups) == 1:
        return not _possible(guarantee, groups, np.array([[significance]])).item()
    return p_value(guarantee, *groups) <= significance


def p_value(guarantee: PrivacyGuarantee, *groups: Guesses) -> float:
    """Return the p-value of the claim, by its region; of several groups, by Fisher's method.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        The claim.
    *groups : Guesses
        The guesses of the canaries of one group of runs each; groups are independent.

    Returns
    -------
    float
        The p-value, at most 2 % too large; each group's own is at least 1e-12.
    """
    return _fisher(_p_values(guarantee, groups))


def _p_values(guarantee: PrivacyGuarantee, groups: Sequence[Guesses]) -> FloatArray:
    low, high = np.full((len(groups), 1), _SMALLEST), np.zeros((len(groups), 1))
    for _ in range(_REFINEMENTS):
        levels = low + (high - low) * np.linspace(0, 1, _LEVELS)
        possible = _possible(guarantee, groups, 10**levels)
        last = possible.sum(axis=1, keepdims=True) - 1  # what is impossible is so above, too
        high = np.take_along_axis(levels, np.clip(last + 1, 0, _LEVELS - 1), 1)
        low = np.take_along_axis(levels, np.maximum(last, 0), 1)
    return np.asarray(10 ** high[:, 0])


def _fisher(p_values: ArrayLike) -> float:
    """Return the p-value of −2·Σ log p under χ² of twice as many degrees of freedom."""
    each = np.asarray(p_values, dtype=np.float64)
    if each.size == 1:
        return float(each[0])
    return float(chdtrc(2 * each.size, -2 * float(np.log(each).sum())))


def epsilon_lower_bound(*groups: Guesses, delta: float, significance: float) -> float:
    """Return a lower bound of the ε at which the mechanism, whatever it is, is (ε, ``delta``)-DP.

    By bisection to 1e-3, 0 where not even the smallest ε is refuted; the p-value rises with ε.
    """
    _validate.closed_unit(delta=delta)
    _validate.open_unit(significance=significance)

    def refuted(epsilon: float) -> bool:
        return refutes(ApproxDP(epsilon, delta), *groups, significance=significance)

    return largest_refuted(refuted, low=0.0, high=_LARGEST_EPSILON, resolution=_RESOLUTION)


def largest_refuted(
    refuted: Callable[[float], bool], *, low: float, high: float, resolution: float
) -> float:
    """Return the largest number that is refuted, by bisection; ``low`` where none is."""
    halvings = math.ceil(math.log2((high - low) / resolution))
    return turn(refuted, high, low, steps=halvings).holds


def _possible(
    guarantee: PrivacyGuarantee, groups: Sequence[Guesses], tails: FloatArray
) -> BoolArray:
    """Return True for allowed probabilities of at least v right guesses, shape (groups, levels)."""
    v, c, m = (
        np.array([[getattr(group, name)] for group in groups])
        for name in ("correct", "guesses", "canaries")
    )
    right, wrong, limit = tails * (v / m), tails * ((c - v) / m), c / m * (1 + 1e-9)
    counts: IntArray = np.arange(int(v.max()) + 1)[:, None, None]
    shares: FloatArray = (counts - 1) / np.maximum(c - counts + 1, 1)
    counted: BoolArray = counts <= v
    for j in range(int(v.max()), 0, -1):
        least = guarantee.tradeoff(1 - np.minimum(right, 1.0)) - _ROUNDING
        added: FloatArray = np.maximum(least - wrong, 0.0) * counted[j]
        right += added * shares[j]
        wrong += added
        if j % _LOOK == 0 and (right + wrong > limit).all():  # neither ever falls
            break
    return np.asarray(right + wrong <= limit)


_RANGE, _NOISE_RESOLUTION = 4.0, 0.02
"""Noise between a sixteenth of the claim's and 16 times that, to 1.4 %."""


def trade_off_bound(
    claim: SubsampledGaussian | GaussianDP | PureDP,
    *groups: Guesses,
    delta: float,
    significance: float,
) -> float:
    """Return a lower bound of ε(``delta``) among mechanisms that differ in the noise alone.

    The largest noises are refuted, each by its own curve; ε of the smallest of them. It is a bound
    for this family of mechanisms and no other. To 1.4 % of the noise, between a sixteenth and 16
    times that of ``claim``; 0 where none is refuted.
    """

    def refuted(fewer: float) -> bool:
        return refutes(_rescaled(claim, fewer), *groups, significance=significance)

    if not refuted(-_RANGE):
        return 0.0
    found = largest_refuted(refuted, low=-_RANGE, high=_RANGE, resolution=_NOISE_RESOLUTION)
    return _rescaled(claim, found).epsilon_at(delta)


def _rescaled(claim: SubsampledGaussian | GaussianDP | PureDP, fewer: float) -> PrivacyGuarantee:
    """Return the claim at 2^−``fewer`` times the noise: 1/ε of ε-DP, 1/μ of μ-GDP."""
    if isinstance(claim, SubsampledGaussian):
        return replace(claim, noise_multiplier=claim.noise_multiplier * 2**-fewer)
    loss = loss_of(claim)
    return loss.allowing(loss.claimed * 2**fewer)


_MOST = (1, 2, 4)
_CAPS = np.linspace(0.5, 9.0, 18)
_THRESHOLDS = 24


class GameResults(NamedTuple):
    """The outcomes of a game's runs, both of shape (runs, m)."""

    scores: FloatArray
    """Larger where the attacker takes a canary to be in."""
    members: BoolArray


def ranked(results: GameResults) -> GameResults:
    """Return the largest scores of every run, four or fewer, in falling order."""
    order = falling(results.scores)[:, : max(_MOST)]
    return GameResults(
        np.take_along_axis(results.scores, order, 1), np.take_along_axis(results.members, order, 1)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBets:
    """The bet on every run; it must be chosen on other runs.

    Parameters
    ----------
    canaries : int
        m, in each run.
    delta : float
        δ in [0, 1).
    threshold : float
        Canaries whose score exceeds it are guessed "in", …
    most : int
        … but at most so many a run, those of the largest scores; g.
    stake : float
        λ > 0.
    """

    canaries: int
    delta: float
    threshold: float
    most: int
    stake: float

    def __post_init__(self) -> None:
        _validate.integer(canaries=self.canaries, most=self.most, at_least=1)
        _validate.closed_unit(delta=self.delta)
        _validate.finite(threshold=self.threshold)
        _validate.positive(stake=self.stake)
        if self.stake * (self.most + self._penalty) > 1:
            raise ValueError(f"stake must leave a capital at ε = 0, got {self.stake!r}")

    @property
    def largest_epsilon(self) -> float:
        """The largest ε that these bets can refute: λ(e^ε·g + d) = 1."""
        return math.log((1 / self.stake - self._penalty) / self.most)

    @property
    def _penalty(self) -> float:
        return self.canaries * self.delta / 2

    def count(self, runs: GameResults) -> tuple[IntArray, IntArray]:
        """Return the right and the wrong guesses of every run, A and B."""
        return _count(runs, self.threshold, self.most)

    def log_capital(self, runs: GameResults, *, epsilon: float) -> float:
        """Return the log of the capital after these runs, against (``epsilon``, δ)-DP.

        Raises
        ------
        ValueError
            If ε exceeds ``largest_epsilon``.
        """
        if not 0 <= epsilon <= self.largest_epsilon:
            raise ValueError(f"epsilon must lie in [0, {self.largest_epsilon:.4g}], got {epsilon}")
        tally = _Tally.of(*self.count(runs))
        stakes, epsilons = np.array([self.stake]), np.array([epsilon])
        return float(tally.log_capitals(stakes, epsilons, penalty=self._penalty)[0])

    def lower_bound(self, runs: GameResults, *, significance: float) -> float:
        """Return a lower bound of ε(δ), 0 where not even ε = 0 is refuted."""
        _validate.open_unit(significance=significance)
        tally, stakes = _Tally.of(*self.count(runs)), np.array([self.stake])
        target = -math.log(significance)
        bounds = tally.lower_bounds(stakes, most=self.most, penalty=self._penalty, target=target)
        return float(bounds[0])

    @classmethod
    def chosen(
        cls,
        pilot: GameResults,
        *,
        canaries: int,
        delta: float,
        runs: int,
        significance: float,
    ) -> Self:
        """Return the bets that would certify most on ``runs`` runs like the pilot's.

        The few wrong guesses of a pilot would mislead: a logistic regression on the scores says
        how probable each is, and what is weighed is the expected number of runs with so many
        right and wrong guesses.
        """
        chances = _chances(pilot)
        laws = {guesses: _right_guesses(chances, guesses) for guesses in range(max(_MOST) + 1)}
        target = -math.log(significance) * len(pilot.scores) / runs
        levels = np.unique(np.quantile(pilot.scores, 1 - np.geomspace(1, 1e-4, _THRESHOLDS)))
        penalty = canaries * delta / 2
        tried: list[tuple[float, float, int, float]] = []
        for most, threshold in itertools.product(_MOST, levels.tolist()):
            guesses = (pilot.scores[:, :most] > threshold).sum(axis=1)
            tally = _Tally.expected(guesses, laws)
            stakes = 1 / (np.exp(_CAPS) * most + penalty)
            bounds = tally.lower_bounds(stakes, most=most, penalty=penalty, target=target)
            best = int(np.argmax(bounds))
            tried.append((float(bounds[best]), threshold, most, float(stakes[best])))
        _, threshold, most, stake = max(tried, key=lambda one: one[0])
        return cls(canaries=canaries, delta=delta, threshold=threshold, most=most, stake=stake)


class _Tally(NamedTuple):
    """The number of runs for each pair of right and wrong guesses, each of shape (k,)."""

    right: IntArray
    wrong: IntArray
    runs: IntArray | FloatArray

    @classmethod
    def of(cls, right: IntArray, wrong: IntArray) -> _Tally:
        base = int(wrong.max()) + 1
        codes, runs = np.unique(right * base + wrong, return_counts=True)
        return cls(codes // base, codes % base, runs)

    @classmethod
    def expected(cls, guesses: IntArray, laws: Mapping[int, FloatArray]) -> _Tally:
        """Return the expected number of runs.

        Parameters
        ----------
        guesses : ndarray of int, shape (runs,)
            The number of canaries that are guessed in each run, those of the largest scores.
        laws : mapping
            For each number g of guesses, the probability of each number of right guesses in each
            run, shape (runs, g + 1).
        """
        cells = [
            (right, g - right, float(laws[g][guesses == g, right].sum()))
            for g in range(int(guesses.max()) + 1)
            for right in range(g + 1)
        ]
        right, wrong, runs = (np.array(column) for column in zip(*cells, strict=True))
        return cls(right, wrong, runs)

    def log_capitals(
        self, stakes: FloatArray, epsilons: FloatArray, *, penalty: float
    ) -> FloatArray:
        """Return the log of the capital of each stake against its ε, shape (stakes,)."""
        wrong = np.exp(epsilons)[:, None] * self.wrong
        gains = stakes[:, None] * (self.right - wrong - penalty)
        with np.errstate(divide="ignore"):  # all may be lost at the largest ε
            logs: FloatArray = np.log1p(np.maximum(gains, -1.0))
        return logs @ np.asarray(self.runs, dtype=np.float64)

    def lower_bounds(
        self, stakes: FloatArray, *, most: int, penalty: float, target: float
    ) -> FloatArray:
        """Return the largest ε that each stake refutes with this log-capital, 0 where none is."""

        def refuted(epsilons: FloatArray) -> BoolArray:
            return np.asarray(self.log_capitals(stakes, epsilons, penalty=penalty) >= target)

        low, high = np.zeros(stakes.shape), np.log((1 / stakes - penalty) / most)
        steps = math.ceil(math.log2(float(high.max()) / _RESOLUTION))
        bounds = turns(refuted, high, low, steps=steps)[1]
        return np.where(refuted(low), bounds, 0.0)


def _count(runs: GameResults, threshold: float, most: int) -> tuple[IntArray, IntArray]:
    guessed = runs.scores[:, :most] > threshold
    inside = runs.members[:, :most]
    return (guessed & inside).sum(axis=1), (guessed & ~inside).sum(axis=1)


def _right_guesses(chances: FloatArray, guesses: int) -> FloatArray:
    """Return the probability of each number of right guesses, shape (runs, guesses + 1).

    ``chances``, of shape (runs, k), are those of the canaries of the largest scores.
    """
    law = np.ones((len(chances), 1))
    for each in chances[:, :guesses].T[:, :, None]:
        missed, hit = law * (1 - each), law * each
        law = np.pad(missed, ((0, 0), (0, 1))) + np.pad(hit, ((0, 0), (1, 0)))
    return law


def _chances(pilot: GameResults) -> FloatArray:
    """Return the fitted probability that each canary is in, of the scores' shape."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)

    middle = np.full(2, np.median(pilot.scores))
    scores = np.concatenate([pilot.scores.ravel(), middle])
    members = np.concatenate([pilot.members.ravel(), [False, True]])
    fitted = cast("Any", LogisticRegression(C=1e6)).fit(scores[:, None], members)
    found: FloatArray = fitted.predict_proba(pilot.scores.reshape(-1, 1))[:, 1]
    return found.reshape(pilot.scores.shape)


MOST_GUESSES = 10_000
_BLOCK = 1000
"""Canaries of a block of runs."""
_MISSED = 0.05
"""The probability with which a violation that is stated as seen may be missed."""
_GROUPS = 32


class Game(Protocol):
    """Trains models side by side, each with its own coins, and scores the canaries."""

    @property
    def canaries(self) -> int:
        """The number of canaries of a run, m."""
        ...

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play independent runs."""
        ...

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play the same training without its noise, in less time than so many runs."""
        ...


def guessed(played: GameResults, share: float) -> dict[str, int]:
    """Return the guesses of this share of the canaries, as plain data."""
    made = max(1, round(share * played.scores.size))
    return asdict(top_guesses(played.scores, played.members, guesses=made))


def blocks(played: GameResults) -> list[GameResults]:
    """Return the runs in blocks of 1,000 canaries or so, whose guesses are independent."""
    size = max(1, round(_BLOCK / played.scores.shape[1]))
    cuts = range(size, len(played.scores), size)
    pairs = zip(np.split(played.scores, cuts), np.split(played.members, cuts), strict=True)
    return [GameResults(*pair) for pair in pairs]


def beginnings(played: GameResults, count: int) -> list[GameResults]:
    """Return the first canaries of a single run, from few to all."""
    canaries = played.scores.shape[1]
    sizes = {max(1, canaries >> k) for k in range(count)}
    return [GameResults(played.scores[:, :m], played.members[:, :m]) for m in sorted(sizes)]


def grouped(parts: Sequence[dict[str, int]]) -> list[Guesses]:
    """Return the guesses of all chunks, neighbouring ones together where they are many."""
    guesses = [Guesses(**part) for part in parts]
    size = math.ceil(len(guesses) / _GROUPS)
    return [total(guesses[i : i + size]) for i in range(0, len(guesses), size)]


def foreseen(groups: Sequence[Guesses], twin: Guesses) -> list[Guesses]:
    """Return the groups' guesses if as many were right as of a twin's, at the 5 % quantile.

    Right ones are spread as evenly as whole numbers allow. The twin's rate of right guesses is
    known by Jeffreys's posterior.
    """
    right, wrong = twin.correct + 0.5, twin.guesses - twin.correct + 0.5
    hits = int(betabinom.ppf(_MISSED, total(groups).guesses, right, wrong))
    made = np.cumsum([0, *(group.guesses for group in groups)])
    correct = np.diff(np.floor(made * hits / made[-1])).astype(int).tolist()
    return [replace(group, correct=one) for group, one in zip(groups, correct, strict=True)]


def ranked_of(results: Sequence[dict[str, Any]]) -> GameResults:
    """Return the largest scores of the runs of all chunks."""
    return GameResults(
        np.concatenate([np.asarray(result["scores"]) for result in results]),
        np.concatenate([np.asarray(result["members"], dtype=np.bool_) for result in results]),
    )
