"""Laws of what the parties of a mechanism see beyond its release, in closed form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.laws.laws import FinitePair, GaussianPair

if TYPE_CHECKING:
    from dpcp_audit.mechanisms.local_scores import LDPCPScores
    from dpcp_audit.mechanisms.pcoqs import PCOQS


def report_pair(mechanism: LDPCPScores) -> FinitePair:
    """Return the laws of one user's answer on the bits 1 and 0: its view from the aggregator.

    A user answers once, with a bit that no other user's data change, so that this is all the
    aggregator ever learns from it beyond what the other users' answers say.
    """
    zero, one = mechanism.response.laws()
    return FinitePair(one, zero)


def transcript_pair(mechanism: PCOQS) -> GaussianPair:
    """Return the laws of all N noisy counts on the worst neighbours: the shift is sqrt(2ρ).

    A score that is substituted moves each count by at most one, whatever path the search
    takes. On ``mechanism.worst_pair`` it moves all N counts, so that the transcript is N
    shifts of 1/σ, together sqrt(N)/σ = sqrt(2ρ), with equality; on all other neighbours the
    transcript is a post-processing of these (Dong, Roth and Su 2022, Corollary 2; P-COQS
    paper, Proposition 1, whose composition bound this is).
    """
    return GaussianPair(math.sqrt(mechanism.rounds) / mechanism.noise_scale)
