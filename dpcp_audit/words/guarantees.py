"""Guarantees: what a mechanism promises, what that still allows, and between which neighbours.

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
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Coverage:
    """at_least ≤ P(Y ∈ C(X)) ≤ at_most, with probability at least ``confidence``.

    With ``per_class`` the bounds are those of P(Y ∈ C(X) | Y = y), for each class y.
    """

    of_one_report: ClassVar[bool] = False

    at_least: float
    at_most: float = 1.0
    confidence: float = 1.0
    per_class: bool = False

    def __post_init__(self) -> None:
        _validate.finite(at_least=self.at_least, at_most=self.at_most)
        if not self.at_least <= self.at_most:
            raise errors.value_error(
                f"at_least must not exceed at_most, got {self.at_least!r} and {self.at_most!r}",
                errors.for_probability(self.at_least) if self.at_most == 1 else "swap the two",
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
        """Return True for each coverage within the bounds."""
        values = np.asarray(coverage, dtype=np.float64)
        return (values >= self.at_least) & (values <= self.at_most)


_ORDERS = 1 + np.logspace(-3, 3, 193)


class PrivacyGuarantee(ABC):
    """A promise about the output laws on any two neighbouring inputs."""

    adjective: ClassVar[str] = ""
    """The adjective for a mechanism, with parameters in braces; "" if the notion has none."""
    of_one_report: ClassVar[bool] = False
    """True if it is a promise to each user, of the report that leaves their device."""

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name, as the constructor takes them: the fields of the dataclass."""
        own: Any = self
        return asdict(own)

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
        """Return True if an event may have these probabilities on two neighbours.

        The event and its complement are held to the guarantee in both directions, with
        1e-12 of slack for rounding.
        """
        _validate.closed_unit(probability=probability, neighbour_probability=neighbour_probability)
        p, q = probability, neighbour_probability
        pairs = np.array([[p, q], [q, p], [1 - p, 1 - q], [1 - q, 1 - p]])
        return bool((pairs[:, 0] <= self.power(pairs[:, 1]) + 1e-12).all())

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value:.12g}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({inside})"


@dataclass(frozen=True, slots=True)
class PureDP(PrivacyGuarantee):
    """ε-DP: P(E) ≤ e^ε Q(E) for every event E (Dwork 2006)."""

    adjective: ClassVar[str] = "{epsilon}-differentially private"

    epsilon: float

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon)

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

    adjective: ClassVar[str] = "{epsilon}-locally differentially private"
    of_one_report: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ApproxDP(PrivacyGuarantee):
    """(ε, δ)-DP: P(E) ≤ e^ε Q(E) + δ for every event E (Dwork 2006).

    Its largest profile is that of randomised response mixed with a mass δ that reveals
    everything (Kairouz, Oh and Viswanath 2015).
    """

    adjective: ClassVar[str] = "({epsilon}, {delta})-differentially private"

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _validate.non_negative(epsilon=self.epsilon)
        _validate.closed_unit(delta=self.delta)

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
        flat[left] = _cut_rates(
            flat[left], below[left], bounds.of(np.full(left.size, bounds.start))
        )
        while left.size:
            p = flat[left]
            cut = _cut_rates(p, below[left], bounds.of(bounds.most_broken(p, below[left])))
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

    adjective: ClassVar[str] = "{rho}-zCDP"

    rho: float

    def __post_init__(self) -> None:
        _validate.positive(rho=self.rho)

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        return _ORDERS, self.rho * _ORDERS


@dataclass(frozen=True, slots=True)
class RenyiDP(_RenyiBounded):
    """(α, ε)-RDP: D_α(P‖Q) ≤ ε at one order α > 1 (Mironov 2017, Definition 4)."""

    adjective: ClassVar[str] = "({alpha}, {epsilon})-Rényi differentially private"

    alpha: float
    epsilon: float

    def __post_init__(self) -> None:
        _validate.finite(alpha=self.alpha)
        if not self.alpha > 1:
            raise errors.value_error(
                f"alpha must be finite and > 1, got {self.alpha!r}",
                "an order of 1 is the mean loss, which promises little; such as 2",
            )
        _validate.non_negative(epsilon=self.epsilon)

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        return np.array([self.alpha]), np.array([self.epsilon])


@dataclass(frozen=True, slots=True)
class GaussianDP(PrivacyGuarantee):
    """μ-GDP: no test does better than that of N(μ, 1) against N(0, 1) (Dong, Roth and Su 2022)."""

    adjective: ClassVar[str] = "{mu}-Gaussian differentially private"

    mu: float

    def __post_init__(self) -> None:
        _validate.positive(mu=self.mu)

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


T = TypeVar("T")


class Relation(StrEnum):
    """The change of the data that one person can make."""

    SUBSTITUTION = "substitution"
    """One record is replaced by another; n is public and fixed (Hamming distance 1)."""
    ADD_REMOVE = "add-remove"
    """One record is added or taken away."""
    ZERO_OUT = "zero-out"
    """One record is replaced by one that contributes nothing; n is public and fixed."""
    ONE_LABEL = "one-label"
    """One record keeps its features and changes its label."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours(Generic[T]):
    """Two inputs that differ in one record, label or client.

    Parameters
    ----------
    relation : Relation or str
        The difference between the two: "substitution", "add-remove", "zero-out" or "one-label".
    value, neighbour : object
        The two inputs, as the mechanism takes them.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> pair = dp.Neighbours(relation="substitution", value=[0.0, 1.0], neighbour=[0.0, 0.0])
    >>> pair.relation
    <Relation.SUBSTITUTION: 'substitution'>
    """

    relation: Relation
    value: T
    neighbour: T

    def __init__(
        self,
        *,
        relation: Literal["substitution", "add-remove", "zero-out", "one-label"] | Relation,
        value: T,
        neighbour: T,
    ) -> None:
        read = Choice(Relation).read(relation, "relation")
        object.__setattr__(self, "relation", read)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "neighbour", neighbour)


_LARGEST_EPSILON = 600.0
_STEPS = 500
_BELOW_ONE = math.nextafter(1.0, 0.0)
_SAME = 1e-14
"""Relative width of a bracket that ends a bisection; its upper end is taken."""
_NEWTON, _SETTLED = 30, 1e-8
"""Steps of Newton's method at most, and the relative step after which there is no other."""
_NEARBY = (4e-15, 1e-13, 1e-11)
"""Relative distances at which the bracket of a root that Newton's method found is tried."""


def _rates(fpr: ArrayLike) -> FloatArray:
    """Return probabilities as an array, refusing numbers outside [0, 1]."""
    q = np.asarray(fpr, dtype=np.float64)
    if not ((q >= 0) & (q <= 1)).all():
        raise ValueError(f"fpr must lie in [0, 1], got {fpr!r}")
    return q


def _linear_power(fpr: ArrayLike, epsilon: float, delta: float) -> FloatArray:
    """Return min(1, e^ε q + δ, 1 − e^(−ε)(1 − δ − q)), of each q."""
    q = _rates(fpr)
    with np.errstate(over="ignore", invalid="ignore"):
        upper = np.where(q > 0, np.exp(np.float64(epsilon)) * q, 0.0) + delta
    lower = 1 - math.exp(-epsilon) * np.maximum(0.0, 1 - delta - q)
    return np.minimum(1.0, np.minimum(upper, lower))


def _linear_profile(epsilon: float, claimed: float, delta: float) -> float:
    """Return the largest δ(ε) of ε₀ = ``claimed`` with δ."""
    _validate.non_negative(epsilon=epsilon)
    extra = -math.expm1(min(0.0, epsilon - claimed)) / (1 + math.exp(-claimed))
    return delta + (1 - delta) * extra


def _linear_epsilon(target: float, claimed: float, delta: float) -> float:
    """Return the ε at which that profile falls to ``target``; infinity below δ."""
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

    def against(self, q: FloatArray) -> _Moments:
        """Return the moments of rates of the first law against these of the second."""
        rest = 1 - self.orders
        of_p, of_q = (
            np.where(self.back, *pair) for pair in ((rest, self.orders), (self.orders, rest))
        )
        with np.errstate(divide="ignore"):
            return _Moments(self, q, of_p, of_q * np.log(q), of_q * np.log1p(-q))

    def most_broken(self, p: FloatArray, q: FloatArray) -> IntArray:
        """Return, for each p, the place of the bound that is exceeded by the largest share."""
        p = np.minimum(p, _BELOW_ONE)  # at 1 all are exceeded without end
        excess = self.against(q[:, np.newaxis]).excess(p[:, np.newaxis])
        places: IntArray = np.argmax(excess / self.limits, axis=-1)
        return places


class _Moments(NamedTuple):
    """The moments that divergences are the logs of, between Bernoulli(p) and Bernoulli(q).

    Of Bernoulli(q) from Bernoulli(p) where ``back`` is set. What depends on q alone is worked out
    once: the exponents of p's law, and the logs of the factors of q's.
    """

    bounds: _Bounds
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
        """Return the point between q and p at which D_α meets the limit, by Newton, uncertified.

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


def _bernoulli_bounds(orders: FloatArray, limits: FloatArray) -> _Bounds:
    """Return the bounds at these orders, in both directions."""
    back = np.repeat([False, True], orders.size)
    return _Bounds(np.tile(orders, 2), np.tile(limits, 2), back)


def _cut_rates(p: FloatArray, q: FloatArray, bounds: _Bounds) -> FloatArray:
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
    if profile(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while profile(high) > delta:
        if high == _LARGEST_EPSILON:
            return math.inf
        low, high = high, min(2 * high, _LARGEST_EPSILON)

    def excess(epsilon: float) -> float:
        return math.log(max(profile(epsilon), 1e-300) / max(delta, 1e-300))

    from scipy.optimize import brentq  # noqa: PLC0415  (slow to import)

    return float(brentq(excess, low, high, xtol=1e-11, maxiter=_STEPS))
