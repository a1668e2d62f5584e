"""Mechanisms of diffprivlib: proofs of right functions, no proof of wrong ones, and their laws."""

import importlib.metadata
import math
import os
import random
import secrets
import types
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpcp_audit as dp
from dpcp_audit.proving.charges import Charge, Ledger, total

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
        (mechanisms.laplace, "np", math),
        (mechanisms.laplace.np, "log", np.exp),
        (mechanisms.laplace.np, "cos", lambda x: 0.0),
        (mechanisms.laplace.np, "pi", 0.0),
        (random, "RECIP_BPF", 0.0),
        (secrets.SystemRandom, "random", lambda self: 0.5),
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


def test_a_generator_of_numpy_that_is_replaced_proves_nothing(monkeypatch) -> None:
    monkeypatch.setattr(np.random, "default_rng", lambda: np.random.Generator(np.random.PCG64(1)))
    assert not dp.prove(right.staircase, dp.PureDP(1.0), n=N).proved


def test_what_is_assumed_of_the_library_is_named() -> None:
    said = dp.prove(right.staircase, dp.PureDP(1.0), n=N).rules
    assert any("assumes that diffprivlib's Staircase" in each for each in said)


LAWS = {
    "Laplace": (mechanisms.Laplace(epsilon=0.5, sensitivity=1.5), stats.laplace(scale=3.0)),
    "both": (
        mechanisms.Laplace(epsilon=0.5, delta=0.2, sensitivity=1.0),
        stats.laplace(scale=1 / (0.5 - math.log(0.8))),
    ),
    "Gaussian": (
        mechanisms.Gaussian(epsilon=0.5, delta=0.1, sensitivity=1.0),
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


@pytest.mark.statistical(false_alarm=1e-7)
def test_geometric_noise_has_the_rate_that_is_assumed() -> None:
    """False alarm at most 1e-7: each of eight counts is binomial, at 6 standard deviations."""
    mechanism = mechanisms.Geometric(epsilon=1.0, sensitivity=2)
    drawn = np.array([mechanism.randomise(3) - 3 for _ in range(4_000)])
    rate = math.exp(-0.5)
    for place in range(-3, 5):
        chance = (1 - rate) / (1 + rate) * rate ** abs(place)
        error = math.sqrt(len(drawn) * chance * (1 - chance))
        assert abs(np.sum(drawn == place) - len(drawn) * chance) < 6 * error


@pytest.mark.statistical(false_alarm=1e-7)
def test_a_step_of_a_staircase_is_lower_by_the_claimed_factor() -> None:
    """False alarm at most 1e-7: each of six counts is binomial, at 6 standard deviations."""
    epsilon, gamma = 1.0, 0.3
    mechanism = mechanisms.Staircase(epsilon=epsilon, sensitivity=2.0, gamma=gamma)
    drawn = np.array([abs(mechanism.randomise(1.0) - 1.0) / 2.0 for _ in range(4_000)])
    rate = math.exp(-epsilon)
    height = (1 - rate) / (gamma + (1 - gamma) * rate)
    for step in range(3):
        first = rate**step * height * gamma
        second = rate ** (step + 1) * height * (1 - gamma)
        for low, high, chance in (
            (step, step + gamma, first),
            (step + gamma, step + 1, second),
        ):
            error = math.sqrt(len(drawn) * chance * (1 - chance))
            found = np.sum((low <= drawn) & (drawn < high))
            assert abs(found - len(drawn) * chance) < 6 * error


@pytest.mark.parametrize("sigma", [0.8, 2.0, 9.5])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_delta_of_concentrated_noise_is_at_least_that_of_the_discrete_gaussian(
    sigma, epsilon
) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    law = pld.from_discrete_gaussian_mechanism(sigma, sensitivity=1)
    claim = dp.ApproxDP(epsilon, 0.5)
    charge = Charge("concentrated", 1 / Fraction(str(sigma)) ** 2, 1, "noise")
    found = total(Ledger().add(charge), claim).value
    assert found is not None
    assert law.get_delta_for_epsilon(epsilon) * (1 - 1e-6) - 1e-15 <= found <= 1
    twice = total(Ledger().add(charge).add(charge), claim).value
    assert twice is not None
    assert law.self_compose(2).get_delta_for_epsilon(epsilon) * (1 - 1e-6) - 1e-15 <= twice
