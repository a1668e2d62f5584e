"""Laws of SciPy: intervals add up to points, and frozen distributions are taken apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcp_audit.tracing.noise_laws import LAPLACE, DiscreteGaussianLaw, ScipyLaw, described


@pytest.mark.parametrize(
    "law",
    [ScipyLaw("t", (3.0,)), ScipyLaw("logistic"), ScipyLaw("cauchy"), ScipyLaw("gamma", (2.0,))],
    ids=str,
)
def test_intervals_are_integrals_of_the_density(law) -> None:
    ends = np.array([-2.0, 0.1, 0.9, 3.0])
    found = np.exp(law.log_interval(ends[:-1], ends[1:]))
    for mass, low, high in zip(found, ends[:-1], ends[1:], strict=True):
        points = np.linspace(low, high, 20_001)
        density = np.exp(law.log_point(points))
        assert mass == pytest.approx(np.trapezoid(density, points), abs=1e-4)
    assert not law.discrete
    assert law.reach[0] < law.reach[1]


@pytest.mark.parametrize("law", [ScipyLaw("dlaplace", (0.5,)), DiscreteGaussianLaw(2.5)], ids=str)
def test_discrete_intervals_are_sums(law) -> None:
    low, high = np.array([-3.0, 2.0, -math.inf]), np.array([4.0, 2.0, math.inf])
    found = np.exp(law.log_interval(low, high))
    assert found[0] == pytest.approx(np.exp(law.log_point(np.arange(-3.0, 5.0))).sum())
    assert found[1] == pytest.approx(float(np.exp(law.log_point(np.array([2.0])))[0]))
    assert found[2] == pytest.approx(1.0)
    assert law.discrete
    assert law.drawn(np.random.default_rng(0)) == int(law.drawn(np.random.default_rng(0)))


def test_tails_keep_their_precision() -> None:
    law = ScipyLaw("logistic")
    found = law.log_interval(np.array([200.0]), np.array([201.0]))
    assert found[0] == pytest.approx(-200 + math.log(-math.expm1(-1)))


def test_a_frozen_distribution_is_taken_apart() -> None:
    assert described(stats.laplace(3, scale=2)) == (LAPLACE, 3.0, 2.0)
    assert described(stats.t(5, 1.0)) == (ScipyLaw("t", (5.0,)), 1.0, 1.0)


@pytest.mark.parametrize("law", [3.0, stats.norm(math.nan), stats.norm(0, -1)])
def test_what_is_no_law_is_said(law) -> None:
    with pytest.raises(ValueError, match="law must"):
        described(law)
