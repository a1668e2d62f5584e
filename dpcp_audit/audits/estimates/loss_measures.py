"""What is measured of a pair of laws: losses, distances and attacks, the worse of both directions.

Each of them is at least as large for laws that are easier to tell apart (Blackwell's order), so
that a pair with a lower and one with a higher ROC curve bracket all of them at once.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from dpcp_audit.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)
from dpcp_audit.mechanisms.laws import FiniteLaw, FinitePair
from dpcp_audit.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit._types import FloatArray
    from dpcp_audit.stats.roc_curve import RocCurve

DELTAS = (0.0, 1e-5, 1e-3, 1e-2, 0.1)
ORDERS = (1.0, 2.0, 4.0, 8.0)
RATES = (1e-3, 1e-2, 0.1)


class Asked(NamedTuple):
    """A quantity with its parameters: ε at a δ, δ at an ε, D_α at an order, TPR at an FPR."""

    quantity: Quantity
    at: dict[str, float]


def asked_of(guarantee: PrivacyGuarantee | None) -> Asked:
    """Return what measures a loss in the unit of a claim; the membership advantage without one."""
    if guarantee is None:
        return Asked(Quantity.ADVANTAGE, {})
    return _unit(guarantee)


@singledispatch
def _unit(guarantee: PrivacyGuarantee) -> Asked:  # noqa: ARG001  (chosen by its type)
    return Asked(Quantity.MU, {})


@_unit.register(PureDP)
def _(guarantee: PureDP) -> Asked:  # noqa: ARG001
    return Asked(Quantity.EPSILON, {})


@_unit.register(ApproxDP)
def _(guarantee: ApproxDP) -> Asked:
    return Asked(Quantity.EPSILON, {"delta": guarantee.delta} if guarantee.delta else {})


@_unit.register(ZCDP)
def _(guarantee: ZCDP) -> Asked:  # noqa: ARG001
    return Asked(Quantity.RHO, {})


@_unit.register(RenyiDP)
def _(guarantee: RenyiDP) -> Asked:
    return Asked(Quantity.RENYI_DIVERGENCE, {"alpha": guarantee.alpha})


def all_asked(guarantee: PrivacyGuarantee | None = None) -> list[Asked]:
    """Return the rows of a table of estimates, a claim's own unit in front."""
    rows = [Asked(Quantity.EPSILON, {"delta": delta} if delta else {}) for delta in DELTAS]
    rows.append(Asked(Quantity.RHO, {}))
    rows += [Asked(Quantity.RENYI_DIVERGENCE, {"alpha": alpha}) for alpha in ORDERS]
    rows += [Asked(Quantity.MU, {}), Asked(Quantity.TOTAL_VARIATION, {})]
    rows.append(Asked(Quantity.ADVANTAGE, {}))
    rows += [Asked(Quantity.TRUE_POSITIVE_RATE, {"fpr": rate}) for rate in RATES]
    first = asked_of(guarantee)
    return [first, *(row for row in rows if row != first)]


def pair_of_curve(curve: RocCurve) -> FinitePair:
    """Return two laws with a ROC curve."""
    p, q = curve.masses
    return FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(q))


def measured(asked: Asked, pair: FinitePair) -> float:
    """Return what is asked of a pair, the larger of both directions; never negative."""
    return max(0.0, *(_one_way(asked, way) for way in (pair, pair.reversed())))


def _one_way(asked: Asked, pair: FinitePair) -> float:
    if asked.quantity in _DIVERGENCES and math.isinf(pair.max_divergence()):
        return math.inf
    return _MEASURES[asked.quantity](pair, asked.at)


def _true_positives(pair: FinitePair, fpr: float) -> float:
    rates, misses = pair.tradeoff()
    return float(1 - np.interp(fpr, rates, misses))


def gaussian_loss(pair: FinitePair) -> float:
    """Return the least μ for which the pair is μ-GDP: Φ⁻¹(TPR) − Φ⁻¹(FPR) at the worst corner.

    A concave, piecewise linear curve lies below a concave one where its corners do.
    """
    p, q = np.exp(pair.law.log_mass), np.exp(pair.neighbour_law.log_mass)
    order = np.argsort(-pair.loss, kind="stable")
    with np.errstate(invalid="ignore"):
        shift = _quantiles(p[order]) - _quantiles(q[order])
    return float(np.nanmax(shift, initial=0.0))


def _quantiles(masses: FloatArray) -> FloatArray:
    """Return Φ⁻¹ of the sums of the first masses, each from its smaller side."""
    first, rest = np.cumsum(masses)[:-1], np.cumsum(masses[::-1])[::-1][1:]
    return np.where(first <= rest, ndtri(np.minimum(first, 0.5)), -ndtri(np.minimum(rest, 0.5)))


_DIVERGENCES = frozenset({Quantity.RHO, Quantity.RENYI_DIVERGENCE})
_MEASURES: Mapping[Quantity, Callable[[FinitePair, Mapping[str, float]], float]] = {
    Quantity.EPSILON: lambda pair, at: pair.epsilon_at(at.get("delta", 0.0)),
    Quantity.DELTA: lambda pair, at: pair.delta_at(at.get("epsilon", 0.0)),
    Quantity.RHO: lambda pair, _: pair.rho(),
    Quantity.RENYI_DIVERGENCE: lambda pair, at: pair.renyi(at["alpha"]),
    Quantity.MU: lambda pair, _: gaussian_loss(pair),
    Quantity.TOTAL_VARIATION: lambda pair, _: pair.total_variation(),
    Quantity.ADVANTAGE: lambda pair, _: pair.total_variation(),
    Quantity.TRUE_POSITIVE_RATE: lambda pair, at: _true_positives(pair, at["fpr"]),
}
"""How each is measured, in one direction."""


def allowed(asked: Asked, guarantee: PrivacyGuarantee) -> float | None:
    """Return how much of it a guarantee allows; None where it does not bound it in closed form."""
    at = asked.at
    if asked.quantity is Quantity.RENYI_DIVERGENCE or asked.quantity in (Quantity.RHO, Quantity.MU):
        return _allowed_divergence(asked, guarantee)
    if asked == asked_of(guarantee):
        return guarantee.parameters["epsilon"]
    if asked.quantity is Quantity.EPSILON:
        return guarantee.epsilon_at(at.get("delta", 0.0))
    if asked.quantity is Quantity.DELTA:
        return guarantee.delta_at(at.get("epsilon", 0.0))
    if asked.quantity is Quantity.TRUE_POSITIVE_RATE:
        return float(guarantee.power(at["fpr"]))
    return guarantee.advantage()


def _allowed_divergence(asked: Asked, guarantee: PrivacyGuarantee) -> float | None:
    if isinstance(guarantee, PureDP):
        p = 1 / (1 + math.exp(-guarantee.epsilon))
        flip = FiniteLaw.from_mass([p, 1 - p]), FiniteLaw.from_mass([1 - p, p])
        return measured(asked, FinitePair(*flip))
    mu = guarantee.mu if isinstance(guarantee, GaussianDP) else None
    if asked.quantity is Quantity.MU:
        return mu
    if isinstance(guarantee, RenyiDP):
        return guarantee.epsilon if asked == asked_of(guarantee) else None
    rho = guarantee.rho if isinstance(guarantee, ZCDP) else None if mu is None else mu**2 / 2
    if rho is None or asked.quantity is Quantity.RHO:
        return rho
    return rho * asked.at["alpha"]
