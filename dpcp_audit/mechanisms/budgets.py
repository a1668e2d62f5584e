"""P-COQS's ρ that spends a privacy budget (ε, δ), from the safe side.

Every function returns the most favourable parameter at which the released threshold is proved
(ε, δ)-DP under substitution of one record, over all neighbours.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.gaussian import GaussianMechanism
from dpcp_audit.mechanisms.pcoqs.bit_game import game_delta
from dpcp_audit.stats.roots import turn_by_factor
from dpcp_audit.words import brent as _brent
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import ZCDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.guarantees import ApproxDP


_TOLERANCE = 5e-3


@lru_cache(maxsize=256)
def claimed_rho(budget: ApproxDP) -> float:
    """Return the largest ρ whose zCDP alone implies the budget, by the optimal conversion.

    The search starts at the standard one, ρ + 2·sqrt(ρ·log(1/δ)) = ε (Bun and Steinke 2016,
    Proposition 1.3).
    """
    _spendable(budget)

    def fits(rho: float) -> bool:
        return ZCDP(rho).delta_at(budget.epsilon) <= budget.delta

    bits = math.log(1 / budget.delta)
    standard = (math.sqrt(bits + budget.epsilon) - math.sqrt(bits)) ** 2
    return largest_fitting(fits, start=standard)


@lru_cache(maxsize=1024)
def proven_rho(budget: ApproxDP, *, rounds: int) -> float:
    """Return P-COQS's ρ = N/(2σ²) at the smallest σ whose δ(ε) over all neighbours fits.

    ``bit_game.game_delta`` bounds δ(ε) over all neighbours.
    """
    _validate.integer(rounds=rounds, at_least=1)
    _spendable(budget)

    def excess(log_rho: float) -> float:
        scale = math.sqrt(rounds / (2 * math.exp(log_rho)))
        spent = game_delta(noise_scale=scale, rounds=rounds, epsilon=budget.epsilon)
        return math.log(spent / budget.delta)

    noisy_counts = GaussianMechanism(epsilon=budget.epsilon, delta=budget.delta)
    low = -math.log(2 * noisy_counts.noise_scale**2)
    high = low + 0.5
    while excess(high) <= 0:
        low, high = high, high + 0.5
    root = _brent.root(excess, low, high, xtol=_TOLERANCE / 2)
    while excess(root) > 0:  # the root's safe side
        root -= _TOLERANCE / 2
    return math.exp(root)


def _spendable(budget: ApproxDP) -> None:
    """Refuse a budget that Gaussian noise cannot keep."""
    _validate.positive(epsilon=budget.epsilon)
    _validate.open_unit(delta=budget.delta)


def largest_fitting(
    fits: Callable[[float], bool], *, start: float, at_most: float = math.inf
) -> float:
    """Return the largest value that fits, to a relative 0.5 % below; ``start`` must fit."""
    if not fits(start):
        raise ValueError(f"start must fit the budget, got {start!r}")
    low, high = start, min(2 * start, at_most)
    while fits(high):
        if high == at_most:
            return high
        low, high = high, min(2 * high, at_most)
    return turn_by_factor(fits, high, low, ratio=1 + _TOLERANCE).holds
