"""Sums that are read before, after or in place of their parts: the equations of the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.followed_paths import trace_pair

import dpcp_audit as dp
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpcp_audit.words.arrays import FloatArray

pytestmark = pytest.mark.known_bad

_X = [0.1, 0.1, 0.3, 0.6, 0.9]
_Y = [0.6, 0.1, 0.3, 0.6, 0.9]
"""One score moves from the first bin to the third: two counts change by 1."""


def _counts(x: list[float], rng: Generator, scale: float) -> Any:
    counts = np.histogram(x, bins=[0, 0.25, 0.5, 0.75, 1.0])[0]
    return counts + rng.laplace(scale=scale, size=4)


def total_first(x: list[float], *, rng: Generator, scale: float = 1.0) -> list[float]:
    noisy = _counts(x, rng, scale)
    return [float(noisy.sum()), *(float(each) for each in noisy)]


def shares(x: list[float], *, rng: Generator, scale: float = 1.0) -> list[float]:
    noisy = _counts(x, rng, scale)
    total = noisy.sum()
    return [float(each / total) for each in noisy]


def marginals_first(x: list[float], *, rng: Generator, scale: float = 1.0) -> list[float]:
    noisy = _counts(x, rng, scale).reshape(2, 2)
    rows, columns = noisy.sum(axis=0), noisy.sum(axis=1)
    return [float(each) for each in (*rows, *columns, *noisy.ravel())]


def twice_what_is_left(x: list[float], *, rng: Generator, scale: float = 1.0) -> list[float]:
    noisy = _counts(x, rng, scale)
    both, apart = noisy[0] + noisy[2], noisy[0] - noisy[2]
    return [float(both), float(apart), float(noisy[1]), float(noisy[0])]


@pytest.mark.parametrize("mechanism", [total_first, shares, marginals_first, twice_what_is_left])
@pytest.mark.parametrize("scope", ["release", "transcript"])
def test_a_sum_and_its_parts_cost_what_the_parts_cost(mechanism: Any, scope: str) -> None:
    found = dp.trace(mechanism, _X, _Y, dp.PureDP(2), draws=30, scope=scope)
    assert found.verdict is Verdict.CONSISTENT
    assert found.epsilon() == pytest.approx(2, rel=1e-9)
    assert not found.leaks


@pytest.mark.parametrize("mechanism", [total_first, marginals_first, twice_what_is_left])
def test_with_half_the_noise_they_are_refuted(mechanism: Any) -> None:
    found = dp.trace(mechanism, _X, _Y, dp.PureDP(2), draws=30, options={"scale": 0.5})
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(4, rel=1e-9)


def test_deviations_from_the_mean_lose_less_than_the_numbers() -> None:
    def centred(x: list[float], *, rng: Generator) -> list[float]:
        noisy = _counts(x, rng, 1.0)
        mean = noisy.mean()
        return [float(each - mean) for each in noisy]

    found = dp.trace(centred, _X, _Y, dp.PureDP(2), draws=30)
    assert found.verdict is Verdict.CONSISTENT
    assert 1 < found.epsilon() <= 2 + 1e-9
    assert found.pair.released


def test_the_density_of_a_sum_and_a_part_is_that_of_both_draws() -> None:
    def scaled(x: list[float], *, rng: Generator) -> list[float]:
        first, second = rng.laplace(scale=1 + x[0], size=2)
        return [float(x[0] + 2 * first + second), float(x[0] + second)]

    def parts(x: list[float], *, rng: Generator) -> list[float]:
        first, second = rng.laplace(scale=1 + x[0], size=2)
        return [float(2 * first), float(x[0] + second)]

    x, y = [0.0], [1.0]
    sums = trace_pair(scaled, x, y, draws=50, rng=0).forward.losses
    apart = trace_pair(parts, x, y, draws=50, rng=0).forward.losses
    assert sums == pytest.approx(apart, rel=1e-9)


def test_a_count_that_the_noise_does_not_cover_is_a_leak() -> None:
    def leaks(x: list[float], *, rng: Generator) -> list[float]:
        noisy = _counts(x, rng, 1.0)
        shown = [float(noisy.sum()), *(float(each) for each in noisy)]
        return [*shown, float(noisy[0] + noisy[1] + len([each for each in x if each < 0.25]))]

    found = dp.trace(leaks, _X, _Y, dp.PureDP(2), draws=30, scope="transcript")
    assert found.verdict is Verdict.REFUTED
    assert found.leaks


@pytest.mark.parametrize("scope", ["release", "transcript"])
def test_comparisons_after_a_sum_that_is_known_are_not_judged(scope: str) -> None:
    def heavy(x: list[float], *, rng: Generator) -> list[int]:
        noisy = _counts(x, rng, 1.0)
        total = float(noisy.sum())
        return [place for place in range(4) if noisy[place] / total > 0.25]

    found = dp.trace(heavy, _X, _Y, dp.PureDP(2), draws=30, scope=scope)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert not found.leaks


def test_sums_of_whole_numbers_are_solved_too() -> None:
    def once(x: FloatArray, *, rng: Generator) -> list[int]:
        noisy = np.array([sum(x), len(x)]) + rng.geometric(0.5, size=2)
        return [int(noisy[0] + noisy[1]), int(noisy[0])]

    found = dp.trace(once, [1.0, 0.0], [1.0, 0.0 + 0.0], draws=20)
    assert found.epsilon() == 0
    moved = dp.trace(once, [1.0, 1.0], [1.0, 0.0], draws=200)
    law = [each for each in moved.pair.samples if np.isfinite(each.losses).all()]
    assert law
    assert max(each.largest for each in law) == pytest.approx(np.log(2), rel=1e-8)
