"""Lower bounds of ρ, D_α, μ and the trade-off from the counts of one event.

Whether an output lies in an event is post-processing, so what two Bernoulli laws p and p′ show
is a lower bound of what the mechanism reveals. The rates are known up to a Clopper–Pearson
limit each, at half the significance; every bound is the least value of its quantity over the
rates p and p′ on the right side of their limits. The event must have been chosen beforehand, with
the input on which it is likelier put first; where the limits do not part the two the bound is 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, xlogy

from dpcp_audit import _validate
from dpcp_audit.results import Evidence, EvidenceKind
from dpcp_audit.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.certificates import Hits

_ORDERS = np.concatenate([[1.0], 1 + np.logspace(-3, 3, 193)])


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


def rho_lower_bound(hits: Hits, *, significance: float) -> Evidence:
    """Return a lower bound of ρ: D_α <= ρα at every α > 1 (Bun and Steinke 2016), both ways.

    The largest D_α/α over a grid of orders; the box is the same for all of them, so nothing is
    paid for the choice.
    """
    return _evidence(
        "ρ of the event",
        lambda p, q: max(
            float((bernoulli_renyi(a, b, _ORDERS) / _ORDERS).max()) for a, b in ((p, q), (q, p))
        ),
        hits,
        significance=significance,
    )


def renyi_lower_bound(hits: Hits, *, alpha: float, significance: float) -> Evidence:
    """Return a lower bound of D_α at one order α > 1, the larger of the two directions."""
    _validate.finite(alpha=alpha)
    if not alpha > 1:
        raise ValueError(f"alpha must be > 1, got {alpha!r}")
    return _evidence(
        f"D_α of the event at α = {alpha:.6g}",
        lambda p, q: max(float(bernoulli_renyi(p, q, alpha)), float(bernoulli_renyi(q, p, alpha))),
        hits,
        significance=significance,
    )


def gdp_lower_bound(hits: Hits, *, significance: float) -> Evidence:
    """Return a lower bound of μ: μ-GDP bounds Φ⁻¹(p) − Φ⁻¹(p′) by μ (Dong, Roth and Su 2022)."""
    return _evidence(
        "μ of the event",
        lambda p, q: abs(float(ndtri(p)) - float(ndtri(q))),
        hits,
        significance=significance,
    )


def tradeoff_point(hits: Hits, *, significance: float) -> tuple[Evidence, Evidence]:
    """Return a point that the trade-off function lies at or below, with this confidence.

    The event as a test of the neighbour against the input: its false-positive rate p′ is at
    most the first evidence's ``upper``, and its false-negative rate 1 − p at most the
    second's, both at once. As trade-off functions fall, the true one is at or below the point.
    """
    p_low, q_high = _limits(hits, significance)
    p, q = hits.successes / hits.trials, hits.neighbour_successes / hits.trials
    rows = (("false-positive rate", q, q_high), ("false-negative rate", 1 - p, 1 - p_low))
    first, second = (
        Evidence(
            kind=EvidenceKind.CERTIFIED,
            quantity=f"{name} of the event",
            value=value,
            lower=0.0,
            upper=upper,
            confidence=1 - significance,
            n_samples=2 * hits.trials,
        )
        for name, value, upper in rows
    )
    return first, second


def _limits(hits: Hits, significance: float) -> tuple[float, float]:
    """Return a lower limit of p and an upper one of p′, jointly right with 1 − significance."""
    low, _ = clopper_pearson(hits.successes, hits.trials, significance=significance)
    _, high = clopper_pearson(hits.neighbour_successes, hits.trials, significance=significance)
    return low, high


def _evidence(
    quantity: str,
    divergence: Callable[[float, float], float],
    hits: Hits,
    *,
    significance: float,
) -> Evidence:
    """Evaluate a divergence, which grows as the two rates part, at the closest of the box."""
    _validate.open_unit(significance=significance)
    p_low, q_high = _limits(hits, significance)
    p, q = hits.successes / hits.trials, hits.neighbour_successes / hits.trials
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        value=0.0 if p == q else divergence(p, q),
        lower=divergence(p_low, q_high) if p_low > q_high else 0.0,
        upper=math.inf,
        confidence=1 - significance,
        n_samples=2 * hits.trials,
    )
