"""What one run with many canaries shows of ε(δ), under what assumption.

==================  ============================================================================
none                Whatever the mechanism: the guesses against (ε, δ)-DP, by one of two
                    theorems (``one_run``).
trade-off           The mechanism differs from the claim in its noise alone; canaries may depend
                    on one another as they like. The guesses against the claim's curve at other
                    noises, by its region.
independent         That, and given the coins the canaries are released independently: a canary
                    is a round of the guessing game (``GuessingTest``), and all may be guessed.
Gaussian            The scores are independent, normal, and of one variance: Student's t.
==================  ============================================================================

A test of the claim itself by its region assumes nothing beyond the claim. The assumptions are those
of a *bound* of ε, and each is false of some mechanism: randomised response refutes every Gaussian
bound, and a μ-GDP mechanism that gives many of its canaries away at once, rarely, breaks every
bound that takes canaries for independent.

Under ``trade-off`` the shares of ε that are certified cannot be had better: μ-GDP allows, with
probability τ, to show a random c of the m canaries at the largest τc/m of its losses, so that no
valid test at level τ refutes what these would show. From about 1,000 guesses on the region reaches
that limit.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.training.one_run import (
    OneRunTheorem,
    epsilon_lower_bound,
    largest_refuted,
    refutes,
    total,
)
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.stats.guessing import LARGEST_EPSILON, GuessingTest
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.assumptions import Assumption
from dpcp_audit.words.guarantees import GaussianDP, PureDP

if TYPE_CHECKING:
    from dpcp_audit.audits.training.one_run import Guesses
    from dpcp_audit.words.arrays import BoolArray, FloatArray
    from dpcp_audit.words.guarantees import PrivacyGuarantee

_TANGENTS = 25
_LEAST_SHOWN = 0.01
"""Tangents reach to where δ(ε) is this share of the guesses a canary."""
_PENALTY = 25.0
_ROUNDING = 1e-12
"""Of tails of the noncentral t."""
_RANGE, _RESOLUTION = 4.0, 0.02
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


def independent_p_value(claim: PrivacyGuarantee, guesses: Guesses) -> float:
    """Return the p-value of a claim where canaries are released independently of one another.

    Every tangent (ε, δ(ε)) of the claim's curve bounds the number of right guesses by the law of
    ``GuessingTest``, whichever canaries are guessed; so does the least of these bounds.

    Examples
    --------
    >>> from dpcp_audit.audits.training.one_run import Guesses
    >>> seen = Guesses(correct=731, guesses=1000, canaries=1000)
    >>> round(independent_p_value(GaussianDP(1.0), seen), 4)
    0.0034
    """
    made = guesses.guesses, guesses.canaries
    return min(
        GuessingTest(rounds=made[1], guesses=made[0], epsilon=e, delta=d).p_value(guesses.correct)
        for e, d in _tangents(claim, made[0] / made[1])
    )


@lru_cache(maxsize=256)
def _tangents(claim: PrivacyGuarantee, share: float) -> list[tuple[float, float]]:
    largest = min(claim.epsilon_at(_LEAST_SHOWN * share), LARGEST_EPSILON)
    epsilons = np.linspace(0.0, largest, _TANGENTS).tolist()
    linear = loss_of(claim).linear
    if linear is not None:
        epsilons.append(min(linear.epsilon, LARGEST_EPSILON))
    return [(epsilon, claim.delta_at(epsilon)) for epsilon in epsilons]


def trade_off_bound(
    claim: SubsampledGaussian | GaussianDP | PureDP,
    *groups: Guesses,
    delta: float,
    significance: float,
    assumption: Assumption = Assumption.TRADE_OFF,
) -> float:
    """Return a lower bound of ε(``delta``) among mechanisms that differ in the noise alone.

    The largest noises are refuted, each by its own curve; ε of the smallest of them. It is a bound
    for this family of mechanisms and no other. To 1.4 % of the noise, between a sixteenth and 16
    times that of ``claim``; 0 where none is refuted.

    Parameters
    ----------
    assumption : Assumption
        TRADE_OFF, or INDEPENDENT, under which the groups are judged together.
    """

    def refuted(fewer: float) -> bool:
        noisier = _rescaled(claim, fewer)
        if assumption is Assumption.INDEPENDENT:
            return independent_p_value(noisier, total(groups)) <= significance
        return refutes(noisier, *groups, significance=significance)

    if assumption not in {Assumption.TRADE_OFF, Assumption.INDEPENDENT}:
        raise ValueError(f"assumption must be of the trade-off, got {assumption}")
    if not refuted(-_RANGE):
        return 0.0
    found = largest_refuted(refuted, low=-_RANGE, high=_RANGE, resolution=_RESOLUTION)
    return _rescaled(claim, found).epsilon_at(delta)


def _rescaled(claim: SubsampledGaussian | GaussianDP | PureDP, fewer: float) -> PrivacyGuarantee:
    """Return the claim at 2^−``fewer`` times the noise: 1/ε of ε-DP, 1/μ of μ-GDP."""
    if isinstance(claim, SubsampledGaussian):
        return replace(claim, noise_multiplier=claim.noise_multiplier * 2**-fewer)
    loss = loss_of(claim)
    return loss.allowing(loss.claimed * 2**fewer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSums:
    """The sums of scores for Student's t; they add up over runs.

    Parameters
    ----------
    inside, outside : int
        How many canaries were in and out.
    inside_sum, outside_sum, squares : float
        Sums of their scores, and of the squares of all.
    """

    inside: int
    outside: int
    inside_sum: float
    outside_sum: float
    squares: float

    @classmethod
    def of(cls, scores: FloatArray, members: BoolArray) -> ScoreSums:
        """Return the sums of scores and coins of the same shape."""
        return cls(
            inside=int(members.sum()),
            outside=int((~members).sum()),
            inside_sum=float(scores[members].sum()),
            outside_sum=float(scores[~members].sum()),
            squares=float(np.square(scores).sum()),
        )

    def __add__(self, other: ScoreSums) -> ScoreSums:
        """Return the sums of both."""
        mine, theirs = asdict(self), asdict(other)
        return ScoreSums(**{name: mine[name] + theirs[name] for name in mine})

    @property
    def scale(self) -> float:
        """By how much μ is multiplied to be the noncentrality of t."""
        return math.sqrt(self.inside * self.outside / (self.inside + self.outside))

    @property
    def t(self) -> float:
        """Student's t of the two means; infinite without a spread."""
        means = self.inside_sum / self.inside, self.outside_sum / self.outside
        within = self.squares - self.inside_sum * means[0] - self.outside_sum * means[1]
        gap, freedom = means[0] - means[1], self.inside + self.outside - 2
        if not within > 0:
            return math.copysign(math.inf, gap) if abs(gap) > 0 else 0.0
        return gap * self.scale / math.sqrt(within / freedom)


def gaussian_bound(sums: ScoreSums, *, delta: float, significance: float) -> float:
    """Return a lower bound of ε(``delta``) where the scores are independent, normal, alike spread.

    μ, the gap in standard deviations, by the noncentral law of Student's t; ε of μ-GDP. 0 where
    μ = 0 is not refuted, or where fewer than three canaries, or none of a kind, were seen. Of any
    other law of the scores it is no bound at all.
    """
    from scipy.special import nctdtr  # noqa: PLC0415  (slow to import)

    _validate.open_unit(significance=significance)
    freedom = sums.inside + sums.outside - 2
    if min(sums.inside, sums.outside, freedom) < 1:
        return 0.0
    t, scale = sums.t, sums.scale
    if math.isinf(t):
        return t if t > 0 else 0.0

    def refuted(mu: float) -> bool:
        return 1 - float(nctdtr(freedom, mu * scale, t)) + _ROUNDING <= significance

    if not refuted(0.0):
        return 0.0
    mu = largest_refuted(refuted, low=0.0, high=t / scale + 1, resolution=1e-6)
    return GaussianDP(mu).epsilon_at(delta) if mu > 0 else 0.0
