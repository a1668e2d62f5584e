"""The ways of a fork: what one draw may show, and how likely that is after earlier bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.tracing.joined_draws import LOST, log_of_region
from dpcp_audit.tracing.trace_errors import NotFiniteError

if TYPE_CHECKING:
    from dpcp_audit.tracing.draws import NoiseDraw, Ordering
    from dpcp_audit.tracing.observations import Observation

Ways = Sequence[tuple[Any, float]]
"""What may be observed, with the log-probabilities."""


def ways_of_bit(
    draw: NoiseDraw, coefficient: float, offset: float, how: Ordering
) -> list[tuple[bool, float]]:
    """Return the bits that are possible, with their conditional log-probabilities."""
    law = draw.law
    if law is None:
        raise NotFiniteError("a draw without a law is compared", draw.line)
    towards = how if coefficient > 0 else how.mirrored
    regions = [
        draw.region.narrowed(each, -offset / coefficient, discrete=law.discrete)
        for each in (towards, towards.negated)
    ]
    masses = log_of_region(law, regions)
    total = float(np.logaddexp(*masses))
    return [(bit, float(mass) - total) for bit, mass in zip((True, False), masses, strict=True)]


def ways_of_value(
    draw: NoiseDraw, coefficient: float, found: Observation
) -> list[tuple[float, float]]:
    """Return the values that are possible, with their conditional log-probabilities."""
    values = None if draw.law is None else draw.law.values()
    if values is None or draw.law is None:
        raise NotFiniteError(f"the value of a {draw.name} draw is read", found.line)
    inside = [z for z in values.tolist() if draw.region.holds(z, slack=0.0)]
    masses = draw.law.log_point(np.array(inside))
    masses -= logsumexp(masses)
    ways = [
        (_number(found.offset + coefficient * z), float(mass))
        for z, mass in zip(inside, masses, strict=True)
    ]
    return [way for way in ways if way[1] > LOST]


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else value
