"""Each rule against real neighbours: the real distance never exceeds the bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpcp_audit as dp
from dpcp_audit.proving.distances import (
    Noise,
    Noisy,
    Records,
    Refusal,
    Statistic,
    number,
    tokens,
)
from dpcp_audit.proving.exact_numbers import Surd
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.proving.known_calls import function
from dpcp_audit.proving.paths import Frame

BOUNDS = [(0.0, 1.0), (-1.0, 2.0), (0.25, 0.5), (-3.0, -1.0)]
EDGES = np.array([-3.0, -1.0, 0.0, 0.25, 0.3, 0.5, 1.0, 2.0])


def clipped_by_norm(counts) -> np.ndarray:
    return counts / max(1.0, np.linalg.norm(counts) / 0.5)


def times_inverse(counts) -> np.ndarray:
    return counts * np.minimum(1.0, 2 / (np.linalg.norm(counts) + 1e-9))


OF_RECORDS = {
    "sum": lambda x: np.sum(x),  # noqa: PLW0108
    "mean": lambda x: np.mean(x),  # noqa: PLW0108
    "count": lambda x: np.count_nonzero(x <= 0.3),
    "count inside": lambda x: np.sum((x > 0.1) & (x <= 0.4)),
    "comprehension": lambda x: sum(1 for z in x if 0.1 <= z <= 0.4),
    "chosen values": lambda x: sum(float(z) for z in x if z > 0.26),
    "sum of a selection": lambda x: np.sum(x[x > 0.3]),
    "size of a selection": lambda x: len(x[x > 0.3]),
    "squares": lambda x: np.sum(x**2),
    "affine": lambda x: np.sum(2 * x - 0.5),
    "negative": lambda x: np.sum(-x / 4),
    "distances": lambda x: np.sum(np.abs(x - 0.3)),
    "absolute of one": lambda x: sum(abs(z) for z in x),
    "clipped": lambda x: np.clip(x, -0.2, 0.4).sum(),
    "clipped by hand": lambda x: sum(float(min(max(z, -0.2), 0.4)) for z in x),
    "maximum": lambda x: np.maximum(x, 0.3).mean(),
    "where": lambda x: np.sum(np.where(x > 0.3, x, -0.5)),
    "conditional": lambda x: sum(float(z) if z < 0.3 else 0.1 for z in x),
    "products": lambda x: np.sum(x * (x > 0)),
    "quantile": lambda x: np.quantile(x, 0.7),
    "median": lambda x: np.median(x),  # noqa: PLW0108
    "largest": lambda x: np.max(x),  # noqa: PLW0108
    "ranks": lambda x: np.searchsorted(np.sort(x), EDGES),
    "rank": lambda x: np.searchsorted(np.sort(x), 0.3, side="right"),
    "histogram": lambda x: np.histogram(x, bins=6, range=(-3, 2))[0],
    "histogram of edges": lambda x: np.histogram(x, EDGES)[0],
    "histogram inside": lambda x: np.histogram(x, bins=3, range=(0.2, 0.6))[0],
    "cumulated": lambda x: np.cumsum(np.histogram(x, EDGES)[0]),
    "list of counts": lambda x: np.array([np.sum(x <= t) for t in EDGES]),
    "utility": lambda x: -np.abs(np.searchsorted(np.sort(x), EDGES) - 3.5),
    "shifted by a statistic": lambda x: np.histogram(x, EDGES)[0] - np.sum(x),
    "clipped statistic": lambda x: np.clip(np.histogram(x, EDGES)[0], 1, 2),
    "largest count": lambda x: np.max(np.histogram(x, EDGES)[0]),
    "two statistics": lambda x: np.sum(x) - 3 * np.mean(x),
    "larger of two": lambda x: np.maximum(np.sum(x <= 0.3), 2.5),
    "cut off": lambda x: np.clip(3 * np.sum(x), -0.3, 0.2),
    "cut off above, then below": lambda x: np.maximum(np.minimum(np.sum(x), 1.2), 0.8),
    "cut off at ends that cross": lambda x: np.clip(np.sum(x), 1.5, 1.0),
    "cut off and shifted": lambda x: np.minimum(np.maximum(np.sum(x), 0.2) - 0.5, 0.1),
    "cut off by Python": lambda x: float(min(0.4, max(np.sum(x), -0.1))),
    "a list of what is cut off": lambda x: np.array(
        [min(max(np.sum(x) - t, -0.1), 0.25) for t in EDGES.tolist()]
    ),
    "cut off at several numbers": lambda x: np.minimum(
        np.maximum(3.0 * np.histogram(x, EDGES)[0], EDGES[1:]), EDGES[1:] + 0.5
    ),
    "clipped by its norm": lambda x: clipped_by_norm(np.histogram(x, EDGES)[0]),
    "times a norm's inverse": lambda x: times_inverse(1.0 * np.histogram(x, EDGES)[0]),
    "truncated": lambda x: int(np.sum(x > 0.3) - 2),
    "rows of a table": lambda x: np.histogram(x, EDGES)[0][:6].reshape(2, 3).sum(axis=1),
    "columns of a table": lambda x: np.histogram(x, EDGES)[0][:6].reshape(2, 3).sum(axis=0),
    "rows of scaled counts": lambda x: (
        (np.histogram(x, EDGES)[0][1:] * -4.0).reshape(3, 2).sum(axis=-1)
    ),
    "column against numbers": lambda x: (x[:, None] <= EDGES).sum(axis=0),
    "numbers against a row": lambda x: (EDGES[:, None] < x[None, :]).sum(axis=-1),
    "records against a column": lambda x: np.count_nonzero(x > EDGES[:, None], axis=1),
    "values counted": lambda x: (np.round(x * 2)[:, None] == np.arange(-6, 5)).sum(axis=0),
    "selection against numbers": lambda x: (x[x > 0.3][:, None] <= EDGES).sum(axis=0),
    "digitized": lambda x: np.bincount(np.digitize(np.clip(x, 0, 1), [0.2, 0.4, 0.4]), minlength=4),
    "rank of a size": lambda x: math.ceil((len(x[x > 0.3]) + 1) * 0.9),
    "halves to even": lambda x: round(np.sum(x > 0.3) + 0.5),
    "floor of tenths": lambda x: math.floor(10 * (0.1 * np.sum(x > 0.3))),
    "floor of a sum": lambda x: np.floor(3 * np.sum(x)),
    "rounded sum": lambda x: np.rint(np.sum(x)),
    "counts of cells": lambda x: np.array([np.sum((x >= t) & (x < t + 0.25)) for t in EDGES]),
    "counts of closed cells": lambda x: np.array(
        [np.sum((x >= t) & (x <= t + 0.25)) for t in (0.0, 0.25, 0.5)]
    ),
    "sums of cells": lambda x: np.array([np.sum(x[x < 0.3]), np.sum(x[x >= 0.3])]),
    "counts in loops": lambda x: np.array([sum(1 for z in x if z == t or z > 2) for t in EDGES]),
    "at places": lambda x: np.array([len(x[np.where(x <= 0.3)[0]]), np.sum(x[x > 0.3])]),
    "one count": lambda x: np.histogram(x, EDGES)[0][3],
    "some counts": lambda x: np.histogram(x, EDGES)[0][1:4],
}
WITH_SIZE = {
    "order statistic": lambda x: np.sort(x)[2],
    "share": lambda x: np.sum(x > 0.3) / len(x),
    "shares": lambda x: np.mean(x[:, None] <= EDGES, axis=0),
}


def bound_of(rule, n, bounds, relation):  # noqa: ANN201
    """Return what the reading gives for the rule's function on records."""
    reader = Reader(n if relation == "substitution" else None)
    reader.path.frames[0] = Frame({}, None)
    low, high = (Fraction(repr(each)) for each in bounds)
    return function(reader, rule, [Records(low, high, next(tokens), ends=bounds)], {})


def distances(a, b):  # noqa: ANN201
    """Return the real l1, squared l2 and l∞ distances, the span, and the difference."""
    gap = np.atleast_1d(np.asarray(b, dtype=float) - np.asarray(a, dtype=float))
    return (
        np.abs(gap).sum(),
        (gap**2).sum(),
        np.abs(gap).max(),
        (gap.max() - gap.min()) if gap.size > 1 else 0.0,
        gap,
    )


@st.composite
def neighbours(draw, relation):  # noqa: ANN201
    """Return bounds and two neighbouring arrays, with ties and entries at edges."""
    low, high = draw(st.sampled_from(BOUNDS))
    places = [float(each) for each in EDGES if low <= each <= high]
    one = st.sampled_from(places) | st.floats(low, high)
    x = draw(st.lists(one, min_size=3, max_size=8))
    changed = list(x)
    position = draw(st.integers(0, len(x) - 1))
    if relation == "substitution":
        changed[position] = draw(one)
    else:
        del changed[position]
    return (low, high), np.array(x), np.array(changed)


@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
@pytest.mark.parametrize("name", [*OF_RECORDS, *WITH_SIZE])
def test_real_neighbours_are_no_further_apart(name, relation) -> None:
    rule = (OF_RECORDS | WITH_SIZE)[name]
    if relation == "add-remove" and name in {*WITH_SIZE, "mean", "maximum", "two statistics"}:
        with pytest.raises(Refusal):
            bound_of(rule, 5, (0.0, 1.0), relation)
        return

    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(neighbours(relation))
    def holds(pair) -> None:
        bounds, a, b = pair
        found = bound_of(rule, len(a), bounds, relation)
        assert isinstance(found, Statistic)
        l1, l2, linf, span, gap = distances(rule(a), rule(b))
        slack = 1 + 1e-12
        assert np.shape(rule(a)) == found.shape
        assert l1 <= float(found.l1) * slack + 1e-12
        assert l2 <= float(found.l2_squared) * slack + 1e-12
        assert linf <= float(found.linf) * slack + 1e-12
        assert span <= float(found.span) * slack + 1e-12 or found.shape == ()
        if found.integer:
            assert np.all(gap == np.rint(gap))

    holds()


def log_chances(scale) -> np.ndarray:
    """Return the logarithms of the chances of rounded Laplace noise from -25 to 25."""
    k = np.arange(-25, 26) + 0.0
    tail = np.exp(-(np.abs(k) - 0.5) / scale) * (1 - np.exp(-1 / scale)) / 2
    return np.log(np.where(k == 0, 1 - np.exp(-0.5 / scale), tail))


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.5])
def test_a_count_with_rounded_noise_loses_what_is_proved(scale) -> None:
    def count(scores, *, rng, scale=scale) -> float:
        return np.count_nonzero(scores > 0.5) + round(rng.laplace(0.0, scale))

    proof = dp.prove(count, dp.PureDP(1 / scale), n=5)
    assert proof.proved
    chances = log_chances(scale)
    loss = np.max(np.abs(chances[1:] - chances[:-1]))
    assert loss == pytest.approx(proof.total, rel=1e-9)


@pytest.mark.parametrize("how", [round, np.rint, math.floor, math.ceil, np.floor, np.ceil])
def test_each_way_of_rounding_commutes_with_whole_numbers(how) -> None:
    numbers = np.random.default_rng(1).normal(0, 3, size=200)
    assert all(how(5 + each) == 5 + how(each) for each in numbers.tolist())


TIGHT = {
    "sum": 1,
    "count": 1,
    "comprehension": 1,
    "mean": Fraction(1, 5),
    "clipped": Fraction(2, 5),
    "cut off": Fraction(1, 2),
    "cut off above, then below": Fraction(2, 5),
    "cut off by Python": Fraction(1, 2),
    "histogram": 2,
    "squares": 1,
    "affine": 2,
    "list of counts": 8,
    "column against numbers": 8,
    "values counted": 2,
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_bound_is_as_tight_as_known(name) -> None:
    assert bound_of(OF_RECORDS[name], 5, (0.0, 1.0), "substitution").l1 == TIGHT[name]


def test_one_distance_is_an_exact_rational() -> None:
    found = bound_of(OF_RECORDS["mean"], 3, (0.0, 0.1), "substitution")
    assert found.linf == Fraction(1, 30)
    assert math.isclose(found.l2_squared, Fraction(1, 900))


@pytest.mark.parametrize("order", [1, -1])
def test_a_vector_of_noisy_numbers_is_moved_as_often_as_any_of_them(order) -> None:
    """Else a public number that was added to the second one is left out of the entries' size."""
    one = number(Fraction(1), "a count", size=Fraction(20))
    draws = [
        Noise((next(tokens),), "laplace", Surd.of(1), (), moved=moved) for moved in (0, 1)[::order]
    ]
    found = Reader(20).gathered(tuple(Noisy(one, each, 1) for each in draws))
    assert found.noise.moved == 1


def counts_without_a_step(scores, *, rng) -> np.ndarray:
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    return counts[::0] + rng.laplace(0, 1, size=4)


def test_a_slice_without_a_step_is_the_program_s_own_error() -> None:
    found = dp.prove(counts_without_a_step, dp.PureDP(9.0), n=20)
    assert "raises ValueError" in found.reason
    assert "the reading fails" not in found.reason
