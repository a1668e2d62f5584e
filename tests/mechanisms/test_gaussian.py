from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.mechanisms.pcoqs_budget import Calibration, GaussianMechanism

GOOD = {"epsilon": 1.0, "delta": 1e-5}
CASES = [(8, 0.01), (0.1, 1e-5), (1, 1e-12), (0.01, 0.5), (100, 1e-5), (500, 0.9), (1e-6, 0.999)]


def test_classic_noise_scale_is_the_formula() -> None:
    """DP-SKIN's table has σ = 8.1 for ε = 0.59812 and δ = 1e-5, at sensitivity 1."""
    mechanism = GaussianMechanism(epsilon=0.59812, delta=1e-5, calibration=Calibration.CLASSIC)
    assert mechanism.noise_scale == pytest.approx(8.1, abs=5e-4)
    assert mechanism.guarantee.epsilon == 0.59812
    assert mechanism.guarantee.delta == 1e-5


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_analytic_is_sufficient_and_the_smallest(epsilon: float, delta: float) -> None:
    mechanism = GaussianMechanism(epsilon=epsilon, delta=delta)
    assert mechanism.pair().delta_at(epsilon) <= delta
    smaller = GaussianPair(1 / (mechanism.noise_scale * (1 - 1e-9)))
    assert smaller.delta_at(epsilon) > delta


def test_sample_has_the_shape_of_the_value() -> None:
    mechanism = GaussianMechanism(**GOOD)
    assert mechanism.sample(3.0, 5, rng=0).shape == (5,)
    assert mechanism.sample([[1.0, 2.0, 3.0]], 5, rng=0).shape == (5, 1, 3)
    assert np.unique(mechanism.sample([0.0, 0.0], 5, rng=0)).size == 10


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("epsilon", 0.0),
        ("delta", 0.0),
        ("delta", 1.0),
        ("sensitivity", -1.0),
        ("calibration", "classic"),
    ],
)
def test_bad_parameter_is_named(argument: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{argument} must"):
        GaussianMechanism(**GOOD | {argument: value})


def test_bad_calls_name_the_argument() -> None:
    with pytest.raises(ValueError, match=r"^value must"):
        GaussianMechanism(**GOOD).sample(math.nan, 1)
    with pytest.raises(ValueError, match=r"^size must"):
        GaussianMechanism(**GOOD).sample(0.0, 0)
