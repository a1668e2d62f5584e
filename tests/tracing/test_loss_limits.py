"""Limits of losses hold at their confidence, and are not vacuous."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.tracing.line_losses import (
    epsilon_limits,
    quantile_limits,
    renyi_lower_limit,
    rho_lower_limit,
)
from dpcp_audit.tracing.loss_samples import LossSample

REPETITIONS, PATHS, RHO, RARE = 2000, 200, 0.5, 1e-9
MOST = int(binom.isf(RARE, REPETITIONS, 0.05))


def samples(paths, count, seed) -> list[LossSample]:
    """Return losses of a Gaussian release, ρ-zCDP with ρ = ½."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(RHO, math.sqrt(2 * RHO), size=(count, paths))
    return [LossSample(losses=each, departed=np.zeros(paths, bool)) for each in drawn]


@pytest.mark.statistical(false_alarm=2e-9)
def test_the_limits_of_epsilon_and_of_quantiles_hold_at_their_confidence() -> None:
    exact = GaussianPair(math.sqrt(2 * RHO)).epsilon_at(0.1)
    place = norm(RHO, math.sqrt(2 * RHO)).ppf(0.9)
    epsilon = quantile = 0
    for sample in samples(PATHS, REPETITIONS, 1):
        low, high = epsilon_limits(sample, 0.1, significance=0.05)
        epsilon += not low <= exact <= high
        low, high = quantile_limits(sample, 0.9, significance=0.05)
        quantile += not low <= place <= high
    assert epsilon <= MOST
    assert quantile <= MOST


@pytest.mark.statistical(false_alarm=2e-9)
def test_the_lower_limits_of_divergences_hold_at_their_confidence() -> None:
    """A hundred repetitions; D_2 = 1 and ρ = ½. A study has 2,000 of traced code."""
    missed = [0, 0]
    for sample in samples(PATHS, 100, 2):
        missed[0] += renyi_lower_limit(sample, 2.0, significance=0.05) > 2 * RHO
        missed[1] += rho_lower_limit(sample, significance=0.05) > RHO
    assert max(missed) <= binom.isf(RARE, 100, 0.05)


@pytest.mark.statistical(false_alarm=1e-9)
def test_the_limits_are_not_vacuous() -> None:
    """Of 20,000 paths; they are some five standard errors from failing."""
    (sample,) = samples(20_000, 1, 3)
    exact = GaussianPair(math.sqrt(2 * RHO)).epsilon_at(0.1)
    low, high = epsilon_limits(sample, 0.1, significance=0.05)
    assert 0.9 * exact < low < high < 1.1 * exact
    assert 0.4 * RHO < rho_lower_limit(sample, significance=0.05) <= RHO * 1.2
    assert epsilon_limits(sample, 0.0, significance=0.05) == (sample.largest, math.inf)


@pytest.mark.known_bad
def test_paths_that_depart_may_lose_anything() -> None:
    """One path in ten departs: nothing follows of them from below, and all from above."""
    departed = np.arange(100) < 10
    losses = np.where(departed, np.inf, 0.1)
    sample = LossSample(losses=losses, departed=departed)
    low, high = epsilon_limits(sample, 0.01, significance=0.05)
    assert low <= 0.1
    assert high == math.inf
    assert quantile_limits(sample, 0.95, significance=0.05).upper == math.inf
    assert rho_lower_limit(sample, significance=0.05) <= 0.1


def test_too_few_paths_give_no_upper_limit() -> None:
    sample = LossSample(losses=np.full(20, 0.5), departed=np.zeros(20, bool))
    assert epsilon_limits(sample, 0.01, significance=0.05).upper == math.inf
    assert epsilon_limits(sample, 0.9, significance=0.05).lower == 0.0
    assert quantile_limits(sample, 0.01, significance=0.05).lower == -math.inf
