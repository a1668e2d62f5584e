"""What paths show together: δ(ε) and divergences of a sample, and composed noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from support.followed_paths import trace_pair

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.tracing.pair_traces import ComposedNoise, LossSample


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


def test_a_loss_counts_less_its_error() -> None:
    losses, none = np.array([1.0, 2.0]), np.zeros(2, dtype=bool)
    sample = LossSample(losses=losses, departed=none, errors=np.array([0.0, 1.5]))
    assert sample.largest == pytest.approx(1.0, abs=1e-8)
    assert sample.exceedances(1.0, upper=False).max() == 0.0
    assert sample.exceedances(1.0, upper=True)[1] == pytest.approx(-math.expm1(-2.5))


X, Y = np.zeros(4), np.array([0.0, 0.0, 0.0, 1.0])


def composed(function) -> Any:
    return trace_pair(function, X, Y, draws=4, rng=0, release=False).composed


def test_gaussian_noises_are_one_of_the_squares_and_laplace_noises_stand_alone() -> None:
    def mixed(x, *, rng) -> Any:
        first = x.sum() + rng.normal(scale=2.0) > 1
        second = 3 * x.sum() + rng.normal(scale=2.0) > 1
        return first, second, x.sum() + rng.laplace(scale=4.0), 0 + rng.laplace()

    (found,) = composed(mixed)
    assert found == ComposedNoise(gaussian=round(math.sqrt(2.5), 10), laplace=(0.25,))
    assert found.pairs == [GaussianPair(found.gaussian), LaplacePair((0.25,))]
    assert found.whole


def test_one_draw_counts_once_however_often_it_is_compared() -> None:
    def clamped(x, *, rng) -> Any:
        noisy = x.sum() + rng.laplace(scale=2.0)
        return min(max(noisy, 0), 3) / 2

    assert set(composed(clamped)) == {ComposedNoise(laplace=(0.5,))}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, *, rng: x.sum() + rng.laplace() > rng.laplace(),
        lambda x, *, rng: int(np.argmax(x + rng.gumbel(size=4))),
        lambda x, *, rng: x[int(rng.integers(4))] + rng.laplace(scale=1.0),
        lambda x, *, rng: bool(rng.random() < 0.5 + x.sum() / 4),
        lambda x, *, rng: x.sum() + rng.normal(scale=1 + x.sum()),
    ],
    ids=["sparse vector", "peak", "sample", "response", "scale of data"],
)
def test_what_composition_does_not_speak_of_is_not_counted(function) -> None:
    for found in composed(function):
        assert not found.whole
        assert found.pairs == []
