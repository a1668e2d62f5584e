"""The power of bets on guesses: the smallest loss that so many rounds refute, and its inverse.

Of randomised response for (ε, δ)-DP, the law at which no guess is wasted; of a Gaussian release, of
which guesses show a part only, for every other guarantee. The observer's rule is taken as known.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from scipy.special import expit, ndtr

from dpcp_audit import _validate
from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.audits.guessing.tangents import tangents_of
from dpcp_audit.audits.loss_bounds import event_loss
from dpcp_audit.guarantees import ZCDP, RenyiDP
from dpcp_audit.results import Power
from dpcp_audit.stats.betting import GuessBets
from dpcp_audit.stats.bisection import turn

if TYPE_CHECKING:
    from dpcp_audit.guarantees import PrivacyGuarantee

_LARGEST_EXCESS = 40.0
_RELATIVE = 1e-6


@lru_cache(maxsize=256)
def bet_violation(guarantee: PrivacyGuarantee, rounds: int, *, significance: float) -> Power:
    """Return the smallest loss that is refuted with probability 0.95 at one look in the end.

    Conservative: earlier looks only add. Infinity where no loss suffices.
    """
    linear, loss = linear_claim(guarantee), event_loss(guarantee)
    claimed = loss.claimed_at(0.5)

    def refuted(violation: float) -> bool:
        return rounds_needed(guarantee, violation, significance=significance) <= rounds

    largest = claimed + _LARGEST_EXCESS
    able = refuted(largest)
    return Power(
        quantity=loss.quantity,
        smallest=turn(refuted, claimed, largest, relative=_RELATIVE).holds if able else math.inf,
        claimed=claimed,
        at=loss.at,
        detail="of randomised response" if linear else "if the release is Gaussian",
    )


def rounds_needed(guarantee: PrivacyGuarantee, violation: float, *, significance: float) -> float:
    """Return how many rounds refute a true loss, with probability at least 0.95; maybe infinity.

    Raises
    ------
    ValueError
        If the claim allows the loss.
    """
    _validate.finite(violation=violation)
    claimed = event_loss(guarantee).claimed_at(0.5)
    if not violation > claimed:
        raise ValueError(f"violation must exceed {claimed!r}, got {violation!r}")
    linear = linear_claim(guarantee)
    if linear is not None:
        right = linear.delta + (1 - linear.delta) * float(expit(violation))
        bets = GuessBets(epsilon=linear.epsilon, delta=linear.delta)
        return bets.rounds_needed(right, 1 - right, significance=significance)
    shift = _shift(guarantee, violation)
    return min(
        GuessBets(epsilon=epsilon, delta=delta).rounds_needed(
            float(ndtr(shift / 2 - epsilon / shift)),
            float(ndtr(-shift / 2 - epsilon / shift)),
            significance=significance,
        )
        for epsilon, delta in tangents_of(guarantee)
    )


def _shift(guarantee: PrivacyGuarantee, loss: float) -> float:
    """Return the shift of two standard normal laws of that loss."""
    if isinstance(guarantee, ZCDP):
        return math.sqrt(2 * loss)
    if isinstance(guarantee, RenyiDP):
        return math.sqrt(2 * loss / guarantee.alpha)
    return loss
