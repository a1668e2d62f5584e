"""Accounting of DP-SGD: closed forms, three accountants, relations, the region of a training."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.rdp import RdpAccountant
from opacus.accountants import PRVAccountant
from scipy.optimize import brentq
from scipy.special import ndtr

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian, noise_multiplier_for
from dpcp_audit.words.guarantees import Relation

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "account_training.md"
RATES = np.array([1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999])
USUAL = SubsampledGaussian(sampling_rate=0.05, steps=400, noise_multiplier=1.0)


def step_delta(q: float, sigma: float, epsilon: float, relation: Relation) -> float:
    """Return one step's δ(ε), of the worse direction: the loss is monotone in the output."""
    other = -1.0 if relation is Relation.SUBSTITUTION else 0.0

    def loss(x: float) -> float:
        parts = [math.log1p(q * math.expm1((2 * m * x - 1) / (2 * sigma**2))) for m in (1, other)]
        return parts[0] - (parts[1] if other else 0.0)

    def mass(centre: float, x: float, sign: float) -> float:
        return float((1 - q) * ndtr(sign * x / sigma) + q * ndtr(sign * (x - centre) / sigma))

    far = 40.0
    deltas = []
    for sign, target in ((-1.0, epsilon), (1.0, -epsilon)):
        if not loss(-far) < target < loss(far):
            continue
        x = brentq(lambda x, target=target: loss(x) - target, -far, far, xtol=1e-14)
        with_one, without = mass(1.0, x, sign), mass(other, x, sign)
        first, second = (with_one, without) if sign < 0 else (without, with_one)
        deltas.append(first - math.exp(epsilon) * second)
    return max([0.0, *deltas])


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.SUBSTITUTION])
@pytest.mark.parametrize(("q", "sigma"), [(0.3, 1.0), (0.05, 0.7)])
def test_one_step_lies_between_the_bounds(q: float, sigma: float, relation: Relation) -> None:
    step = SubsampledGaussian(sampling_rate=q, steps=1, noise_multiplier=sigma, relation=relation)
    for epsilon in (0.0, 0.2, 0.8):
        exact = step_delta(q, sigma, epsilon, relation)
        assert step.delta_below(epsilon) <= exact + 1e-12
        assert step.delta_at(epsilon) >= exact - 1e-12
        assert step.delta_at(epsilon) == pytest.approx(exact, rel=1e-3, abs=1e-9)
        assert step.delta_below(epsilon) == pytest.approx(exact, rel=0.02, abs=1e-6)


@pytest.mark.parametrize(
    ("steps", "sigma", "relation"),
    [
        (1, 0.8, Relation.SUBSTITUTION),
        (9, 8.1, Relation.ADD_REMOVE),
        (400, 10.0, Relation.SUBSTITUTION),
    ],
)
def test_full_participation_is_the_gaussian_mechanism(
    steps: int, sigma: float, relation: Relation
) -> None:
    training = SubsampledGaussian(
        sampling_rate=1.0, steps=steps, noise_multiplier=sigma, relation=relation
    )
    moved = 2.0 if relation is Relation.SUBSTITUTION else 1.0
    exact = GaussianPair(moved * math.sqrt(steps) / sigma)
    for delta in (1e-3, 1e-5, 1e-8):
        epsilon = exact.epsilon_at(delta)
        assert epsilon <= training.epsilon_at(delta) <= epsilon * 1.001
        assert epsilon * 0.99 <= training.epsilon_below(delta) <= epsilon
    power = 1 - exact.tradeoff(RATES)
    assert (training.power(RATES) >= power).all()
    assert training.power(RATES) == pytest.approx(power, rel=1e-3)
    assert training.advantage() == pytest.approx(exact.delta_at(0.0), rel=1e-3)


def test_the_region_is_that_of_the_profile() -> None:
    """The power's envelope and δ(ε) say the same; and nothing is allowed beyond either."""
    for epsilon in (0.0, 0.5, 2.0, 5.0):
        rates = np.concatenate([np.geomspace(1e-12, 1e-3, 2000), np.linspace(1e-3, 1, 2000)])
        excess = float((USUAL.power(rates) - math.exp(epsilon) * rates).max())
        assert excess == pytest.approx(USUAL.delta_at(epsilon), rel=1e-3, abs=1e-9)
    assert USUAL.allows(0.3, 0.3)
    assert not USUAL.allows(0.9, 0.01)
    assert USUAL.power(0.0) < 1e-11
    assert USUAL.power(1.0) == 1.0


def test_the_moments_accountant_is_looser_and_prv_within_its_error() -> None:
    pld, error = USUAL.epsilon_at(1e-5), 0.01
    moments = RdpAccountant()
    moments.compose(
        PoissonSampledDpEvent(USUAL.sampling_rate, GaussianDpEvent(USUAL.noise_multiplier)),
        USUAL.steps,
    )
    assert pld < moments.get_epsilon(1e-5) < 1.2 * pld
    variables = PRVAccountant()
    variables.history = [(USUAL.noise_multiplier, USUAL.sampling_rate, USUAL.steps)]
    with warnings.catch_warnings():  # its Rényi orders only set how wide its grid is
        warnings.filterwarnings("ignore", "Optimal order", UserWarning)
        prv = variables.get_epsilon(1e-5, eps_error=error)
    assert abs(prv - error - pld) < error


def test_relations_are_ordered() -> None:
    """Zero-out has the pair of add/remove; substitution costs more, at most a group of two."""
    one, zero, both = (
        replace(USUAL, relation=relation)
        for relation in (Relation.ADD_REMOVE, Relation.ZERO_OUT, Relation.SUBSTITUTION)
    )
    assert one.epsilon_at(1e-5) == zero.epsilon_at(1e-5)
    group = 2 * one.epsilon_at(1e-5 / (1 + math.exp(one.epsilon_at(1e-8))))
    assert one.epsilon_at(1e-5) < both.epsilon_at(1e-5) < group


def test_the_noise_for_a_budget_spends_it() -> None:
    for relation in (Relation.ADD_REMOVE, Relation.SUBSTITUTION):
        sigma = noise_multiplier_for(
            epsilon=4.0, delta=1e-5, sampling_rate=0.05, steps=400, relation=relation
        )
        training = replace(USUAL, noise_multiplier=sigma, relation=relation)
        assert 3.99 < training.epsilon_at(1e-5) <= 4.0
    gaussian = noise_multiplier_for(epsilon=8.0, delta=1e-5, sampling_rate=1.0, steps=1)
    assert GaussianPair(1 / gaussian).epsilon_at(1e-5) == pytest.approx(8.0, rel=1e-3)


def test_rare_participation_over_many_steps_is_bounded_by_a_grid_of_a_few_million_points() -> None:
    """Of rate 1e-6 over 1e5 steps nobody enters any step with probability e^(−0.1)."""
    rare = SubsampledGaussian(sampling_rate=1e-6, steps=100_000, noise_multiplier=1.0)
    assert 0 < rare.epsilon_at(1e-6) < 0.01
    assert rare.advantage() < -math.expm1(-0.1)


def test_no_noise_is_enough_for_a_delta_below_all_rounding() -> None:
    assert math.isinf(USUAL.epsilon_at(0.0))
    assert math.isinf(replace(USUAL, steps=1).epsilon_at(1e-14))
    with pytest.raises(ValueError, match="within reach, got 1.0 and 1e-15"):
        noise_multiplier_for(epsilon=1.0, delta=1e-15, sampling_rate=0.1, steps=10)


def test_the_page_on_accounting_says_what_its_code_prints(capsys) -> None:
    page = PAGE.read_text(encoding="utf-8")
    code, shown = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "text")
    )
    exec(compile(code[0], str(PAGE), "exec"), {})  # noqa: S102  (the page's own words)
    assert capsys.readouterr().out == shown[0]


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"sampling_rate": 0.0}, "sampling_rate"),
        ({"sampling_rate": 1.5}, "sampling_rate"),
        ({"steps": 2.5}, "steps"),
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"relation": Relation.ONE_LABEL}, "relation"),
        ({"relation": "substitution"}, "relation"),
    ],
)
def test_bad_guarantees_are_refused(bad: dict[str, float], name: str) -> None:
    good = {"sampling_rate": 0.1, "steps": 10, "noise_multiplier": 1.0}
    with pytest.raises(ValueError, match=f"^{name} must"):
        SubsampledGaussian(**(good | bad))


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="^relation must be zero-out or substitution"):
        SubsampledGaussian.shuffled(epochs=2, noise_multiplier=1.0, relation=Relation.ADD_REMOVE)
    with pytest.raises(ValueError, match="^fpr must"):
        USUAL.power(1.1)
