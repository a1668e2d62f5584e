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

**Of (ε, δ)-DP alone** (Steinke, Nasr and Jagielski 2023, Theorem 5.2): β + 2mδ·α with
β = P(Bin(c, q) ≥ v), α = max_i P(v > Bin(c, q) ≥ v−i)/i and q = e^ε/(1+e^ε). Where mδ is not small
it is far the weaker.

Both hold for any dependence among the canaries. It costs power where c·significance is below mδ:
with probability mδ/c an (ε, δ)-DP mechanism may show the coins of c canaries at once. Groups of
independent runs are not so limited: their p-values are combined by Fisher's method. Nor are
bets on independent runs (``run_bets``).

**What one run with many canaries shows of ε(δ)**, under what assumption:

==================  ============================================================================
none                Whatever the mechanism: the guesses against (ε, δ)-DP, by one of two
                    theorems above.
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
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtrc, chdtrc, expit

from dpcp_audit.laws.losses import loss_of
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.stats.roots import turn
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import ApproxDP, PureDP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.words.guarantees import GaussianDP, PrivacyGuarantee, PureDP
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_ROUNDING = 1e-15
_LOOK = 8
"""Right guesses between two looks at whether the rest can be left out."""
_SMALLEST = -12.0
_LEVELS = 49
_REFINEMENTS = 2
_LARGEST_EPSILON = 20.0
_RESOLUTION = 1e-3
_LARGEST_BINOMIAL = 0.5
_DIGITS = 6
"""Decimals of scores that count: the last ones differ with the number of threads."""


class OneRunTheorem(StrEnum):
    """The theorem that tests the guesses against (ε, δ)-DP."""

    REGION = "region"
    """Mahloujifar, Melis and Chaudhuri (2024)."""
    BINOMIAL = "binomial"
    """Steinke, Nasr and Jagielski (2023)."""


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
    """Tell whether so many right guesses, in each group of independent runs, refute the claim.

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


def binomial_p_value(claim: PureDP | ApproxDP, guesses: Guesses) -> float:
    """Return the p-value of ε-DP or (ε, δ)-DP, by the binomial theorem; 1 where it exceeds 1/2.

    Above 1/2 the published formula is no bound: (1, 0.05)-DP allows that of two canaries, both
    guessed, at least one is right with probability 0.9447, where it says 0.9421.
    """
    delta = claim.parameters.get("delta", 0.0)
    q, c, v = float(expit(claim.epsilon)), guesses.guesses, guesses.correct
    if v == 0:
        return 1.0
    at_least = bdtrc(np.arange(-1, v), c, q)  # of 0, …, v
    above = np.arange(1, v + 1)
    alpha = float(((at_least[v - above] - at_least[v]) / above).max())
    found = float(at_least[v]) + 2 * guesses.canaries * delta * alpha
    return found if found <= _LARGEST_BINOMIAL else 1.0


def epsilon_lower_bound(
    *groups: Guesses,
    delta: float,
    significance: float,
    theorem: OneRunTheorem = OneRunTheorem.REGION,
) -> float:
    """Return a lower bound of the ε at which the mechanism is (ε, ``delta``)-DP.

    By bisection to 1e-3, 0 where not even the smallest ε is refuted; both p-values rise with ε.
    """
    _validate.closed_unit(delta=delta)
    _validate.open_unit(significance=significance)
    _validate.choice(OneRunTheorem, theorem=theorem)

    def refuted(epsilon: float) -> bool:
        claim = ApproxDP(epsilon, delta)
        if theorem is OneRunTheorem.BINOMIAL:
            return _fisher([binomial_p_value(claim, group) for group in groups]) <= significance
        return refutes(claim, *groups, significance=significance)

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
    """Tell which probabilities of at least v right guesses are allowed, shape (groups, levels)."""
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


_PENALTY = 25.0
_RANGE, _NOISE_RESOLUTION = 4.0, 0.02
"""Noise between a sixteenth of the claim's and 16 times that, to 1.4 %."""


def chosen_theorem(
    guesses: int, canaries: int, *, delta: float, significance: float
) -> OneRunTheorem:
    """Choose the theorem of a bound without assumptions, in view of no guess.

    The binomial's error is increased by a term of about mδ/√c; where that is below a
    twenty-fifth of the significance it is the sharper one, and the region elsewhere.
    """
    small = canaries * delta <= significance * math.sqrt(guesses) / _PENALTY
    return OneRunTheorem.BINOMIAL if small else OneRunTheorem.REGION


def unassuming_bound(*groups: Guesses, delta: float, significance: float) -> float:
    """Return a lower bound of ε(``delta``) of whatever mechanism, by the theorem that suits."""
    sizes = total(groups)
    theorem = chosen_theorem(sizes.guesses, sizes.canaries, delta=delta, significance=significance)
    return epsilon_lower_bound(*groups, delta=delta, significance=significance, theorem=theorem)


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
