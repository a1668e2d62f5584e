"""The ε of a training of DP-SGD, by three accountants, under named neighbours.

A training is a ``SubsampledGaussian``: under Poisson sampling with its own rate and steps, under
fixed shuffled batches as one step of full participation an epoch.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.extensions.claims import Relation, require_package
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import SubsampledGaussian

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, PlainData


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
