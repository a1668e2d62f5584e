"""The guarantee of a whole pipeline: a model of DP-SGD, and P-COQS thresholds on one data set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import PrivacyGuarantee, Relation
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import (
    SubsampledGaussian,
    composed_loss,
    envelope,
    least_line,
    loss_interval,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.mechanisms import PCOQS, Envelope


_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivatePipeline(PrivacyGuarantee):
    """The guarantee of a private training and of P-COQS thresholds on the same people.

    One person's record is replaced, in the training and in the calibration alike; under
    ZERO_OUT by one that contributes nothing to the training. The noisy counts of T thresholds
    are dominated by one Gaussian pair of shift sqrt(2ρT), whatever the scores and so whatever
    model gave them (√N shifts of 1/σ): a Gaussian step of full participation, whose privacy
    loss is composed with that of the training's steps.

    Parameters
    ----------
    training : SubsampledGaussian
        Under SUBSTITUTION or ZERO_OUT: P-COQS promises ρ-zCDP of as many scores.
    calibration : PCOQS
        The mechanism of every threshold.
    thresholds : int
        The number of released thresholds, T.

    Examples
    --------
    >>> from dpcp_audit.extensions.mechanisms import PCOQS
    >>> training = SubsampledGaussian(
    ...     sampling_rate=0.1, steps=100, noise_multiplier=2.0, relation=Relation.SUBSTITUTION
    ... )
    >>> pipeline = PrivatePipeline(training=training, calibration=PCOQS(alpha=0.1, rho=0.5))
    >>> print(f"{training.epsilon_at(1e-5):.2f} {pipeline.epsilon_at(1e-5):.2f}")
    4.37 6.55
    """

    training: SubsampledGaussian
    calibration: PCOQS
    thresholds: int = 1

    def __post_init__(self) -> None:
        _validate.integer(thresholds=self.thresholds, at_least=1)
        if self.training.relation is Relation.ADD_REMOVE:
            raise ValueError(
                "training.relation must be substitution or zero-out, since P-COQS promises "
                f"ρ-zCDP of as many scores, got {self.training.relation}"
            )

    @property
    def parameters(self) -> dict[str, float]:
        """The training's q, T and σ; ρ, and the number of thresholds."""
        return self.training.parameters | {
            "rho": self.calibration.rho,
            "thresholds": self.thresholds,
        }

    @property
    def release(self) -> SubsampledGaussian:
        """The thresholds' noisy counts, as one Gaussian step of full participation."""
        moved = 2.0 if self.training.relation is Relation.SUBSTITUTION else 1.0
        return SubsampledGaussian(
            sampling_rate=1.0,
            steps=1,
            noise_multiplier=moved / math.sqrt(2 * self.thresholds * self.calibration.rho),
            relation=self.training.relation,
        )

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest probability an event may have where a neighbour gives it ``fpr``.

        As :meth:`SubsampledGaussian.power`.
        """
        rates = np.asarray(fpr, dtype=np.float64)
        if not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError(f"fpr must lie in [0, 1], got {fpr!r}")
        return least_line(_lines(self), rates)

    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε), from above."""
        _validate.non_negative(epsilon=epsilon)
        return min(1.0, float(_loss(self).get_delta_for_epsilon(epsilon)) + _ROUNDING)

    def epsilon_at(self, delta: float) -> float:
        """Return ε(δ), from above; infinity where δ is at most 1e-12."""
        _validate.closed_unit(delta=delta)
        if delta <= _ROUNDING:
            return math.inf
        return float(_loss(self).get_epsilon_for_delta(delta - _ROUNDING))

    def textbook_epsilon(self, delta: float) -> float:
        """Return ε₁ + Tρ + 2·sqrt(Tρ·log(2/δ)): each part at δ/2, and basic composition.

        ε₁ is the training's own, by its privacy loss.
        """
        _validate.open_unit(delta=delta)
        rho = self.thresholds * self.calibration.rho
        calibrated = rho + 2 * math.sqrt(rho * math.log(2 / delta))
        return self.training.epsilon_at(delta / 2) + calibrated


@lru_cache(maxsize=4)
def _loss(pipeline: PrivatePipeline) -> Any:
    """Return dp-accounting's distribution of the loss, from above."""
    parts = (pipeline.training, pipeline.release)
    interval = min(loss_interval(part, pessimistic=True) for part in parts)
    first, second = (composed_loss(part, pessimistic=True, interval=interval) for part in parts)
    return first.compose(second)


@lru_cache(maxsize=4)
def _lines(pipeline: PrivatePipeline) -> Envelope:
    epsilons = np.linspace(0.0, min(pipeline.epsilon_at(4 * _ROUNDING), 600.0), 2001)
    above = np.asarray(_loss(pipeline).get_delta_for_epsilon(epsilons))
    return envelope(epsilons, np.minimum(1.0, above + _ROUNDING))
