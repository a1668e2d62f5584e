"""Regions of event probabilities: what bounds on their log-ratios or divergences allow.

A point of a region is the probability of an event on an input, and on its neighbour.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.words import brent as _brent
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


LARGEST_EPSILON = 600.0
_BELOW_ONE = math.nextafter(1.0, 0.0)
SAME = 1e-14
"""Relative width of a bracket that ends a bisection; its upper end is taken."""
_NEWTON, _SETTLED = 30, 1e-8
"""Steps of Newton's method at most, and the relative step after which there is no other."""
_NEARBY = (4e-15, 1e-13, 1e-11)
"""Relative distances at which the bracket of a root that Newton's method found is tried."""


def rates(fpr: ArrayLike) -> FloatArray:
    """Return probabilities as an array, refusing numbers outside [0, 1]."""
    q = np.asarray(fpr, dtype=np.float64)
    if not ((q >= 0) & (q <= 1)).all():
        raise ValueError(f"fpr must lie in [0, 1], got {fpr!r}")
    return q


def linear_power(fpr: ArrayLike, epsilon: float, delta: float) -> FloatArray:
    """Return min(1, e^ε q + δ, 1 − e^(−ε)(1 − δ − q)), of each q."""
    q = rates(fpr)
    with np.errstate(over="ignore", invalid="ignore"):
        upper = np.where(q > 0, np.exp(np.float64(epsilon)) * q, 0.0) + delta
    lower = 1 - math.exp(-epsilon) * np.maximum(0.0, 1 - delta - q)
    return np.minimum(1.0, np.minimum(upper, lower))


def linear_profile(epsilon: float, claimed: float, delta: float) -> float:
    """Return the largest δ(ε) of ε₀ = ``claimed`` with δ."""
    _validate.non_negative(epsilon=epsilon)
    extra = -math.expm1(min(0.0, epsilon - claimed)) / (1 + math.exp(-claimed))
    return delta + (1 - delta) * extra


def linear_epsilon(target: float, claimed: float, delta: float) -> float:
    """Return the ε at which that profile falls to ``target``; infinity below δ."""
    _validate.closed_unit(delta=target)
    if target < delta:
        return math.inf
    share = (target - delta) / (1 - delta) if delta < 1 else 1.0
    lost = share * (1 + math.exp(-claimed))
    return max(0.0, claimed + math.log1p(-lost)) if lost < 1 else 0.0


class Bounds(NamedTuple):
    """Bounds D_α ≤ limit between Bernoulli(p) and Bernoulli(q), in both directions, in a row."""

    orders: FloatArray
    limits: FloatArray
    back: BoolArray

    @property
    def start(self) -> int:
        """One of a middling order."""
        return self.orders.size // 4

    def of(self, places: IntArray) -> Bounds:
        """Return the bounds at some places."""
        return Bounds(self.orders[places], self.limits[places], self.back[places])

    def against(self, q: FloatArray) -> Moments:
        """Return the moments of rates of the first law against these of the second."""
        rest = 1 - self.orders
        of_p, of_q = (
            np.where(self.back, *pair) for pair in ((rest, self.orders), (self.orders, rest))
        )
        with np.errstate(divide="ignore"):
            return Moments(self, q, of_p, of_q * np.log(q), of_q * np.log1p(-q))

    def most_broken(self, p: FloatArray, q: FloatArray) -> IntArray:
        """Return, for each p, the place of the bound that is exceeded by the largest share."""
        p = np.minimum(p, _BELOW_ONE)  # at 1 all are exceeded without end
        excess = self.against(q[:, np.newaxis]).excess(p[:, np.newaxis])
        places: IntArray = np.argmax(excess / self.limits, axis=-1)
        return places


class Moments(NamedTuple):
    """The moments that divergences are the logs of, between Bernoulli(p) and Bernoulli(q).

    Of Bernoulli(q) from Bernoulli(p) where ``back`` is set. What depends on q alone is worked out
    once: the exponents of p's law, and the logs of the factors of q's.
    """

    bounds: Bounds
    q: FloatArray
    exponents: FloatArray
    first: FloatArray
    second: FloatArray

    def logs(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logs of a moment's two terms: of E, and of its rest."""
        with np.errstate(divide="ignore", invalid="ignore"):
            first = self.exponents * np.log(p) + self.first
            second = self.exponents * np.log1p(-p) + self.second
        return (  # not a number: both have no mass there
            np.where(np.isnan(first), -np.inf, first),
            np.where(np.isnan(second), -np.inf, second),
        )

    def excess(self, p: FloatArray) -> FloatArray:
        """Return D_α − limit."""
        excess: FloatArray = np.logaddexp(*self.logs(p)) / (self.bounds.orders - 1)
        return excess - self.bounds.limits

    def roots(self, p: FloatArray) -> FloatArray:
        """Return where D_α meets the limit between q and p, nearly and uncertified, by Newton.

        In log p, in which D_α of small rates is linear, and in −log(1 − p) the other way round.
        """
        orders, limits, back = self.bounds
        root = np.minimum(p, _BELOW_ONE)
        with np.errstate(all="ignore"):
            for _ in range(_NEWTON):
                first, second = self.logs(root)
                log_moment = np.logaddexp(first, second)
                odds = root / (1 - root)
                slope = np.exp(first - log_moment) - np.exp(second - log_moment) * odds
                slope *= np.where(back, -1 / odds, orders / (orders - 1))
                step = (log_moment / (orders - 1) - limits) / slope
                moved = np.where(back, -np.expm1(np.log1p(-root) + step), root * np.exp(-step))
                moved = np.clip(moved, self.q, p)
                settled = np.abs(moved - root) <= _SETTLED * root
                root = moved
                if (settled | np.isnan(root)).all():
                    break
        return root


def bernoulli_bounds(orders: FloatArray, limits: FloatArray) -> Bounds:
    """Return the bounds at these orders, in both directions."""
    back = np.repeat([False, True], orders.size)
    return Bounds(np.tile(orders, 2), np.tile(limits, 2), back)


def cut_rates(p: FloatArray, q: FloatArray, bounds: Bounds) -> FloatArray:
    """Return the largest rates up to p that keep within a bound each, from above; at least q."""
    low, high = np.minimum(q, p), p.copy()
    moments = bounds.against(q)
    root = moments.roots(p)
    nearby = [root * (1 + sign * width) for width in _NEARBY for sign in (1, -1)]
    for step in range(64 + len(nearby)):
        middle = np.where(high > 4 * low, np.sqrt(low) * np.sqrt(high), (low + high) / 2)
        if step < len(nearby):
            inner = (nearby[step] > low) & (nearby[step] < high)
            middle = np.where(inner, nearby[step], middle)
        inside = (moments.excess(middle) <= 0) | (middle <= q)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        if (high - low <= SAME * high).all():
            break
    return high


def concave_maximum(objective: Callable[[FloatArray], FloatArray]) -> float:
    """Return the maximum over [0, 1] of a concave function that is 0 at q = 0."""
    grid: FloatArray = np.concatenate([np.logspace(-300, -3, 50), np.linspace(2e-3, 1, 20)])
    best = 0.0
    for _ in range(10):
        values = objective(grid)
        peak = int(np.argmax(values))
        best = max(best, float(values[peak]))
        grid = np.geomspace(
            float(grid[max(0, peak - 1)]), float(grid[min(grid.size - 1, peak + 1)]), 13
        )
    return best


def smallest_epsilon(profile: Callable[[float], float], delta: float) -> float:
    """Return the smallest ε >= 0 with profile(ε) <= delta, for a decreasing profile."""
    if profile(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while profile(high) > delta:
        if high == LARGEST_EPSILON:
            return math.inf
        low, high = high, min(2 * high, LARGEST_EPSILON)

    def excess(epsilon: float) -> float:
        return math.log(max(profile(epsilon), 1e-300) / max(delta, 1e-300))

    return _brent.root(excess, low, high, xtol=1e-11)
