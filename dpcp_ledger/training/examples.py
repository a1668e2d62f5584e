"""The settings of a private training: sampling, clipping, noise, descent, and planted flaws.

Labelled examples to train on, and canaries whose gradient is known beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcp_audit.extensions.claims import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Poisson:
    """Every example enters a lot with probability ``rate``, on its own (q = L/N).

    The rate is a public constant: it does not change with the data's size.
    """

    rate: float


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
        if math.isinf(self.clip_norm) and self.noise_multiplier > 0:
            raise ValueError("noise_multiplier must be 0 where clip_norm is infinite")
        if self.flaw is Flaw.UNNOISED_MOMENTS and not isinstance(self.optimiser, Adam):
            raise ValueError(f"optimiser must be Adam for the flaw {self.flaw!r}")

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise in the sum, σC (0 without clipping)."""
        if self.noise_multiplier == 0:
            return 0.0
        half = 0.5 if self.flaw is Flaw.HALF_NOISE else 1.0
        return half * self.noise_multiplier * self.clip_norm


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """Examples with their labels.

    Parameters
    ----------
    inputs : ndarray of float32, shape (n, ...)
        Features (n, f), or images (n, channels, height, width). Other real numbers are rounded
        to float32.
    labels : ndarray of int, shape (n,)
        The classes, in {0, ..., n_classes−1}.
    n_classes : int
        Number of classes, at least 2.
    """

    inputs: NDArray[np.float32]
    labels: IntArray
    n_classes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", np.ascontiguousarray(self.inputs, dtype=np.float32))
        object.__setattr__(self, "labels", np.ascontiguousarray(self.labels, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: NDArray[Any]) -> Examples:
        """Return the examples at these places (indices or a mask)."""
        return Examples(
            inputs=self.inputs[places], labels=self.labels[places], n_classes=self.n_classes
        )

    def joined(self, other: Examples) -> Examples:
        """Return these examples followed by others of the same shape and classes."""
        return Examples(
            inputs=np.concatenate([self.inputs, other.inputs]),
            labels=np.concatenate([self.labels, other.labels]),
            n_classes=self.n_classes,
        )


def digits() -> Examples:
    """Return scikit-learn's digits: 1797 images of 8 × 8 pixels as features in [0, 1]."""
    from sklearn import datasets  # noqa: PLC0415  (slow to import)

    features, labels = cast("Any", datasets).load_digits(return_X_y=True)
    return Examples(
        inputs=np.asarray(features / 16, dtype=np.float32),
        labels=np.asarray(labels, dtype=np.int64),
        n_classes=10,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradientCanaries:
    """Canaries with the gradient norm·e_j at every step, each on a parameter j of its own.

    They are sampled, clipped and summed as any other example. Being orthogonal, they do not
    disturb one another (Nasr et al. 2023, the Dirac canary).

    Parameters
    ----------
    coordinates : ndarray of int, shape (m,)
        The parameter of each canary, from 0 on, all different.
    members : ndarray of bool, shape (replicas, m)
        True where a canary is in a replica's data.
    norm : float
        The gradient's norm before clipping.
    """

    coordinates: IntArray
    members: BoolArray
    norm: float = 1.0

    def clipped_norm(self, *, clip: Clipping, limit: float, n_layers: int) -> float:
        """Return the norm that is left after clipping to ``limit``."""
        share = limit if clip is Clipping.FLAT else limit / math.sqrt(n_layers)
        return min(self.norm, share)
