"""What an event shows of a privacy loss, in the parameter of the guarantee that is claimed.

Whether an output lies in an event is post-processing, so what two Bernoulli laws p and p′ show
is a lower bound of what the mechanism reveals. The rates are known up to a Clopper–Pearson
limit each, at half the significance; every bound is the least value of its quantity over the
rates p and p′ on the right side of their limits. The event must have been chosen beforehand, with
the input on which it is likelier put first; where the limits do not part the two the bound is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, xlogy

from dpcp_audit import _validate
from dpcp_audit.guarantees import ZCDP, ApproxDP, GaussianDP, PrivacyGuarantee, PureDP, RenyiDP
from dpcp_audit.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray

_ORDERS = np.concatenate([[1.0], 1 + np.logspace(-3, 3, 193)])


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLoss:
    """The loss that an event's two probabilities show, in a guarantee's own parameter.

    Parameters
    ----------
    quantity : Quantity
        ε, ρ, D_α or μ.
    at : dict
        The quantity's parameters: the δ of an ε, the order α of a divergence.
    of : callable
        The loss at the probabilities (p, p′): it grows as p rises above p′, and is never
        negative.
    claimed_at : callable
        The loss that the guarantee allows where the neighbour has the probability p′.
    allowing : callable
        The guarantee that a loss is the parameter of.
    """

    quantity: Quantity
    at: dict[str, float]
    of: Callable[[float, float], float]
    claimed_at: Callable[[float], float]
    allowing: Callable[[float], PrivacyGuarantee]

    def lower_bound(self, p_low: float, q_high: float) -> float:
        """Return the least loss where p is at least ``p_low`` and p′ at most ``q_high``."""
        return self.of(p_low, q_high) if p_low > q_high else 0.0


@singledispatch
def event_loss(guarantee: PrivacyGuarantee) -> EventLoss:
    """Return how an event's loss is measured against a guarantee.

    For one without a measure of its own it is the Gaussian loss μ = Φ⁻¹(p) − Φ⁻¹(p′) (Dong, Roth
    and Su 2022), against the one that the guarantee allows at the same p′.
    """

    def allowed(q: float) -> float:
        return _gaussian_loss(float(guarantee.power(q)), q)

    return EventLoss(
        quantity=Quantity.MU, at={}, of=_gaussian_loss, claimed_at=allowed, allowing=GaussianDP
    )


@event_loss.register(PureDP)
def _(guarantee: PureDP) -> EventLoss:
    return _log_ratio_loss(guarantee.epsilon, 0.0)


@event_loss.register(ApproxDP)
def _(guarantee: ApproxDP) -> EventLoss:
    return _log_ratio_loss(guarantee.epsilon, guarantee.delta)


@event_loss.register(ZCDP)
def _(guarantee: ZCDP) -> EventLoss:
    def loss(p: float, q: float) -> float:
        ways = ((p, q), (q, p))
        return max(float((bernoulli_renyi(a, b, _ORDERS) / _ORDERS).max()) for a, b in ways)

    return EventLoss(
        quantity=Quantity.RHO,
        at={},
        of=loss,
        claimed_at=lambda _: guarantee.rho,
        allowing=ZCDP,
    )


@event_loss.register(GaussianDP)
def _(guarantee: GaussianDP) -> EventLoss:
    return EventLoss(
        quantity=Quantity.MU,
        at={},
        of=_gaussian_loss,
        claimed_at=lambda _: guarantee.mu,
        allowing=GaussianDP,
    )


@event_loss.register(RenyiDP)
def _(guarantee: RenyiDP) -> EventLoss:
    def loss(p: float, q: float) -> float:
        ways = ((p, q), (q, p))
        return max(float(bernoulli_renyi(a, b, guarantee.alpha)) for a, b in ways)

    return EventLoss(
        quantity=Quantity.RENYI_DIVERGENCE,
        at={"alpha": guarantee.alpha},
        of=loss,
        claimed_at=lambda _: guarantee.epsilon,
        allowing=lambda value: RenyiDP(guarantee.alpha, value),
    )


def bernoulli_renyi(p: float, p_prime: float, orders: ArrayLike) -> FloatArray:
    """Return D_α(Bernoulli(p) ‖ Bernoulli(p′)) for orders α >= 1, of any shape (α = 1 is KL)."""
    _validate.closed_unit(p=p, p_prime=p_prime)
    alpha = np.asarray(orders, dtype=np.float64)
    if not (alpha >= 1).all():
        raise ValueError(f"orders must be >= 1, got {orders!r}")
    cells = [(a, b) for a, b in ((p, p_prime), (1 - p, 1 - p_prime)) if a > 0]
    if any(b == 0 for _, b in cells):
        return np.full(alpha.shape, math.inf)
    kl = sum(float(xlogy(a, a / b)) for a, b in cells)
    terms = [alpha * math.log(a) + (1 - alpha) * math.log(b) for a, b in cells]
    joint = terms[0] if len(terms) == 1 else np.logaddexp(terms[0], terms[1])
    above = np.where(alpha > 1, alpha - 1, 1.0)
    return np.asarray(np.maximum(0.0, np.where(alpha > 1, joint / above, kl)))


def log_ratio(p: float, q: float) -> float:
    """Return log(p/q), −∞ where p is not positive and ∞ where only q is 0."""
    if p <= 0:
        return -math.inf
    return math.log(p) - math.log(q) if q > 0 else math.inf


def _log_ratio_loss(epsilon: float, delta: float) -> EventLoss:
    def loss(p: float, q: float) -> float:
        return max(0.0, log_ratio(p - delta, q), log_ratio(1 - q - delta, 1 - p))

    at = {"delta": delta} if delta else {}
    return EventLoss(
        quantity=Quantity.EPSILON,
        at=at,
        of=loss,
        claimed_at=lambda _: epsilon,
        allowing=lambda value: ApproxDP(value, delta),
    )


def _gaussian_loss(p: float, q: float) -> float:
    return max(0.0, float(ndtri(p)) - float(ndtri(q))) if p != q else 0.0
