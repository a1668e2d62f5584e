"""Traced numbers: whatever a program does with them, it sees what an untraced run sees."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

from dpcp_audit.tracing.draws import Seen
from dpcp_audit.tracing.generators import RecordingGenerator
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.traced_numbers import values_of


def recorded(seed=1) -> Any:
    path = SampledRun()
    return path, RecordingGenerator(path, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "read",
    [
        float,
        int,
        round,
        math.floor,
        str,
        repr,
        hash,
        "{:.3f}".format,
        math.exp,
        np.exp,
        lambda x: np.asarray(x, dtype=float),
        lambda x: np.array([x, x], dtype=np.float64),
        lambda x: np.histogram(np.array([x, 1.0], dtype=object).astype(float)),
        lambda x: x**2,
        lambda x: x % 1.0,
        lambda x: x // 1,
        lambda x: divmod(x, 2),
        lambda x: 1 / x,
        lambda x: x * x,
        np.float64,
        pickle.dumps,
        complex,
        lambda x: x.is_integer(),
        lambda x: np.zeros(1).__setitem__(0, x),
        lambda x: [0.0][int(x) * 0],
    ],
)
def test_what_needs_the_number_reads_it(read) -> None:
    path, rng = recorded()
    read(3 + rng.normal())
    assert [each.kind for each in path.seen][:1] == [Seen.VALUE]


@pytest.mark.parametrize(
    "keep",
    [
        lambda x: 2 * x + 1,
        lambda x: np.float64(2) - x,
        lambda x: np.int64(3) * x,
        lambda x: x / 4,
        lambda x: np.array([x, x + 1]).sum(),
        lambda x: np.mean([x, x + 1]),
        lambda x: sum([x, x]),
        lambda x: np.array([1.0, 2.0]) + x,
        lambda x: np.concatenate([[x], [1.0]]),
        copy.copy,
        np.isfinite,
        lambda x: x.item(),
    ],
)
def test_arithmetic_with_data_reads_nothing(keep) -> None:
    path, rng = recorded()
    keep(3 + rng.normal())
    assert path.seen == []


@pytest.mark.parametrize(
    "compare",
    [
        lambda x: x < 3,
        lambda x: x >= np.float64(2),
        lambda x: x <= 3,
        lambda x: np.int64(3) <= x,
        lambda x: np.less(x, 3),
        lambda x: max(x, 0),
        abs,
        lambda x: np.maximum(x, 0),
        lambda x: np.where(x > 0, 1, 0),
    ],
)
def test_a_comparison_is_one_bit(compare) -> None:
    path, rng = recorded()
    compare(3 + rng.normal())
    assert [each.kind for each in path.seen] == [Seen.BIT]


def test_equality_of_a_continuous_number_says_nothing() -> None:
    path, rng = recorded()
    x = 3 + rng.normal()
    assert (x == 3) is False
    assert (x != 3) is True
    assert bool(x)
    assert path.seen == []


def test_arrays_of_noise_are_read_where_they_are_stored_as_numbers() -> None:
    path, rng = recorded()
    counts = np.arange(4.0)
    counts += rng.laplace(size=4)
    assert counts.dtype == np.float64
    assert [each.kind for each in path.seen] == [Seen.VALUE] * 4
    assert counts.tolist() == (np.arange(4.0) + np.random.default_rng(1).laplace(size=4)).tolist()


@pytest.mark.parametrize(
    "move",
    [
        lambda a: a.sum(),
        lambda a: np.sum(a, axis=0),
        lambda a: a.mean(axis=1),
        np.cumsum,
        lambda a: a.reshape(6)[::-1].copy(),
        lambda a: np.vstack([a, np.ones(3)]).T,
        lambda a: np.dot(a, [1.0, 2.0, 3.0]),
        lambda a: (2 * a + 1) / 4 - np.ones(3),
        lambda a: np.where([True, False, True], a, 0.0),
        lambda a: np.append(a, 1.0),
    ],
)
def test_arrays_are_moved_and_added_without_a_look(move) -> None:
    path, rng = recorded()
    moved = move(np.ones((2, 3)) + rng.normal(size=(2, 3)))
    assert path.seen == []
    plain = move(np.ones((2, 3)) + np.random.default_rng(1).normal(size=(2, 3)))
    assert np.asarray(values_of(moved)) == pytest.approx(np.asarray(plain), rel=1e-14)


def test_the_largest_element_is_one_observation() -> None:
    path, rng = recorded()
    noisy = np.arange(5.0) + rng.laplace(size=5)
    plain = np.arange(5.0) + np.random.default_rng(1).laplace(size=5)
    assert np.argmax(noisy) == noisy.argmax() == plain.argmax()
    assert {each.kind for each in path.seen} == {Seen.PEAK}
    assert float(noisy.max()) == plain.max()
