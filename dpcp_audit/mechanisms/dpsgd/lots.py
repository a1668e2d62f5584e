"""Lots: which examples enter a step, drawn from a given generator, for many replicas at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dpcp_audit._types import BoolArray, IntArray


def poisson(members: Tensor, rate: float, generator: torch.Generator) -> Tensor:
    """Return which members enter the lot, each on its own with probability ``rate``.

    ``members`` and the result have shape (replicas, n). The coins have 53 bits: with the 24 of
    a float32 the rate would be off by up to 6e-8.
    """
    coins = torch.rand(
        members.shape, generator=generator, device=members.device, dtype=torch.float64
    )
    return members & (coins < rate)


def padded(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Return the chosen examples' places, shape (replicas, b), and weights of 1, or 0 as padding.

    b is the largest lot's size; padding points at example 0.
    """
    counts = chosen.sum(dim=1)
    width = int(counts.max())
    places = torch.zeros(len(chosen), width, dtype=torch.int64, device=chosen.device)
    rows, columns = chosen.nonzero(as_tuple=True)
    ranks = (chosen.cumsum(dim=1) - 1)[rows, columns]
    places[rows, ranks] = columns
    weights = torch.arange(width, device=chosen.device) < counts.unsqueeze(1)
    return places, weights.to(torch.float32)


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
