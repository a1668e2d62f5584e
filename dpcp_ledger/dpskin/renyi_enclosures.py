"""The Poisson-subsampled Gaussian mechanism in balls: Rényi divergences, and their ε.

At whole orders the divergence is a finite binomial sum, so that a composed ε has a rigorous bound
where privacy loss distributions have Fourier transforms in doubles.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flint import arb, fmpq

from dpcp_audit.extensions.statistics import ball, exact

if TYPE_CHECKING:
    from dpcp_audit.extensions.statistics import Exact


def sampled_renyi(rate: Exact, noise: Exact, order: int) -> arb:
    """Return D_α of (1−q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²), for a whole order α ≥ 2.

    log(Σ_k C(α, k)·(1−q)^(α−k)·q^k·exp((k²−k)/(2σ²)))/(α−1); the reverse direction is no larger
    (Mironov, Talwar and Zhang 2019, Theorem 5 and Section 3.3).

    Examples
    --------
    >>> print(sampled_renyi(1, 2, 4).str(5))  # without sampling: α/(2σ²)
    [0.50000 +/- 3e-10]
    """
    q, variance = exact(rate), exact(noise) ** 2
    total = arb(0)
    for k in range(order + 1):
        weight = fmpq(math.comb(order, k)) * (1 - q) ** (order - k) * q**k
        total += ball(weight) * ball((k * k - k) / (2 * variance)).exp()
    return total.log() / (order - 1)


def renyi_epsilon(divergence: arb, order: int, delta: Exact) -> arb:
    """Return an ε at which D_α gives (ε, δ)-DP (Canonne, Kamath and Steinke 2020, Prop. 12)."""
    spent = (ball(delta) * order).log()
    return divergence + (ball(fmpq(order - 1, order))).log() - spent / (order - 1)


def substituted_renyi(rate: Exact, noise: Exact, order: int) -> arb:
    """Return a bound of D_α between (1−q)·N(0, σ²) + q·N(±1, σ²), for a whole order α ≥ 2.

    With r = N(−1, σ²)/N(0, σ²), the second mixture is at least r^q·N(0, σ²), by concavity of the
    logarithm; what remains is Σ_k C(α, k)·(1−q)^(α−k)·q^k·exp((c² − k + (α−1)q)/(2σ²)), of which
    c = k + (α−1)q. Where σ is large, the bound is above D_α by about q(1−q)/(2σ²).

    Examples
    --------
    >>> print(substituted_renyi(1, 2, 4).str(5))  # without sampling: α·2²/(2σ²)
    [2.0000 +/- 3e-9]
    """
    q, variance = exact(rate), exact(noise) ** 2
    total = arb(0)
    for k in range(order + 1):
        moved = (order - 1) * q
        weight = fmpq(math.comb(order, k)) * (1 - q) ** (order - k) * q**k
        total += ball(weight) * ball(((k + moved) ** 2 - k + moved) / (2 * variance)).exp()
    return total.log() / (order - 1)
