"""DP-SGD accounting claims: the subsampled step, epochs against steps, whole trainings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dpcp_audit.audits.accounting import Sampling, Training
from dpcp_audit.audits.evidence import Verdict
from dpcp_audit.audits.subsampled import (
    batch_bound,
    epochs_for_steps,
    subsampled_renyi,
    training_budget,
)
from dpcp_audit.mechanisms.laws import GaussianPair

NOISY = Training(n=10_015, batch_size=20, epochs=9, noise_multiplier=8.1)


@pytest.mark.parametrize(("alpha", "q", "sigma"), [(2, 0.01, 1.0), (3, 0.2, 2.0), (8, 0.5, 0.8)])
def test_the_step_is_the_integral_of_its_definition(alpha: int, q: float, sigma: float) -> None:
    def term(x: float) -> float:
        base = math.exp(-(x**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
        ratio = 1 - q + q * math.exp((2 * x - 1) / (2 * sigma**2))
        return base * ratio**alpha

    moment = quad(term, -15 * sigma, alpha + 15 * sigma, limit=400, epsabs=0)[0]
    expected = math.log(moment) / (alpha - 1)
    assert subsampled_renyi(alpha, q=q, noise_multiplier=sigma) == pytest.approx(expected, rel=1e-6)


def test_every_example_in_every_step_is_the_gaussian_mechanism() -> None:
    almost_all = subsampled_renyi(4, q=1 - 1e-12, noise_multiplier=2.0)
    assert almost_all == pytest.approx(4 / (2 * 2.0**2), rel=1e-9)


@pytest.mark.parametrize(
    ("training", "alpha", "ratio"),
    [
        (NOISY, 2, 1.0077),
        (Training(n=100, batch_size=1, epochs=1, noise_multiplier=1.0), 2, 1.72),
        (Training(n=100, batch_size=1, epochs=1, noise_multiplier=1.0), 16, 3.9e3),
    ],
)
def test_the_claimed_step_is_too_small(training: Training, alpha: int, ratio: float) -> None:
    result = batch_bound(training, alpha=alpha)
    assert result.verdict is Verdict.REFUTED
    assert result.value / result.claimed == pytest.approx(ratio, rel=0.02)


def test_epochs_are_not_steps() -> None:
    result = epochs_for_steps(NOISY, alpha=2)
    assert result.verdict is Verdict.REFUTED
    assert result.value / result.claimed == pytest.approx(1.0077 * 10_015 / 20, rel=0.01)


def test_the_table_holds_with_room_under_poisson_sampling_and_fails_without_amplification() -> None:
    poisson = training_budget(NOISY, epsilon=0.59812, delta=1e-5, sampling=Sampling.POISSON)
    shuffled = training_budget(NOISY, epsilon=0.59812, delta=1e-5, sampling=Sampling.SHUFFLED)
    assert (poisson.verdict, shuffled.verdict) == (Verdict.PROVED, Verdict.REFUTED)
    assert poisson.value == pytest.approx(0.0479, abs=1e-4)
    assert shuffled.value == pytest.approx(1.43, abs=0.01)


def test_a_whole_batch_is_a_gaussian_composition() -> None:
    """With q close to 1, the accountant's upper bound lies just above the closed form."""
    training = Training(n=1000, batch_size=999, epochs=4, noise_multiplier=3.0)
    above = training_budget(training, epsilon=9.0, delta=1e-5, sampling=Sampling.POISSON).value
    exact = GaussianPair(math.sqrt(training.steps) / 3.0).epsilon_at(1e-5)
    assert above == pytest.approx(exact, rel=0.01)


def test_bad_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="^alpha must"):
        subsampled_renyi(1, q=0.1, noise_multiplier=1.0)
    with pytest.raises(ValueError, match="^q must"):
        subsampled_renyi(2, q=float(np.float64(0)), noise_multiplier=1.0)
