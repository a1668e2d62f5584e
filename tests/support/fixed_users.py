"""The law of LDP-CP-S's threshold where the users' scores are given and their answers random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.mechanisms.local_scores import OnMiss

if TYPE_CHECKING:
    from dpcp_audit.mechanisms.local_scores import LDPCPScores


def threshold_law_of(mechanism: LDPCPScores, scores: np.ndarray) -> dict[float, float]:
    """Return the probability of each threshold: a block's reports are a sum of two binomials."""
    keep, (bottom, top) = mechanism.response.keep_probability, mechanism.limits
    found: dict[float, float] = {}
    nodes = [(0.0, 1.0, 1.0, 0.0)]
    for users in mechanism.blocks_of(scores.size):
        following = []
        for low, high, mass, _ in nodes:
            q = (low + high) / 2
            ones, asked = int((scores[users] < q).sum()), users.size
            law = np.convolve(
                binom.pmf(np.arange(ones + 1), ones, keep),
                binom.pmf(np.arange(asked - ones + 1), asked - ones, 1 - keep),
            )
            z = mechanism.debias(np.arange(asked + 1), asked=asked, n=scores.size)
            found[q] = found.get(q, 0.0) + mass * law[(z >= bottom) & (z <= top)].sum()
            following += [(low, q, mass * law[z > top].sum(), q)]
            following += [(q, high, mass * law[z < bottom].sum(), q)]
        nodes = following
    for _, high, mass, last in nodes:
        end = high if mechanism.on_miss is OnMiss.UPPER_END else last
        found[end] = found.get(end, 0.0) + mass
    return found


def threshold_pair(mechanism: LDPCPScores, scores: np.ndarray, moved: np.ndarray) -> FinitePair:
    """Return the laws of the threshold alone on two score arrays."""
    first, second = (threshold_law_of(mechanism, each) for each in (scores, moved))
    ends = sorted(first | second)
    laws = [np.array([law.get(end, 0.0) for end in ends]) for law in (first, second)]
    return FinitePair(*(FiniteLaw.from_mass(mass / mass.sum()) for mass in laws))
