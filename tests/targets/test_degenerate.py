"""Outputs that are no independent draws."""

from __future__ import annotations

import random

import numpy as np
import pytest
from level_limits import LevelTest
from support.samplers import context, laplace, on_pair, response

from dpcp_audit.stats.samples import serial_dependence
from dpcp_audit.targets.answers import (
    PROBED,
    DegenerateTargetError,
    Randomness,
    draw,
    draw_each,
    probe,
    require_independent,
    unprobed,
)
from dpcp_audit.targets.answers import DegenerateTargetError as DependentOutputsError
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.results import Verdict


def reseeds(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    return value + np.random.default_rng(42).laplace(size=size)


def reseeds_global(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    np.random.seed(42)  # noqa: NPY002
    return value + np.random.laplace(size=size)  # noqa: NPY002


def numpy_global(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    return value + np.random.laplace(size=size)  # noqa: NPY002


def python_global(value: float, size: int, *, rng: np.random.Generator) -> list[float]:
    return [value + random.expovariate(1.0) - random.expovariate(1.0) for _ in range(size)]


def rarely_global(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """Draws from the global generator and hardly ever uses it."""
    rare = np.random.laplace(size=size)  # noqa: NPY002
    return np.where(rng.random(size) < 1e-9, rare, value + rng.laplace(size=size))


def entropy(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    return value + np.random.default_rng().laplace(size=size)


def seeds_global_from_rng(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """Legacy code, adapted: its global generator is seeded from the rng."""
    np.random.seed(rng.integers(2**32))  # noqa: NPY002
    return value + np.random.laplace(size=size)  # noqa: NPY002


def constant(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    return np.full(size, 3.0)


def rare(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(size) < 0.02).astype(float)


def probed(sample: object, randomness: Randomness = Randomness.GENERATOR) -> None:
    """Probe a target on two inputs, as audits do."""
    for seed, value in enumerate((0.0, 1.0)):
        probe(sample, value, randomness=randomness, rng=seed)  # type: ignore[arg-type]


def verdict(sample: object, randomness: Randomness = Randomness.GENERATOR) -> Verdict:
    check = on_pair(sample, PureDP(1.0), draws=4000, randomness=randomness)  # type: ignore[arg-type]
    return check(context(0, significance=1e-6)).verdict


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (reseeds, "^reseeds seeds itself"),
        (reseeds_global, "^reseeds_global seeds itself"),
        (numpy_global, "from the global state of numpy.random: .* declare Randomness.EXTERNAL"),
        (python_global, "from the global state of random: "),
        (rarely_global, "from the global state of numpy.random"),
        (entropy, "^entropy gives other outputs when it is handed the same rng again"),
        (lambda v, size, *, rng: rng.normal(size=size) * np.nan, "got NaN"),
        (lambda v, size, *, rng: rng.normal(size=size - 1), r"got shape \(63,\)"),
        (lambda v, size, *, rng: np.empty((size, 0)), r"got shape \(64, 0\)"),
    ],
)
def test_a_degenerate_target_is_an_error(sample: object, message: str) -> None:
    with pytest.raises(DegenerateTargetError, match=message):
        probed(sample)


@pytest.mark.parametrize("value", [3.0, np.inf])
def test_a_constant_is_an_error(value: float) -> None:
    with pytest.raises(DegenerateTargetError, match="the same value in all of"):
        verdict(lambda v, size, *, rng: np.full(size, value))


@pytest.mark.parametrize("sample", [numpy_global, python_global, entropy])
def test_outside_randomness_can_be_declared(sample: object) -> None:
    assert verdict(sample, Randomness.EXTERNAL) is not Verdict.REFUTED


@pytest.mark.parametrize("sample", [reseeds, reseeds_global])
def test_a_fixed_seed_cannot(sample: object) -> None:
    with pytest.raises(DegenerateTargetError, match="seeds itself"):
        probed(sample, Randomness.EXTERNAL)


def test_a_constant_can_be_declared_and_noise_is_none() -> None:
    assert verdict(constant, Randomness.NONE) is not Verdict.REFUTED
    with pytest.raises(
        DegenerateTargetError, match=r"declared to use no randomness and returns diff"
    ):
        probed(laplace(1.0), Randomness.NONE)


@pytest.mark.parametrize("sample", [rare, response(3.0)])
def test_sound_targets_pass_the_probe(sample: object) -> None:
    """Rare outputs often agree in one short draw: a few more tell them from a fixed seed."""
    for seed in range(200):
        probe(sample, 0.0, rng=seed)  # type: ignore[arg-type]


def test_legacy_code_that_is_seeded_from_the_rng_is_sound() -> None:
    assert verdict(seeds_global_from_rng) is not Verdict.REFUTED


@pytest.mark.parametrize("sample", [numpy_global, python_global, seeds_global_from_rng])
def test_the_global_states_are_left_alone(sample: object) -> None:
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    expected = np.random.default_rng(0).random(), np.random.random(), random.random()  # noqa: NPY002, S311
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    probe(sample, 0.0, randomness=Randomness.EXTERNAL, rng=0)  # type: ignore[arg-type]
    assert (np.random.random(), random.random()) == expected[1:]  # noqa: NPY002, S311


def test_draw_takes_vectors_and_infinities() -> None:
    rng = np.random.default_rng(0)
    assert draw(lambda v, size, *, rng: np.full((size, 2), np.inf), 0, 5, rng=rng).shape == (5, 2)


def test_one_output_on_each_of_many_inputs() -> None:
    def sample(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.full((size, 2) if value else size, value)

    rng = np.random.default_rng(0)
    assert draw_each(sample, [0.0, 0.0], rng=rng).tolist() == [0.0, 0.0]
    assert draw_each(sample, [1.0, 2.0], rng=rng).tolist() == [[1.0, 1.0], [2.0, 2.0]]
    with pytest.raises(DegenerateTargetError, match="as many numbers on each input"):
        draw_each(sample, [0.0, 1.0], rng=rng)
    with pytest.raises(DegenerateTargetError, match="got NaN"):
        draw_each(sample, [0.0, np.nan, 0.0][1:2], rng=rng)


SIGNIFICANCE = 0.01


def refused(*batches: np.ndarray) -> bool:
    try:
        require_independent(*batches, significance=SIGNIFICANCE)
    except DependentOutputsError:
        return True
    return False


def test_the_probe_and_the_tests_share_the_significance() -> None:
    assert unprobed(0.05) + PROBED * 0.05 == pytest.approx(0.05)


@pytest.mark.statistical(false_alarm=1e-6)
def test_independent_outputs_are_refused_as_seldom_as_said() -> None:
    """False alarm at most 1e-6: 600 probes that would refuse at 5e-3, and none does at 1e-6.

    At ten times that it passes with probability below 1e-3.
    """
    test = LevelTest(level=5e-3, repetitions=600, false_alarm=1e-6)
    assert test.passes(10 * test.level) < 1e-3
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(test.repetitions):
        batches = rng.normal(size=200), rng.integers(3, size=200)
        found = filter(None, map(serial_dependence, batches))
        alarms += any(each.p_value <= test.level / len(batches) for each in found)
        assert not refused(*batches)
    assert alarms <= test.most


def test_one_draw_in_three_that_is_reused_is_refused() -> None:
    """At a significance of 1e-3 / 21: the first stage's, where an audit of a run probes least."""
    rng = np.random.default_rng(0)
    for size in (400, 1200):
        draws = rng.laplace(size=size)
        reused = rng.random(size) < 1 / 3
        outputs = draws.copy()
        for i in np.flatnonzero(reused[1:]) + 1:
            outputs[i] = outputs[i - 1]
        with pytest.raises(DependentOutputsError):
            require_independent(outputs, outputs, significance=1e-3 / 21)


@pytest.mark.parametrize("batch", [np.zeros(500), np.full(500, np.inf)])
def test_a_deterministic_target_is_none_of_its_business(batch) -> None:
    require_independent(batch, batch, significance=SIGNIFICANCE)


def test_the_message_names_the_lag_the_statistic_and_what_to_do() -> None:
    reused = np.repeat(np.random.default_rng(0).normal(size=200), 2)
    with pytest.raises(DependentOutputsError) as caught:
        require_independent(np.zeros(100), reused, significance=1e-6)
    message = str(caught.value)
    assert "depend on each other: at lag 1, large outputs follow each other " in message
    assert " times in 397, where independent outputs do " in message
    assert message.endswith("draw anew for each, or let one call return one output")
