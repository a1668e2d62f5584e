"""Lots: which examples enter a step, drawn from a given generator, for many replicas at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dpcp_audit._types import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PoissonLots:
    """Draws lots of every replica's members, each on its own with probability ``rate``.

    What is drawn is the gaps between those that enter, which are geometric: a lot takes about as
    many random numbers as it has examples. They have 53 bits: with the 24 of a float32 the rate
    would be off by up to 6e-8.

    Parameters
    ----------
    members : Tensor of bool, shape (replicas, n)
    rate : float
        In (0, 1].
    generator : torch.Generator
    """

    members: Tensor
    rate: float
    generator: torch.Generator
    _order: Tensor = field(init=False)
    _sizes: Tensor = field(init=False)

    def __post_init__(self) -> None:
        order = torch.argsort((~self.members).to(torch.uint8), dim=1, stable=True)
        object.__setattr__(self, "_order", order)
        object.__setattr__(self, "_sizes", self.members.sum(dim=1, keepdim=True))

    def draw(self) -> tuple[Tensor, Tensor]:
        """Return a lot's places, shape (replicas, b), and weights of 1, or 0 as padding.

        b is the largest lot's size; padding points at any example.
        """
        largest = int(self._sizes.max())
        mean = largest * self.rate
        block = 8 + math.ceil(mean + 6 * math.sqrt(mean))
        ranks = self._gaps(block).cumsum(dim=1)
        while bool((ranks[:, -1:] <= self._sizes).any()):
            ranks = torch.cat([ranks, ranks[:, -1:] + self._gaps(block).cumsum(dim=1)], dim=1)
        inside = ranks <= self._sizes
        width = int(inside.sum(dim=1).max())
        ranks, inside = ranks[:, :width].long() - 1, inside[:, :width]
        places = self._order.gather(1, ranks.clamp_(max=self.members.shape[1] - 1))
        return places, inside.to(torch.float32)

    def _gaps(self, block: int) -> Tensor:
        """Return how far each member that enters lies behind the one before, from 1."""
        shape, place = (len(self.members), block), self.members.device
        drawn = torch.rand(shape, generator=self.generator, device=place, dtype=torch.float64)
        if self.rate == 1:
            return torch.ones_like(drawn)
        return drawn.neg_().log1p_().div_(math.log1p(-self.rate)).floor_().add_(1)


def batches(members: BoolArray, size: int, steps: int, *, rng: np.random.Generator) -> IntArray:
    """Return shuffled batches of every replica, shape (steps, replicas, size).

    An epoch is a new permutation of the replica's members, cut into batches; what is left over
    waits for the next epoch.

    Raises
    ------
    ValueError
        If a replica has fewer members than a batch.
    """
    fewest = int(members.sum(axis=1).min())
    if fewest < size:
        raise ValueError(f"lot_size must not exceed a replica's {fewest} members, got {size}")
    lots = np.empty((steps, len(members), size), dtype=np.int64)
    for replica, inside in enumerate(members):
        own = np.flatnonzero(inside)
        whole = len(own) // size
        epochs = -(-steps // whole)
        order = [rng.permutation(own)[: whole * size].reshape(whole, size) for _ in range(epochs)]
        lots[:, replica] = np.concatenate(order)[:steps]
    return lots
