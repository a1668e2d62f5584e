"""Estimates from losses: limits on the safe side, and the values of known laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.tracing.loss_samples import LossSample


def sample_of(losses, departed=None) -> Any:
    losses = np.asarray(losses, dtype=float)
    found = np.zeros(losses.size, bool) if departed is None else np.asarray(departed)
    return LossSample(losses=losses, departed=found)


def gaussian_losses(mu, size) -> Any:
    """Return losses on a quantile grid of N(μ²/2, μ²)."""
    return mu**2 / 2 + mu * ndtri((np.arange(size) + 0.5) / size)


def test_estimates_on_a_quantile_grid_are_those_of_the_law() -> None:
    sample, law = sample_of(gaussian_losses(1.0, 4000)), GaussianPair(1.0)
    for epsilon in (0.0, 0.5, 1.0):
        found = sample.delta(epsilon, significance=0.01)
        assert found.value == pytest.approx(law.delta_at(epsilon), abs=1e-4)
        assert found.lower < law.delta_at(epsilon) < found.upper
        assert found.upper - found.lower < 0.06
    assert sample.mean == pytest.approx(0.5, abs=1e-3)
    assert sample.renyi(2.0) == pytest.approx(1.0, abs=0.02)
    assert sample.rho() == pytest.approx(0.5, abs=0.01)
    assert sample.epsilon(law.delta_at(1.0)) == pytest.approx(1.0, abs=1e-3)


def test_a_departed_path_counts_against_both_limits() -> None:
    sample = sample_of([math.inf] * 500 + [0.0] * 500, [True] * 500 + [False] * 500)
    found = sample.delta(1.0, significance=0.01)
    assert found.lower == 0.0
    assert found.upper > 0.5


def test_a_loss_at_the_claim_is_not_beyond_it() -> None:
    sample = sample_of(np.full(5000, 1 + 1e-12))
    assert sample.delta(1.0, significance=0.01).lower == 0.0
    assert sample_of(np.full(5000, 1 + 1e-2)).delta(1.0, significance=0.01).lower > 0.0


def test_the_largest_loss_is_epsilon_at_0() -> None:
    assert sample_of([0.5, -1.0, 0.25]).epsilon(0.0) == 0.5
    assert sample_of([-1.0, -2.0]).epsilon(0.0) == 0.0
    assert sample_of([math.inf, 0.0], [True, False]).epsilon(0.1) == math.inf


@pytest.mark.parametrize("alpha", [0.5, math.nan])
def test_an_order_below_1_is_refused(alpha) -> None:
    with pytest.raises(ValueError, match="alpha must be (>= 1|a number)"):
        sample_of([0.0]).renyi(alpha)


def test_the_standard_error_shrinks_with_the_root() -> None:
    small, large = (sample_of(gaussian_losses(1.0, size)) for size in (400, 40_000))
    for alpha in (1.0, 2.0):
        ratio = small.renyi_error(alpha) / large.renyi_error(alpha)
        assert ratio == pytest.approx(10, rel=0.3)


def test_a_loss_counts_less_its_error() -> None:
    losses, none = np.array([1.0, 2.0]), np.zeros(2, dtype=bool)
    sample = LossSample(losses=losses, departed=none, errors=np.array([0.0, 1.5]))
    assert sample.largest == pytest.approx(1.0, abs=1e-8)
    assert sample.exceedances(1.0, upper=False).max() == 0.0
    assert sample.exceedances(1.0, upper=True)[1] == pytest.approx(-math.expm1(-2.5))
