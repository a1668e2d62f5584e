"""Discrete Gaussian noise by rejection: proofs, and the exact law of what is accepted."""

import math

import numpy as np
import pytest
from proving import attack_functions_rejection as wrong
from proving import correct_functions_rejection as right

import dpcp_audit as dp

N = 20


@pytest.mark.parametrize("function", right.RIGHT, ids=lambda each: each.__name__)
def test_it_costs_what_gaussian_noise_does(function) -> None:
    rho = right.RIGHT[function]
    found = dp.prove(function, dp.ZCDP(rho * (1 + 1e-9)), n=N)
    assert found.proved, (found.place, found.reason)
    assert found.total == pytest.approx(rho, rel=1e-12)


@pytest.mark.parametrize("row", wrong.REJECTION, ids=lambda row: row.name)
def test_an_attack_is_not_proved(row) -> None:
    found = dp.prove(row.function, row.claim, n=N)
    assert not found.proved, found.total


@pytest.mark.parametrize("sigma", [0.6, 1.5, 2.0, 7.3])
def test_the_accepted_law_is_the_discrete_gaussian_one(sigma) -> None:
    """By the chances of each candidate and of its acceptance."""
    t = math.floor(sigma) + 1
    y = np.arange(-300, 301)
    accepted = np.exp(-np.abs(y) / t - (np.abs(y) - sigma**2 / t) ** 2 / (2 * sigma**2))
    gaussian = np.exp(-(y**2) / (2 * sigma**2))
    assert accepted / accepted.sum() == pytest.approx(gaussian / gaussian.sum(), abs=1e-15)


@pytest.mark.statistical(false_alarm=1e-7)
def test_the_written_loop_has_that_law() -> None:
    """False alarm at most 1e-7: each of seven counts is binomial, at 6 standard deviations."""
    rng, y = np.random.default_rng(0), np.arange(-60, 61)
    law = np.exp(-(y**2) / 4.5)
    law /= law.sum()
    drawn = np.array([right.sampled(1.5, rng) for _ in range(4_000)])
    for place in range(-3, 4):
        chance = law[place + 60]
        error = math.sqrt(len(drawn) * chance * (1 - chance))
        assert abs(np.sum(drawn == place) - len(drawn) * chance) < 6 * error


@pytest.mark.parametrize(("sigma", "moved"), [(0.5, 1), (1.5, 1), (1.5, 2), (4.0, 3)])
@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_renyi_divergences_are_those_of_gaussian_noise_at_most(sigma, moved, order) -> None:
    """The exact one of order α is at most αΔ²/(2σ²), and near it for wide noise."""
    y = np.arange(-400, 401)
    logs = -(y**2) / (2 * sigma**2)
    logs -= np.log(np.sum(np.exp(logs)))
    other = np.roll(logs, moved)[moved:]
    exact = np.log(np.sum(np.exp(order * logs[moved:] + (1 - order) * other))) / (order - 1)
    bound = order * moved**2 / (2 * sigma**2)
    assert exact <= bound * (1 + 1e-9)
    assert sigma < 1 or exact >= 0.95 * bound
