"""ResNets for small images, normalised by groups: no layer mixes examples."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch import nn

from dpcp_audit.extensions.claims import validate

if TYPE_CHECKING:
    from torch import Tensor


_GROUPS = 16


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
    validate.integer(channels=channels, at_least=1)
    validate.integer(n_classes=n_classes, at_least=2)
    validate.integer(width=width, at_least=_GROUPS)
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
