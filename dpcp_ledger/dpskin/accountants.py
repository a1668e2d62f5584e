"""The ε of a training of DP-SGD, by three accountants, under named neighbours; and in balls.

A training is a ``SubsampledGaussian``: under Poisson sampling with its own rate and steps, under
fixed shuffled batches as one step of full participation an epoch.

At whole orders the Rényi divergence of the Poisson-subsampled Gaussian mechanism is a finite
binomial sum, so that a composed ε has a rigorous bound where privacy loss distributions have
Fourier transforms in doubles.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from flint import arb, fmpq

from dpcp_audit.extensions.claims import (
    Relation,
    require_package,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import SubsampledGaussian
from dpcp_audit.extensions.statistics import ball, exact

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, PlainData
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


PRV_ERROR = 0.01
"""The margin of Opacus's PRV accountant: its upper bound lies this far above its estimate of ε."""


class Accountant(StrEnum):
    """The accountants for a training; each gives an upper bound on ε."""

    RDP = "rdp"
    """Rényi divergences added up, dp-accounting's (Mironov, Talwar and Zhang 2019)."""
    PLD = "pld"
    """Privacy loss distributions, dp-accounting's (Doroshenko et al. 2022)."""
    PRV = "prv"
    """Privacy loss random variables, Opacus's (Gopi, Lee and Wutschitz 2021)."""


class Sampling(StrEnum):
    """The sampling of a step's examples."""

    POISSON = "poisson"
    """Each example enters each step independently, with probability q."""
    SHUFFLED = "shuffled"
    """Fixed batches of shuffled data: each example enters one step an epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A run of DP-SGD: ``batch_size`` of ``n`` examples a step, for ``epochs`` passes.

    ``noise_multiplier`` is σ, the noise's standard deviation over the clipping norm.
    """

    n: int
    batch_size: int
    epochs: int
    noise_multiplier: float

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, batch_size=self.batch_size, epochs=self.epochs, at_least=1)
        _validate.positive(noise_multiplier=self.noise_multiplier)
        if self.batch_size > self.n:
            raise ValueError(f"batch_size must not exceed n = {self.n}, got {self.batch_size}")

    @property
    def sampling_rate(self) -> float:
        """q, the share of the examples in a step."""
        return self.batch_size / self.n

    @property
    def steps(self) -> int:
        """Steps in all: ``epochs``/q, rounded up."""
        return math.ceil(self.epochs * self.n / self.batch_size)

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {
            "n": self.n,
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "noise_multiplier": self.noise_multiplier,
        }

    def guarantee(
        self, *, sampling: Sampling, relation: Relation = Relation.ZERO_OUT
    ) -> SubsampledGaussian:
        """Return what the training promises; shuffled batches are not amplified.

        Raises
        ------
        ValueError
            Under ADD_REMOVE for shuffled batches (:meth:`SubsampledGaussian.shuffled`).
        """
        if sampling is Sampling.SHUFFLED:
            return SubsampledGaussian.shuffled(
                epochs=self.epochs, noise_multiplier=self.noise_multiplier, relation=relation
            )
        return SubsampledGaussian(
            sampling_rate=self.sampling_rate,
            steps=self.steps,
            noise_multiplier=self.noise_multiplier,
            relation=relation,
        )


def accounted_epsilon(
    training: SubsampledGaussian, *, delta: float, accountant: Accountant = Accountant.PLD
) -> float:
    """Return the ε at which a training is (ε, ``delta``)-DP, from above.

    Parameters
    ----------
    training : SubsampledGaussian
        Sampling rate, steps, noise multiplier and neighbour relation; also
        ``Training(...).guarantee(sampling=...)`` or ``SubsampledGaussian.shuffled(...)``.
    delta : float
        δ in (0, 1).
    accountant : Accountant
        PLD knows every relation. RDP knows no substitution under Poisson sampling below
        q = 1, PRV none at all, nor full participation.

    Raises
    ------
    ValueError
        If the accountant does not know the relation or the sampling rate.
    RuntimeError
        If PRV is asked for and Opacus is not installed.
    """
    if accountant is Accountant.PLD:
        return training.epsilon_at(delta)
    return (_rdp if accountant is Accountant.RDP else _prv)(training, delta)


def _rdp(training: SubsampledGaussian, delta: float) -> float:
    from dp_accounting.rdp import compute_epsilon  # noqa: PLC0415  (slow to import)

    q, substituted = training.sampling_rate, training.relation is Relation.SUBSTITUTION
    if substituted and q < 1:
        raise ValueError("accountant must be pld for substitution under Poisson sampling, got rdp")
    moved = 2.0 if substituted else 1.0
    orders, divergences = _rdp_of_a_step(q, training.noise_multiplier / moved)
    return float(
        compute_epsilon(orders.tolist(), (training.steps * divergences).tolist(), delta)[0]
    )


@lru_cache(maxsize=64)
def _rdp_of_a_step(sampling_rate: float, noise_multiplier: float) -> tuple[FloatArray, FloatArray]:
    """Return orders and a step's Rényi divergences, which those of all steps are multiples of."""
    from dp_accounting import (  # noqa: PLC0415  (slow to import)
        GaussianDpEvent,
        NeighboringRelation,
        PoissonSampledDpEvent,
    )
    from dp_accounting.rdp import RdpAccountant  # noqa: PLC0415

    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(PoissonSampledDpEvent(sampling_rate, GaussianDpEvent(noise_multiplier)))
    return np.asarray(accountant.orders, dtype=np.float64), accountant.rdp


def _prv(training: SubsampledGaussian, delta: float) -> float:
    if training.relation is Relation.SUBSTITUTION or training.sampling_rate == 1:
        raise ValueError(
            "accountant must be pld or rdp for substitution and for full participation, got prv"
        )
    require_package("opacus", "dpsgd", name="Opacus")
    from opacus.accountants import PRVAccountant  # noqa: PLC0415  (an extra)

    accountant = cast("Any", PRVAccountant())
    accountant.history = [(training.noise_multiplier, training.sampling_rate, training.steps)]
    with warnings.catch_warnings():  # its Rényi orders only set how wide its grid is
        warnings.filterwarnings("ignore", "Optimal order", UserWarning)
        return float(accountant.get_epsilon(delta, eps_error=PRV_ERROR))


@lru_cache(maxsize=256)
def budget(
    training: Training,
    noise_multiplier: float,
    *,
    delta: float,
    sampling: Sampling,
    accountant: Accountant = Accountant.PLD,
) -> float:
    """Return the accounted ε of a training with another noise multiplier, zero-out neighbours."""
    guarantee = replace(training, noise_multiplier=noise_multiplier).guarantee(sampling=sampling)
    return accounted_epsilon(guarantee, delta=delta, accountant=accountant)


def formula_epsilon(training: Training, delta: float) -> tuple[float, float]:
    """Return the least T·q²α/(2σ²) + log(1/δ)/(α−1) over α > 1, and the order."""
    rate = training.epochs * training.sampling_rate**2 / (2 * training.noise_multiplier**2)
    excess = math.sqrt(math.log(1 / delta) / rate)
    return rate * (1 + excess) + math.log(1 / delta) / excess, 1 + excess
