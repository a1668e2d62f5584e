"""The loss that each notion of privacy bounds: of an event, of two laws, of a Gaussian shift.

``loss_of`` is the one place that asks of which notion a guarantee is. Whether an output lies in an
event is post-processing, so that the loss of an event's two probabilities is a lower bound of the
mechanism's. A notion has two sides: ε, ρ, D_α or μ is the unit of its claim, and exact laws decide
an (ε, δ) by δ(ε) instead of ε(δ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy

from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    LocalDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.laws.laws import LawPair
    from dpcp_audit.words.validate import FloatArray


T = TypeVar("T")
Number_co = TypeVar("Number_co", covariant=True)

_ORDERS = np.concatenate([[1.0], 1 + np.logspace(-3, 3, 193)])


class Divergences(Protocol[Number_co]):
    """The divergences of two laws, as numbers or as balls that enclose them."""

    def delta_at(self, epsilon: float) -> Number_co:
        """Return δ(ε)."""
        ...

    def max_divergence(self) -> Number_co:
        """Return D_∞."""
        ...

    def renyi(self, alpha: float) -> Number_co:
        """Return D_α."""
        ...

    def rho(self) -> Number_co:
        """Return the largest D_α/α."""
        ...


class _NoiseDivergences(Divergences[Number_co], Protocol[Number_co]):
    """The divergences that uses of noise spend, and the Gaussian loss that bounds them."""

    def mu(self) -> Number_co:
        """Return μ."""
        ...


class Decision(NamedTuple):
    """The quantity that decides a claim, with the claimed number and the quantity's parameters."""

    quantity: Quantity
    claimed: float
    at: dict[str, float]


class Measurement(NamedTuple):
    """The quantity that a guarantee bounds, on one ordered pair of laws."""

    quantity: Quantity
    value: float
    claimed: float
    at: dict[str, float]


@dataclass(frozen=True, slots=True)
class Loss:
    """The privacy loss of a guarantee, in the parameter that it claims.

    This one is that of a guarantee known by its trade-off curve alone: the Gaussian loss
    μ = Φ⁻¹(p) − Φ⁻¹(p′) (Dong, Roth and Su 2022), against the largest that the curve allows at
    the same p′.
    """

    guarantee: PrivacyGuarantee

    quantity: ClassVar[Quantity] = Quantity.MU
    gaussian: ClassVar[bool] = False
    """True if normal noise can spend all of the claim: of ρ, D_α and μ."""
    renyi: ClassVar[bool] = False
    """True if the claim bounds a Rényi divergence."""
    by_laws: ClassVar[bool] = False
    """True if exact laws decide the claim."""

    @property
    def by_noise(self) -> bool:
        """True if uses of noise can be added up to a bound of the loss."""
        return self.by_laws or self.gaussian

    @property
    def at(self) -> dict[str, float]:
        """The quantity's parameters: the δ > 0 of an ε, the order α of a divergence."""
        return {}

    @property
    def linear(self) -> ApproxDP | None:
        """The (ε, δ) that the guarantee is; None of other notions."""
        return None

    @property
    def pure(self) -> bool:
        """True if the guarantee bounds the log-ratio of every event."""
        return self.linear is not None and self.linear.delta == 0

    @property
    def claimed(self) -> float:
        """The claimed parameter; of a curve the loss that it allows at p′ = 1/2."""
        return self.claimed_at(0.5)

    def claimed_at(self, q: float) -> float:
        """Return the loss that the guarantee allows where the neighbour has the probability q."""
        return self.of_event(float(self.guarantee.power(q)), q)

    def allowing(self, loss: float) -> PrivacyGuarantee:
        """Return the guarantee of this notion that just allows a loss."""
        return GaussianDP(loss)

    def of_event(self, p: float, q: float) -> float:
        """Return the loss at an event's two probabilities: never negative, growing with p."""
        if p == q:
            return 0.0
        return max(0.0, float(scipy.special.ndtri(p)) - float(scipy.special.ndtri(q)))

    def lower_bound(self, p_low: float, q_high: float) -> float:
        """Return the least loss where p is at least ``p_low`` and p′ at most ``q_high``."""
        return self.of_event(p_low, q_high) if p_low > q_high else 0.0

    def of_shift(self, shift: float) -> float:
        """Return the loss of two normal laws, ``shift`` standard deviations apart."""
        return shift

    def to_shift(self, loss: float) -> float:
        """Return the standard deviations between two normal laws of that loss."""
        return loss

    def of_divergence(self, divergence: float, order: float) -> float:
        """Return the least loss of laws with a Rényi divergence of that order."""
        return math.sqrt(2 * divergence / order)

    def divergence_allowed(self, order: float) -> float | None:  # noqa: ARG002
        """Return the largest D_α that the claim allows; None where it has no closed form."""
        return None

    @property
    def log_ratios(self) -> float:
        """The length of an interval of log-ratios that implies the claim; 0 where none is known."""
        return 0.0

    def decisive(self, laws: Divergences[T]) -> T:  # noqa: ARG002
        """Return the quantity by which exact laws decide the claim, in their direction.

        Raises
        ------
        ValueError
            If they do not.
        """
        raise ValueError(
            f"guarantee must be PureDP, LocalDP, ApproxDP, ZCDP or RenyiDP, got {self.guarantee!r}"
        )

    def bound_by(self, spending: _NoiseDivergences[T]) -> T:
        """Return the quantity by which uses of noise decide the claim.

        Raises
        ------
        ValueError
            If they do not.
        """
        return self.decisive(spending)

    @property
    def decided(self) -> Decision:
        """The quantity by which exact laws, or uses of noise, decide the claim."""
        return Decision(self.quantity, self.claimed, self.at)

    def measured(self, pair: LawPair) -> Measurement:
        """Return that quantity and its claim, for the pair (P, Q) in this direction."""
        value, decided = self.decisive(pair), self.decided
        return Measurement(decided.quantity, value, decided.claimed, decided.at)


@dataclass(frozen=True, slots=True)
class _RatioLoss(Loss):
    """ε at the claimed δ; exact laws decide by δ at the claimed ε."""

    guarantee: PureDP | ApproxDP

    quantity: ClassVar[Quantity] = Quantity.EPSILON
    by_laws: ClassVar[bool] = True

    @property
    def _delta(self) -> float:
        return self.guarantee.parameters.get("delta", 0.0)

    @property
    def at(self) -> dict[str, float]:
        return {"delta": self._delta} if self._delta else {}

    @property
    def linear(self) -> ApproxDP:
        return ApproxDP(self.guarantee.epsilon, self._delta)

    def claimed_at(self, q: float) -> float:  # noqa: ARG002
        return self.guarantee.epsilon

    def allowing(self, loss: float) -> PrivacyGuarantee:
        return ApproxDP(loss, self._delta)

    def of_event(self, p: float, q: float) -> float:
        delta = self._delta
        return max(0.0, log_ratio(p - delta, q), log_ratio(1 - q - delta, 1 - p))

    @property
    def log_ratios(self) -> float:
        return self.guarantee.epsilon

    def decisive(self, laws: Divergences[T]) -> T:
        return laws.delta_at(self.guarantee.epsilon)

    @property
    def decided(self) -> Decision:
        return Decision(Quantity.DELTA, self._delta, {"epsilon": self.guarantee.epsilon})


@dataclass(frozen=True, slots=True)
class _PureLoss(_RatioLoss):
    """ε, the largest log-ratio."""

    def decisive(self, laws: Divergences[T]) -> T:
        return laws.max_divergence()

    @property
    def decided(self) -> Decision:
        return Decision(self.quantity, self.claimed, self.at)


@dataclass(frozen=True, slots=True)
class _ZCDPLoss(Loss):
    """ρ, the largest D_α/α."""

    guarantee: ZCDP

    quantity: ClassVar[Quantity] = Quantity.RHO
    gaussian: ClassVar[bool] = True
    renyi: ClassVar[bool] = True
    by_laws: ClassVar[bool] = True

    def claimed_at(self, q: float) -> float:  # noqa: ARG002
        return self.guarantee.rho

    def allowing(self, loss: float) -> PrivacyGuarantee:
        return ZCDP(loss)

    def of_event(self, p: float, q: float) -> float:
        ways = ((p, q), (q, p))
        return max(float((bernoulli_renyi(*way, _ORDERS) / _ORDERS).max()) for way in ways)

    def of_shift(self, shift: float) -> float:
        return shift**2 / 2

    def to_shift(self, loss: float) -> float:
        return math.sqrt(2 * loss)

    def of_divergence(self, divergence: float, order: float) -> float:
        return divergence / order

    def divergence_allowed(self, order: float) -> float:
        return self.guarantee.rho * order

    @property
    def log_ratios(self) -> float:  # a span B is B²/8-zCDP (Cesar and Rogers 2021)
        return math.sqrt(8 * self.guarantee.rho)

    def decisive(self, laws: Divergences[T]) -> T:
        return laws.rho()


@dataclass(frozen=True, slots=True)
class _RenyiLoss(Loss):
    """D_α at the claimed order α."""

    guarantee: RenyiDP

    quantity: ClassVar[Quantity] = Quantity.RENYI_DIVERGENCE
    gaussian: ClassVar[bool] = True
    renyi: ClassVar[bool] = True
    by_laws: ClassVar[bool] = True

    @property
    def at(self) -> dict[str, float]:
        return {"alpha": self.guarantee.alpha}

    def claimed_at(self, q: float) -> float:  # noqa: ARG002
        return self.guarantee.epsilon

    def allowing(self, loss: float) -> PrivacyGuarantee:
        return RenyiDP(self.guarantee.alpha, loss)

    def of_event(self, p: float, q: float) -> float:
        ways = ((p, q), (q, p))
        return max(float(bernoulli_renyi(*way, self.guarantee.alpha)) for way in ways)

    def of_shift(self, shift: float) -> float:
        return self.guarantee.alpha * shift**2 / 2

    def to_shift(self, loss: float) -> float:
        return math.sqrt(2 * loss / self.guarantee.alpha)

    def of_divergence(self, divergence: float, order: float) -> float:  # noqa: ARG002
        return divergence

    def divergence_allowed(self, order: float) -> float | None:
        return self.guarantee.epsilon if order == self.guarantee.alpha else None

    @property
    def log_ratios(self) -> float:
        alpha, epsilon = self.guarantee.alpha, self.guarantee.epsilon
        return max(epsilon, math.sqrt(8 * epsilon / alpha))

    def decisive(self, laws: Divergences[T]) -> T:
        return laws.renyi(self.guarantee.alpha)


@dataclass(frozen=True, slots=True)
class _GaussianLoss(Loss):
    """μ, the shift of two normal laws that are as easy to tell apart."""

    guarantee: GaussianDP

    gaussian: ClassVar[bool] = True

    def claimed_at(self, q: float) -> float:  # noqa: ARG002
        return self.guarantee.mu

    def divergence_allowed(self, order: float) -> float:
        return self.guarantee.mu**2 / 2 * order

    def bound_by(self, spending: _NoiseDivergences[T]) -> T:
        return spending.mu()

    @property
    def log_ratios(self) -> float:  # ε-DP at the corner of its region: Φ(μ/2) = e^ε/(1+e^ε)
        half = self.guarantee.mu / 2
        return float(scipy.special.log_ndtr(half) - scipy.special.log_ndtr(-half))


def loss_of(guarantee: PrivacyGuarantee) -> Loss:
    """Return the measure of a guarantee's loss.

    Examples
    --------
    >>> from dpcp_audit.words.guarantees import ZCDP
    >>> loss = loss_of(ZCDP(0.5))
    >>> loss.claimed, loss.to_shift(0.5), loss.allowing(2.0)
    (0.5, 1.0, ZCDP(rho=2.0))
    """
    return _LOSSES.get(type(guarantee), Loss)(guarantee)


_LOSSES: dict[type[PrivacyGuarantee], Callable[[Any], Loss]] = {
    PureDP: _PureLoss,
    LocalDP: _PureLoss,
    ApproxDP: _RatioLoss,
    ZCDP: _ZCDPLoss,
    RenyiDP: _RenyiLoss,
    GaussianDP: _GaussianLoss,
}


def guarantee_pair(guarantee: PureDP | ApproxDP) -> FinitePair:
    """Return the pair that dominates every (ε, δ)-DP release, for a step known by its promise.

    Randomised response, mixed with a mass δ that reveals everything (Kairouz, Oh and
    Viswanath 2015, Section 3): composing it composes the guarantee optimally.
    """
    claim = loss_of(guarantee).linear
    if claim is None:
        raise ValueError(f"guarantee must be PureDP or ApproxDP, got {guarantee!r}")
    told, delta = math.exp(-claim.epsilon), claim.delta
    mass = np.array([delta, (1 - delta) / (1 + told), (1 - delta) * told / (1 + told), 0.0])
    return FinitePair(FiniteLaw.from_mass(mass), FiniteLaw.from_mass(mass[::-1]))


def bernoulli_renyi(p: float, p_prime: float, orders: ArrayLike) -> FloatArray:
    """Return D_α(Bernoulli(p) ‖ Bernoulli(p′)) for orders α >= 1, of any shape (α = 1 is KL)."""
    _validate.closed_unit(p=p, p_prime=p_prime)
    alpha = np.asarray(orders, dtype=np.float64)
    if not (alpha >= 1).all():
        raise ValueError(f"orders must be >= 1, got {orders!r}")
    cells = [(a, b) for a, b in ((p, p_prime), (1 - p, 1 - p_prime)) if a > 0]
    if any(b == 0 for _, b in cells):
        return np.full(alpha.shape, math.inf)
    kl = sum(float(scipy.special.xlogy(a, a / b)) for a, b in cells)
    terms = [alpha * math.log(a) + (1 - alpha) * math.log(b) for a, b in cells]
    joint = terms[0] if len(terms) == 1 else np.logaddexp(terms[0], terms[1])
    above = np.where(alpha > 1, alpha - 1, 1.0)
    return np.asarray(np.maximum(0.0, np.where(alpha > 1, joint / above, kl)))


def log_ratio(p: float, q: float) -> float:
    """Return log(p/q), −∞ where p is not positive and ∞ where only q is 0."""
    if p <= 0:
        return -math.inf
    return math.log(p) - math.log(q) if q > 0 else math.inf


_LARGEST_TESTED = 50.0
"""The largest ε that the score test judges."""


def linear_claim(guarantee: PrivacyGuarantee) -> ApproxDP | None:
    """Return the (ε, δ) that the guarantee is, where the score test can judge it."""
    linear = loss_of(guarantee).linear
    if linear is None or linear.delta == 1 or linear.epsilon > _LARGEST_TESTED:
        return None
    return linear


def claims_delta(guarantee: PrivacyGuarantee) -> bool:
    """Return True if the guarantee is (ε, δ)-DP with a δ > 0."""
    linear = linear_claim(guarantee)
    return linear is not None and linear.delta > 0
