"""A public training script of the thesis's setting, as it is, beside its correction.

The script (ISIC 2018 Task 3, ResNet-18 with 28 units, DP-Adam, σ = 8.1, batches of 20, clipping at
1) is no DP-Adam. It clips the gradient of a batch's *mean*, tensor by tensor, adds noise of that
scale to the mean without dividing it by the batch, takes fixed slices of the file, normalises by
batch statistics, seeds its noise with 42, and hands DP-Adam's direction to Adam once more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcp_audit.extensions.claims import GaussianDP
from dpcp_audit.extensions.claims import validate as _validate

PUBLISHED_SEED = 42


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTraining:
    """DP-Adam as published: ``as_published``, the defaults; each departure can be put right.

    Parameters
    ----------
    batch_size, epochs : int
        Examples of a batch, a slice of the file; passes over it.
    noise_multiplier, clip_norm : float
        σ and C: the noise has standard deviation σ·C.
    learning_rate : float
        η > 0 of the outer Adam, PyTorch's default.
    noise_seed : int or None
        Seeds the noise of every training alike; None draws it afresh.
    per_example : bool
        Clips every example's whole gradient, and divides sum and noise by the batch (Algorithm 2),
        in place of clipping the mean, tensor by tensor.
    """

    batch_size: int = 20
    epochs: int = 40
    noise_multiplier: float = 8.1
    clip_norm: float = 1.0
    learning_rate: float = 1e-3
    noise_seed: int | None = PUBLISHED_SEED
    per_example: bool = False

    def __post_init__(self) -> None:
        _validate.integer(batch_size=self.batch_size, epochs=self.epochs, at_least=1)
        _validate.positive(
            noise_multiplier=self.noise_multiplier,
            clip_norm=self.clip_norm,
            learning_rate=self.learning_rate,
        )
        if self.noise_seed is not None:
            _validate.integer(noise_seed=self.noise_seed, at_least=0)

    def guarantee(self, tensors: int) -> GaussianDP:
        """Return what the training promises if one record is replaced by another.

        A record is in one batch an epoch, and there it moves each of ``tensors`` clipped means by
        2C at most, for noise σC: Gaussian releases of μ = 2/σ, which compose to
        μ = 2√(tensors·epochs)/σ. Where every example is clipped, the whole is one such release.

        Raises
        ------
        ValueError
            If the noise has a fixed seed: nothing is promised then.

        Examples
        --------
        >>> training = PublishedTraining(noise_seed=None)
        >>> round(training.guarantee(1).epsilon_at(1e-5), 2)
        7.4
        """
        _validate.integer(tensors=tensors, at_least=1)
        if self.noise_seed is not None:
            raise ValueError(f"noise_seed must be None for any privacy, got {self.noise_seed}")
        releases = self.epochs * (1 if self.per_example else tensors)
        return GaussianDP(2 * math.sqrt(releases) / self.noise_multiplier)


as_published = PublishedTraining()
"""The training as its script runs it."""
