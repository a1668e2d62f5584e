"""Upper ends from traces: what the noise reveals bounds what the release does, on that pair."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.stats.roc_curve import RocCurve

if TYPE_CHECKING:
    from dpcp_audit.tracing.loss_samples import LossSample
    from dpcp_audit.tracing.pair_traces import PairTrace

_POINTS = 8
_FEWEST = 40
_LARGEST = 600.0


def transcript_curve(trace: PairTrace, *, significance: float) -> RocCurve | None:
    """Return a curve above the ROC curve of the release; None where the traces give none.

    δ(ε) of the transcript is bounded at a few ε in either direction, which a quarter of the paths
    chooses and the others bound; by post-processing δ(ε) of the release is at most that. The
    curve errs with probability at most ``significance``.
    """
    departed = any(sample.departed.any() for sample in trace.samples)
    if not trace.followed or trace.leaks or departed or trace.forward.size < _FEWEST:
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
