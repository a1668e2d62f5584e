"""ExponQ and shuffled bits at the parameter that a privacy budget buys, from the safe side.

Every function returns the most favourable parameter at which the released threshold is proved
(ε, δ)-DP under substitution of one record, over all neighbours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import ExponQ, largest_fitting, optimal_gamma
from dpcp_ledger.mechanisms.shuffled_response import ShuffledKaryResponse

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import ApproxDP

_MOST_CANDIDATES = 2000
_LARGEST_LOCAL_EPSILON = 20.0


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
