"""What one example adds to a step of Algorithms 1 and 2 on the thesis's networks.

The networks are ResNet-18 and ResNet-50 of a quarter of their widths, normalised by groups, with
freshly drawn weights; the images are scikit-learn's digits, 8 × 8: stand-ins, named as such. What a
step promises rests on clipping alone, not on the network, its weights or the images.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.computed import Computation
from dpcp_audit.quantities import Quantity

if TYPE_CHECKING:
    from torch import nn

    from dpcp_audit.mechanisms.dpsgd.examples import Examples
    from dpcp_audit.mechanisms.dpsgd.training_settings import DPSGD

_WIDTH, _IMAGES = 16, 4
_SINGLE = 1e-5
"""Relative error of norms of a million single-precision numbers."""


class StandIn(StrEnum):
    """A network of the thesis, at a quarter of its widths."""

    RESNET18 = "resnet18"
    RESNET50 = "resnet50"


def images(count: int) -> Examples:
    """Return the first digits as images, inputs of shape (count, 1, 8, 8)."""
    from dpcp_audit.mechanisms.dpsgd.examples import Examples, digits  # noqa: PLC0415  (an extra)

    found = digits()
    return Examples(
        inputs=found.inputs[:count].reshape(count, 1, 8, 8),
        labels=found.labels[:count],
        n_classes=found.n_classes,
    )


def network(kind: StandIn) -> nn.Module:
    """Return a stand-in with freshly drawn weights."""
    from dpcp_audit.mechanisms.dpsgd import networks  # noqa: PLC0415  (an extra)

    build = networks.resnet18 if kind is StandIn.RESNET18 else networks.resnet50
    return build(1, 10, width=_WIDTH)


def largest_contribution(kind: StandIn, settings: DPSGD) -> Computation:
    """Compute the largest norm that one example's share of a step's sum has, in units of C.

    A training of one step without noise on each example by itself: lot size and learning rate are
    taken out of the step.
    """
    from dpcp_audit.mechanisms.dpsgd.training import train  # noqa: PLC0415  (an extra)

    module, data = network(kind), images(_IMAGES)
    lengths: list[float] = []
    scale = settings.learning_rate / settings.lot_size

    def measure(step: Any) -> None:
        lengths.append(float((step.after - step.before).norm()) / scale)

    for place in range(_IMAGES):
        alone = data.take(np.array([place]))
        train(module, alone, settings, rng=place, observer=measure, device="cpu")
    parameters = sum(p.numel() for p in module.parameters())
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest norm of an example's share of the sum over C",
        value=max(lengths) / settings.clip_norm,
        claimed=1.0,
        error=_SINGLE,
        witness={"network": str(kind), "parameters": parameters, "norms": lengths},
        note=(
            f"A stand-in of {parameters:,} parameters, with random weights, on {_IMAGES} digits of "
            "8 × 8 pixels: no pretrained weights and no skin images are at hand. Unclipped, the "
            "gradients are longer; each layer is clipped to C/√K."
        ),
    )
