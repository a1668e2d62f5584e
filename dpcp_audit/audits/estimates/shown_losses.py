"""The loss that an attack shows by its two rates, with two sides, or known from below alone.

Upper ends from traces: what the noise reveals bounds what the release does, on that pair.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.roc import RocCurve
from dpcp_audit.words.results import Estimate

if TYPE_CHECKING:
    from dpcp_audit.tracing.loss_samples import LossSample
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.words.guarantees import PrivacyGuarantee


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
    >>> from dpcp_audit.words.guarantees import PureDP
    >>> found = attack_loss(
    ...     PureDP(1.0),
    ...     Rate(0.7, 0.65, 0.75),
    ...     Rate(0.3, 0.26, 0.34),
    ...     confidence=0.95,
    ...     detail="of a guess",
    ... )
    >>> round(found.lower, 2), round(found.value, 2), found.upper, round(found.partition_upper, 2)
    (0.65, 0.85, inf, 1.09)
    """
    loss = loss_of(guarantee)
    lower = loss.lower_bound(hits.lower, alarms.upper)
    value = loss.lower_bound(hits.value, alarms.value)
    ways = ((hits.upper, alarms.lower), (alarms.upper, hits.lower))
    upper = max(loss.lower_bound(*ends) for ends in ways)
    return Estimate(
        quantity=loss.quantity,
        value=value if math.isfinite(value) else lower,
        lower=lower,
        upper=math.inf,
        confidence=confidence,
        at=loss.at,
        detail=f"{detail} (the whole loss may be larger)",
        partition_upper=upper,
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


_POINTS = 8
_FEWEST_LOSS = 40
_LARGEST = 600.0


def transcript_curve(trace: PairTrace, *, significance: float) -> RocCurve | None:
    """Return a curve above the ROC curve of the release; None where the traces give none.

    δ(ε) of the transcript is bounded at a few ε in either direction, which a quarter of the paths
    chooses and the others bound; by post-processing δ(ε) of the release is at most that. The
    curve errs with probability at most ``significance``.
    """
    departed = any(sample.departed.any() for sample in trace.samples)
    if not trace.followed or trace.leaks or departed or trace.forward.size < _FEWEST_LOSS:
        return None
    error = significance / (2 * _POINTS)
    forward, backward = (_bounded(sample, error) for sample in trace.samples)
    lines = [(delta, math.exp(epsilon)) for epsilon, delta in forward]
    lines += [(1 - (1 - delta) * math.exp(-eps), math.exp(-eps)) for eps, delta in backward]
    return RocCurve.below(lines)


def _bounded(sample: LossSample, error: float) -> list[tuple[float, float]]:
    """Return points (ε, δ) that the profile lies below, but for the given error each."""
    first = sample.size // 4
    pilot, rest = sample.part(slice(0, first)), sample.part(slice(first, None))
    positive = pilot.losses[(pilot.losses > 0) & (pilot.losses < _LARGEST)]
    chosen: set[float] = {0.0}
    if positive.size:
        chosen.update(np.quantile(positive, np.linspace(0.1, 1.0, _POINTS - 1)).tolist())
    return [
        (epsilon, rest.delta(epsilon, significance=2 * error).upper) for epsilon in sorted(chosen)
    ]
