"""Adam's two moments, for many replicas at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dpcp_audit.mechanisms.dpsgd.training_settings import Adam


@dataclass(slots=True, eq=False)
class AdamMoments:
    """Running means of gradients and of their squares (DP-SKIN, Algorithm 2, lines 13 to 18).

    Parameters
    ----------
    adam : Adam
        The decay rates.
    shape_of : Tensor
        A tensor of the gradients' shape, on their device.
    """

    adam: Adam
    shape_of: Tensor
    _first: Tensor = field(init=False)
    _second: Tensor = field(init=False)
    _time: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._first = torch.zeros_like(self.shape_of)
        self._second = torch.zeros_like(self.shape_of)

    def feed(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Take in a gradient and return m̂ and √v̂ + smoothing, both corrected for their start."""
        beta1, beta2 = self.adam.beta1, self.adam.beta2
        self._time += 1
        self._first.mul_(beta1).add_(gradient, alpha=1 - beta1)
        self._second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        mean = self._first / (1 - beta1**self._time)
        scale = (self._second / (1 - beta2**self._time)).sqrt_().add_(self.adam.smoothing)
        return mean, scale

    def direction(self, gradient: Tensor) -> Tensor:
        """Take in a gradient and return Adam's direction m̂/(√v̂ + smoothing)."""
        mean, scale = self.feed(gradient)
        return mean.div_(scale)
