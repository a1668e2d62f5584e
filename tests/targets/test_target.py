"""Functions as targets: what each kind is handed, what it may return, and what is refused."""

from __future__ import annotations

import decimal
import fractions
import functools
import random
import time
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from dpcp_audit.targets import (
    Kind,
    RandomStyle,
    Target,
    TargetError,
    TargetRaisedError,
    TargetUnusableError,
)
from dpcp_audit.targets.degenerate import DegenerateTargetError, Randomness, probe

if TYPE_CHECKING:
    from collections.abc import Iterator

SCORES = np.array([0.75, 0.25, 0.5])
PAIR = (np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([1, 0]))


def quantile(function, **settings: Any) -> Target:
    return Target.from_callable(function, kind=Kind.QUANTILE, **settings)


def randomizer(function, domain=5, **settings: Any) -> Target:
    return Target.from_callable(function, kind=Kind.RANDOMIZER, domain=domain, **settings)


def calibrator(function, **settings: Any) -> Target:
    return Target.from_callable(function, kind=Kind.CALIBRATOR, **settings)


def drawn(target: Target, value=SCORES, size=4, seed=0) -> list[float]:
    return target(value, size, rng=np.random.default_rng(seed)).tolist()


def of(answer) -> Target:
    """Return a quantile that returns one and the same object."""
    return quantile(lambda scores: answer)


def refusal(target: Target, value=SCORES, size=3) -> str:
    with pytest.raises(TargetError) as caught:
        target(value, size, rng=np.random.default_rng(0))
    message = str(caught.value)
    assert "\n" not in message
    return message


class FakeTensor:
    """What torch's scalars look like from outside."""

    ndim, shape = 0, ()

    def item(self) -> float:
        return 0.5


# What is handed over -------------------------------------------------------------------------


def test_each_kind_is_handed_its_data() -> None:
    assert drawn(quantile(lambda scores, *, rng: scores.sum() + 0 * rng.random())) == [1.5] * 4
    assert drawn(randomizer(lambda value, *, rng: (value + 1) % 5), 4) == [0.0] * 4
    assert drawn(calibrator(lambda p, labels, *, rng: p[0, labels[0]]), PAIR) == [0.25] * 4


def test_each_vectorised_kind_is_handed_its_data() -> None:
    many = quantile(lambda scores, *, rng, size: scores.max() + np.arange(size), vectorised=True)
    assert drawn(many) == [0.75, 1.75, 2.75, 3.75]
    shift = randomizer(lambda values, *, rng: (values + 1) % 5, vectorised=True)
    assert shift.reports(np.array([[4, 0], [1, 2]]), rng=np.random.default_rng(0)).tolist() == [
        [0, 1],
        [2, 3],
    ]
    both = calibrator(lambda p, labels, *, size, rng: [p[0, labels[0]]] * size, vectorised=True)
    assert drawn(both, PAIR) == [0.25] * 4


def test_one_report_is_drawn_for_each_value() -> None:
    target = randomizer(lambda value, *, rng: value if rng.random() < 0.5 else 0)
    rng = np.random.default_rng(0)
    reports = target.reports(np.array([1, 2, 3, 4] * 20), rng=rng)
    assert set(reports[::4]) == {0, 1}
    assert set(reports[3::4]) == {0, 4}
    assert reports.dtype == np.int64


def test_scores_are_writable_float64_and_changing_them_in_place_does_no_harm() -> None:
    def spoil(scores, *, rng) -> float:
        assert scores.dtype == np.float64
        first = scores[0]
        scores.sort()
        scores[:] = 0
        return first

    def spoil_both(p, labels, *, rng) -> float:
        total = p.sum() + labels.sum()
        p[:], labels[:] = 0, 0
        return total

    mine = SCORES.copy()
    assert drawn(quantile(spoil), mine) == [0.75] * 4
    assert np.array_equal(mine, SCORES)
    assert drawn(calibrator(spoil_both), PAIR) == [3.0] * 4
    assert PAIR[0].sum() == 2


@pytest.mark.parametrize("vectorised", [False, True])
def test_values_changed_in_place_do_no_harm(vectorised) -> None:
    def spoil(value, *, rng) -> Any:
        found = value + 0
        value *= 0
        return found

    values = np.array([1, 2, 3])
    target = randomizer(spoil, vectorised=vectorised)
    assert target.reports(values, rng=np.random.default_rng(0)).tolist() == [1, 2, 3]
    assert values.tolist() == [1, 2, 3]


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


def plain(scores, level=1.0, *, rng) -> float:
    return level * rng.random()


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
    assert target.source.file.endswith("test_target.py")


def test_c_code_without_a_signature_is_called() -> None:
    assert drawn(quantile(max)) == [0.75] * 4
    assert quantile(max).source is None


# How the randomness is taken -----------------------------------------------------------------


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


def test_seeds_fit_every_language() -> None:
    seeds = drawn(quantile(lambda scores, *, seed: seed), size=2000)
    assert min(seeds) >= 0
    assert 2**30 < max(seeds) < 2**31


def test_deterministic_code_can_be_declared() -> None:
    target = quantile(np.max, rng=RandomStyle.NONE)
    assert target.randomness is Randomness.NONE
    probe(target, SCORES, randomness=target.randomness, rng=0)


def test_randomness_of_its_own_is_allowed_to_code_that_is_handed_none() -> None:
    target = quantile(lambda scores: np.random.default_rng().random())
    probe(target, SCORES, randomness=target.randomness, rng=0)
    handed = quantile(lambda scores, *, rng: np.random.default_rng().random())
    with pytest.raises(DegenerateTargetError, match=r"rng alone.*\(--rng global\)"):
        probe(handed, SCORES, randomness=handed.randomness, rng=0)


@pytest.mark.parametrize("fails", [False, True])
def test_global_generators_are_left_as_they_were(fails) -> None:
    def draws(scores) -> float:
        np.random.random(), random.random()  # noqa: NPY002, S311
        if fails:
            raise ValueError("no")
        return 1.0

    def next_ones() -> tuple[float, float]:
        return np.random.random(), random.random()  # noqa: NPY002, S311

    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    expected = next_ones()
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    if fails:
        refusal(quantile(draws))
    else:
        drawn(quantile(draws))
    assert next_ones() == expected


def test_torch_is_seeded_where_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Generator:
        state = 7

        def get_state(self) -> int:
            return self.state

        def set_state(self, state: int) -> None:
            self.state = state

        manual_seed = set_state

    class FakeTorch:
        default_generator = Generator()

    monkeypatch.setitem(__import__("sys").modules, "torch", FakeTorch)
    target = quantile(lambda scores: FakeTorch.default_generator.state)
    assert drawn(target) == drawn(target) != drawn(target, seed=1)
    assert FakeTorch.default_generator.state == 7


# What may be returned ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        *(0.5, np.float64(0.5), np.float32(0.5), np.array(0.5), fractions.Fraction(1, 2)),
        *(decimal.Decimal("0.5"), FakeTensor()),
    ],
)
def test_numbers_of_every_make(answer) -> None:
    assert drawn(of(answer)) == [0.5] * 4


def test_a_conformal_threshold_may_be_infinite() -> None:
    assert drawn(of(np.inf)) == [np.inf] * 4
    assert drawn(of(-np.inf)) == [-np.inf] * 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "returned None, not a number: does it end in a return?"),
        ((0.5, 0.1), "returned a tuple of 2, not a number: return the one"),
        ([0.5], "returned a list of 1, not a number"),
        (np.array([0.5]), "array of shape (1,) and type float64, not a number: if it returns many"),
        (0.5 + 1j, "returned the complex number (0.5+1j), not a number"),
        (np.complex128(1), "returned the complex number (1+0j), not a number"),
        ("0.5", "returned the text '0.5', not a number"),
        (True, "returned True, not a number"),
        (np.bool_(False), "returned False, not a number"),
        ({}, "returned a dict, not a number"),
        (10**400, "returned a number too large"),
        (np.nan, "returned NaN in draw 1 of 3: return a number, or raise"),
        (FakeTensor, "returned a type"),
    ],
)
def test_what_is_no_number_is_refused_by_name(answer, words) -> None:
    message = refusal(of(answer))
    assert words in message
    assert "<lambda>" in message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.zeros(2), "an array of shape (2,) where the shape must be (3,)"),
        (np.zeros((3, 1)), "an array of shape (3, 1) where the shape must be (3,)"),
        (0.5, "one number where the shape must be (3,): is it vectorised?"),
        (None, "returned None, not 3 numbers"),
        (["a", "b", "c"], "returned a list of 3, not 3 numbers"),
        (np.zeros(3) * 1j, "array of shape (3,) and type complex128, not 3 numbers"),
        ([[1.0], [2.0, 3.0]], "returned a list of 2, not 3 numbers"),
        (np.array([True, False, True]), "type bool, not 3 numbers"),
        (np.array([0.0, np.nan, 0.0]), "NaN in draw 2 of 3"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_by_name(answer, words) -> None:
    assert words in refusal(quantile(lambda scores, *, size: answer, vectorised=True))


def test_a_wrong_answer_is_degenerate_and_an_exception_is_not() -> None:
    """An input on which code raises can be left out; code that returns NaN is not to be used."""
    with pytest.raises(DegenerateTargetError):
        drawn(of(np.nan))
    with pytest.raises(TargetUnusableError, match="on scores of shape"):
        drawn(of(None))
    with pytest.raises(TargetRaisedError) as caught:
        drawn(quantile(lambda scores: 1 / 0))
    assert not isinstance(caught.value, DegenerateTargetError)


def test_a_detached_tensor_of_many_numbers() -> None:
    class Many:
        def detach(self) -> Many:
            return self

        cpu = detach

        def numpy(self) -> np.ndarray:
            return np.arange(4.0)

    assert drawn(quantile(lambda scores, *, size: Many(), vectorised=True)) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("answer", [2, 2.0, np.int8(2), np.uint64(2), np.array(2)])
def test_reports_of_every_make(answer) -> None:
    assert drawn(randomizer(lambda value: answer), 0) == [2.0] * 4


def test_a_binary_report_may_be_a_truth_value() -> None:
    assert drawn(randomizer(lambda value: value == 1, domain=2), 1) == [1.0] * 4
    many = randomizer(lambda values: values == 1, domain=2, vectorised=True)
    assert drawn(many, 1) == [1.0] * 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (5, "returned 5 in draw 1 of 3, and a report must be an integer in 0..4 (domain 5)"),
        (-1, "returned -1 in draw 1"),
        (1.5, "returned 1.5 in draw 1"),
        (np.inf, "returned inf in draw 1"),
        (np.nan, "returned NaN in draw 1"),
        (None, "returned None, not a number"),
    ],
)
def test_what_is_no_report_is_refused_by_name(answer, words) -> None:
    assert words in refusal(randomizer(lambda value: answer), 0)


# What raises ---------------------------------------------------------------------------------


def helper(scores) -> float:
    raise ValueError("at least ten\nscores are needed")


def calls_a_helper(scores) -> float:
    return helper(scores)


def calls_numpy(scores) -> float:
    return float(np.quantile(scores, 2.0))


def test_an_exception_is_told_with_its_line_and_the_input() -> None:
    line = helper.__code__.co_firstlineno + 1
    message = refusal(quantile(calls_a_helper))
    assert message == (
        "calls_a_helper raised ValueError: at least ten scores are needed "
        f"(line {line}), on scores of shape (3,)"
    )
    line = calls_numpy.__code__.co_firstlineno + 1
    assert f"Quantiles must be in the range [0, 1] (line {line})" in refusal(quantile(calls_numpy))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SystemExit(3), "raised SystemExit: 3 (line"),
        (RuntimeError(), "raised RuntimeError (line"),
        (RuntimeError("x" * 1000), "x ... x"),
    ],
)
def test_every_exception_is_one_line(error, words) -> None:
    def fails(scores) -> NoReturn:
        raise error

    message = refusal(quantile(fails))
    assert words in message
    assert len(message) < 400


def test_the_interrupt_is_not_caught() -> None:
    def interrupted(scores) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drawn(quantile(interrupted))


def test_the_input_is_named_for_each_kind() -> None:
    def fails(*data: Any) -> NoReturn:
        raise ValueError("no")

    assert "on the value 3" in refusal(randomizer(fails), 3)
    assert "on 3 values" in refusal(randomizer(fails, vectorised=True), 3)
    expected = "on probabilities of shape (2, 2) and labels of shape (2,)"
    assert expected in refusal(calibrator(fails), PAIR)


# What cannot be called -----------------------------------------------------------------------


async def coroutine(scores) -> float:
    return 1.0


def generator(scores) -> Iterator[float]:
    yield 1.0


class Asynchronous:
    async def __call__(self, scores) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (Calibration, "Calibration is a class: name a function, or a method"),
        (coroutine, "coroutine is an async function"),
        (functools.partial(coroutine), "is an async function"),
        (Asynchronous(), "is an async function"),
        (generator, "generator is a generator function: return the result"),
        (0.5, "float is no function but a float"),
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
                r"\(scores, rng=…\): missing a required argument: 'epsilon'; "
                r"give a value with --option epsilon=VALUE"
            ),
        ),
        (lambda: 1.0, {}, "too many positional arguments; wrap it in a function of this form"),
        (lambda scores, size, *, rng: 1.0, {}, "takes 'size' is vectorised: say so"),
        (lambda scores, *, rng: 1.0, {"vectorised": True}, "takes the keyword 'size': add it"),
        (
            lambda scores, *, rng, epsilon=1: 1.0,
            {"options": {"epsilonn": 2}},
            "unexpected keyword argument 'epsilonn'; its options are rng, epsilon",
        ),
        (
            lambda scores: 1.0,
            {"rng": RandomStyle.GENERATOR},
            r"'rng'; add the keyword 'rng', or say how it takes its randomness \(--rng\)",
        ),
        (lambda scores: 1.0, {"rng": RandomStyle.SEED}, "add the keyword 'seed'"),
        (Calibration.method, {}, "missing a required argument: 'scores'"),
    ],
)
def test_other_arguments_are_told_before_any_call(function, settings, words) -> None:
    with pytest.raises(TargetError, match=words):
        quantile(function, **settings)


def test_a_quantile_is_no_calibrator() -> None:
    with pytest.raises(TargetError, match="as a calibrator, with .probabilities, labels, rng=…."):
        calibrator(lambda scores, *, rng: 1.0)


# Wrong use of a target -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "quantile"}, r"kind must be a Kind \(quantile, randomizer, calibrator\), got"),
        ({"kind": Kind.RANDOMIZER}, "domain must be given for a randomizer"),
        ({"kind": Kind.RANDOMIZER, "domain": 1}, "domain must be an integer >= 2, got 1"),
        ({"kind": Kind.QUANTILE, "domain": 3}, "domain must be left away for a quantile, got 3"),
        ({"kind": Kind.QUANTILE, "bounds": (1, 0)}, "bounds must be finite with a < b"),
        ({"kind": Kind.QUANTILE, "rng": "seed"}, "rng must be a RandomStyle"),
    ],
)
def test_settings_that_do_not_fit(settings, words) -> None:
    with pytest.raises(ValueError, match=words):
        Target.from_callable(plain, **settings)


def test_inputs_that_do_not_fit() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="scores must have 1 dimension"):
        quantile(plain)(np.zeros((2, 2)), 1, rng=rng)
    with pytest.raises(ValueError, match="size must be an integer >= 1, got 0"):
        quantile(plain)(SCORES, 0, rng=rng)
    with pytest.raises(ValueError, match="value must be a pair .probabilities, labels., got a int"):
        calibrator(lambda p, labels: 1.0)(3, 1, rng=rng)
    with pytest.raises(ValueError, match="labels must lie in 0..1"):
        calibrator(lambda p, labels: 1.0)((PAIR[0], [0, 2]), 1, rng=rng)
    with pytest.raises(ValueError, match="values must lie in 0..4"):
        randomizer(lambda value: 1)(5, 1, rng=rng)
    with pytest.raises(TargetError, match="only a randomizer has reports"):
        quantile(plain).reports(np.array([1]), rng=rng)


# A fixed seed --------------------------------------------------------------------------------

SEED = 42


def fixed(scores, *, rng) -> float:
    return np.random.default_rng(42).laplace()


def fixed_by_name(scores) -> float:
    np.random.seed(SEED)  # noqa: NPY002
    return np.random.random()  # noqa: NPY002


def fixed_in_a_helper(scores, *, rng) -> float:
    return fixed(scores, rng=rng) + 1


def fixed_by_keyword(scores, *, rng) -> float:
    return np.random.RandomState(seed=3).laplace()


@pytest.mark.parametrize(
    ("function", "call", "offset"),
    [
        (fixed, "np.random.default_rng(42)", 1),
        (fixed_by_name, "np.random.seed(SEED)", 1),
        (fixed_in_a_helper, "np.random.default_rng(42)", None),
        (fixed_by_keyword, "np.random.RandomState(seed=3)", 1),
        (functools.partial(fixed), "np.random.default_rng(42)", None),
    ],
)
def test_a_fixed_seed_is_shown(function, call, offset) -> None:
    line = (fixed if offset is None else function).__code__.co_firstlineno + 1
    message = refusal(quantile(function), size=20)
    assert "in all of 20 draws on one input, and seeds itself by" in message
    assert f"{call} in line {line}: draw from the rng or seed that it is handed" in message


def test_a_randomizer_with_a_fixed_seed_is_shown() -> None:
    def fixed_report(value, *, rng) -> int:
        return np.random.default_rng(0).integers(5)

    target = randomizer(fixed_report)
    assert "seeds itself by" in refusal(target, 3, size=20)
    with pytest.raises(TargetUnusableError, match="seeds itself by"):
        target.reports(np.array([1, 2] * 20), rng=np.random.default_rng(0))


def test_a_constant_without_a_fixed_seed_is_left_to_the_audit() -> None:
    assert len(drawn(quantile(np.max), size=100)) == 100
    assert len(drawn(quantile(lambda scores, *, rng: scores.max()), size=100)) == 100


def test_a_seed_that_is_handed_over_is_none_of_its_own() -> None:
    target = quantile(lambda scores, *, seed: 0 * np.random.default_rng(seed).random())
    assert drawn(target, size=20) == [0.0] * 20


# Timing --------------------------------------------------------------------------------------


def test_the_time_of_a_draw_is_measured_in_time() -> None:
    def slow(scores) -> float:
        time.sleep(0.004)
        return 1.0

    start = time.perf_counter()
    seconds = quantile(slow).seconds_per_draw(SCORES, np.random.default_rng(0), at_most_seconds=0.1)
    assert time.perf_counter() - start < 0.5
    assert 0.003 < seconds < 0.1


def test_the_time_of_a_vectorised_draw_is_shared() -> None:
    target = quantile(lambda scores, *, rng, size: rng.random(size), vectorised=True)
    rng = np.random.default_rng(0)
    assert target.seconds_per_draw(SCORES, rng, at_most_seconds=1.0) < 1e-5
    with pytest.raises(ValueError, match="at_most_seconds must be finite and > 0"):
        target.seconds_per_draw(SCORES, rng, at_most_seconds=0)
