"""Networks to train privately: no layer mixes examples, so that per-example gradients exist.

What a training leaves: replicas of one network, asked for logits, losses and accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.func import vmap

from dpcp_audit.mechanisms.dpsgd.examples import network_inputs
from dpcp_audit.mechanisms.dpsgd.preparation import in_mode
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from dpcp_audit.mechanisms.dpsgd.examples import Examples
    from dpcp_audit.mechanisms.dpsgd.gradients import FlatModel
    from dpcp_audit.words.arrays import FloatArray


_GROUPS = 16


def logistic(n_features: int, n_classes: int) -> nn.Module:
    """Return multinomial logistic regression, from (n, n_features) to logits (n, n_classes)."""
    _validate.integer(n_features=n_features, at_least=1)
    _validate.integer(n_classes=n_classes, at_least=2)
    return nn.Linear(n_features, n_classes)


def head(n_features: int, n_classes: int, *, hidden: int = 28, dropout: float = 0.2) -> nn.Module:
    """Return the thesis's head on given features: ReLU units, dropout, classes.

    DP-SKIN, Chapter 4: 28 units; dropout of 0.4 and 0.2 with SGD, 0.1 with Adam. The softmax
    is part of the loss.
    """
    _validate.integer(n_features=n_features, hidden=hidden, at_least=1)
    _validate.integer(n_classes=n_classes, at_least=2)
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must lie in [0, 1), got {dropout!r}")
    return nn.Sequential(
        nn.Linear(n_features, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, n_classes),
    )


def small_cnn(channels: int, n_classes: int) -> nn.Module:
    """Return two convolutions and a linear layer, for images of at least 4 × 4 pixels."""
    _validate.integer(channels=channels, at_least=1)
    _validate.integer(n_classes=n_classes, at_least=2)
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, n_classes),
    )


class _Shortcut(nn.Module):
    """Convolutions around a shortcut (He et al. 2016), normalised by groups."""

    def __init__(self, body: nn.Module, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.body = body
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


def _block(inside: int, outside: int, stride: int) -> nn.Module:
    """Return two 3 × 3 convolutions around a shortcut."""
    body = nn.Sequential(
        *_convolution(inside, outside, 3, stride),
        nn.ReLU(),
        *_convolution(outside, outside, 3),
    )
    return _Shortcut(body, inside, outside, stride)


def _bottleneck(inside: int, middle: int, stride: int) -> nn.Module:
    """Return a 3 × 3 convolution of ``middle`` channels between two of 1 × 1, to four times."""
    body = nn.Sequential(
        *_convolution(inside, middle, 1),
        nn.ReLU(),
        *_convolution(middle, middle, 3, stride),
        nn.ReLU(),
        *_convolution(middle, 4 * middle, 1),
    )
    return _Shortcut(body, inside, 4 * middle, stride)


def _resnet(channels: int, blocks: list[nn.Module], width: int, last: nn.Module) -> nn.Module:
    stem = [*_convolution(channels, width, 3), nn.ReLU()]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), last)


def _checked(channels: int, n_classes: int, width: int) -> None:
    _validate.integer(channels=channels, at_least=1)
    _validate.integer(n_classes=n_classes, at_least=2)
    _validate.integer(width=width, at_least=_GROUPS)
    if width % _GROUPS:
        raise ValueError(f"width must be a multiple of {_GROUPS}, got {width}")


def resnet18(channels: int, n_classes: int, *, width: int = 64) -> nn.Module:
    """Return ResNet-18 with GroupNorm in place of batch normalisation, which mixes examples.

    The stem is one 3 × 3 convolution, as for CIFAR-10's 32 × 32 images (He et al. 2016,
    Section 4.2, in the widths of the ImageNet network); 11.2 million parameters.

    Parameters
    ----------
    width : int
        Channels of the stem, a multiple of 16. With 16 it is a stand-in of a sixteenth of the size.
    """
    _checked(channels, n_classes, width)
    widths = [width * 2**stage for stage in (0, 0, 0, 1, 1, 2, 2, 3, 3)]
    blocks = [
        _block(inside, outside, 1 if inside == outside else 2)
        for inside, outside in pairwise(widths)
    ]
    return _resnet(channels, blocks, width, nn.Linear(8 * width, n_classes))


def resnet50(channels: int, n_classes: int, *, width: int = 64) -> nn.Module:
    """Return ResNet-50, as ``resnet18`` is made, with bottlenecks; 23.5 million parameters.

    Parameters
    ----------
    width : int
        Channels of the stem, a multiple of 16.
    """
    _checked(channels, n_classes, width)
    blocks: list[nn.Module] = []
    inside = width
    for stage, count in enumerate((3, 4, 6, 3)):
        for place in range(count):
            blocks.append(_bottleneck(inside, width * 2**stage, 2 if stage and not place else 1))
            inside = 4 * width * 2**stage
    return _resnet(channels, blocks, width, nn.Linear(inside, n_classes))


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
        data = torch.tensor(network_inputs(inputs), device=self.parameters.device)
        at_once = max(1, _PREDICTED_AT_ONCE // len(self.parameters))
        with in_mode(self.model.module, training=False):
            parts = [of_replicas(self.parameters, part) for part in torch.split(data, at_once)]
        outputs: FloatArray = torch.cat(parts, dim=1).cpu().double().numpy()
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
