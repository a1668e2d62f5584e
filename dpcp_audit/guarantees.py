"""Guarantees: what a mechanism promises, and all that the promise still allows.

Every privacy guarantee is a region of event probabilities. If an event has probability
``q`` on one input, the guarantee allows it a probability of at most ``power(q)`` on a
neighbour, in both directions. The trade-off function is ``1 - power``, the largest δ(ε)
is ``sup_q power(q) - e^ε q``, and the largest membership advantage is δ(0).

For ``ZCDP`` and ``RenyiDP`` the region is exact, not a conversion bound: telling an event
from its complement is post-processing, which cannot raise a Rényi divergence, so the
largest δ(ε) over all pairs of laws is attained by a pair of Bernoulli laws.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit import _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit._types import BoolArray, FloatArray, IntArray

_ORDERS = 1 + np.logspace(-3, 3, 193)
_LARGEST_EPSILON = 600.0
_BELOW_ONE = math.nextafter(1.0, 0.0)
_SAME = 1e-14
"""Relative width of a bracket that ends a bisection; its upper end is taken."""
_NEWTON, _SETTLED = 30, 1e-8
"""Steps of Newton's method at most, and the relative step after which there is no other."""
_NEARBY = (4e-15, 1e-13, 1e-11)
"""Relative distances at which the bracket of a root that Newton's method found is tried."""


class PrivacyGuarantee(ABC):
    """A promise about the output laws on any two neighbouring inputs."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float]:
        """The parameters by name, as the constructor takes them."""

    @abstractmethod
    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest probability an event may have where a neighbour gives it ``fpr``.

        Parameters
        ----------
        fpr : array_like
            Event probabilities on the neighbour, in [0, 1], of any shape.
        """

    def tradeoff(self, fpr: ArrayLike) -> FloatArray:
        """Return the smallest false-negative rate of any test at false-positive rate ``fpr``."""
        return 1 - self.power(fpr)

    def delta_at(self, epsilon: float) -> float:
        """Return the largest δ(ε) that the guarantee allows, for ``epsilon`` >= 0.

        Beyond ε = 600, where e^ε nears the end of the doubles, δ(600) is returned: an upper
        bound, since δ decreases.
        """
        _validate.non_negative(epsilon=epsilon)
        factor = math.exp(min(epsilon, _LARGEST_EPSILON))
        return _concave_maximum(lambda q: self.power(q) - factor * q)

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest ε at which the guarantee implies (ε, ``delta``)-DP.

        Infinity where no ε up to 600 does.
        """
        _validate.closed_unit(delta=delta)
        return _smallest_epsilon(self.delta_at, delta)

    def advantage(self) -> float:
        """Return the largest membership advantage, TPR − FPR, of any attack."""
        return self.delta_at(0.0)

    def allows(self, probability: float, neighbour_probability: float) -> bool:
        """Tell whether an event may have these probabilities on two neighbours.

        The event and its complement are held to the guarantee in both directions, with
        1e-12 of slack for rounding.
        """
        _validate.closed_unit(probability=probability, neighbour_probability=neighbour_probability)
        p, q = probability, neighbour_probability
        pairs = np.array([[p, q], [q, p], [1 - p, 1 - q], [1 - q, 1 - p]])
        return bool((pairs[:, 0] <= self.power(pairs[:, 1]) + 1e-12).all())

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value:.6g}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({inside})"


@dataclass(frozen=True, slots=True)
class PureDP(PrivacyGuarantee):
    """ε-DP: P(E) ≤ e^ε Q(E) for every event E (Dwork 2006)."""

    epsilon: float

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon)

    @property
    def parameters(self) -> dict[str, float]:
        """The claimed ε."""
        return {"epsilon": self.epsilon}

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return min(e^ε q, 1 − e^(−ε)(1 − q))."""
        return _linear_power(fpr, self.epsilon, 0.0)

    def delta_at(self, epsilon: float) -> float:
        """Return the profile of randomised response, max(0, (e^ε₀ − e^ε)/(1 + e^ε₀))."""
        return _linear_profile(epsilon, self.epsilon, 0.0)

    def epsilon_at(self, delta: float) -> float:
        """Return the ε at which that profile falls to ``delta``."""
        return _linear_epsilon(delta, self.epsilon, 0.0)


@dataclass(frozen=True, slots=True)
class LocalDP(PureDP):
    """ε-LDP: ε-DP of one user's report, where any two values of that user are neighbours."""


@dataclass(frozen=True, slots=True)
class ApproxDP(PrivacyGuarantee):
    """(ε, δ)-DP: P(E) ≤ e^ε Q(E) + δ for every event E (Dwork 2006).

    Its largest profile is that of randomised response mixed with a mass δ that reveals
    everything (Kairouz, Oh and Viswanath 2015).
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _validate.non_negative(epsilon=self.epsilon)
        _validate.closed_unit(delta=self.delta)

    @property
    def parameters(self) -> dict[str, float]:
        """The claimed ε and δ."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return min(1, e^ε q + δ, 1 − e^(−ε)(1 − δ − q))."""
        return _linear_power(fpr, self.epsilon, self.delta)

    def delta_at(self, epsilon: float) -> float:
        """Return δ + (1−δ)·max(0, (e^ε₀ − e^ε)/(1 + e^ε₀))."""
        return _linear_profile(epsilon, self.epsilon, self.delta)

    def epsilon_at(self, delta: float) -> float:
        """Return the ε at which that profile falls to ``delta``; infinity below the claimed δ."""
        return _linear_epsilon(delta, self.epsilon, self.delta)


class _RenyiBounded(PrivacyGuarantee):
    """A guarantee that bounds Rényi divergences, D_α ≤ limit(α) for some orders α."""

    __slots__ = ()

    @abstractmethod
    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the orders and the largest D_α at each."""

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest p for which Bernoulli(p) and Bernoulli(q) keep every D_α in bounds.

        The orders are a grid, which can only enlarge the region: what is refused here is
        refused by the guarantee. One bound at a time cuts p down, the one most broken first,
        until none is broken.
        """
        q = _rates(fpr)
        high = np.where(q > 0, 1.0, 0.0)  # mass where a neighbour has none: D_α is infinite
        left = np.flatnonzero(high)
        flat, below = high.reshape(-1), q.reshape(-1)
        bounds = _bernoulli_bounds(*self._limits())
        flat[left] = _cut(flat[left], below[left], bounds.of(np.full(left.size, bounds.start)))
        while left.size:
            p = flat[left]
            cut = _cut(p, below[left], bounds.of(bounds.most_broken(p, below[left])))
            flat[left] = cut
            left = left[p - cut > _SAME * cut]
        return high

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest ε at which the guarantee implies (ε, ``delta``)-DP.

        Infinity where no ε up to 600 does; so at δ = 0, since no log-ratio is excluded.
        """
        return math.inf if delta == 0 else PrivacyGuarantee.epsilon_at(self, delta)


@dataclass(frozen=True, slots=True)
class ZCDP(_RenyiBounded):
    """ρ-zCDP: D_α(P‖Q) ≤ ρα for every α > 1 (Bun and Steinke 2016, Definition 1.1)."""

    rho: float

    def __post_init__(self) -> None:
        _validate.positive(rho=self.rho)

    @property
    def parameters(self) -> dict[str, float]:
        """The claimed ρ."""
        return {"rho": self.rho}

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        return _ORDERS, self.rho * _ORDERS

    def standard_delta_at(self, epsilon: float) -> float:
        """Return exp(−(ε−ρ)²/(4ρ)), the textbook conversion (Bun and Steinke 2016, Lemma 3.5)."""
        _validate.non_negative(epsilon=epsilon)
        return math.exp(-(max(0.0, epsilon - self.rho) ** 2) / (4 * self.rho))

    def standard_epsilon_at(self, delta: float) -> float:
        """Return ρ + 2·sqrt(ρ·log(1/δ)), the textbook conversion."""
        _validate.open_unit(delta=delta)
        return self.rho + 2 * math.sqrt(self.rho * math.log(1 / delta))


@dataclass(frozen=True, slots=True)
class RenyiDP(_RenyiBounded):
    """(α, ε)-RDP: D_α(P‖Q) ≤ ε at one order α > 1 (Mironov 2017, Definition 4)."""

    alpha: float
    epsilon: float

    def __post_init__(self) -> None:
        _validate.finite(alpha=self.alpha)
        if not self.alpha > 1:
            raise ValueError(f"alpha must be finite and > 1, got {self.alpha!r}")
        _validate.non_negative(epsilon=self.epsilon)

    @property
    def parameters(self) -> dict[str, float]:
        """The order α and the claimed ε."""
        return {"alpha": self.alpha, "epsilon": self.epsilon}

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        return np.array([self.alpha]), np.array([self.epsilon])


@dataclass(frozen=True, slots=True)
class GaussianDP(PrivacyGuarantee):
    """μ-GDP: no test does better than that of N(μ, 1) against N(0, 1) (Dong, Roth and Su 2022)."""

    mu: float

    def __post_init__(self) -> None:
        _validate.positive(mu=self.mu)

    @property
    def parameters(self) -> dict[str, float]:
        """The claimed μ."""
        return {"mu": self.mu}

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return Φ(Φ⁻¹(q) + μ)."""
        from scipy.special import ndtr, ndtri  # noqa: PLC0415  (slow to import)

        return np.asarray(ndtr(ndtri(_rates(fpr)) + self.mu))

    def delta_at(self, epsilon: float) -> float:
        """Return Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), the privacy profile."""
        from scipy.special import log_ndtr, ndtr  # noqa: PLC0415  (slow to import)

        _validate.non_negative(epsilon=epsilon)
        centre = epsilon / self.mu
        tail = math.exp(epsilon + float(log_ndtr(-self.mu / 2 - centre)))
        return max(0.0, float(ndtr(self.mu / 2 - centre)) - tail)

    def epsilon_at(self, delta: float) -> float:
        """Return the ε at which the profile falls to ``delta``; infinity at δ = 0."""
        return math.inf if delta == 0 else PrivacyGuarantee.epsilon_at(self, delta)


@dataclass(frozen=True, slots=True)
class Coverage:
    """at_least ≤ P(Y ∈ C(X)) ≤ at_most, with probability at least ``confidence``.

    With ``per_class`` the bounds are those of P(Y ∈ C(X) | Y = y), for each class y.
    """

    at_least: float
    at_most: float = 1.0
    confidence: float = 1.0
    per_class: bool = False

    def __post_init__(self) -> None:
        _validate.finite(at_least=self.at_least, at_most=self.at_most)
        if not self.at_least <= self.at_most:
            raise ValueError(
                f"at_least must not exceed at_most, got {self.at_least!r} and {self.at_most!r}"
            )
        _validate.closed_unit(confidence=self.confidence)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name, as the constructor takes them."""
        return {
            "at_least": self.at_least,
            "at_most": self.at_most,
            "confidence": self.confidence,
        }

    def holds(self, coverage: ArrayLike) -> np.ndarray:
        """Tell, elementwise, which coverages lie within the bounds."""
        values = np.asarray(coverage, dtype=np.float64)
        return (values >= self.at_least) & (values <= self.at_most)


def _rates(fpr: ArrayLike) -> FloatArray:
    q = np.asarray(fpr, dtype=np.float64)
    if not ((q >= 0) & (q <= 1)).all():
        raise ValueError(f"fpr must lie in [0, 1], got {fpr!r}")
    return q


def _linear_power(fpr: ArrayLike, epsilon: float, delta: float) -> FloatArray:
    q = _rates(fpr)
    with np.errstate(over="ignore", invalid="ignore"):
        upper = np.where(q > 0, np.exp(np.float64(epsilon)) * q, 0.0) + delta
    lower = 1 - math.exp(-epsilon) * np.maximum(0.0, 1 - delta - q)
    return np.minimum(1.0, np.minimum(upper, lower))


def _linear_profile(epsilon: float, claimed: float, delta: float) -> float:
    _validate.non_negative(epsilon=epsilon)
    extra = -math.expm1(min(0.0, epsilon - claimed)) / (1 + math.exp(-claimed))
    return delta + (1 - delta) * extra


def _linear_epsilon(target: float, claimed: float, delta: float) -> float:
    _validate.closed_unit(delta=target)
    if target < delta:
        return math.inf
    share = (target - delta) / (1 - delta) if delta < 1 else 1.0
    lost = share * (1 + math.exp(-claimed))
    return max(0.0, claimed + math.log1p(-lost)) if lost < 1 else 0.0


class _Bounds(NamedTuple):
    """Bounds D_α ≤ limit between Bernoulli(p) and Bernoulli(q), in both directions, in a row."""

    orders: FloatArray
    limits: FloatArray
    back: BoolArray

    @property
    def start(self) -> int:
        """One of a middling order."""
        return self.orders.size // 4

    def of(self, places: IntArray) -> _Bounds:
        """Return the bounds at some places."""
        return _Bounds(self.orders[places], self.limits[places], self.back[places])

    def log_moments(self, p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logs of the two terms of the moment that D_α is the log of: E, and its rest.

        Of Bernoulli(q) from Bernoulli(p) where ``back`` is set.
        """
        of_p, of_q = self._exponents
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = (np.log(p), np.log(q)), (np.log1p(-p), np.log1p(-q))
            first, second = (of_p * x + of_q * y for x, y in logs)
        return (  # not a number: both have no mass there
            np.where(np.isnan(first), -np.inf, first),
            np.where(np.isnan(second), -np.inf, second),
        )

    def excess(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return D_α − limit."""
        excess: FloatArray = np.logaddexp(*self.log_moments(p, q)) / (self.orders - 1)
        return excess - self.limits

    def roots(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return where D_α meets the limit between q and p, nearly and uncertified, by Newton.

        In log p, in which D_α of small rates is linear, and in −log(1 − p) the other way round.
        """
        root = np.minimum(p, _BELOW_ONE)
        with np.errstate(all="ignore"):
            for _ in range(_NEWTON):
                first, second = self.log_moments(root, q)
                log_moment = np.logaddexp(first, second)
                odds = root / (1 - root)
                slope = np.exp(first - log_moment) - np.exp(second - log_moment) * odds
                slope *= np.where(self.back, -1 / odds, self.orders / (self.orders - 1))
                step = (log_moment / (self.orders - 1) - self.limits) / slope
                moved = np.where(self.back, -np.expm1(np.log1p(-root) + step), root * np.exp(-step))
                moved = np.clip(moved, q, p)
                settled = np.abs(moved - root) <= _SETTLED * root
                root = moved
                if (settled | np.isnan(root)).all():
                    break
        return root

    @property
    def _exponents(self) -> tuple[FloatArray, FloatArray]:
        """Those of p's law and of q's, in the moment."""
        rest = 1 - self.orders
        return np.where(self.back, rest, self.orders), np.where(self.back, self.orders, rest)

    def most_broken(self, p: FloatArray, q: FloatArray) -> IntArray:
        """Return, for each p, the place of the bound that is exceeded by the largest share."""
        p = np.minimum(p, _BELOW_ONE)  # at 1 all are exceeded without end
        excess = self.excess(p[:, np.newaxis], q[:, np.newaxis])
        places: IntArray = np.argmax(excess / self.limits, axis=-1)
        return places


def _bernoulli_bounds(orders: FloatArray, limits: FloatArray) -> _Bounds:
    back = np.repeat([False, True], orders.size)
    return _Bounds(np.tile(orders, 2), np.tile(limits, 2), back)


def _cut(p: FloatArray, q: FloatArray, bounds: _Bounds) -> FloatArray:
    """Return the largest rates up to p that keep within a bound each, from above; at least q."""
    low, high = np.minimum(q, p), p.copy()
    root = bounds.roots(p, q)
    nearby = [root * (1 + sign * width) for width in _NEARBY for sign in (1, -1)]
    for step in range(64 + len(nearby)):
        middle = np.where(high > 4 * low, np.sqrt(low) * np.sqrt(high), (low + high) / 2)
        if step < len(nearby):
            inner = (nearby[step] > low) & (nearby[step] < high)
            middle = np.where(inner, nearby[step], middle)
        inside = (bounds.excess(middle, q) <= 0) | (middle <= q)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        if (high - low <= _SAME * high).all():
            break
    return high


def _concave_maximum(objective: Callable[[FloatArray], FloatArray]) -> float:
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


def _smallest_epsilon(profile: Callable[[float], float], delta: float) -> float:
    """Return the smallest ε >= 0 with profile(ε) <= delta, for a decreasing profile."""
    from scipy.optimize import brentq  # noqa: PLC0415  (slow to import)

    if profile(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while profile(high) > delta:
        if high == _LARGEST_EPSILON:
            return math.inf
        low, high = high, min(2 * high, _LARGEST_EPSILON)

    def excess(epsilon: float) -> float:
        return math.log(max(profile(epsilon), 1e-300) / max(delta, 1e-300))

    return float(brentq(excess, low, high, xtol=1e-11))
