"""Scores without bounds: on which finite interval a search tries them."""

from __future__ import annotations

import math

_FAR = 1e3
"""How far from the end that is known, or from 0 where none is."""


def tried(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the finite interval that stands for bounds of which an end may be infinite.

    Examples
    --------
    >>> tried((0.0, math.inf)), tried((-math.inf, math.inf)), tried((-1.0, 1.0))
    ((0.0, 1000.0), (-1000.0, 1000.0), (-1.0, 1.0))
    """
    low, high = bounds
    start = 0.0 if math.isinf(low) else low
    end = 0.0 if math.isinf(high) else high
    return (
        end - _FAR if math.isinf(low) else low,
        start + _FAR if math.isinf(high) else high,
    )
