"""What a budget buys of P-COQS: the noise that is claimed, proved, and the least there can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.papers.comparison.bit_game import worst_known_pair
from dpcp_audit.papers.comparison.budgets import claimed_rho, proven_rho
from dpcp_audit.stats.bisection import turn_by_factor

if TYPE_CHECKING:
    from dpcp_audit.papers.comparison.budgets import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Standard deviations of P-COQS's count noise, in counts, at one budget.

    Parameters
    ----------
    claimed, proved : float
        What the conversion of ρ-zCDP asks for, and what suffices over all neighbours.
    least : float
        With less, the known worst pair exceeds δ.
    published : float
        That of ρ = ε²/2 (P-COQS paper, Section 5).
    published_epsilon : float
        ε at δ that the known worst pair attains under the published noise: what that spends,
        or more.
    """

    epsilon: float
    claimed: float
    proved: float
    least: float
    published: float
    published_epsilon: float


def spending(budget: Budget, *, resolution: float = 1e-10) -> Spending:
    """Compute the noise that a budget buys, at the resolution Δ on [0, 1]."""
    rounds = PCOQS(alpha=0.1, rho=1.0, resolution=resolution).rounds

    def scale(rho: float) -> float:
        return math.sqrt(rounds / (2 * rho))

    published = scale(budget.epsilon**2 / 2)
    pair = worst_known_pair(noise_scale=published, rounds=rounds)
    return Spending(
        epsilon=budget.epsilon,
        claimed=scale(claimed_rho(budget)),
        proved=scale(proven_rho(budget, rounds=rounds)),
        least=_least_scale(budget, rounds),
        published=published,
        published_epsilon=max(way.epsilon_at(budget.delta) for way in (pair, pair.reversed())),
    )


def _least_scale(budget: Budget, rounds: int) -> float:
    """Return the σ at which the known worst pair attains δ at ε, to 0.1 % below."""

    def exceeds(noise_scale: float) -> bool:
        pair = worst_known_pair(noise_scale=noise_scale, rounds=rounds)
        return any(way.delta_at(budget.epsilon) > budget.delta for way in (pair, pair.reversed()))

    low = high = 1 / budget.epsilon
    while not exceeds(low):
        low /= 2
    while exceeds(high):
        high *= 2
    return turn_by_factor(exceeds, high, low, ratio=1.001).holds
