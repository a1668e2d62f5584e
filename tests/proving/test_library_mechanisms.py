"""Mechanisms of diffprivlib: proofs of right functions, no proof of wrong ones, and their laws."""

import abc
import importlib.metadata
import itertools
import math
import os
import random
import secrets
import types
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpcp_audit as dp
from dpcp_audit.proving.charges import decimal
from dpcp_audit.proving.loss_distributions import delta_of_rho

mechanisms = pytest.importorskip("diffprivlib.mechanisms")
right = pytest.importorskip("proving.correct_functions_libraries")
wrong = pytest.importorskip("proving.attack_functions_libraries")
N = 20


@pytest.mark.parametrize("row", right.RIGHT, ids=lambda row: row[0].__name__)
def test_a_right_function_is_proved(row) -> None:
    function, claim, expected = row
    found = dp.prove(function, claim, n=N)
    assert found.proved, (found.place, found.reason)
    assert expected is None or found.total == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("row", right.AT_ONCE, ids=lambda row: row[0].__name__)
def test_a_function_with_too_little_noise_is_not_proved(row) -> None:
    function, claim, _ = row
    assert not dp.prove(function, claim, n=N, options={"less": 0.99}).proved


@pytest.mark.parametrize("row", wrong.LIBRARIES, ids=lambda row: row.name)
def test_a_wrong_function_is_not_proved(row) -> None:
    assert not dp.prove(row.function, row.claim, n=N).proved


def log(x: float) -> float:
    return 0.0 * x


class AnyNumber(float):
    """A number that is equal to all others, and makes nothing of what it multiplies."""

    __hash__ = float.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __mul__(self, other: object) -> float:
        return 0.0


class Halved(random.Random):
    def normalvariate(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        return super().normalvariate(mu, sigma / 2)


class Getter(property):
    def __get__(self, instance: object, owner: object = None) -> object:
        return lambda value: value


class Hider:
    __func__ = mechanisms.Laplace.randomise

    def __get__(self, instance: object, owner: object = None) -> object:
        return lambda value: value


INSTANCE_CHECK = abc.ABCMeta.__instancecheck__


def watched(cls: type, value: object) -> bool:
    return INSTANCE_CHECK(cls, value)


ELSEWHERE = {**vars(mechanisms.laplace), "math": None}
SAMPLER = mechanisms.Laplace._laplace_sampler


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (mechanisms.laplace.np, "log", np.vectorize(log)),
        (mechanisms.laplace.np, "pi", AnyNumber(math.pi)),
        (random, "RECIP_BPF", AnyNumber(0.0)),
        (random, "int", float),
        (mechanisms.laplace, "float", lambda x: 0.0),
        (
            mechanisms.Laplace,
            "_laplace_sampler",
            staticmethod(types.FunctionType(SAMPLER.__code__, ELSEWHERE)),
        ),
        (mechanisms.Laplace, "randomise", Hider()),
        (mechanisms.Laplace, "randomise", Getter(mechanisms.Laplace.randomise)),
        (mechanisms.laplace, "__file__", mechanisms.__file__ + "/../../../other.py"),
        (mechanisms.Laplace, "randomise", lambda self, value: value),
        (mechanisms.Laplace, "_laplace_sampler", staticmethod(lambda *uniforms: 0.0)),
        (mechanisms.Laplace, "_check_all", mechanisms.LaplaceFolded._check_all),
        (
            mechanisms.Laplace,
            "__getattribute__",
            object.__getattribute__,
        ),
        (mechanisms.base.DPMechanism, "__init__", lambda self, **given: None),
        (mechanisms.base, "check_random_state", lambda seed, secure: np.random.RandomState(0)),
        (mechanisms.Laplace.__init__, "__kwdefaults__", {"delta": 0.0, "random_state": 3}),
        (mechanisms.base.check_random_state, "__defaults__", (True,)),
        (mechanisms.laplace, "np", math),
        (mechanisms.laplace.np, "log", np.exp),
        (mechanisms.laplace.np, "cos", lambda x: 0.0),
        (mechanisms.laplace.np, "pi", 0.0),
        (random, "RECIP_BPF", 0.0),
        (secrets.SystemRandom, "random", lambda self: 0.5),
        (abc.ABCMeta, "__instancecheck__", watched),
        (np, "__class__", type("Module", (types.ModuleType,), {})),
        (mechanisms.base.inspect, "__class__", type("Module", (types.ModuleType,), {})),
        (mechanisms.base.inspect, "getfullargspec", lambda function: None),
        (importlib.metadata, "version", lambda name: "0.9.1"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_patched_library_proves_nothing(owner, name, value, monkeypatch) -> None:
    monkeypatch.setattr(owner, name, value, raising=False)
    assert not dp.prove(right.mean, dp.PureDP(1.0), n=N).proved


def test_a_function_of_c_that_is_replaced_wherever_it_is_named_proves_nothing(monkeypatch) -> None:
    for owner, name in ((random, "_urandom"), (os, "urandom")):
        monkeypatch.setattr(owner, name, bytes)
    assert not dp.prove(right.mean, dp.PureDP(1.0), n=N).proved


def test_another_base_of_the_systems_generator_proves_nothing() -> None:
    kept = random.SystemRandom.__bases__
    random.SystemRandom.__bases__ = (Halved,)
    try:
        assert not dp.prove(right.mean, dp.PureDP(1.0), n=N).proved
    finally:
        random.SystemRandom.__bases__ = kept


def test_another_mechanism_under_a_name_proves_nothing(monkeypatch) -> None:
    monkeypatch.setattr(mechanisms, "Laplace", mechanisms.Uniform)
    assert not dp.prove(right.mean_as_attribute, dp.PureDP(1.0), n=N).proved


def test_a_class_under_the_name_of_another_proves_nothing(monkeypatch) -> None:
    posing = type("Laplace", (wrong.Quiet,), {"__module__": "diffprivlib.mechanisms.laplace"})
    monkeypatch.setattr(wrong.Quiet, "__module__", "diffprivlib.mechanisms.laplace")
    monkeypatch.setattr(mechanisms, "Laplace", posing)
    assert not dp.prove(right.mean_as_attribute, dp.PureDP(1.0), n=N).proved


LAWS = {
    "Laplace": (
        mechanisms.Laplace(epsilon=0.5, sensitivity=1.5, random_state=0),
        stats.laplace(scale=3.0),
    ),
    "both": (
        mechanisms.Laplace(epsilon=0.5, delta=0.2, sensitivity=1.0, random_state=0),
        stats.laplace(scale=1 / (0.5 - math.log(0.8))),
    ),
    "Gaussian": (
        mechanisms.Gaussian(epsilon=0.5, delta=0.1, sensitivity=1.0, random_state=0),
        stats.norm(scale=2 * math.sqrt(2 * math.log(12.5))),
    ),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.statistical(false_alarm=1e-7)
def test_noise_has_the_law_that_is_assumed(name) -> None:
    """False alarm at most 1e-7 each, by the p-value of a Kolmogorov test."""
    mechanism, law = LAWS[name]
    drawn = [mechanism.randomise(2.0) - 2.0 for _ in range(4_000)]
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-7


GAMMA, STEP, DECAY = 0.3, 2.0, math.exp(-0.8)


def stair_density(x: np.ndarray) -> np.ndarray:
    """The staircase of ε = 0.8, in steps of 2, of which the first 30 % are higher."""
    whole, inside = np.divmod(np.abs(x), STEP)
    height = (1 - DECAY) / (2 * STEP * (GAMMA + DECAY * (1 - GAMMA)))
    return height * DECAY ** (whole + (inside >= GAMMA * STEP))


def stair_cdf(x: np.ndarray) -> np.ndarray:
    whole, inside = np.divmod(np.abs(x), STEP)
    height = (1 - DECAY) / (2 * STEP * (GAMMA + DECAY * (1 - GAMMA)))
    low = np.minimum(inside, GAMMA * STEP) + DECAY * np.maximum(inside - GAMMA * STEP, 0)
    beyond = height * DECAY**whole * low + (1 - DECAY**whole) / 2
    return 0.5 + np.sign(x) * beyond


@pytest.mark.statistical(false_alarm=1e-7)
def test_staircase_noise_has_the_law_that_is_assumed() -> None:
    """False alarm at most 1e-7, by the p-value of a Kolmogorov test."""
    mechanism = mechanisms.Staircase(epsilon=0.8, sensitivity=STEP, gamma=GAMMA, random_state=0)
    drawn = [mechanism.randomise(2.0) - 2.0 for _ in range(4_000)]
    assert stats.kstest(drawn, stair_cdf).pvalue > 1e-7


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_staircase_loses_epsilon_for_each_step(steps) -> None:
    """Also where the shift is a little more than a step, as the next one is begun."""
    x = np.linspace(-9, 9, 20_001) + 1e-7
    for shift, most in ((steps * STEP - 1e-9, steps), (steps * STEP + 0.01, steps + 1)):
        loss = np.max(np.log(stair_density(x) / stair_density(x + shift)))
        assert loss == pytest.approx(0.8 * most, rel=1e-9)


def test_the_cost_of_a_staircase_is_of_whole_steps() -> None:
    found = dp.prove(wrong.short_step, dp.PureDP(2.0), n=N)
    assert found.proved
    assert found.total == 2.0


@pytest.mark.statistical(false_alarm=1e-7)
def test_discrete_gaussian_noise_has_the_law_that_is_assumed() -> None:
    """False alarm at most 1e-7: each of nine counts is binomial, at 6 standard deviations."""
    mechanism = mechanisms.GaussianDiscrete(epsilon=1.0, delta=0.01, random_state=0)
    sigma = vars(mechanism)["_scale"]
    places = np.arange(-200, 201)
    law = np.exp(-(places**2) / (2 * sigma**2))
    law /= law.sum()
    drawn = np.array([mechanism.randomise(3) - 3 for _ in range(4_000)])
    for place in range(-4, 5):
        chance = law[place + 200]
        error = math.sqrt(len(drawn) * chance * (1 - chance))
        assert abs(np.sum(drawn == place) - len(drawn) * chance) < 6 * error


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
@pytest.mark.parametrize(("sigma", "moved"), [(0.7, 1), (2.0, 1), (2.0, 3), (9.0, 4)])
def test_the_delta_of_rho_is_above_that_of_discrete_gaussian_noise(epsilon, sigma, moved) -> None:
    """By the exact law: δ(ε) = Σ max(0, p(k) - e^ε·p(k - Δ)). It is the least over all orders."""
    places = np.arange(-400, 401)
    law = np.exp(-(places**2) / (2 * sigma**2))
    law /= law.sum()
    exact = np.maximum(law[moved:] - math.exp(epsilon) * law[:-moved], 0).sum()
    rho = Fraction(moved**2) / (2 * decimal(sigma) ** 2)
    found = float(delta_of_rho(rho, decimal(epsilon)))
    assert found >= exact
    order = 1 + np.logspace(-4, 4, 20_001)
    bounds = (order - 1) * (order * float(rho) - epsilon) + order * np.log1p(-1 / order)
    best = np.exp(np.min(bounds - np.log(order - 1)))
    assert found == pytest.approx(min(1.0, best), rel=1e-3)


@pytest.mark.statistical(false_alarm=1e-7)
def test_geometric_noise_has_the_rate_that_is_assumed() -> None:
    """False alarm at most 1e-7: each of eight counts is binomial, at 6 standard deviations."""
    mechanism = mechanisms.Geometric(epsilon=1.0, sensitivity=2, random_state=0)
    drawn = np.array([mechanism.randomise(3) - 3 for _ in range(4_000)])
    rate = math.exp(-0.5)
    for place in range(-3, 5):
        chance = (1 - rate) / (1 + rate) * rate ** abs(place)
        error = math.sqrt(len(drawn) * chance * (1 - chance))
        assert abs(np.sum(drawn == place) - len(drawn) * chance) < 6 * error


def staircase(x: np.ndarray, epsilon: float, gamma: float) -> np.ndarray:
    """Return the distribution function of staircase noise of sensitivity 1."""
    low, step = math.exp(-epsilon), np.floor(np.abs(x))
    part, first = np.abs(x) - step, gamma + (1 - gamma) * math.exp(-epsilon)
    within = np.minimum(part, gamma) + low * np.maximum(part - gamma, 0)
    inside = 1 - low**step * (1 - (1 - low) * within / first)
    return 0.5 + np.sign(x) * inside / 2


OTHERS = {
    "uniform": (
        mechanisms.Uniform(delta=0.1, sensitivity=1.0, random_state=0),
        lambda x: np.clip(x / 10 + 0.5, 0, 1),
    ),
    "staircase": (
        mechanisms.Staircase(epsilon=0.8, sensitivity=1.0, gamma=0.3, random_state=0),
        lambda x: staircase(x, 0.8, 0.3),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.statistical(false_alarm=1e-7)
def test_noise_that_is_charged_at_once_has_the_law_that_is_assumed(name) -> None:
    """False alarm at most 1e-7 each, by the p-value of a Kolmogorov test."""
    mechanism, law = OTHERS[name]
    drawn = [mechanism.randomise(2.0) - 2.0 for _ in range(4_000)]
    assert stats.kstest(drawn, law).pvalue > 1e-7


def permuted(weights: np.ndarray) -> np.ndarray:
    """Return the law of permute-and-flip with these chances to be accepted, of three."""
    found = np.zeros(3)
    for first, second, third in itertools.permutations(range(3)):
        rest = 1 - weights[[first, second]]
        found[first] += weights[first] / 6
        found[second] += rest[0] * weights[second] / 6
        found[third] += rest.prod() * weights[third] / 6
    return found / found.sum()


@pytest.mark.parametrize("name", ["Exponential", "PermuteAndFlip", "GaussianDiscrete"])
@pytest.mark.statistical(false_alarm=1.1e-7)
def test_whole_numbers_have_the_law_that_is_assumed(name) -> None:
    """False alarm at most 1.1e-7: each of at most seven counts is binomial, at 6 deviations."""
    weights = np.exp(np.array([-1.0, 0.0, -2.0]) / 2)
    chances, start = weights / weights.sum(), 0
    if name == "GaussianDiscrete":
        mechanism, start = mechanisms.GaussianDiscrete(epsilon=1.0, delta=0.1, random_state=0), -3
        weights = np.exp(-(np.arange(-60, 61) ** 2) / (2 * mechanism._scale**2))
        chances = (weights / weights.sum())[57:64]
        drawn = np.array([mechanism.randomise(0) for _ in range(4_000)])
    else:
        chances = permuted(weights) if name == "PermuteAndFlip" else chances
        made = getattr(mechanisms, name)(
            epsilon=1.0, sensitivity=1, utility=[1, 2, 0], random_state=0
        )
        drawn = np.array([made.randomise() for _ in range(4_000)])
    for place, chance in enumerate(chances, start):
        error = math.sqrt(len(drawn) * chance * (1 - chance))
        assert abs(np.sum(drawn == place) - len(drawn) * chance) < 6 * error


UTILITIES = st.lists(st.floats(-4, 4), min_size=3, max_size=3).map(np.array)


@given(UTILITIES, UTILITIES)
def test_a_choice_costs_at_most_the_span_of_the_change(before, after) -> None:
    """Scale 1/2: half of the largest change less the smallest one."""
    changes = before - after
    for law in (lambda weights: weights / weights.sum(), permuted):
        laws = [law(np.exp((each - each.max()) / 2)) for each in (before, after)]
        assert np.abs(np.log(laws[0] / laws[1])).max() <= np.ptp(changes) / 2 + 1e-9


@pytest.mark.parametrize("distance", [0.2, 1.0, 1.3, 2.0])
def test_staircase_noise_costs_epsilon_for_each_step(distance) -> None:
    ends = np.linspace(-8, 8, 1_601)
    mass = np.diff(staircase(ends, 0.8, 0.3)), np.diff(staircase(ends + distance, 0.8, 0.3))
    assert np.abs(np.log(mass[0] / mass[1])).max() == pytest.approx(0.8 * math.ceil(distance))
