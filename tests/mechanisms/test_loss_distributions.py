"""Distributions of the loss by arrays, against dp-accounting's own, loss by loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dpcp_audit.laws.loss_distributions import (
    deltas_of,
    epsilon_of,
    gaussian_step,
    self_composed,
)

STEPS = [(0.1, 0.7, 1e-3), (1.0, 3.0, 5e-3), (0.5, 0.5, 0.01)]
SIDES = [True, False]
DELTAS = [1e-9, 1e-5, 0.1, 0.99]


def theirs(rate: float, sigma: float, interval: float, *, pessimistic: bool) -> object:
    return pld.from_gaussian_mechanism(
        sigma,
        pessimistic_estimate=pessimistic,
        value_discretization_interval=interval,
        sampling_prob=rate,
        use_connect_dots=pessimistic,
    )


@pytest.mark.parametrize("pessimistic", SIDES)
@pytest.mark.parametrize(("rate", "sigma", "interval"), STEPS)
def test_a_step_and_its_compositions_are_dp_accountings(rate, sigma, interval, pessimistic) -> None:
    known = theirs(rate, sigma, interval, pessimistic=pessimistic)
    ours = gaussian_step(sigma, rate, interval=interval, pessimistic=pessimistic)
    for steps in (1, 7):
        one, other = known.self_compose(steps), self_composed(ours, steps)
        epsilons = np.linspace(0, 20, 50)
        np.testing.assert_allclose(
            deltas_of(other, epsilons), one.get_delta_for_epsilon(epsilons), atol=1e-13
        )
        for delta in DELTAS:
            assert epsilon_of(other, delta) == pytest.approx(
                one.get_epsilon_for_delta(delta), abs=1e-5
            )


@pytest.mark.parametrize("symmetric", [True, False])
def test_what_is_read_of_a_distribution_is_what_it_says(symmetric) -> None:
    """Masses at −∞, at losses between and at +∞."""
    upper = {0: math.log(0.5), 1: math.log(0.3), 2: math.log(0.2), 3: -math.inf}
    lower = {0: math.log(0.2), 1: math.log(0.3), 2: -math.inf, 3: math.log(0.5)}
    known = pld.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=1e-3, symmetric=symmetric
    )
    epsilons = np.array([0.0, 0.5, 0.9, 0.917, 2.0])
    np.testing.assert_allclose(
        deltas_of(known, epsilons), known.get_delta_for_epsilon(epsilons), rtol=1e-14
    )
    for delta in (0.0, 0.1, 0.2, 0.3, 0.49, 0.51, 0.99):
        assert epsilon_of(known, delta) == pytest.approx(known.get_epsilon_for_delta(delta))


def test_losses_whose_exponential_is_no_double_are_read_too() -> None:
    far = gaussian_step(0.02, 0.5, interval=1.0, pessimistic=True)
    assert epsilon_of(far, 1e-5) == pytest.approx(far.get_epsilon_for_delta(1e-5))
    assert epsilon_of(far, 1e-5) > 1000
