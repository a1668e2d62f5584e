"""Networks to train privately: no layer mixes examples, so that per-example gradients exist."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch import nn

from dpcp_audit import _validate

if TYPE_CHECKING:
    from torch import Tensor

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


class _Block(nn.Module):
    """Two 3 × 3 convolutions around a shortcut (He et al. 2016), normalised by groups."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False),
            nn.GroupNorm(_GROUPS, outside),
            nn.ReLU(),
            nn.Conv2d(outside, outside, 3, 1, 1, bias=False),
            nn.GroupNorm(_GROUPS, outside),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False),
                nn.GroupNorm(_GROUPS, outside),
            )

    def forward(self, images: Tensor) -> Tensor:
        """Return the block's features, shape (n, outside, ...)."""
        features: Tensor = self.body(images) + self.shortcut(images)
        return features.relu()


def resnet18(channels: int, n_classes: int) -> nn.Module:
    """Return ResNet-18 with GroupNorm in place of batch normalisation, which mixes examples.

    The stem is one 3 × 3 convolution, as for CIFAR-10's 32 × 32 images (He et al. 2016,
    Section 4.2, in the widths of the ImageNet network); 11.2 million parameters.
    """
    _validate.integer(channels=channels, at_least=1)
    _validate.integer(n_classes=n_classes, at_least=2)
    widths = (64, 64, 64, 128, 128, 256, 256, 512, 512)
    blocks = [
        _Block(inside, outside, 1 if inside == outside else 2)
        for inside, outside in pairwise(widths)
    ]
    return nn.Sequential(
        nn.Conv2d(channels, 64, 3, 1, 1, bias=False),
        nn.GroupNorm(_GROUPS, 64),
        nn.ReLU(),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, n_classes),
    )
