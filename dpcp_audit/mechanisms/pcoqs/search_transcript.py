"""P-COQS's transcript: what its noisy counts reveal, beside what the released threshold does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.laws import FinitePair, GaussianPair

if TYPE_CHECKING:
    from dpcp_audit.mechanisms.pcoqs.release import PCOQS


def transcript_pair(mechanism: PCOQS) -> GaussianPair:
    """Return the laws of all N noisy counts on the worst neighbours: the shift is sqrt(2ρ).

    A score that is substituted moves each count by at most one, whatever path the search
    takes. On ``mechanism.worst_pair`` it moves all N counts, so that the transcript is N
    shifts of 1/σ, together sqrt(N)/σ = sqrt(2ρ), with equality; on all other neighbours the
    transcript is a post-processing of these (Dong, Roth and Su 2022, Corollary 2; P-COQS
    paper, Proposition 1, whose composition bound this is).
    """
    return GaussianPair(math.sqrt(mechanism.rounds) / mechanism.noise_scale)


def released_pair(mechanism: PCOQS, n: int) -> FinitePair:
    """Return the laws of the released threshold alone on the worst neighbours of n scores."""
    law, neighbour_law = mechanism.laws(*mechanism.worst_pair(n))
    return FinitePair(law, neighbour_law)
