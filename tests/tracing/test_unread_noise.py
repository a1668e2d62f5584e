"""Noise that is a plain number before data is added to it: kept, and judged as it is."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.followed_paths import trace_pair

import dpcp_audit as dp
from dpcp_audit.tracing.draws import NORMAL
from dpcp_audit.tracing.outputs import without_marks
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from dpcp_audit.words.validate import FloatArray

pytestmark = pytest.mark.known_bad

X, Y = np.zeros(10), np.array([0.0] * 9 + [1.0])


def read_first(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> float:
    noise = float(rng.laplace(scale=scale))
    return float(np.sum(x)) + noise


def mapped(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> list[float]:
    first, second = map(float, rng.laplace(scale=scale, size=2))
    return [x.sum() + first, second]


def stored(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> FloatArray:
    noise = np.zeros(2)
    for place in range(2):
        noise[place] = rng.laplace(scale=scale)
    return np.array([x.sum(), 1.0]) + noise


def stored_as(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> float:
    noise = np.empty_like(x)
    noise[0] = rng.laplace(scale=scale)
    return float(x.sum() + noise[0])


def cast(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> FloatArray:
    return x.sum() + rng.laplace(scale=scale, size=2)[:1].astype(float)


def chosen_sign(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> float:
    return float(x.sum() + rng.choice([-1, 1]) * rng.exponential(scale))


def chosen_signs(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> FloatArray:
    counts = np.append(x.sum(), np.arange(7.0))
    return counts + rng.choice([-1.0, 1.0], size=8) * rng.exponential(scale, size=8)


def drawn_bit(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> float:
    sign = 2 * rng.integers(0, 2) - 1
    return float(x.sum()) + float(sign * rng.exponential(scale))


def compared_sign(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> float:
    sign = 1 if rng.random() < 0.5 else -1
    return float(x.sum() + sign * rng.exponential(scale))


def sign_of_python(x: FloatArray, *, rng: Any = None, scale: float = 1.0) -> float:
    del rng
    return float(x.sum()) + random.choice([-1, 1]) * random.expovariate(1 / scale)  # noqa: S311


def difference(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> float:
    noise = float(rng.exponential(scale) - rng.exponential(scale))
    return float(x.sum()) + noise


_LAPLACE = [
    read_first,
    mapped,
    stored,
    stored_as,
    cast,
    chosen_sign,
    chosen_signs,
    drawn_bit,
    compared_sign,
    sign_of_python,
    difference,
]


def box_muller(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> float:
    u, v = rng.random(), rng.random()
    return float(x.sum() + scale * math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v))


def both_of_box_muller(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> list[float]:
    radius = scale * np.sqrt(-2 * np.log(1 - rng.random()))
    angle = 2 * np.pi * rng.random()
    return [float(x.sum() + radius * np.cos(angle)), float(1 - radius * np.sin(angle))]


def arrays_of_box_muller(x: FloatArray, *, rng: Generator, scale: float = 1.0) -> FloatArray:
    u, v = rng.random(size=3), rng.random(size=3)
    return x.sum() * np.eye(3)[0] + scale * np.sqrt(-2 * np.log(u)) * np.sin(2 * np.pi * v)


_NORMAL = [box_muller, both_of_box_muller, arrays_of_box_muller]


@pytest.mark.parametrize("function", _LAPLACE)
def test_enough_laplace_noise_is_not_refuted(function: Any) -> None:
    found = dp.trace(function, X, Y, dp.PureDP(1), draws=20)
    assert found.verdict is Verdict.CONSISTENT
    assert found.epsilon() == pytest.approx(1, rel=1e-9)
    assert not found.leaks


@pytest.mark.parametrize("scale", [0.5, 0.9])
@pytest.mark.parametrize("function", _LAPLACE)
def test_too_little_laplace_noise_is_refuted(function: Any, scale: float) -> None:
    found = dp.trace(function, X, Y, dp.PureDP(1), draws=20, options={"scale": scale})
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(1 / scale, rel=1e-9)


@pytest.mark.parametrize("function", _NORMAL)
def test_enough_normal_noise_is_not_refuted(function: Any) -> None:
    found = dp.trace(function, X, Y, dp.ZCDP(0.5), dp.GaussianDP(1), draws=20)
    assert found.verdict is not Verdict.REFUTED
    assert found.pair.released
    assert len(found.pair.composed) == 1
    assert found.pair.composed[0].gaussian == pytest.approx(1)


@pytest.mark.parametrize("scale", [0.5, 0.9])
@pytest.mark.parametrize("function", _NORMAL)
def test_too_little_normal_noise_is_refuted(function: Any, scale: float) -> None:
    found = dp.trace(function, X, Y, dp.ZCDP(0.5), draws=150, options={"scale": scale})
    assert found.verdict is Verdict.REFUTED
    assert found.lines[0].location.line > 0


def scaled_by_data(x: FloatArray, *, rng: Generator) -> float:
    noise = float(rng.laplace(scale=1 + x.sum()))
    return float(x.sum()) + noise


def stored_by_data(x: FloatArray, *, rng: Generator) -> FloatArray:
    noise = np.zeros(1)
    noise[0] = rng.laplace(scale=1 + x.sum())
    return x.sum() + noise


def signed_by_data(x: FloatArray, *, rng: Generator) -> float:
    return float(x.sum() + rng.choice([-1, 1]) * rng.exponential(1 + x.sum()))


@pytest.mark.parametrize("function", [scaled_by_data, stored_by_data, signed_by_data])
def test_a_scale_from_the_data_is_refuted(function: Any) -> None:
    found = dp.trace(function, X, Y, dp.PureDP(1), draws=20)
    assert found.verdict is Verdict.REFUTED


def forgets(x: FloatArray, *, rng: Generator) -> float:
    noise = float(rng.laplace(scale=2.0))
    return float(x.sum()) if x.sum() > 0.5 else float(x.sum()) + noise


def forgets_to_store(x: FloatArray, *, rng: Generator) -> FloatArray:
    noise = np.zeros(2)
    for place in range(2 if x.sum() < 0.5 else 1):
        noise[place] = rng.laplace(scale=2.0)
    return x.sum() + noise


def forgets_a_sign(x: FloatArray, *, rng: Generator) -> float:
    sign = rng.choice([-1, 1]) if x.sum() < 0.5 else 1
    return float(x.sum() + sign * rng.exponential(2.0))


@pytest.mark.parametrize("function", [forgets, forgets_to_store, forgets_a_sign])
def test_noise_that_is_forgotten_is_never_consistent(function: Any) -> None:
    found = dp.trace(function, X, Y, dp.PureDP(1), draws=20)
    assert found.verdict in {Verdict.REFUTED, Verdict.INCONCLUSIVE}
    assert max(float(np.max(each.losses)) for each in found.pair.samples) == math.inf


def acts_on_arrays_of_objects(x: FloatArray, *, rng: Generator) -> FloatArray:
    noise = np.zeros(1)
    noise[0] = rng.laplace()
    return x.sum() * (1 if noise.dtype == np.float64 else 5) + noise


def acts_on_a_stand_in(x: FloatArray, *, rng: Generator) -> float:
    noise = float(rng.laplace())
    kind = type(noise)
    return float(x.sum()) * (1 if kind.__name__ == "float" else 5) + noise


@pytest.mark.parametrize("function", [acts_on_arrays_of_objects, acts_on_a_stand_in])
def test_code_that_acts_differently_where_noise_is_kept_is_not_judged(function: Any) -> None:
    found = dp.trace(function, X, Y, dp.PureDP(1), draws=30)
    assert found.verdict is Verdict.INCONCLUSIVE


def test_float_is_itself_again_after_a_trace() -> None:
    trace_pair(read_first, X, Y, draws=3)
    assert "float" not in globals()
    assert type(np.zeros(2)) is np.ndarray


def test_the_stand_in_passes_for_float() -> None:
    def typed(x: FloatArray, *, rng: Generator) -> Any:
        noise = float(rng.laplace())
        known = {float: 1.0}[float] if isinstance(noise, float) else 0.0
        zero = np.asarray([0], dtype=float).astype(float)[0]
        return float("1") * x.sum() + noise + known + zero + float.fromhex("0x0p0")

    found = dp.trace(typed, X, Y, dp.PureDP(1), draws=30)
    assert found.verdict is Verdict.CONSISTENT
    assert found.epsilon() == pytest.approx(1)


def both_waves(x: FloatArray, *, rng: Generator) -> list[float]:
    angle = 2 * np.pi * rng.random()
    return [float(x.sum() + np.cos(angle)), float(np.sin(angle))]


def another_angle(x: FloatArray, *, rng: Generator) -> list[float]:
    radius, turn = np.sqrt(-2 * np.log(rng.random())), rng.random()
    first = radius * np.cos(2 * np.pi * turn)
    return [float(x.sum() + first), float(radius * np.sin(2 * np.pi * (turn + 0.1)))]


def half_a_turn(x: FloatArray, *, rng: Generator) -> float:
    return float(x.sum() + np.sqrt(-2 * np.log(rng.random())) * np.cos(np.pi * rng.random()))


def the_radius_too(x: FloatArray, *, rng: Generator) -> list[float]:
    radius, angle = np.sqrt(-2 * np.log(rng.random())), 2 * np.pi * rng.random()
    return [float(x.sum() + radius * np.cos(angle)), float(radius)]


@pytest.mark.parametrize("function", [both_waves, another_angle, half_a_turn, the_radius_too])
def test_draws_that_are_not_independent_are_not_judged(function: Any) -> None:
    found = dp.trace(function, X, Y, dp.GaussianDP(1), draws=30)
    assert found.verdict is Verdict.INCONCLUSIVE


@pytest.mark.statistical(false_alarm=1e-7)
def test_box_and_muller_are_two_independent_normal_draws_for_the_trace_too() -> None:
    """False-alarm probability: below 1e-7 in sum, by DKW of 600 draws and by Hoeffding."""
    target, drawn = TracedTarget.of(both_of_box_muller, {}), []
    for seed in range(600):
        path = SampledRun()
        target.outputs(X, path, np.random.default_rng(seed))
        drawn.append([draw.standard for draw in path.draws if draw.law is NORMAL])
    pairs = np.array(drawn)
    assert pairs.shape == (600, 2)
    for each in pairs.T:
        below = np.exp(NORMAL.log_interval(np.full(600, -np.inf), np.sort(each)))
        assert np.abs(below - (np.arange(600) + 0.5) / 600).max() < 0.13
    assert abs(np.mean(np.sign(pairs.prod(axis=1)))) < 0.25


_DRAW: dict[str, Callable[[Generator], Any]] = {
    "integers": lambda rng: rng.integers(0, 2),
    "choice": lambda rng: rng.choice([-3, 3]),
}


@pytest.mark.parametrize("name", _DRAW)
def test_a_coin_is_what_the_generator_draws(name: str) -> None:
    def coins(x: int, *, rng: Generator) -> list[int]:
        return [int(x + _DRAW[name](rng)) for _ in range(20)]

    path = SampledRun()
    target = replace(TracedTarget.of(coins, {}), unread=True)
    found = without_marks(target.outputs(0, path, np.random.default_rng(0)))
    assert list(found[1:]) == coins(0, rng=np.random.default_rng(0))
    assert len(path.draws) == 20
