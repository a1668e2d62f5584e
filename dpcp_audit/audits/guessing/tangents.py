"""The lines that a guarantee implies for the rates of right and wrong guesses.

With the concave power curve F of a guarantee, r ≤ F(w) ≤ κ·w + δ, where κ = e^ε is a slope of F
and δ = sup F(q) − κq. The supremum is bounded from above: a concave function rises between two
points of an even grid by at most what it rose, or falls, on the way to the next one.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.audits.guessing.guesser import Tangent
from dpcp_audit.guarantees import ApproxDP, PureDP

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.guarantees import PrivacyGuarantee

_CONTACTS = (0.01, 0.05, 0.12, 0.25)
"""Rates of wrong guesses at which the tangents touch the curve, about."""
_NEAR = 0.05
_REACH, _POINTS = 0.2, 17
"""How far from where it touches, relatively, the supremum is looked for, and at how many points."""


@lru_cache(maxsize=256)
def tangents_of(guarantee: PrivacyGuarantee) -> tuple[Tangent, ...]:
    """Return tangents (ε, δ(ε)) of the guarantee's power curve: its own where it is (ε, δ)-DP.

    None where nothing could refute them.
    """
    linear = linear_claim(guarantee)
    if linear is not None:
        return (Tangent(linear.epsilon, linear.delta),)
    if isinstance(guarantee, PureDP | ApproxDP):
        return ()
    contacts = np.array(_CONTACTS)
    ends = guarantee.power(np.concatenate([contacts * (1 - _NEAR), contacts * (1 + _NEAR)]))
    low, high = np.split(ends, 2)
    slopes = np.maximum(1.0, (high - low) / (2 * _NEAR * contacts))
    grid = contacts[:, None] * np.linspace(1 - _REACH, 1 + _REACH, _POINTS)
    power = guarantee.power(grid)
    found = [
        Tangent(math.log(slope), _supremum(row - slope * rates))
        for slope, rates, row in zip(slopes.tolist(), grid, power, strict=True)
        if slope > 1
    ]
    found.append(Tangent(0.0, guarantee.advantage()))
    return tuple(tangent for tangent in found if tangent.delta < 1)


def _supremum(values: FloatArray) -> float:
    """Bound a concave function from its values on an even grid around its maximum; 1 if not."""
    top = int(np.argmax(values))
    if not 0 < top < values.size - 1:
        return 1.0
    rise = values[top] - min(values[top - 1], values[top + 1])
    return min(1.0, float(values[top] + rise))
