"""How functions are called: conventions, forms of data, names of arguments."""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.made_targets import SCORES, drawn, plain, quantile

import dpcp_audit as dp
from dpcp_audit.targets import (
    Kind,
    RandomStyle,
    Target,
    TargetError,
)
from dpcp_audit.targets.answers import DataForm, Randomness, handed_over, probe
from dpcp_audit.words.results import Verdict
from dpcp_audit.words.values import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    assert target.source.file.endswith(("test_calling.py", "made_targets.py"))


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
            "unexpected keyword argument 'epsilonn'\nhint: did you mean 'epsilon'?",
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


TWO_SCORES = np.array([0.25, 0.5])
PAIR = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, 0])


def form_drawn(
    function, value: Any = TWO_SCORES, kind: Kind = Kind.QUANTILE, **settings: Any
) -> list[float]:
    target = Target.from_callable(function, kind=kind, **settings)
    return target(value, 3, rng=np.random.default_rng(0)).tolist()


def test_lists_are_plain() -> None:
    assert handed_over(TWO_SCORES, DataForm.LIST) == [0.25, 0.5]
    assert handed_over((TWO_SCORES, TWO_SCORES), DataForm.LIST) == [[0.25, 0.5]] * 2
    assert type(handed_over(TWO_SCORES, DataForm.LIST)[0]) is float


def test_frames_and_tensors_are_what_libraries_take() -> None:
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    assert isinstance(handed_over(TWO_SCORES, DataForm.FRAME), pandas.Series)
    assert isinstance(handed_over(PAIR[0], DataForm.FRAME), pandas.DataFrame)
    assert handed_over(TWO_SCORES, DataForm.TENSOR).dtype is torch.float64
    assert form_drawn(lambda x: x.mean(), given_as=DataForm.FRAME) == [0.375] * 3
    assert form_drawn(lambda x: x.mean(), given_as=DataForm.TENSOR) == [0.375] * 3


def test_what_a_function_does_to_its_tensor_harms_nothing() -> None:
    pytest.importorskip("torch")
    kept = TWO_SCORES.copy()
    form_drawn(lambda x: x.mul_(2).sum(), given_as=DataForm.TENSOR)
    np.testing.assert_array_equal(kept, TWO_SCORES)


def test_generators_by_any_name() -> None:
    expected = np.random.default_rng(0).random(3).tolist()
    assert form_drawn(lambda x, *, generator: generator.random()) == expected
    assert form_drawn(lambda rng, x: rng.random()) == expected


def test_seeds_by_any_name() -> None:
    seeds = np.random.default_rng(0).integers(2**31, size=3).tolist()
    assert form_drawn(lambda x, *, random_state: random_state) == seeds
    assert form_drawn(lambda x, *, key: key) == seeds
    assert form_drawn(lambda x, *, key=7: key) == [7.0] * 3


def test_the_generator_of_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def noisy(x, *, generator) -> float:
        return torch.rand(1, generator=generator).item()

    first = form_drawn(noisy, given_as=DataForm.TENSOR)
    assert len(set(first)) == 3
    assert form_drawn(noisy, given_as=DataForm.TENSOR) == first


def test_data_are_told_by_their_names_whatever_the_order() -> None:
    def swapped(y, probs) -> float:
        return probs[0, y[0]]

    assert form_drawn(swapped, PAIR, Kind.CALIBRATOR) == [0.75] * 3
    assert form_drawn(lambda a, b: a[0, b[0]], PAIR, Kind.CALIBRATOR) == [0.75] * 3


@pytest.mark.known_bad
def test_a_quantile_of_lists_is_audited_and_traced() -> None:
    def middle(scores, *, generator, scale=1.0) -> float:
        assert isinstance(scores, list)
        return sum(scores) + generator.laplace(scale=scale)

    settings: dict[str, Any] = {"given_as": "list", "n": 5, "draws": 800}
    assert dp.audit(middle, dp.PureDP(1.0), **settings).verdict is not Verdict.REFUTED
    broken = dp.audit(middle, dp.PureDP(1.0), options={"scale": 0.3}, **settings)
    assert broken.verdict is Verdict.REFUTED


def test_a_command_is_sent_json() -> None:
    with pytest.raises(ValueError, match="given_as must be one of array, list, frame, tensor"):
        dp.audit(lambda x: 0.5, dp.PureDP(1.0), given_as="series")


def test_a_call_that_raises_says_in_what_form_its_data_were() -> None:
    pytest.importorskip("pandas")
    with pytest.raises(TargetError, match=r"of shape \(2,\), given as a Series, or as a DataFrame"):
        form_drawn(lambda x: x.iloc[:, 0].mean(), given_as=DataForm.FRAME)


def test_an_end_that_there_is_not_is_none() -> None:
    assert Pair().read((0, None), "bounds") == (0.0, np.inf)
    assert Pair().read(("none", 1), "bounds") == (-np.inf, 1.0)
