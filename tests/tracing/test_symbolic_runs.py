"""Outputs of independent draws have a product law, of any length, without enumeration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support import user_mechanisms as mine

from dpcp_audit.tracing.pair_traces import trace_pair
from dpcp_audit.tracing.path_tree import enumerated

K = 150


def one_hot(value, k=K) -> Any:
    return np.eye(k, dtype=int)[value]


def flipped(value, *, rng, f=0.2, k=K) -> Any:
    return one_hot(value, k) ^ (rng.random(k) < f)


def by_binomial(value, *, rng, f=0.2, k=K) -> Any:
    return np.abs(one_hot(value, k) - rng.binomial(1, f, size=k))


def by_choice(value, *, rng, f=0.2, k=K) -> Any:
    return (one_hot(value, k) + rng.choice([0, 1], size=k, p=[1 - f, f])) % 2


def negated(value, *, rng, f=0.2, k=K) -> Any:
    keep = ~(rng.random(k) < f)
    return np.where(keep, one_hot(value, k), 1 - one_hot(value, k)).astype(float).tolist()


def signs(value, *, rng, f=0.2, k=K) -> Any:
    noise = 2 * (rng.random(k) >= f).astype(int) - 1
    return {"bits": noise * (2 * one_hot(value, k) - 1)}


@pytest.mark.parametrize("function", [flipped, by_binomial, by_choice, negated, signs])
def test_bits_of_any_length_have_their_whole_law(function) -> None:
    found = trace_pair(function, 0, 1, draws=3, rng=0)
    assert found.exact is not None
    assert found.exact.max_divergence() == pytest.approx(2 * math.log(4))
    assert found.exact.law.log_mass.size == 3


@pytest.mark.parametrize("function", [flipped, by_binomial, by_choice, negated, signs])
def test_a_product_is_what_enumeration_gives(function) -> None:
    product = trace_pair(function, 0, 1, draws=3, rng=0, options={"k": 4}).exact
    tree = enumerated(function, 0, 1, options={"k": 4})
    for epsilon in (0.0, 0.5, 2.0, 3.0):
        assert product.delta_at(epsilon) == pytest.approx(tree.delta_at(epsilon), abs=1e-12)
    assert product.renyi(2.0) == pytest.approx(tree.renyi(2.0))


def test_two_bits_of_one_draw_are_not_independent() -> None:
    """RAPPOR's permanent response takes a bit from two comparisons of one draw."""
    found = trace_pair(mine.rappor, 0, 1, draws=3, rng=0, options={"k": K, "f": 0.3})
    assert found.exact.max_divergence() == pytest.approx(2 * math.log(0.85 / 0.15))


def test_unary_encoding_of_any_length_keeps_its_promise() -> None:
    found = trace_pair(mine.unary_encoding, 0, 1, draws=3, rng=0, options={"k": K})
    assert found.exact.max_divergence() == pytest.approx(2.3)


def test_a_choice_among_many_bins_is_one_run() -> None:
    calls = []

    def choose(x, *, rng) -> Any:
        calls.append(1)
        bins = np.linspace(0, 1, 5000)
        weights = np.exp(-x * np.abs(bins - 0.5))
        return rng.choice(bins, p=weights / weights.sum())

    found = trace_pair(choose, 1.0, 2.0, draws=3, rng=0)
    bins = np.linspace(0, 1, 5000)
    weights = [np.exp(-x * np.abs(bins - 0.5)) for x in (1.0, 2.0)]
    ratio = np.log(weights[0] / weights[0].sum()) - np.log(weights[1] / weights[1].sum())
    assert found.exact.max_divergence() == pytest.approx(ratio.max())
    assert len(calls) < 100


def branching(value, *, rng) -> Any:
    bits = rng.random(12) < 0.25
    return bits if bits[0] else np.zeros(12, dtype=bool)


def summed(value, *, rng) -> Any:
    return (rng.random(12) < 0.2 + value / 2).sum()


def masked(value, *, rng) -> Any:
    return np.arange(14)[rng.random(14) < 0.5].tolist()


@pytest.mark.parametrize("function", [branching, summed, masked])
def test_what_acts_on_a_bit_is_no_product(function) -> None:
    found = trace_pair(function, 0, 1, draws=5, rng=0)
    assert found.followed
    assert found.exact is None


@pytest.mark.known_bad
def test_hidden_randomness_is_seen_beside_a_product() -> None:
    own = np.random.default_rng()

    def beside(value, *, rng) -> Any:
        return (rng.random(4) < 0.5) * own.integers(2, 9)

    assert not trace_pair(beside, 0, 1, draws=20, rng=0).followed
