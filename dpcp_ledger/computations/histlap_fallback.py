"""What HistLap's published fallback, the median of the scores without noise, costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Computation, Quantity

if TYPE_CHECKING:
    from dpcp_audit.extensions.mechanisms import HistLap


_ROUNDING = 1e-12


def median_shown(mechanism: HistLap, *, n: int) -> Computation:
    """Compute the probability of a release that a neighbour never makes.

    Half of the scores lie at the lower end of the lowest bin, half at its middle. Where no noisy
    count is positive their median is released, half-way between. The neighbour that lacks one of
    the upper scores never releases that very point: its median is the lower end, and where counts
    are positive the threshold has a density, or lies at 1−α of the width of the only such bin.

    Parameters
    ----------
    n : int
        An even number of scores, at least 2.

    Raises
    ------
    ValueError
        Also if α = 3/4, where the threshold of a single bin is that very point.
    """
    if math.isclose(mechanism.alpha, 0.75):
        raise ValueError(f"mechanism must have another α than 3/4, got {mechanism}")
    if n < 2 or n % 2:
        raise ValueError(f"n must be even and at least 2, got {n}")
    low, width = mechanism.bounds[0], (mechanism.bounds[1] - mechanism.bounds[0])
    upper = low + width / mechanism.n_bins / 2
    scores = [low] * (n // 2) + [upper] * (n // 2)
    chance = math.exp(-n / mechanism.noise_scale) * 2.0**-mechanism.n_bins
    return Computation(
        quantity=Quantity.DELTA,
        at={"epsilon": mechanism.epsilon},
        detail="probability of a release that a neighbour never makes",
        value=chance,
        claimed=0.0,
        lower=chance * (1 - _ROUNDING),
        upper=chance * (1 + _ROUNDING),
        witness={
            "scores": scores,
            "neighbour_scores": scores[:-1],
            "event": [low + (upper - low) / 2],
            "noise_scale": mechanism.noise_scale,
            "n_bins": mechanism.n_bins,
        },
        note=(
            "No noisy count is positive with probability e^(−εn)·2^(−50). So it is ε-DP for no n, "
            f"and hardly ever shows: {chance:.2g} at n = {n}, less than 10^(−100) with the tables' "
            "2,400 scores at ε = 0.1. With b in the place of the median it is ε-DP."
        ),
    )
