"""How a function is called: the arguments that it takes, and those that it may not have."""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.targets import (
    RandomStyle,
    TargetError,
)
from dpcp_audit.targets.degenerate import Randomness, probe

if TYPE_CHECKING:
    from collections.abc import Iterator
from support.made_targets import SCORES, drawn, plain, quantile


def test_options_are_handed_over_in_every_call() -> None:
    target = quantile(lambda scores, scale, *, offset=0: scale + offset, options={"scale": 2.0})
    assert drawn(target) == [2.0] * 4


class Calibration:
    def method(self, scores, *, rng) -> float:
        return rng.random()

    @staticmethod
    def static(scores, *, rng) -> float:
        return rng.random()

    def __call__(self, scores, *, rng) -> float:
        return rng.random()


@pytest.mark.parametrize(
    "function",
    [
        plain,
        functools.partial(plain, level=1.0),
        Calibration(),
        Calibration().method,
        Calibration.static,
        lambda scores, rng: rng.random(),
        lambda *data, **keywords: keywords["rng"].random(),
    ],
)
def test_anything_that_can_be_called_is_called(function) -> None:
    target = quantile(function, rng=RandomStyle.GENERATOR)
    assert drawn(target) == np.random.default_rng(0).random(4).tolist()
    assert target.source is not None
    assert target.source.file.endswith(("test_calling_convention.py", "made_targets.py"))


def test_c_code_without_a_signature_is_called() -> None:
    assert drawn(quantile(max)) == [0.75] * 4
    assert quantile(max).source is None


@pytest.mark.parametrize(
    ("function", "style", "randomness"),
    [
        (lambda scores, *, rng: rng.random(), None, Randomness.GENERATOR),
        (lambda scores, rng=None: rng.random(), RandomStyle.GENERATOR, Randomness.GENERATOR),
        (lambda scores, *, seed: seed, None, Randomness.GENERATOR),
        (lambda scores, random_state=None: random_state, None, Randomness.GENERATOR),
        (lambda scores, *, seed, size=1: seed, RandomStyle.SEED, Randomness.GENERATOR),
        (lambda scores: np.random.random(), None, Randomness.EXTERNAL),  # noqa: NPY002
        (lambda scores: random.random(), RandomStyle.GLOBAL, Randomness.EXTERNAL),  # noqa: S311
        (lambda scores, *, rng: rng.random(), RandomStyle.GLOBAL, Randomness.EXTERNAL),
    ],
)
def test_runs_repeat_and_draws_differ(function, style, randomness) -> None:
    target = quantile(function, rng=style)
    assert target.randomness is randomness
    assert len(set(drawn(target, size=50))) == 50
    assert drawn(target, size=50) == drawn(target, size=50)
    assert set(drawn(target, size=50)).isdisjoint(drawn(target, size=50, seed=1))
    probe(target, SCORES, randomness=target.randomness, rng=0)


async def coroutine(scores) -> float:
    return 1.0


def generator(scores) -> Iterator[float]:
    yield 1.0


class Fitted:
    def fit(self, features, labels) -> None: ...


class Asynchronous:
    async def __call__(self, scores) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (Calibration, "Calibration is a class\nhint: name a function, or an object's method"),
        (coroutine, "coroutine is an async function"),
        (functools.partial(coroutine), "is an async function"),
        (Asynchronous(), "is an async function"),
        (Fitted(), "has a fit\nhint: its kind is predictor, with predict_set"),
        (Fitted, "has a fit\nhint: its kind is predictor, with predict_set"),
        (generator, "generator is a generator function\nhint: return the result"),
        (0.5, "float is no function, but of type float\nhint: give the function itself"),
    ],
)
def test_what_is_no_function_is_refused(function, words) -> None:
    with pytest.raises(TargetError, match=words):
        quantile(function)


@pytest.mark.parametrize(
    ("function", "settings", "words"),
    [
        (
            lambda scores, epsilon, *, rng: 1.0,
            {},
            (
                r"\(scores, epsilon, \*, rng\) cannot be called as a quantile, with "
                r"\(scores, rng=…\): missing a required argument: 'epsilon'\n"
                r"hint: give 'epsilon' a value in the target's options"
            ),
        ),
        (
            lambda: 1.0,
            {},
            "too many positional arguments\nhint: wrap it in a function of this form",
        ),
        (lambda scores, size, *, rng: 1.0, {}, "takes 'size' is vectorised: set vectorised"),
        (lambda scores, *, rng: 1.0, {"vectorised": True}, "takes the keyword 'size': add it"),
        (
            lambda scores, *, rng, epsilon=1: 1.0,
            {"options": {"epsilonn": 2}},
            "unexpected keyword argument 'epsilonn'\nhint: its options are rng, epsilon",
        ),
        (
            lambda scores: 1.0,
            {"rng": RandomStyle.GENERATOR},
            "'rng'\nhint: add the keyword 'rng', or set randomness to how it takes its own",
        ),
        (lambda scores: 1.0, {"rng": RandomStyle.SEED}, "add the keyword 'seed'"),
        (Calibration.method, {}, "missing a required argument: 'scores'"),
    ],
)
def test_other_arguments_are_told_before_any_call(function, settings, words) -> None:
    with pytest.raises(TargetError, match=words):
        quantile(function, **settings)
