"""The loss that an attack shows by its two rates, with two sides, or known from below alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from dpcp_audit.audits.loss_bounds import event_loss
from dpcp_audit.results import Estimate

if TYPE_CHECKING:
    from dpcp_audit.guarantees import PrivacyGuarantee


class Rate(NamedTuple):
    """A rate with its limits."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.lower:.4g}, {self.upper:.4g}]"


def attack_loss(
    guarantee: PrivacyGuarantee, hits: Rate, alarms: Rate, *, confidence: float, detail: str
) -> Estimate:
    """Return the loss of the event that an attack says "in", in a claim's unit.

    The lower end is of an attack that is right more often than wrong; the upper one of either.
    Where no alarm was false, the estimate is the lower end: no sample shows an infinite loss.

    Parameters
    ----------
    hits, alarms : Rate
        How often it says so where that is true, and where it is not; all limits hold at once with
        probability ``confidence``.
    detail : str
        Of which attack.

    Examples
    --------
    >>> from dpcp_audit.guarantees import PureDP
    >>> found = attack_loss(
    ...     PureDP(1.0),
    ...     Rate(0.7, 0.65, 0.75),
    ...     Rate(0.3, 0.26, 0.34),
    ...     confidence=0.95,
    ...     detail="of a guess",
    ... )
    >>> round(found.lower, 2), round(found.value, 2), round(found.upper, 2)
    (0.65, 0.85, 1.09)
    """
    loss = event_loss(guarantee)
    lower = loss.lower_bound(hits.lower, alarms.upper)
    value = loss.lower_bound(hits.value, alarms.value)
    ways = ((hits.upper, alarms.lower), (alarms.upper, hits.lower))
    upper = max(loss.lower_bound(*ends) for ends in ways)
    return Estimate(
        quantity=loss.quantity,
        value=value if math.isfinite(value) else lower,
        lower=lower,
        upper=upper,
        confidence=confidence,
        at=loss.at,
        detail=f"{detail} (the whole loss may be larger)",
    )


def from_below(estimate: Estimate, *, why: str) -> Estimate:
    """Return a loss of which only a lower end is known, with the reason in its detail."""
    return Estimate(
        quantity=estimate.quantity,
        value=estimate.value,
        lower=estimate.lower,
        upper=math.inf,
        confidence=estimate.confidence,
        at=estimate.at,
        detail=f"from below alone: {why}",
    )
