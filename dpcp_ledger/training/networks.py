"""Networks that can be trained privately, and the replicas that a training leaves."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import nn
from torch.func import vmap

from dpcp_ledger.training.gradients import FlatModel

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray
    from torch import Tensor

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_ledger.training.examples import Examples


def copied(module: nn.Module) -> FlatModel:
    """Return a copy of the network; the caller's own is left alone."""
    return FlatModel(copy.deepcopy(module))


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Seed torch's global generator, and give it back as it was."""
    with cast("Any", torch.random).fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def logistic(n_features: int, n_classes: int) -> nn.Module:
    """Return multinomial logistic regression, from (n, n_features) to logits (n, n_classes)."""
    return nn.Linear(n_features, n_classes)


def head(n_features: int, n_classes: int, *, hidden: int = 28, dropout: float = 0.2) -> nn.Module:
    """Return the thesis's head on given features: ReLU units, dropout, classes.

    DP-SKIN, Chapter 4: 28 units; dropout of 0.4 and 0.2 with SGD, 0.1 with Adam. The softmax
    is part of the loss.
    """
    return nn.Sequential(
        nn.Linear(n_features, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, n_classes),
    )


_GROUPS = 16


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


_PREDICTED_AT_ONCE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """Trained replicas of one network.

    Parameters
    ----------
    model : FlatModel
    parameters : Tensor, shape (replicas, d)
    """

    model: FlatModel
    parameters: Tensor

    @torch.no_grad()
    def logits(self, inputs: NDArray[np.float32]) -> FloatArray:
        """Return logits of shape (replicas, n, k) for inputs (n, ...), without dropout."""
        of_replicas: Any = vmap(self.model.logits, in_dims=(0, None))
        data = torch.tensor(inputs, dtype=torch.float32)
        at_once = max(1, _PREDICTED_AT_ONCE // len(self.parameters))
        self.model.module.eval()
        parts = [of_replicas(self.parameters, part) for part in torch.split(data, at_once)]
        outputs: FloatArray = torch.cat(parts, dim=1).double().numpy()
        return outputs

    def probabilities(self, inputs: NDArray[np.float32]) -> FloatArray:
        """Return class probabilities of shape (replicas, n, k) for inputs (n, ...)."""
        return np.asarray(np.exp(_log_softmax(self.logits(inputs))), dtype=np.float64)

    def losses(self, data: Examples) -> FloatArray:
        """Return the cross-entropy of every example, shape (replicas, n)."""
        log_probabilities = _log_softmax(self.logits(data.inputs))
        return -log_probabilities[:, np.arange(len(data)), data.labels]

    def accuracy(self, data: Examples) -> FloatArray:
        """Return the share of examples whose likeliest class is right, shape (replicas,)."""
        guesses = self.logits(data.inputs).argmax(axis=2)
        return np.asarray((guesses == data.labels).mean(axis=1), dtype=np.float64)


def finished(model: FlatModel, parameters: Tensor) -> Trained:
    """Return the trained replicas, unless a training has left the finite numbers."""
    lost = int((~torch.isfinite(parameters)).any(dim=1).sum())
    if lost:
        raise FloatingPointError(
            f"{lost} of {len(parameters)} replicas diverged: their parameters are not finite; "
            "a smaller learning_rate may help"
        )
    return Trained(model=model, parameters=parameters)


def _log_softmax(logits: FloatArray) -> FloatArray:
    from scipy.special import log_softmax  # noqa: PLC0415  (slow to import)

    return np.asarray(log_softmax(logits, axis=-1), dtype=np.float64)
