"""Blocks of calls are calls, to the last bit, whatever a function means by its ``size``."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpcp_audit.targets import Kind, Target

if TYPE_CHECKING:
    from collections.abc import Callable

SCORES = np.linspace(0, 1, 50)
SIZES = (1, 15, 16, 40, 300, 2, 1000)


class Counted:
    """A function that takes a size, and counts its calls."""

    def __init__(self, function: Callable[..., Any], kind: Kind = Kind.QUANTILE) -> None:
        self.function, self.kind, self.calls = function, kind, 0

    def sized(self, scores: np.ndarray, size: Any = None, *, rng: np.random.Generator) -> Any:
        """Call it with a size, where one is given."""
        self.calls += 1
        return self.function(scores, size, rng)

    def plain(self, scores: np.ndarray, *, rng: np.random.Generator) -> Any:
        """Call it without."""
        return self.function(scores, None, rng)

    def outputs(self, function: Callable[..., Any], inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Return outputs of an audit's calls."""
        target = Target.from_callable(function, kind=self.kind, name="f")
        rng = np.random.default_rng(3)
        return [target(x, size, rng=rng) for x in inputs for size in SIZES]


def drawn(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return np.clip(np.quantile(scores, 0.9) + rng.normal(size=size), 0, 1)


def vectors(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    shape = (3,) if size is None else (size, 3)
    return scores.mean() + rng.laplace(size=shape)


def window(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return np.convolve(scores, np.ones(size or 5) / (size or 5))[10] + rng.normal()


def grid(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return rng.normal() + (0.5 if size is None else np.linspace(0.5, 1, size))


def shared(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return np.full(size or (), scores.mean() + rng.normal())


def another_order(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return rng.normal(size=size) + rng.laplace(size=size)


def shared_on_some(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return (drawn if scores[0] == 0 else shared)(scores, size, rng)


def two_draws_on_some(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return (drawn if scores[0] == 0 else another_order)(scores, size, rng)


def unlike_when_long(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return drawn(scores, size, rng) if (size or 1) < 100 else shared(scores, size, rng)


def refusing(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    if size is not None:
        raise ValueError("no size")
    return rng.normal()


def constant(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
    return 0.5 if size is None else rng.normal(size=size) * 0 + 0.5


FUNCTIONS = [
    drawn,
    window,
    grid,
    shared,
    another_order,
    shared_on_some,
    two_draws_on_some,
    unlike_when_long,
    refusing,
    constant,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_outputs_are_those_of_calls_one_by_one(function) -> None:
    counted = Counted(function)
    inputs = [SCORES, SCORES + 1, SCORES]
    for ours, plain in zip(
        counted.outputs(counted.sized, inputs), counted.outputs(counted.plain, inputs), strict=True
    ):
        assert ours.tolist() == plain.tolist()


def test_arrays_are_those_of_calls_one_by_one() -> None:
    counted = Counted(vectors, Kind.VECTOR)
    ours, plain = (counted.outputs(f, [SCORES]) for f in (counted.sized, counted.plain))
    assert all(np.array_equal(one, other) for one, other in zip(ours, plain, strict=True))
    assert ours[-1].shape == (1000, 3)


def test_blocks_save_calls() -> None:
    counted = Counted(drawn)
    counted.outputs(counted.sized, [SCORES] * 10)
    assert counted.calls < 0.25 * 10 * sum(SIZES)


def test_a_state_between_calls_makes_no_block() -> None:
    numbers = count()

    def alternating(scores: np.ndarray, size: Any, rng: np.random.Generator) -> Any:
        return drawn(scores, size, rng) + next(numbers) % 2

    counted = Counted(alternating)
    counted.outputs(counted.sized, [SCORES])
    assert counted.calls >= sum(SIZES)


@pytest.mark.parametrize("style", ["seed", "global"])
def test_what_takes_no_generator_is_called_one_by_one(style) -> None:
    calls = []

    def seeded(scores: np.ndarray, size: Any = None, *, seed: int = 0) -> Any:
        calls.append(size)
        return np.random.default_rng(seed).normal(size=size)

    def unseeded(scores: np.ndarray, size: Any = None) -> Any:
        calls.append(size)
        return np.random.normal(size=size)  # noqa: NPY002

    function = {"seed": seeded, "global": unseeded}[style]
    target = Target.from_callable(function, kind=Kind.QUANTILE, name="f")
    assert len(set(target(SCORES, 64, rng=np.random.default_rng(0)).tolist())) == 64
    assert set(calls) == {None}
