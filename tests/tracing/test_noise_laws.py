"""Laws of standard draws against SciPy's, and SciPy's own, taken apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcp_audit.tracing import draws
from dpcp_audit.tracing.draws import LAPLACE, described, scipy_law

CONTINUOUS = [
    (draws.NORMAL, stats.norm()),
    (draws.LAPLACE, stats.laplace()),
    (draws.EXPONENTIAL, stats.expon()),
    (draws.GUMBEL, stats.gumbel_r()),
    (draws.UNIFORM, stats.uniform()),
]
DISCRETE = [
    (draws.counted_law("geometric", 0.3), stats.geom(0.3)),
    (draws.counted_law("geometric", 0.999), stats.geom(0.999)),
    (draws.counted_law("poisson", 4.0), stats.poisson(4.0)),
    (draws.counted_law("poisson", 0.0), stats.poisson(0.0)),
    (draws.counted_law("binomial", 10, 0.3), stats.binom(10, 0.3)),
    (draws.counted_law("binomial", 3, 1.0), stats.binom(3, 1.0)),
]


@pytest.mark.parametrize(("law", "known"), CONTINUOUS, ids=lambda each: getattr(each, "name", ""))
def test_a_continuous_law_is_scipys(law, known) -> None:
    z = np.linspace(-4, 6, 41)
    with np.errstate(divide="ignore"):
        assert np.exp(law.log_point(z)) == pytest.approx(known.pdf(z), rel=1e-12, abs=1e-300)
        low, high = (grid.ravel() for grid in np.meshgrid(z, z))
        expected = np.maximum(0.0, known.cdf(high) - known.cdf(low))
        assert np.exp(law.log_interval(low, high)) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("law", "known"), DISCRETE)
def test_a_discrete_law_is_scipys(law, known) -> None:
    z = np.arange(-2.0, 14.0)
    assert np.exp(law.log_point(z)) == pytest.approx(known.pmf(z), rel=1e-10, abs=1e-300)
    low, high = (grid.ravel() for grid in np.meshgrid(z, z))
    expected = np.maximum(0.0, known.cdf(high) - known.cdf(low - 1))
    assert np.exp(law.log_interval(low, high)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("law", "low", "high", "expected"),
    [
        (draws.NORMAL, 40.0, 41.0, stats.norm.logsf(40.0)),
        (draws.NORMAL, -41.0, -40.0, stats.norm.logcdf(-40.0)),
        (draws.LAPLACE, 300.0, np.inf, -300.0 - np.log(2)),
        (draws.EXPONENTIAL, 500.0, 501.0, -500 + np.log(-np.expm1(-1.0))),
        (draws.GUMBEL, 200.0, np.inf, -200.0),
        (draws.counted_law("geometric", 0.5), 1001.0, np.inf, -1000 * np.log(2)),
    ],
)
def test_a_small_probability_keeps_its_digits(law, low, high, expected) -> None:
    found = law.log_interval(np.array([low]), np.array([high]))
    assert found == pytest.approx([expected], rel=1e-10)


def test_the_support_holds_the_mass() -> None:
    for law, known in DISCRETE:
        low, high = law.support()
        assert known.cdf(high) - known.cdf(low - 1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "law",
    [
        scipy_law("t", (3.0,)),
        scipy_law("logistic"),
        scipy_law("cauchy"),
        scipy_law("gamma", (2.0,)),
    ],
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


@pytest.mark.parametrize(
    "law", [scipy_law("dlaplace", (0.5,)), draws.counted_law("discrete gaussian", 2.5)], ids=str
)
def test_discrete_intervals_are_sums(law) -> None:
    low, high = np.array([-3.0, 2.0, -math.inf]), np.array([4.0, 2.0, math.inf])
    found = np.exp(law.log_interval(low, high))
    assert found[0] == pytest.approx(np.exp(law.log_point(np.arange(-3.0, 5.0))).sum())
    assert found[1] == pytest.approx(float(np.exp(law.log_point(np.array([2.0])))[0]))
    assert found[2] == pytest.approx(1.0)
    assert law.discrete
    assert law.drawn(np.random.default_rng(0)) == int(law.drawn(np.random.default_rng(0)))


def test_tails_keep_their_precision() -> None:
    law = scipy_law("logistic")
    found = law.log_interval(np.array([200.0]), np.array([201.0]))
    assert found[0] == pytest.approx(-200 + math.log(-math.expm1(-1)))


def test_a_frozen_distribution_is_taken_apart() -> None:
    assert described(stats.laplace(3, scale=2)) == (LAPLACE, 3.0, 2.0)
    assert described(stats.t(5, 1.0)) == (scipy_law("t", (5.0,)), 1.0, 1.0)


@pytest.mark.parametrize("law", [3.0, stats.norm(math.nan), stats.norm(0, -1)])
def test_what_is_no_law_is_said(law) -> None:
    with pytest.raises(ValueError, match="law must"):
        described(law)


def test_a_place_outside_of_a_list_is_impossible() -> None:
    law = draws.counted_law("choice", (0.2, 0.8))
    found = law.log_point(np.array([-14.0, -1.0, 0.0, 1.0, 2.0]))
    assert np.exp(found) == pytest.approx([0.0, 0.0, 0.2, 0.8, 0.0])
