"""Distributions of the loss by arrays, against dp-accounting's own, loss by loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.laws.loss_distributions import (
    deltas_of,
    epsilon_of,
    gaussian_step,
    self_composed,
)


@pytest.mark.parametrize("pessimistic", [True, False])
@pytest.mark.parametrize(
    ("rate", "sigma", "interval"), [(0.1, 0.7, 1e-3), (1.0, 3.0, 5e-3), (0.5, 0.5, 0.01)]
)
def test_many_epsilons_are_read_as_by_dp_accounting(rate, sigma, interval, pessimistic) -> None:
    step = gaussian_step(sigma, rate, interval=interval, pessimistic=pessimistic)
    for loss in (step, self_composed(step, 7)):
        epsilons = np.linspace(0, 20, 50)
        known = [loss.get_delta_for_epsilon(each) for each in epsilons]
        np.testing.assert_allclose(deltas_of(loss, epsilons), known, atol=1e-13)


def test_a_composition_is_between_its_two_sides_and_close() -> None:
    """Seven releases of the Gaussian mechanism are one of √7 times the shift."""
    sides = [
        self_composed(gaussian_step(3.0, 1.0, interval=1e-3, pessimistic=side), 7)
        for side in (False, True)
    ]
    for epsilon in (0.5, 1.0, 3.0):
        exact = GaussianPair(math.sqrt(7) / 3).delta_at(epsilon)
        low, high = (float(deltas_of(loss, np.array([epsilon]))[0]) for loss in sides)
        assert low < exact < high < 1.05 * low + 1e-9


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
