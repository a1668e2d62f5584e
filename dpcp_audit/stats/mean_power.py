"""The power of an empirical-Bernstein limit: the smallest violation, and the draws needed.

Of a bounded variable with a known variance, whose mean over many values is taken as normal.
"""

from __future__ import annotations

import math

from scipy.special import ndtri

from dpcp_audit import _validate
from dpcp_audit.stats.bisection import fewest
from dpcp_audit.stats.intervals import mean_radius


def smallest_violation(
    variance: float,
    count: int,
    *,
    bounds: tuple[float, float],
    significance: float,
    detection: float = 0.95,
) -> float:
    """Return by how much a mean has to miss its claimed bound to be refuted with ``detection``.

    Parameters
    ----------
    variance : float
        Of the variable; the limits are those of ``mean_interval``, one side at ``significance``/2.
    """
    _validate.non_negative(variance=variance)
    _validate.open_unit(detection=detection)
    low, high = _validate.bounds(bounds)
    radius = mean_radius(variance, count, width=high - low, significance=significance)
    return float(radius) + float(ndtri(detection)) * math.sqrt(variance / count)


def draws_needed(
    variance: float,
    miss: float,
    *,
    bounds: tuple[float, float],
    significance: float,
    detection: float = 0.95,
) -> int:
    """Return the fewest values at which a mean that misses its bound by ``miss`` is refuted."""
    _validate.positive(miss=miss)
    _validate.non_negative(variance=variance)
    _validate.open_unit(significance=significance)
    needed = fewest(
        lambda count: (
            smallest_violation(
                variance, count, bounds=bounds, significance=significance, detection=detection
            )
            <= miss
        ),
        at_least=2,
    )
    if needed is None:
        raise ValueError(
            f"miss is too small for variance = {variance!r} and significance = {significance!r}, "
            f"got {miss!r}"
        )
    return needed
