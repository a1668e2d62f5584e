"""What holds of every clipped sum, lot and batch."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_dpsgd import plain_gradient, plain_sum
from torch import nn

from dpcp_ledger.training import dpsgd as lots
from dpcp_ledger.training import networks
from dpcp_ledger.training.examples import Clipping
from dpcp_ledger.training.gradients import (
    FlatModel,
    clip_factors,
    clipped,
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


@settings(max_examples=40)
@given(stacks, seeds, scales, clippings, limits)
def test_one_example_moves_the_sum_by_at_most_the_limit(module, seed, scale, clip, limit) -> None:
    """Added or removed: C. Substituted: 2C."""
    place = seed % B
    flat, (inputs, labels, weights) = drawn(module, seed, scale)

    def summed(values, marks) -> torch.Tensor:
        lot = (values, labels, marks)
        return clipped_sum(FlatModel(module), flat, lot, clip=clip, limit=limit).double()

    without, other, inside = weights.clone(), inputs.clone(), weights.clone()
    without[:, place], inside[:, place] = 0, 1
    other[:, place] = -10 * inputs[:, place] + 1
    rounding = 1e-5 * B * limit
    absent, present = summed(inputs, without), summed(inputs, inside)
    assert float((present - absent).norm(dim=1).max()) <= limit + rounding
    assert float((present - summed(other, inside)).norm(dim=1).max()) <= 2 * limit + rounding


@given(seeds, clippings, limits, st.floats(1e-6, 1e6))
def test_clipped_gradients_are_short_and_keep_their_direction(seed, clip, limit, scale) -> None:
    layers = (3, 1, 6)
    values = scale * np.random.default_rng(seed).normal(size=(4, sum(layers)))
    given_ = torch.tensor(values, dtype=torch.float32)
    left = clipped(given_, layers, clip, limit)
    assert float(left.norm(dim=1).max()) <= limit * (1 + 1e-5)
    parts = [sum(layers)] if clip is Clipping.FLAT else list(layers)
    share = limit / len(parts) ** 0.5
    for old, new in zip(given_.split(parts, dim=1), left.split(parts, dim=1), strict=True):
        norms = old.norm(dim=1, keepdim=True)
        kept = torch.where(norms <= share, old, old / norms * share)
        np.testing.assert_allclose(new, kept, rtol=1e-4, atol=1e-6 * limit)


@given(st.floats(0, 1e30), limits)
def test_factors_are_the_printed_ones(norm, limit) -> None:
    factor = clip_factors(torch.tensor([norm], dtype=torch.float64), limit)
    np.testing.assert_allclose(factor, 1 / max(1.0, norm / limit), rtol=1e-12)


def small_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128, CLASSES)
    )


@settings(max_examples=25)
@given(seeds, st.sampled_from([1e-3, 0.1, 1.0]))
def test_gradients_are_those_of_autograd(seed, scale) -> None:
    rng, module = np.random.default_rng(seed), small_cnn()
    model = FlatModel(module)
    flat = torch.tensor(rng.normal(size=(1, model.size)) / 3, dtype=torch.float32)
    inputs = torch.tensor(scale * rng.normal(size=(1, 2, 1, 4, 4)), dtype=torch.float32)
    labels = torch.tensor(rng.integers(CLASSES, size=(1, 2)))
    ours = model.gradients(flat, inputs, labels)[0]
    for own, example, label in zip(ours, inputs[0], labels[0], strict=True):
        plain = plain_gradient(module, flat[0], example, label)
        whole = torch.cat([part.reshape(-1) for part in plain])
        np.testing.assert_allclose(
            own, whole, rtol=1e-3, atol=1e-5 * (1 + float(whole.abs().max()))
        )


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
