"""The guarantee of DP-SGD: the subsampled Gaussian mechanism, composed over all steps.

A step adds N(0, σ²) to a sum of vectors of norm at most 1 that enter it independently with
probability q. With every other example's part given, one person's difference is that of a
pair on the real line, which dominates all others and therefore their adaptive compositions
(Zhu, Dong and Wang 2022, Theorem 10):

add/remove, zero-out
    (1−q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²), and the reverse.
substitution
    (1−q)·N(0, σ²) + q·N(1, σ²) against (1−q)·N(0, σ²) + q·N(−1, σ²).

Why the latter dominates: for vectors g and g′ the divergence δ(ε) is the mean of
((1−q)(1−e^ε) + q·e^X − e^ε·q·e^Y)₊ for Gaussian X and Y of variances ‖g‖²/σ² and ‖g′‖²/σ²,
means of minus half of these, and covariance g·g′/σ². By Plackett's identity it increases in
both variances and decreases in the covariance: it is largest for unit vectors g′ = −g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.stats.roots import turn_by_factor
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import PrivacyGuarantee, Relation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import FloatArray

RELATIONS = (Relation.ADD_REMOVE, Relation.ZERO_OUT, Relation.SUBSTITUTION)
_COARSEST = 1e-3
_SUPPORT = 16.0
"""Standard deviations that a composed loss spans, nearly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledGaussian(PrivacyGuarantee):
    """The guarantee of T steps of the Poisson-subsampled Gaussian mechanism, as tight as it is.

    All numbers come from dp-accounting's privacy loss distributions: ``power``, ``delta_at`` and
    ``epsilon_at`` from above (losses rounded pessimistically), ``delta_below`` and
    ``epsilon_below`` from below. The rounding errors of the Fourier transforms, at most
    about 1e-15 a step, are added to and taken from δ.

    Parameters
    ----------
    sampling_rate : float
        q in (0, 1], the probability with which an example enters a step.
    steps : int
        T, the number of steps (not of epochs).
    noise_multiplier : float
        σ > 0, the noise's standard deviation over the clipping norm.
    relation : Relation
        The possible difference of one person's data: ADD_REMOVE, ZERO_OUT or SUBSTITUTION.

    Examples
    --------
    >>> training = SubsampledGaussian(sampling_rate=0.1, steps=100, noise_multiplier=1.0)
    >>> print(training, f"{training.epsilon_at(1e-5):.2f}")
    SubsampledGaussian(sampling_rate=0.1, steps=100, noise_multiplier=1, add-remove) 7.05
    """

    sampling_rate: float
    steps: int
    noise_multiplier: float
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        _validate.positive(sampling_rate=self.sampling_rate, noise_multiplier=self.noise_multiplier)
        _validate.closed_unit(sampling_rate=self.sampling_rate)
        _validate.integer(steps=self.steps, at_least=1)
        _validate.choice(Relation, relation=self.relation)
        if self.relation not in RELATIONS:
            raise ValueError(f"relation must be one of {', '.join(RELATIONS)}, got {self.relation}")

    @classmethod
    def shuffled(
        cls, *, epochs: int, noise_multiplier: float, relation: Relation = Relation.ZERO_OUT
    ) -> SubsampledGaussian:
        """Return the guarantee of fixed shuffled batches, without any amplification.

        An example enters one step an epoch, so that given the batches the epochs compose as
        Gaussian mechanisms of full participation.

        Parameters
        ----------
        epochs : int
            The number of steps that an example enters, at least 1.
        relation : Relation
            ZERO_OUT or SUBSTITUTION: where a person is taken away, all later batches of a
            fixed size move, and more than one example of each may differ.
        """
        _validate.integer(epochs=epochs, at_least=1)
        if relation is Relation.ADD_REMOVE:
            raise ValueError(
                "relation must be zero-out or substitution for batches of a fixed size, "
                f"got {relation}"
            )
        return cls(
            sampling_rate=1.0, steps=epochs, noise_multiplier=noise_multiplier, relation=relation
        )

    @property
    def parameters(self) -> dict[str, float]:
        """The sampling rate q, the steps T and the noise multiplier σ."""
        return {
            "sampling_rate": self.sampling_rate,
            "steps": self.steps,
            "noise_multiplier": self.noise_multiplier,
        }

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest probability an event may have where a neighbour gives it ``fpr``.

        The least, over a grid of ε, of the lines e^ε·fpr + δ(ε) and
        1 − e^(−ε)·(1 − δ(ε) − fpr), each of which is an upper bound.
        """
        rates = np.asarray(fpr, dtype=np.float64)
        if not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError(f"fpr must lie in [0, 1], got {fpr!r}")
        return least_line(_envelope(self), rates)

    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε) of both directions, from above."""
        _validate.non_negative(epsilon=epsilon)
        above = float(composed_loss(self, pessimistic=True).get_delta_for_epsilon(epsilon))
        return min(1.0, above + self.rounding)

    def delta_below(self, epsilon: float) -> float:
        """Return δ(ε) of the worse direction, from below."""
        _validate.non_negative(epsilon=epsilon)
        below = float(composed_loss(self, pessimistic=False).get_delta_for_epsilon(epsilon))
        return max(0.0, below - self.rounding)

    def epsilon_at(self, delta: float) -> float:
        """Return ε(δ) of both directions, from above; infinity where δ is below all rounding."""
        _validate.closed_unit(delta=delta)
        if delta <= self.rounding:
            return math.inf
        return _epsilon(self, delta - self.rounding, pessimistic=True)

    def epsilon_below(self, delta: float) -> float:
        """Return ε(δ) of the worse direction, from below."""
        _validate.open_unit(delta=delta)
        return _epsilon(self, min(1.0, delta + self.rounding), pessimistic=False)

    @property
    def rounding(self) -> float:
        """The largest error of δ by the Fourier transforms."""
        return 1e-14 + 2e-15 * self.steps

    def __str__(self) -> str:
        return f"{PrivacyGuarantee.__str__(self)[:-1]}, {self.relation})"


def noise_multiplier_for(
    *,
    epsilon: float,
    delta: float,
    sampling_rate: float,
    steps: int,
    relation: Relation = Relation.ADD_REMOVE,
) -> float:
    """Return the least noise multiplier σ with which a training is (ε, δ)-DP, by PLD.

    From above, and at most 1e-4 of itself too large for the accountant.

    Raises
    ------
    ValueError
        If no σ up to 1e6 is enough.
    """
    _validate.positive(epsilon=epsilon)
    _validate.open_unit(delta=delta)
    training = SubsampledGaussian(
        sampling_rate=sampling_rate, steps=steps, noise_multiplier=1.0, relation=relation
    )

    def enough(noise_multiplier: float) -> bool:
        tried = replace(training, noise_multiplier=noise_multiplier)
        return tried.epsilon_at(delta) <= epsilon

    high = 1.0
    while not enough(high):
        high *= 2
        if high > 1e6:
            raise ValueError(f"epsilon and delta must be within reach, got {epsilon} and {delta}")
    low = high / 2
    while enough(low):
        low, high = low / 2, low
    return turn_by_factor(enough, low, high, ratio=1 + 1e-4).holds


@lru_cache(maxsize=1024)
def _epsilon(training: SubsampledGaussian, delta: float, *, pessimistic: bool) -> float:
    """Return ε(δ) on a side; tables ask for the same trainings, and a number takes no room."""
    return float(composed_loss(training, pessimistic=pessimistic).get_epsilon_for_delta(delta))


@lru_cache(maxsize=4)
def composed_loss(
    training: SubsampledGaussian, *, pessimistic: bool, interval: float | None = None
) -> Any:
    """Return dp-accounting's distribution of the loss, of both directions.

    ``interval`` is the width of the grid of losses, in nats; by default ``loss_interval``.
    """
    width = interval or loss_interval(training, pessimistic=pessimistic)
    step = gaussian_step(
        training.noise_multiplier,
        training.sampling_rate,
        interval=width,
        pessimistic=pessimistic,
        substituted=training.relation is Relation.SUBSTITUTION,
    )
    return step.self_compose(training.steps) if training.steps > 1 else step


def gaussian_step(
    noise_multiplier: float,
    sampling_rate: float,
    *,
    interval: float,
    pessimistic: bool,
    substituted: bool = False,
) -> Any:
    """Return dp-accounting's loss of one subsampled Gaussian step, of both directions.

    Parameters
    ----------
    noise_multiplier : float
        σ > 0.
    sampling_rate : float
        q in (0, 1].
    interval : float
        Width of the grid of losses, in nats.
    pessimistic : bool
        True for an upper bound of δ (by connecting the dots of the privacy profile), False for a
        lower one (losses rounded down).
    substituted : bool
        True where a record is replaced by another, False where it is added or removed.
    """
    from dp_accounting.pld import (  # noqa: PLC0415  (slow to import)
        privacy_loss_distribution as pld,
    )
    from dp_accounting.privacy_accountant import NeighboringRelation  # noqa: PLC0415

    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    return pld.from_gaussian_mechanism(
        noise_multiplier,
        pessimistic_estimate=pessimistic,
        value_discretization_interval=interval,
        sampling_prob=sampling_rate,
        use_connect_dots=pessimistic,
        neighboring_relation=NeighboringRelation.REPLACE_ONE if substituted else relation,
    )


def loss_interval(training: SubsampledGaussian, *, pessimistic: bool) -> float:
    """Return the width of the grid of losses, in nats.

    From above, a fiftieth of a step's standard deviation: the error is of second order. From
    below, losses are rounded down, and half a width is lost in each step: at best 0.001 in
    all. Either is as fine as some million points allow.
    """
    moved = 2.0 if training.relation is Relation.SUBSTITUTION else 1.0
    shift = moved / training.noise_multiplier
    amplified = moved * training.sampling_rate
    spread = min(shift, amplified * math.sqrt(math.expm1(min(shift / moved, 20.0) ** 2)))
    reach = shift * (_SUPPORT + shift)
    widest = moved * (reach + math.log(training.sampling_rate + math.exp(-reach)))
    if pessimistic:
        return max(min(_COARSEST, spread / 50), widest / 5e6)
    composed = math.sqrt(training.steps) * spread * _SUPPORT
    return max(2e-3 / training.steps, widest / 2e5, composed / 1e6)


@lru_cache(maxsize=64)
def _envelope(training: SubsampledGaussian) -> Envelope:
    """Return the lines that bound a training's power."""
    largest = min(training.epsilon_at(4 * training.rounding), 600.0)
    epsilons = np.linspace(0.0, max(largest, 1e-9), 2001)
    above = composed_loss(training, pessimistic=True).get_delta_for_epsilon(epsilons)
    return envelope(epsilons, np.minimum(1.0, np.asarray(above) + training.rounding))


class Envelope(NamedTuple):
    """Lines that bound a power, of which the least counts: shapes (m−1,), (m,) and (m,)."""

    breaks: FloatArray
    """The false-positive rates at which the next line takes over."""
    slopes: FloatArray
    """They fall."""
    intercepts: FloatArray


def envelope(epsilons: FloatArray, deltas: FloatArray) -> Envelope:
    """Return the lines e^ε·fpr + δ(ε) and 1 − e^(−ε)·(1 − δ(ε) − fpr) of rising ε from 0 on."""
    slopes = np.exp(np.concatenate([epsilons[::-1], -epsilons[1:], [-np.inf]]))
    lower = 1 - np.exp(-epsilons[1:]) * (1 - deltas[1:])
    intercepts = np.concatenate([deltas[::-1], lower, [1.0]])
    breaks = np.diff(intercepts) / -np.diff(slopes)
    return Envelope(np.maximum.accumulate(breaks), slopes, intercepts)


def least_line(lines: Envelope, fpr: FloatArray) -> FloatArray:
    """Return the least of the lines at every rate, at most 1."""
    line = np.searchsorted(lines.breaks, fpr)
    return np.minimum(1.0, lines.slopes[line] * fpr + lines.intercepts[line])
