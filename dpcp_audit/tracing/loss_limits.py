"""Limits of what a sample of path losses shows: ε at δ, quantiles of the loss, D_α and ρ.

All hold at any number of paths. A path whose replay departs may lose anything: it counts as what is
least in lower limits and as infinite in upper ones. Moments of e^L have no upper limit without a
bound of the loss: D_α and ρ are bounded from below alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import rel_entr

from dpcp_audit import _validate
from dpcp_audit.stats.bisection import turn
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.stats.discrete_tails import binomial_exceeded, binomial_reached
from dpcp_audit.tracing.loss_samples import RHO_ORDERS

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.tracing.loss_samples import LossSample

_KEPT = 0.95
"""The quantile of half of the losses, above which those of the other half count as that."""


class LossLimits(NamedTuple):
    """A lower and an upper limit, each wrong with half of the stated probability."""

    lower: float
    upper: float


def epsilon_limits(sample: LossSample, delta: float, *, significance: float) -> LossLimits:
    """Return limits of the ε at which δ(ε) falls to ``delta``.

    A mean of n values in [0, 1] lies at a level m or beyond with probability at most
    exp(−n kl(m, p)), p its expectation (Hoeffding 1963, theorem 1). The limits of δ(ε) that this
    gives fall with ε as the mean does, so that they are crossed once. At δ = 0 the largest loss is
    reached for certain, and no sample has an upper limit.

    Examples
    --------
    >>> from dpcp_audit.tracing.loss_samples import LossSample
    >>> sample = LossSample(losses=np.full(1000, 1.0), departed=np.zeros(1000, bool))
    >>> [round(each, 3) for each in epsilon_limits(sample, 0.1, significance=0.05)]
    [0.865, 0.922]
    """
    _validate.closed_unit(delta=delta)
    _validate.open_unit(significance=significance)
    if delta == 0:
        return LossLimits(sample.largest, math.inf)
    room = math.log(2 / significance) / sample.size
    low, high = (_level(delta, room, above=above) for above in (True, False))
    return LossLimits(
        0.0 if low is None else _crossing(sample, low, upper=False),
        math.inf if high is None else _crossing(sample, high, upper=True),
    )


def _level(p: float, room: float, *, above: bool) -> float | None:
    """Return the mean above or below p whose relative entropy to p is ``room``; None if none."""
    end = 1.0 if above else 0.0
    if _relative_entropy(end, p) <= room:
        return None
    found = turn(lambda mean: _relative_entropy(mean, p) >= room, p, end)
    return found.holds


def _relative_entropy(m: float, p: float) -> float:
    return float(rel_entr(m, p) + rel_entr(1 - m, 1 - p))


def _crossing(sample: LossSample, level: float, *, upper: bool) -> float:
    """Return the ε at which the mean exceedance falls to a level, rounded to the safe side."""

    def within(epsilon: float) -> bool:
        return float(np.mean(sample.exceedances(epsilon, upper=upper))) <= level

    top = float(np.max(sample.losses, where=np.isfinite(sample.losses), initial=0.0)) + 1.0
    if within(0.0):
        return 0.0
    if not within(top):
        return math.inf if upper else top
    ends = turn(within, 0.0, top)
    return ends.holds if upper else ends.fails


def quantile_limits(sample: LossSample, share: float, *, significance: float) -> LossLimits:
    """Return order statistics that bound a quantile of the loss.

    Examples
    --------
    >>> from dpcp_audit.tracing.loss_samples import LossSample
    >>> sample = LossSample(losses=np.arange(1000.0), departed=np.zeros(1000, bool))
    >>> [round(each) for each in quantile_limits(sample, 0.5, significance=0.05)]
    [468, 531]
    """
    _validate.open_unit(share=share, significance=significance)
    low, high = (np.sort(sample.moved(upper=upper)) for upper in (False, True))
    below = int(binomial_reached(significance / 2, sample.size, share))
    above = int(binomial_exceeded(significance / 2, sample.size, share))
    return LossLimits(
        float(low[below - 1]) if below > 0 else -math.inf,
        float(high[above]) if above < sample.size else math.inf,
    )


def renyi_lower_limit(sample: LossSample, alpha: float, *, significance: float) -> float:
    """Return a lower limit of D_α, ``alpha`` > 1.

    Losses beyond a quantile of one half of the paths count as that in the other half, which leaves
    a mean of bounded numbers.
    """
    _validate.order(alpha=alpha)
    losses = sample.moved(upper=False)
    first, second = losses[: sample.size // 2], losses[sample.size // 2 :]
    kept = first[np.isfinite(first)]
    if alpha <= 1 or not kept.size:
        return 0.0
    most = float(np.quantile(kept, _KEPT))
    with np.errstate(over="ignore"):
        values: FloatArray = np.exp((alpha - 1) * (np.minimum(second, most) - most))
    mean = MeanBets().lower_limit(values, significance=significance)
    return max(0.0, most + math.log(mean) / (alpha - 1)) if mean > 0 else 0.0


def rho_lower_limit(sample: LossSample, *, significance: float) -> float:
    """Return a lower limit of ρ, the largest D_α/α, with the significance split over the orders."""
    orders = [alpha for alpha in RHO_ORDERS if alpha > 1]
    each = significance / len(orders)
    return max(renyi_lower_limit(sample, a, significance=each) / a for a in orders)
