"""What the noises of a path cost by composition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.followed_paths import trace_pair

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.tracing.loss_samples import ComposedNoise

X, Y = np.zeros(4), np.array([0.0, 0.0, 0.0, 1.0])


def composed(function) -> Any:
    return trace_pair(function, X, Y, draws=4, rng=0).composed


def test_gaussian_noises_are_one_of_the_squares_and_laplace_noises_stand_alone() -> None:
    def mixed(x, *, rng) -> Any:
        first = x.sum() + rng.normal(scale=2.0) > 1
        second = 3 * x.sum() + rng.normal(scale=2.0) > 1
        return first, second, x.sum() + rng.laplace(scale=4.0), 0 + rng.laplace()

    (found,) = composed(mixed)
    assert found == ComposedNoise(gaussian=round(math.sqrt(2.5), 10), laplace=(0.25,))
    assert found.pairs == [GaussianPair(found.gaussian), LaplacePair((0.25,))]
    assert found.whole


def test_one_draw_counts_once_however_often_it_is_compared() -> None:
    def clamped(x, *, rng) -> Any:
        noisy = x.sum() + rng.laplace(scale=2.0)
        return min(max(noisy, 0), 3) / 2

    assert set(composed(clamped)) == {ComposedNoise(laplace=(0.5,))}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, *, rng: x.sum() + rng.laplace() > rng.laplace(),
        lambda x, *, rng: int(np.argmax(x + rng.gumbel(size=4))),
        lambda x, *, rng: x[int(rng.integers(4))] + rng.laplace(scale=1.0),
        lambda x, *, rng: bool(rng.random() < 0.5 + x.sum() / 4),
        lambda x, *, rng: x.sum() + rng.normal(scale=1 + x.sum()),
    ],
    ids=["sparse vector", "peak", "sample", "response", "scale of data"],
)
def test_what_composition_does_not_speak_of_is_not_counted(function) -> None:
    for found in composed(function):
        assert not found.whole
        assert found.pairs == []
