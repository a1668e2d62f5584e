"""The privacy losses of traced paths against a guarantee: evidence, and what would be refuted.

A pure guarantee is refuted by the largest loss of a path; any other by δ(ε), at an ε that half of
the paths choose, on the other half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.loss_bounds import event_loss
from dpcp_audit.evidence import of_loss
from dpcp_audit.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Evidence, Power
from dpcp_audit.stats.bisection import turn
from dpcp_audit.stats.bounded_mean import MeanBets

if TYPE_CHECKING:
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.tracing.loss_samples import LossSample
    from dpcp_audit.tracing.pair_traces import PairTrace

_POINTS = 4
_NUMERICAL = 1e-9
_LARGEST_FACTOR = 64.0
_STEPS = 7
_MISSED = 0.05


def path_evidence(
    guarantee: PrivacyGuarantee, trace: PairTrace, *, significance: float
) -> tuple[Evidence, Power]:
    """Return what the drawn paths say of a guarantee, and what they would have refuted.

    A true guarantee is refuted with probability at most ``significance``.
    """
    if isinstance(guarantee, PureDP):
        return _largest_loss(guarantee, trace, significance)
    return _profile(guarantee, trace, significance)


def _largest_loss(
    guarantee: PureDP, trace: PairTrace, significance: float
) -> tuple[Evidence, Power]:
    """Return the largest loss of a path: ε is at least that, since such paths are drawn."""
    largest = max(0.0, *(sample.largest for sample in trace.samples))
    paths = trace.forward.size + trace.backward.size
    evidence = of_loss(
        Quantity.EPSILON,
        max(sample.epsilon(0.0) for sample in trace.samples) if math.isinf(largest) else largest,
        largest,
        refuted=largest > guarantee.epsilon,
        claimed=guarantee.epsilon,
        confidence=1 - significance,
        n_samples=paths,
    )
    share = -math.log(_MISSED) / trace.forward.size
    power = Power(
        quantity=Quantity.EPSILON,
        smallest=guarantee.epsilon * (1 + _NUMERICAL) + _NUMERICAL,
        claimed=guarantee.epsilon,
        detail=f"if one path in {max(1, math.floor(1 / share))} reaches it",
    )
    return evidence, power


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """The ε at which a profile is tested, in one direction."""

    sample: LossSample
    epsilon: float
    allowed: float
    excess: float


def _profile(
    guarantee: PrivacyGuarantee, trace: PairTrace, significance: float
) -> tuple[Evidence, Power]:
    """Test δ(ε) at the ε that half of the paths choose, on the other half."""
    point = max(
        (_chosen(guarantee, sample) for sample in trace.samples), key=lambda each: each.excess
    )
    fresh = point.sample.part(slice(point.sample.size // 2, None))
    found = fresh.delta(point.epsilon, significance=2 * significance)
    loss = event_loss(guarantee)
    claimed = loss.claimed_at(0.5)
    refuted = found.lower > point.allowed
    at_least = partial(_parameter, guarantee, point.epsilon)
    evidence = of_loss(
        loss.quantity,
        _estimate(guarantee, trace),
        at_least(found.lower),
        refuted=refuted,
        claimed=claimed,
        confidence=1 - significance,
        n_samples=trace.forward.size + trace.backward.size,
        at=loss.at,
    )
    seen = _detectable(fresh, point, significance)
    power = Power(
        quantity=loss.quantity,
        smallest=at_least(seen) if seen < 1 else math.inf,
        claimed=claimed,
        at=loss.at,
        detail="if its δ(ε) is the largest that it may be",
    )
    return evidence, power


def _chosen(guarantee: PrivacyGuarantee, sample: LossSample) -> _Point:
    """Return the ε at which δ(ε) lies farthest beyond what is allowed, in standard errors."""
    first = sample.part(slice(0, max(1, sample.size // 2)))
    finite = first.losses[np.isfinite(first.losses) & (first.losses > 0)]
    quantiles = np.quantile(finite, np.linspace(0, 0.95, _POINTS)) if finite.size else np.zeros(1)
    claimed = guarantee.epsilon if isinstance(guarantee, ApproxDP) else 0.0
    points: list[_Point] = []
    for epsilon in np.unique(np.concatenate([[claimed], quantiles])).tolist():
        values = first.exceedances(epsilon, upper=False)
        allowed = guarantee.delta_at(epsilon)
        error = math.sqrt(max(float(np.var(values)), allowed / first.size) / first.size)
        excess = (float(np.mean(values)) - allowed) / max(error, 1e-12)
        points.append(_Point(sample=sample, epsilon=epsilon, allowed=allowed, excess=excess))
    return max(points, key=lambda each: each.excess)


def _estimate(guarantee: PrivacyGuarantee, trace: PairTrace) -> float:
    """Return an estimate of the claim's quantity, not certified."""
    if isinstance(guarantee, ApproxDP):
        return max(sample.epsilon(guarantee.delta) for sample in trace.samples)
    if isinstance(guarantee, RenyiDP):
        return max(sample.renyi(guarantee.alpha) for sample in trace.samples)
    rho = max(sample.rho() for sample in trace.samples)
    return math.sqrt(2 * rho) if isinstance(guarantee, GaussianDP) else rho


def _parameter(guarantee: PrivacyGuarantee, epsilon: float, delta: float) -> float:
    """Return the least parameter of such a guarantee that allows a δ at ε, to a few percent."""
    if delta <= 0:
        return 0.0
    name = (
        "epsilon" if isinstance(guarantee, ApproxDP | RenyiDP) else next(iter(guarantee.parameters))
    )
    claimed = guarantee.parameters[name]
    base = max(claimed, 1e-3)

    def allows(factor: float) -> bool:
        parameters = guarantee.parameters | {name: base * factor}
        return type(guarantee)(**parameters).delta_at(epsilon) >= delta

    low = 1 / _LARGEST_FACTOR
    if allows(low):
        return 0.0
    if not allows(_LARGEST_FACTOR):
        return base * _LARGEST_FACTOR
    steps = turn(
        lambda x: allows(math.exp(x)), math.log(low), math.log(_LARGEST_FACTOR), steps=_STEPS
    )
    return base * math.exp(steps.fails)


def _detectable(sample: LossSample, point: _Point, significance: float) -> float:
    """Return the δ that so many paths refute with probability 0.95, for a law of this shape."""
    values = 1 - sample.exceedances(point.epsilon, upper=False)
    allowed = min(max(point.allowed, 1e-9), 1 - 1e-9)
    shortfall = MeanBets().smallest_violation(
        values, at_least=1 - allowed, n_values=sample.size, significance=significance
    )
    return allowed + shortfall
