"""The settings of a private training: sampling, clipping, noise, descent, and planted flaws."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from dpcp_audit.words import validate as _validate


@dataclass(frozen=True, slots=True)
class Poisson:
    """Every example enters a lot with probability ``rate``, on its own (q = L/N).

    The rate is a public constant: it does not change with the data's size.
    """

    rate: float

    def __post_init__(self) -> None:
        _validate.positive(rate=self.rate)
        _validate.closed_unit(rate=self.rate)


class Clipping(StrEnum):
    """The gradients that are clipped to norm C."""

    FLAT = "flat"
    """The whole gradient of an example."""
    PER_LAYER = "per-layer"
    """Each of the K layers' gradients, to C/√K, so that the whole is at most C."""


class Augmentation(StrEnum):
    """The augmentation of a lot's images, drawn anew at every step."""

    NONE = "none"
    """Nothing."""
    MIRRORED = "mirrored"
    """Each image is mirrored with probability 1/2, on its own, and its gradient clipped then: an
    example still moves the sum by C at most, and the accounting is as without."""


class Flaw(StrEnum):
    """A planted bug, or none: what an audit must be able to see."""

    NONE = "none"
    NO_CLIPPING = "no clipping"
    """Gradients are summed as they are."""
    CLIPPED_AFTER_AVERAGING = "clipped after averaging"
    """The lot's mean is clipped to C, not every example's gradient."""
    HALF_NOISE = "half the noise"
    """σ/2 in place of σ."""
    NOISE_DIVIDED_TWICE = "noise divided twice"
    """The noise is divided by the lot size once more than the sum."""
    FIXED_NOISE_SEED = "fixed noise seed"
    """Every training draws the same noise."""
    UNNOISED_MOMENTS = "moments of unnoised gradients"
    """Adam's moments see the clean mean; the noise is added to the step alone."""
    DIVIDES_BY_SIZE = "divides by the data's size"
    """The sum is divided by q·N with the true N, which add/remove neighbours do not share."""


@dataclass(frozen=True, slots=True)
class SGD:
    """Plain descent: θ ← θ − η·g̃ (DP-SKIN, Algorithm 1, line 14)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adam:
    """Adam on privatised gradients (DP-SKIN, Algorithm 2, lines 13 to 20)."""

    beta1: float = 0.9
    beta2: float = 0.999
    smoothing: float = 1e-8

    def __post_init__(self) -> None:
        _validate.half_open_unit(beta1=self.beta1, beta2=self.beta2)
        _validate.positive(smoothing=self.smoothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class DPSGD:
    """A training: DP-SGD or DP-Adam (DP-SKIN, Algorithms 1 and 2; Abadi et al. 2016).

    Each step clips every sampled example's gradient to norm C, adds N(0, σ²C²I) to the sum,
    divides by L, and descends.

    Parameters
    ----------
    sampling : Poisson
        The sampling of the lots.
    lot_size : int
        L, by which the noisy sum is divided, a public constant.
    steps : int
        T, the number of steps (not of epochs).
    noise_multiplier : float
        σ >= 0, the noise's standard deviation over C.
    clip_norm : float
        C > 0; infinity, for training without privacy, goes with σ = 0 alone.
    learning_rate : float
        η > 0.
    optimiser : SGD or Adam
    clipping : Clipping
    augmentation : Augmentation
        The augmentation, of images alone: inputs of shape (n, c, h, w).
    flaw : Flaw
    """

    sampling: Poisson
    lot_size: int
    steps: int
    noise_multiplier: float
    clip_norm: float = 1.0
    learning_rate: float = 0.5
    optimiser: SGD | Adam = field(default_factory=SGD)
    clipping: Clipping = Clipping.FLAT
    augmentation: Augmentation = Augmentation.NONE
    flaw: Flaw = Flaw.NONE

    def __post_init__(self) -> None:
        _validate.integer(lot_size=self.lot_size, steps=self.steps, at_least=1)
        _validate.non_negative(noise_multiplier=self.noise_multiplier)
        _validate.positive(learning_rate=self.learning_rate)
        _validate.choice(Clipping, clipping=self.clipping)
        _validate.choice(Augmentation, augmentation=self.augmentation)
        _validate.choice(Flaw, flaw=self.flaw)
        if self.clip_norm != math.inf:
            _validate.positive(clip_norm=self.clip_norm)
        if math.isinf(self.clip_norm) and self.noise_multiplier > 0:
            raise ValueError("noise_multiplier must be 0 where clip_norm is infinite")
        _validate.instance(Poisson, sampling=self.sampling)
        _validate.instance(SGD, Adam, optimiser=self.optimiser)
        if self.flaw is Flaw.UNNOISED_MOMENTS and not isinstance(self.optimiser, Adam):
            raise ValueError(f"optimiser must be Adam for the flaw {self.flaw!r}")

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise in the sum, σC (0 without clipping)."""
        if self.noise_multiplier == 0:
            return 0.0
        half = 0.5 if self.flaw is Flaw.HALF_NOISE else 1.0
        return half * self.noise_multiplier * self.clip_norm
