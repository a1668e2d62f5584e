"""The thesis's networks for small images, and the training of its public script."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.func import vmap
from torch.nn.functional import one_hot

from dpcp_audit.extensions.claims import validate as _validate
from dpcp_ledger.training.examples import Adam, Clipping
from dpcp_ledger.training.gradients import (
    AdamMoments,
    FlatModel,
    clip_factors,
    clipped_sum,
    norms,
)
from dpcp_ledger.training.networks import Trained, copied, finished, seeded
from dpcp_ledger.training.published_script import PublishedTraining, as_published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from dpcp_audit.extensions.claims import IntArray
    from dpcp_ledger.training.examples import Examples


_GROUPS = 16
_INITIAL = 0
"""Seeds the initial parameters, which are public, as a pretrained network's are."""


class _Block(nn.Module):
    """Two 3 × 3 convolutions around a shortcut (He et al. 2016), normalised by groups."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        first, last = _convolution(inside, outside, 3, stride), _convolution(outside, outside, 3)
        self.body = nn.Sequential(*first, nn.ReLU(), *last)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(*_convolution(inside, outside, 1, stride))

    def forward(self, images: Tensor) -> Tensor:
        """Return the block's features, shape (n, outside, ...)."""
        features: Tensor = self.body(images) + self.shortcut(images)
        return features.relu()


def _convolution(inside: int, outside: int, size: int, stride: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(inside, outside, size, stride, size // 2, bias=False),
        nn.GroupNorm(_GROUPS, outside),
    ]


def resnet18(channels: int, n_classes: int, *, width: int = 64) -> nn.Module:
    """Return ResNet-18 with GroupNorm in place of batch normalisation, which mixes examples.

    The stem is one 3 × 3 convolution, as for CIFAR-10's 32 × 32 images (He et al. 2016,
    Section 4.2, in the widths of the ImageNet network); 11.2 million parameters.

    Parameters
    ----------
    width : int
        Channels of the stem, a multiple of 16. With 16 it is a stand-in of a sixteenth of the size.
    """
    widths = [width * 2**stage for stage in (0, 0, 0, 1, 1, 2, 2, 3, 3)]
    blocks = [
        _Block(inside, outside, 1 if inside == outside else 2)
        for inside, outside in pairwise(widths)
    ]
    stem = [*_convolution(channels, width, 3), nn.ReLU()]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, n_classes)]
    return nn.Sequential(*stem, *blocks, *head)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedStep:
    """A step of a training, of all replicas; the tensors have shape (replicas, d)."""

    batch: int
    """The index of the slice of the file."""
    before: Tensor
    """The parameters."""
    clean: Tensor
    """The clipped gradient."""
    noisy: Tensor
    """The attacker's view: the clipped gradient with its noise."""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedGradients:
    """Clipped gradients of a network that may mix the examples of a batch.

    Parameters
    ----------
    model : FlatModel
        Batch statistics are those of the batch; no running ones are kept.
    settings : PublishedTraining
    """

    model: FlatModel
    settings: PublishedTraining

    @property
    def tensors(self) -> list[int]:
        """The number of entries of each tensor of parameters."""
        return [p.numel() for p in self.model.module.parameters()]

    def clipped(self, flat: Tensor, inputs: Tensor, labels: Tensor) -> Tensor:
        """Return the sums that the noise is added to, shape (replicas, d), as the parameters have.

        Parameters
        ----------
        inputs : Tensor, shape (b, ...)
        labels : Tensor, shape (b,)
        """
        limit = self.settings.clip_norm
        if self.settings.per_example:
            return self._of_examples(flat, inputs, labels) / len(labels)
        parts = torch.split(self._of_mean(flat, inputs, labels), self.tensors, dim=-1)
        return torch.cat([part * clip_factors(norms(part), limit) for part in parts], dim=-1)

    def noise_scale(self, batch: int) -> float:
        """Return the noise's standard deviation, of what ``clipped`` returns."""
        scale = self.settings.noise_multiplier * self.settings.clip_norm
        return scale / batch if self.settings.per_example else scale

    def _of_examples(self, flat: Tensor, inputs: Tensor, labels: Tensor) -> Tensor:
        lot = (
            inputs.expand(len(flat), *inputs.shape),
            labels.expand(len(flat), -1),
            torch.ones(len(flat), len(labels)),
        )
        limit = self.settings.clip_norm
        return clipped_sum(self.model, flat, lot, clip=Clipping.FLAT, limit=limit)

    def _of_mean(self, flat: Tensor, inputs: Tensor, labels: Tensor) -> Tensor:
        def logits(parameters: Tensor) -> Tensor:
            return self.model.logits(parameters, inputs)

        of_replicas: Any = vmap(logits, randomness="different")
        with torch.enable_grad():
            parameters = flat.detach().requires_grad_()
            outputs: Tensor = of_replicas(parameters)
        softmax = outputs.detach().softmax(dim=-1)
        back = (softmax - one_hot(labels, outputs.shape[-1])) / len(labels)  # of the cross-entropy
        (gradients,) = torch.autograd.grad(outputs, parameters, back)
        return gradients


def train_as_published(
    module: nn.Module,
    data: Examples,
    settings: PublishedTraining = as_published,
    *,
    rng: np.random.Generator | int | None = None,
    replicas: int = 1,
    observer: Callable[[PublishedStep], object] | None = None,
) -> Trained:
    """Train replicas of a network side by side, from the same initial parameters.

    Parameters
    ----------
    module : torch.nn.Module
        The architecture; batch normalisation must not keep running statistics, which the script
        publishes without noise.
    data : Examples
        n examples, at least a batch; what is left of the last batch is not used.
    settings : PublishedTraining
    rng : Generator, int or None
        Seeds dropout, and the noise where its seed is not fixed.
    observer : callable, optional
        Is shown every step.
    """
    generator = _validate.generator(rng)
    seeds = [int(s) for s in generator.integers(2**62, size=2)]
    model = copied(module)
    with seeded(_INITIAL):
        flat = model.initial(1).expand(replicas, -1).clone()
    with seeded(seeds[0]):
        fixed = settings.noise_seed
        noise = torch.Generator().manual_seed(seeds[1] if fixed is None else fixed)
        model.module.train()
        flat = _descend(PublishedGradients(model, settings), flat, data, noise, observer)
    return finished(model, flat)


def slices(n: int, size: int) -> IntArray:
    """Return the places of each batch, shape (n // size, size): the file, cut in its order."""
    return np.arange(n - n % size, dtype=np.int64).reshape(-1, size)


def _descend(
    gradients: PublishedGradients,
    flat: Tensor,
    data: Examples,
    noise: torch.Generator,
    observer: Callable[[PublishedStep], object] | None,
) -> Tensor:
    """Take all steps: DP-Adam's direction is fed to Adam as if it were a gradient."""
    settings = gradients.settings
    inner, outer = AdamMoments(Adam(), flat), AdamMoments(Adam(), flat)
    for batch, (inputs, labels) in _batches(data, settings):
        clean = gradients.clipped(flat, inputs, labels)
        shape = flat.shape if settings.noise_seed is None else flat.shape[1:]
        drawn = torch.randn(shape, generator=noise)
        noisy = clean + gradients.noise_scale(len(labels)) * drawn
        if observer is not None:
            observer(PublishedStep(batch=batch, before=flat, clean=clean, noisy=noisy))
        flat = flat - settings.learning_rate * outer.direction(inner.direction(noisy))
    return flat


def _batches(
    data: Examples, settings: PublishedTraining
) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    inputs, labels = torch.tensor(data.inputs), torch.tensor(data.labels)
    places = torch.as_tensor(slices(len(data), settings.batch_size))
    for _ in range(settings.epochs):
        yield from ((index, (inputs[at], labels[at])) for index, at in enumerate(places))
