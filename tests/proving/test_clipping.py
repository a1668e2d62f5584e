"""Clipped gradients against real neighbours: no further apart than is proved."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcp_audit as dp
from dpcp_audit.proving import dp_sgd
from dpcp_audit.proving.distances import Records, tokens
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.proving.known_calls import function
from dpcp_audit.proving.paths import Frame

V = np.array([3.0, -4.0, 1.0])


def by_maximum(x) -> np.ndarray:
    g = np.outer(x, V)
    return (g / np.maximum(1.0, np.linalg.norm(g, axis=1) / 0.5)[:, None]).sum(axis=0)


def by_columns(x) -> np.ndarray:
    g = x[:, None] * V
    norms = np.linalg.norm(g, axis=1, keepdims=True)
    return np.sum(g / np.maximum(norms / 0.5, 1.0), axis=0)


def by_factors(x) -> np.ndarray:
    g = np.outer(x, V)
    norms = np.linalg.norm(g, axis=1, keepdims=True)
    return (g * np.minimum(1.0, 0.5 / (norms + 1e-6))).sum(axis=0)


def by_quiet_factors(x) -> np.ndarray:
    g = np.outer(x, V)
    norms = np.linalg.norm(g, axis=1)
    with np.errstate(divide="ignore"):
        factors = np.minimum(1.0, 0.5 / norms)
    return (g * factors[:, None]).sum(axis=0)


def normalised(x) -> np.ndarray:
    g = np.outer(x, V)
    return (g / np.maximum(np.linalg.norm(g, axis=1), 0.01)[:, None]).sum(axis=0)


def averaged(x) -> np.ndarray:
    g = np.outer(x - 0.25, V)
    return (g / np.maximum(1.0, np.linalg.norm(g, axis=1) / 0.5)[:, None]).mean(axis=0)


def unclipped(x) -> np.ndarray:
    return np.outer(x, V).sum(axis=0)


def chosen(x) -> np.ndarray:
    g = np.outer(x[x > 0.3], V)
    return (g / np.maximum(1.0, np.linalg.norm(g, axis=1) / 0.5)[:, None]).sum(axis=0)


def small(x) -> np.ndarray:
    g = np.outer(x, V / 100)
    return (g / np.maximum(1.0, np.linalg.norm(g, axis=1) / 0.5)[:, None]).sum(axis=0)


SUMS = [by_maximum, by_columns, by_factors, by_quiet_factors, normalised, averaged, unclipped,
        chosen, small]  # fmt: skip
BOUNDS = [(0.0, 1.0), (-1.0, 2.0), (-0.01, 0.01)]


def bound_of(rule, n, bounds) -> object:
    """Return what the reading gives for the sum; n None where one record is added."""
    reader = Reader(n)
    reader.path.frames[0] = Frame({}, None)
    low, high = (Fraction(repr(each)) for each in bounds)
    return function(reader, rule, [Records(low, high, next(tokens))], {})


@st.composite
def neighbours(draw) -> tuple[object, ...]:
    low, high = draw(st.sampled_from(BOUNDS))
    one = st.sampled_from([low, high]) | st.floats(low, high)
    x = np.array(draw(st.lists(one, min_size=2, max_size=6)))
    y = x.copy()
    y[draw(st.integers(0, len(x) - 1))] = draw(one)
    return (low, high), x, y


@pytest.mark.parametrize("rule", SUMS, ids=lambda each: each.__name__)
def test_real_neighbours_are_no_further_apart(rule) -> None:
    @settings(max_examples=40, deadline=None)
    @given(neighbours())
    def holds(pair) -> None:
        bounds, x, y = pair
        found, gap = bound_of(rule, len(x), bounds), np.abs(rule(x) - rule(y))
        assert found.shape == gap.shape
        assert gap.sum() <= float(found.l1) * (1 + 1e-9) + 1e-12
        assert (gap**2).sum() <= float(found.l2_squared) * (1 + 1e-9) + 1e-12
        assert gap.max() <= float(found.linf) * (1 + 1e-9) + 1e-12

    holds()


@pytest.mark.parametrize("rule", [by_maximum, by_factors, normalised, chosen])
def test_a_record_that_is_added_moves_the_sum_by_at_most_the_norm(rule) -> None:
    bound = bound_of(rule, None, (-1.0, 2.0))
    for x in np.linspace(-1, 2, 31):
        gap = rule(np.array([0.5, x])) - rule(np.array([0.5]))
        assert (gap**2).sum() <= float(bound.l2_squared) * (1 + 1e-9)


def test_the_bound_is_reached() -> None:
    bound = bound_of(by_maximum, 2, (-1.0, 1.0))
    gap = by_maximum(np.array([0.0, 1.0])) - by_maximum(np.array([0.0, -1.0]))
    assert (gap**2).sum() == pytest.approx(float(bound.l2_squared))
    assert float(bound.l2_squared) == 1.0


@pytest.mark.parametrize("name", ["square", "moved"])
def test_a_norm_that_is_a_tenth_too_small_is_noticed(name, monkeypatch) -> None:
    rule = by_maximum if name == "square" else unclipped
    made = dp_sgd.summed

    def less(reader, a, axis, **rest: object) -> object:
        change = {name: getattr(a, name) * Fraction(81, 100)}
        return made(reader, replace(a, **change), axis, **rest)

    monkeypatch.setattr(dp_sgd, "summed", less)
    bound = bound_of(rule, 2, (-1.0, 1.0))
    gap = rule(np.array([0.0, 1.0])) - rule(np.array([0.0, -1.0]))
    assert (gap**2).sum() > float(bound.l2_squared)


def steps(scores, *, rng, rounds=4, clip=0.5, sigma=4.0) -> float:
    w, n = 0.0, len(scores)
    for _ in range(rounds):
        g = np.outer(w - scores, [3.0, 4.0])
        g = g / np.maximum(1.0, np.linalg.norm(g, axis=1) / clip)[:, None]
        total = g.sum(axis=0) + rng.normal(0.0, sigma * clip, size=g.shape[1])
        w = w - 0.1 * total[0] / n
    return w


def a_lot(scores, *, rng) -> object:
    g = np.outer(scores[rng.random(len(scores)) < 0.1], [3.0, 4.0])
    g = g / np.maximum(1.0, np.linalg.norm(g, axis=1))[:, None]
    return g.sum(axis=0) + rng.laplace(0.0, 2 * math.sqrt(2), size=2)


def test_steps_add_up() -> None:
    proof = dp.prove(steps, dp.ZCDP(0.5), n=50)
    assert proof.total == pytest.approx(0.5)  # 4 steps of (2/4)²/2
    assert any("finite gradients" in each for each in proof.rules)


def test_a_lot_of_poisson_sampling_is_amplified() -> None:
    proof = dp.prove(a_lot, dp.PureDP(0.2), n=50)
    assert proof.total == pytest.approx(math.log1p(0.1 * math.expm1(1.0)))
