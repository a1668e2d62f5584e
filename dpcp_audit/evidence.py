"""Certified evidence, built in one place: of a rate, of a mean, and of a one-sided loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.assumptions import Assumption
from dpcp_audit.results import Evidence, EvidenceKind, Measure, Sample

if TYPE_CHECKING:
    from dpcp_audit.quantities import Bound, Quantity
    from dpcp_audit.results import Count


def of_rate(
    quantity: Quantity,
    interval: tuple[float, float],
    *counts: Count,
    claimed: float,
    confidence: float,
    worst: int = 0,
    detail: str = "",
) -> Evidence:
    """Return evidence of a rate that a claim bounds from above.

    Parameters
    ----------
    *counts : Count
        The hits behind the rate, and those of other cases that it was chosen among.
    worst : int
        Which of them the rate and its interval are of.
    """
    shown = counts[worst]
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        detail=detail,
        value=shown.hits / shown.trials,
        lower=interval[0],
        upper=interval[1],
        claimed=claimed,
        confidence=confidence,
        n_samples=sum(count.trials for count in counts),
        sample=Sample(measure=Measure.RATES, counts=counts),
    )


def of_mean(
    quantity: Quantity,
    value: float,
    interval: tuple[float, float],
    *,
    claimed: float,
    confidence: float,
    trials: int,
    variance: float,
    bound: Bound,
    limits: tuple[float, float] = (0.0, 1.0),
    detail: str = "",
) -> Evidence:
    """Return evidence of the mean of ``trials`` values that never leave ``limits``."""
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        detail=detail,
        value=value,
        lower=interval[0],
        upper=interval[1],
        claimed=claimed,
        confidence=confidence,
        n_samples=trials,
        bound=bound,
        sample=Sample(measure=Measure.MEAN, trials=trials, variance=variance, range=limits),
    )


def of_loss(
    quantity: Quantity,
    value: float,
    lower: float,
    *,
    refuted: bool,
    claimed: float,
    confidence: float,
    n_samples: int,
    at: dict[str, float] | None = None,
    detail: str = "",
    sample: Sample | None = None,
    assumption: Assumption = Assumption.NONE,
) -> Evidence:
    """Return evidence of a loss of privacy that a test bounds from below.

    A bound that was found by a search lies on the test's side of the claim: just beyond it where
    the test has refuted, and not beyond it elsewhere. The value lies within its own bound.
    """
    beyond = math.nextafter(claimed, math.inf)
    least = max(lower, beyond) if refuted else min(max(0.0, lower), claimed)
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        at=at or {},
        detail=detail,
        value=max(0.0, value, least),
        lower=least,
        upper=math.inf,
        claimed=claimed,
        confidence=confidence,
        n_samples=n_samples,
        sample=sample,
        assumption=assumption,
    )
