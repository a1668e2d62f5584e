"""What one run with many canaries shows of ε(δ), under what assumption.

==================  ============================================================================
none                Whatever the mechanism: the guesses against (ε, δ)-DP, by one of two
                    theorems (``one_run``).
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
from dataclasses import replace
from typing import TYPE_CHECKING

from dpcp_audit.audits.training.one_run import (
    OneRunTheorem,
    epsilon_lower_bound,
    largest_refuted,
    refutes,
    total,
)
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian

if TYPE_CHECKING:
    from dpcp_audit.audits.training.one_run import Guesses
    from dpcp_audit.words.guarantees import GaussianDP, PrivacyGuarantee, PureDP

_PENALTY = 25.0
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
    found = largest_refuted(refuted, low=-_RANGE, high=_RANGE, resolution=_RESOLUTION)
    return _rescaled(claim, found).epsilon_at(delta)


def _rescaled(claim: SubsampledGaussian | GaussianDP | PureDP, fewer: float) -> PrivacyGuarantee:
    """Return the claim at 2^−``fewer`` times the noise: 1/ε of ε-DP, 1/μ of μ-GDP."""
    if isinstance(claim, SubsampledGaussian):
        return replace(claim, noise_multiplier=claim.noise_multiplier * 2**-fewer)
    loss = loss_of(claim)
    return loss.allowing(loss.claimed * 2**fewer)
