"""The parameter of each mechanism that spends a privacy budget (ε, δ), from the safe side.

Every function returns the most favourable parameter at which the released threshold is proved
(ε, δ)-DP under substitution of one record, over all neighbours.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.exponential_quantile import ExponQ, optimal_gamma
from dpcp_audit.mechanisms.gaussian import GaussianMechanism
from dpcp_audit.mechanisms.pcoqs.bit_game import game_delta
from dpcp_audit.mechanisms.shuffle import ShuffledKaryResponse
from dpcp_audit.stats.roots import turn_by_factor
from dpcp_audit.words import brent as _brent
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import ZCDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.guarantees import ApproxDP


_TOLERANCE = 5e-3
_MOST_CANDIDATES = 2000
_LARGEST_LOCAL_EPSILON = 20.0


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


@lru_cache(maxsize=4096)
def full_budget_exponq(budget: ApproxDP, *, n: int, alpha: float) -> ExponQ:
    """Return ExponQ at the largest nominal ε whose log-ratios stay within the budget's ε.

    ``ExponQ.log_ratio_bound`` covers all neighbours; with the corrected normaliser a nominal
    ε spends about half of itself. Its own ``guarantee`` is that of every n; ``calibrators`` has
    objects that carry the budget's.
    """

    def fits(nominal: float) -> bool:
        mechanism = tuned_exponq(nominal, n=n, alpha=alpha)
        return mechanism.log_ratio_bound(n) <= budget.epsilon

    nominal = largest_fitting(fits, start=budget.epsilon, at_most=2 * budget.epsilon)
    return tuned_exponq(nominal, n=n, alpha=alpha)


def tuned_exponq(epsilon: float, *, n: int, alpha: float) -> ExponQ:
    """Return corrected ExponQ with m and γ chosen without a look at the data.

    γ minimises q̃ (``optimal_gamma``). m minimises (2/(εn))·log m + 1/m, what m adds to q̃ and
    what a bin holds of uniform scores, that is m = εn/2, kept within [10, 2000].
    """
    candidates = min(max(round(epsilon * n / 2), 10), _MOST_CANDIDATES)
    gamma = optimal_gamma(n, alpha=alpha, epsilon=epsilon)
    return ExponQ(alpha=alpha, epsilon=epsilon, n_candidates=candidates, gamma=gamma)


@lru_cache(maxsize=1024)
def shuffled_local_epsilon(budget: ApproxDP, *, users: int) -> float:
    """Return the largest local ε of a randomised bit that fits the budget once shuffled.

    Proved by the privacy blanket over all that the other users may hold
    (``ShuffledKaryResponse.blanket_pair``). At most 20, where one bit in 5·10⁸ is flipped.
    """
    _validate.integer(users=users, at_least=1)

    def fits(local: float) -> bool:
        if local <= budget.epsilon:
            return True
        pair = ShuffledKaryResponse(local, 2).blanket_pair(users, tail=budget.delta * 1e-9)
        spent = max(pair.delta_at(budget.epsilon), pair.reversed().delta_at(budget.epsilon))
        return spent + pair.slack <= budget.delta

    return largest_fitting(fits, start=budget.epsilon, at_most=_LARGEST_LOCAL_EPSILON)


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
