"""The Gaussian mechanism, with the classic and the analytic calibration of its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.words import brent as _brent
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import ApproxDP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.words.arrays import FloatArray

_TOLERANCE = 1e-12


class Calibration(StrEnum):
    """The calibration: how the noise's standard deviation follows from (ε, δ)."""

    CLASSIC = "classic"
    """σ = Δ₂·sqrt(2·log(1.25/δ))/ε (Dwork and Roth 2014, Theorem 3.22), proved for ε in (0, 1)."""
    ANALYTIC = "analytic"
    """The smallest σ that is (ε, δ)-DP (Balle and Wang 2018, Theorem 8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMechanism:
    """Adds N(0, σ²) to every coordinate of a statistic.

    Parameters
    ----------
    epsilon, delta : float
        The promise, ε > 0 and δ in (0, 1). The classic formula is computed for every ε,
        also where its theorem does not speak.
    sensitivity : float
        Δ₂, the largest L2 distance between the statistic on neighbours, in its own units.
    calibration : Calibration
        The theorem that gives σ.
    """

    epsilon: float
    delta: float
    sensitivity: float = 1.0
    calibration: Calibration = Calibration.ANALYTIC

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon, sensitivity=self.sensitivity)
        _validate.open_unit(delta=self.delta)
        _validate.choice(Calibration, calibration=self.calibration)

    @property
    def guarantee(self) -> ApproxDP:
        """(ε, δ)-DP, as the calibration promises."""
        return ApproxDP(self.epsilon, self.delta)

    @property
    def noise_scale(self) -> float:
        """σ, in the units of the statistic."""
        if self.calibration is Calibration.CLASSIC:
            multiplier = math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon
        else:
            multiplier = _analytic_multiplier(self.epsilon, self.delta)
        return self.sensitivity * multiplier

    def pair(self) -> GaussianPair:
        """Return the laws on two neighbours at the full distance Δ₂, the worst case."""
        return GaussianPair(self.sensitivity / self.noise_scale)

    def sample(
        self, value: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release a statistic ``size`` times.

        Parameters
        ----------
        value : array_like
            The statistic, of any shape.
        size : int
            Number of independent releases.

        Returns
        -------
        ndarray, shape (size, *value.shape)
        """
        centre = np.asarray(value, dtype=np.float64)
        if centre.size == 0 or not np.isfinite(centre).all():
            raise ValueError(f"value must hold finite numbers, got {value!r}")
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        return centre + self.noise_scale * generator.standard_normal((size, *centre.shape))


def _analytic_multiplier(epsilon: float, delta: float) -> float:
    """Return the smallest σ/Δ₂ whose exact δ(ε) is at most ``delta``, to 1e-12 relative."""

    def excess(log_multiplier: float) -> float:
        exact = GaussianPair(math.exp(-log_multiplier)).delta_at(epsilon)
        return math.log(max(exact, 5e-324)) - math.log(delta)

    low, high = -1.0, 1.0
    while excess(low) <= 0:
        low *= 2
    while excess(high) > 0:
        high *= 2
    root = _brent.root(excess, low, high, xtol=_TOLERANCE)
    multiplier = math.exp(root)
    while GaussianPair(1 / multiplier).delta_at(epsilon) > delta:  # the root's safe side
        multiplier *= 1 + _TOLERANCE
    return multiplier
