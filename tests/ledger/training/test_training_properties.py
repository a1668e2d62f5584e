"""What holds of every clipped sum, lot and batch."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_dpsgd import plain_sum
from torch import nn

from dpcp_ledger.training import dpsgd as lots
from dpcp_ledger.training import networks
from dpcp_ledger.training.examples import Clipping
from dpcp_ledger.training.gradients import (
    FlatModel,
    clipped_sum,
    linear_layers,
    linear_sum,
)

FEATURES, CLASSES, B, R = 4, 3, 5, 2
clippings = st.sampled_from(list(Clipping))
limits = st.floats(1e-3, 50)
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([1e-3, 1.0, 1e3])
stacks = st.sampled_from(
    [
        networks.logistic(FEATURES, CLASSES),
        networks.head(FEATURES, CLASSES, hidden=6, dropout=0.0),
        nn.Sequential(nn.ReLU(), nn.Linear(FEATURES, CLASSES), nn.ReLU()),
    ]
)


def drawn(module, seed, scale) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Return parameters of R replicas, and a lot with padding."""
    rng = np.random.default_rng(seed)
    flat = torch.tensor(rng.normal(size=(R, FlatModel(module).size)), dtype=torch.float32)
    inputs = torch.tensor(scale * rng.normal(size=(R, B, FEATURES)), dtype=torch.float32)
    labels = torch.tensor(rng.integers(CLASSES, size=(R, B)))
    weights = torch.tensor(rng.random((R, B)) < 0.7, dtype=torch.float32)
    return flat, (inputs, labels, weights)


@settings(max_examples=20)
@given(stacks, seeds, scales, clippings, limits)
def test_the_three_clipped_sums_are_one(module, seed, scale, clip, limit) -> None:
    """The sum without per-example gradients, by vmap, and by a float64 loop with autograd."""
    flat, lot = drawn(module, seed, scale)
    quick = linear_sum(linear_layers(module), flat, lot, clip=clip, limit=limit)
    mapped = clipped_sum(FlatModel(module), flat, lot, clip=clip, limit=limit)
    plain = torch.stack(
        [
            plain_sum(
                module,
                flat[r],
                [(x, y) for x, y, w in zip(*(part[r] for part in lot), strict=True) if w],
                clip,
                limit,
            )
            for r in range(R)
        ]
    )
    bound = 1e-5 * B * limit
    np.testing.assert_allclose(mapped, plain, rtol=1e-4, atol=bound)
    np.testing.assert_allclose(quick, plain, rtol=1e-4, atol=bound)


masks = st.integers(1, 4).flatmap(
    lambda rows: st.integers(1, 9).flatmap(
        lambda n: st.lists(
            st.lists(st.booleans(), min_size=n, max_size=n), min_size=rows, max_size=rows
        )
    )
)


@given(masks, seeds, st.floats(0.01, 1))
def test_a_lot_holds_members_alone_each_once_and_padding_weighs_nothing(mask, seed, rate) -> None:
    members = torch.tensor(mask)
    drawn = lots._PoissonLots(members, rate, torch.Generator().manual_seed(seed))
    for _ in range(3):
        places, weights = drawn.draw()
        assert places.shape == weights.shape
        assert set(weights.flatten().tolist()) <= {0.0, 1.0}
        for row, at, weight in zip(mask, places, weights, strict=True):
            chosen = at[weight == 1].tolist()
            assert chosen == sorted(set(chosen))
            assert set(chosen) <= set(np.flatnonzero(row))
            assert rate < 1 or chosen == np.flatnonzero(row).tolist()
