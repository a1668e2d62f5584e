"""Clipped sums of per-example gradients, and Adam's moments, for many models side by side."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy, one_hot

from dpcp_ledger.training.examples import Clipping

if TYPE_CHECKING:
    from torch import Tensor

    from dpcp_ledger.training.examples import Adam


_POINTWISE = (nn.ReLU, nn.Dropout)
_FLOATS_AT_ONCE = 3_000_000
"""The most floats of per-example gradients at a time; more of them leave a CPU's caches."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatModel:
    """A network whose parameters are one vector, layer by layer.

    Parameters
    ----------
    module : torch.nn.Module
        Gives the architecture; its own parameters are never changed.
    """

    module: nn.Module

    @property
    def size(self) -> int:
        """The number of parameters, d."""
        return sum(p.numel() for p in self.module.parameters())

    @property
    def layers(self) -> tuple[int, ...]:
        """The number of parameters of each layer: weights with their biases, K in all."""
        sizes: dict[str, int] = {}
        for name, parameter in self.module.named_parameters():
            owner = name.rpartition(".")[0]
            sizes[owner] = sizes.get(owner, 0) + parameter.numel()
        return tuple(sizes.values())

    def initial(self, replicas: int) -> Tensor:
        """Return freshly drawn parameters, shape (replicas, d), from torch's global generator."""
        fresh = copy.deepcopy(self.module)
        drawn: list[Tensor] = []
        for _ in range(replicas):
            for part in reversed(list(fresh.modules())):  # a whole after its parts
                reset = getattr(part, "reset_parameters", None)
                if callable(reset):
                    reset()
            drawn.append(torch.cat([p.detach().reshape(-1) for p in fresh.parameters()]))
        return torch.stack(drawn)

    def logits(self, flat: Tensor, inputs: Tensor) -> Tensor:
        """Return logits of shape (n, k) for parameters (d,) and inputs (n, ...)."""
        parameters = dict(self.module.named_parameters())
        # one split: each slice's gradient would be a vector of length d
        parts = torch.split(flat, [p.numel() for p in parameters.values()])
        named = {
            name: part.view(parameters[name].shape)
            for name, part in zip(parameters, parts, strict=True)
        }
        outputs: Tensor = functional_call(self.module, named, (inputs,))
        return outputs

    def gradients(self, flat: Tensor, inputs: Tensor, labels: Tensor) -> Tensor:
        """Return the gradient of every example's cross-entropy, of every replica.

        Parameters
        ----------
        flat : Tensor, shape (replicas, d)
        inputs : Tensor, shape (replicas, b, ...)
        labels : Tensor, shape (replicas, b)

        Returns
        -------
        Tensor, shape (replicas, b, d)
        """

        def loss(parameters: Tensor, example: Tensor, label: Tensor) -> Tensor:
            outputs = self.logits(parameters, example.unsqueeze(0))
            return cross_entropy(outputs, label.unsqueeze(0))

        of_examples = vmap(grad(loss), in_dims=(None, 0, 0), randomness="different")
        of_replicas: Any = vmap(of_examples, in_dims=(0, 0, 0), randomness="different")
        gradients: Tensor = of_replicas(flat, inputs, labels)
        return gradients


def clip_factors(norms: Tensor, limit: float) -> Tensor:
    """Return 1/max(1, norm/limit) (DP-SKIN, Algorithm 1, line 10), of the norms' shape."""
    return 1 / torch.clamp(norms / limit, min=1.0)


def norms(values: Tensor) -> Tensor:
    """Return Euclidean norms over the last dimension, which is kept with length 1."""
    found: Tensor = cast("Any", torch.linalg).vector_norm(values, dim=-1, keepdim=True)
    return found


def clipped(gradients: Tensor, layers: tuple[int, ...], clip: Clipping, limit: float) -> Tensor:
    """Clip gradients of shape (..., d), whole or layer by layer; an infinite limit clips none."""
    if math.isinf(limit):
        return gradients
    if clip is Clipping.FLAT:
        return gradients * clip_factors(norms(gradients), limit)
    share = limit / math.sqrt(len(layers))
    parts = torch.split(gradients, list(layers), dim=-1)
    return torch.cat([part * clip_factors(norms(part), share) for part in parts], dim=-1)


def clipped_sum(
    model: FlatModel,
    flat: Tensor,
    lot: tuple[Tensor, Tensor, Tensor],
    *,
    clip: Clipping,
    limit: float,
) -> Tensor:
    """Return the sum of the clipped gradients of every replica's lot, shape (replicas, d).

    Parameters
    ----------
    model : FlatModel
    flat : Tensor, shape (replicas, d)
    lot : tuple of Tensor
        Inputs (replicas, b, ...), labels (replicas, b), and weights (replicas, b), which are 0
        where a lot holds fewer than b examples.
    clip : Clipping
    limit : float
        The clipping norm C.
    """
    inputs, labels, weights = lot
    total = torch.zeros_like(flat)
    at_once = max(1, _FLOATS_AT_ONCE // flat.numel())
    for start in range(0, labels.shape[1], at_once):
        part = slice(start, start + at_once)
        gradients = model.gradients(flat, inputs[:, part], labels[:, part])
        kept = clipped(gradients, model.layers, clip, limit)
        total += torch.einsum("rb,rbd->rd", weights[:, part], kept)
    return total


def linear_layers(module: nn.Module) -> tuple[nn.Module, ...] | None:
    """Return the layers of a network that is linear but for ReLU and dropout, else None."""
    layers = tuple(module) if isinstance(module, nn.Sequential) else (module,)
    known = (
        cast("Tensor | None", layer.bias) is not None
        if isinstance(layer, nn.Linear)
        else type(layer) in _POINTWISE
        for layer in layers
    )
    return layers if all(known) and any(isinstance(each, nn.Linear) for each in layers) else None


def linear_sum(
    layers: tuple[nn.Module, ...],
    flat: Tensor,
    lot: tuple[Tensor, Tensor, Tensor],
    *,
    clip: Clipping,
    limit: float,
) -> Tensor:
    """Return what ``clipped_sum`` does, without per-example gradients, of ``linear_layers``.

    The gradient of a linear layer's weights is the outer product of what comes back to its output,
    δ, and what went into it, a: its norm is ‖δ‖·‖a‖, and the sum of clipped gradients is one matrix
    product (Goodfellow 2015; Li et al. 2022, "ghost clipping"). A canary audit's trainings take
    1.75 times as long without it, with the same scores.
    """
    inputs, labels, weights = lot
    entered: list[Tensor] = []
    left: list[Tensor] = []
    values, start = inputs.transpose(1, 2), 0  # examples lie in the last dimension
    with torch.enable_grad():
        for part in layers:
            if not isinstance(part, nn.Linear):
                values = cast("Tensor", part(values))
                continue
            outside, inside = part.weight.shape
            stop = start + outside * inside
            entered.append(values.detach())
            weight = flat[:, start:stop].reshape(-1, outside, inside)
            values = (weight @ values + flat[:, stop : stop + outside, None]).requires_grad_()
            left.append(values)
            start = stop + outside
    truth = one_hot(labels, values.shape[1]).mT
    returned = torch.autograd.grad(values, left, values.detach().softmax(dim=1) - truth)
    sums = zip(_linear_factors(entered, returned, clip, limit), entered, returned, strict=True)
    parts: list[Tensor] = []
    for factor, inside_it, back in sums:
        kept = back * (weights * factor).unsqueeze(1)
        parts += [(kept @ inside_it.mT).flatten(1), kept.sum(dim=2)]
    return torch.cat(parts, dim=1)


def _linear_factors(
    entered: list[Tensor], returned: tuple[Tensor, ...], clip: Clipping, limit: float
) -> list[Tensor]:
    """Return every layer's clipping factors, each of shape (replicas, b)."""
    squares = [
        back.square().sum(1) * (inside.square().sum(1) + 1)
        for inside, back in zip(entered, returned, strict=True)
    ]
    if clip is Clipping.FLAT:
        return [clip_factors(torch.stack(squares).sum(dim=0).sqrt(), limit)] * len(squares)
    return [clip_factors(square.sqrt(), limit / math.sqrt(len(squares))) for square in squares]


@dataclass(slots=True, eq=False)
class AdamMoments:
    """Running means of gradients and of their squares (DP-SKIN, Algorithm 2, lines 13 to 18).

    Parameters
    ----------
    adam : Adam
        The decay rates.
    shape_of : Tensor
        A tensor of the gradients' shape.
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
