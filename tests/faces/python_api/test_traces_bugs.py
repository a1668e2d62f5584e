"""Mistakes of plain functions, followed as they stand: the line that makes each is named."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.words.results import Verdict

pytestmark = pytest.mark.known_bad

DATA = np.array([0.2, 0.4, 0.6, 0.8, 0.9])
LARGE = np.array([0.2, 0.4, 0.6, 0.8, 50.0])
MISSING = np.array([0.2, 0.4, 0.6, 0.8, np.nan])
CLAIM = dp.PureDP(1.0)


def clipped_mean(data, *, rng) -> Any:
    kept = np.clip(np.nan_to_num(data), 0, 1)
    return (kept.sum() + rng.laplace(scale=1.0)) / len(data)


def unclipped_mean(data, *, rng) -> Any:
    return (data.sum() + rng.laplace(scale=1.0)) / len(data)


def inferred_domain(data, *, rng) -> Any:
    values, counts = np.unique(data, return_counts=True)
    return {
        value: count + rng.laplace(scale=2.0) for value, count in zip(values, counts, strict=True)
    }


def given_domain(data, *, rng) -> Any:
    counts, _ = np.histogram(np.clip(data, 0, 1), bins=4, range=(0, 1))
    return [count + rng.laplace(scale=2.0) for count in counts]


def spends_twice(data, *, rng) -> Any:
    total = np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)
    size = (data > 0.5).sum() + rng.laplace(scale=1.0)
    return total, size


def spends_halves(data, *, rng) -> Any:
    total = np.clip(data, 0, 1).sum() + rng.laplace(scale=2.0)
    size = (data > 0.5).sum() + rng.laplace(scale=2.0)
    return total, size


def keeps_missing(data, *, rng) -> Any:
    return (np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)) / len(data)


def scale_of_epsilon(data, *, rng, epsilon=0.1) -> Any:
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=epsilon)


def small_sensitivity(data, *, rng) -> Any:
    return np.clip(data, 0, 10).sum() + rng.laplace(scale=1.0)


def private_size(data, *, rng) -> Any:
    return (np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0)) / len(data)


def test_a_private_size_that_divides_is_seen_where_a_record_is_removed() -> None:
    options = {"draws": 200, "neighbours": "add-remove"}
    found = dp.trace(private_size, np.full(3, 0.5), np.full(2, 0.5), CLAIM, **options)
    assert found.verdict is Verdict.REFUTED
    assert found.lines[0].location.line == line_of(private_size, "laplace")


def traced(function, data, neighbour) -> Any:
    return dp.trace(function, data, neighbour, CLAIM, draws=60, scope="transcript")


def line_of(function, text) -> int:
    lines, first = inspect.getsourcelines(function)
    return int(first + next(index for index, line in enumerate(lines) if text in line))


@pytest.mark.parametrize(
    ("function", "neighbour", "epsilon"),
    [
        (unclipped_mean, LARGE, 49.1),
        (spends_twice, np.array([0.2, 0.4, 0.6, 0.8, 0.0]), 1.9),
        (scale_of_epsilon, np.array([0.2, 0.4, 0.6, 0.8, 0.0]), 9.0),
        (small_sensitivity, np.array([0.2, 0.4, 0.6, 0.8, 10.0]), 9.1),
    ],
)
def test_noise_that_does_not_pay_is_refuted_at_its_line(function, neighbour, epsilon) -> None:
    found = traced(function, DATA, neighbour)
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(epsilon, rel=1e-6)
    lines = {line.location.line for line in found.lines}
    assert line_of(function, "laplace") in lines


def test_both_lines_that_spend_the_whole_budget_are_named() -> None:
    found = traced(spends_twice, DATA, np.array([0.2, 0.4, 0.6, 0.8, 0.0]))
    spent = {line.location.line: line.largest_loss for line in found.lines}
    first, second = line_of(spends_twice, "total ="), line_of(spends_twice, "size =")
    assert spent[first] == pytest.approx(0.9)
    assert spent[second] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("function", "neighbour"), [(inferred_domain, LARGE), (keeps_missing, MISSING)]
)
def test_data_that_passes_the_noise_by_is_a_leak_with_its_place(function, neighbour) -> None:
    found = traced(function, DATA, neighbour)
    assert found.leaks
    code = function.__code__
    last = code.co_firstlineno + len(inspect.getsourcelines(function)[0])
    assert code.co_firstlineno <= found.leaks[0].location.line < last
    assert found.verdict is not Verdict.CONSISTENT


@pytest.mark.parametrize(
    ("function", "neighbour"),
    [
        (clipped_mean, LARGE),
        (clipped_mean, MISSING),
        (given_domain, LARGE),
        (spends_halves, np.array([0.2, 0.4, 0.6, 0.8, 0.0])),
    ],
)
def test_correct_twins_are_not_refuted_and_leak_nothing(function, neighbour) -> None:
    found = traced(function, DATA, neighbour)
    assert found.verdict is Verdict.CONSISTENT
    assert not found.leaks
