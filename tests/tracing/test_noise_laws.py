"""Laws of draws against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcp_audit.tracing import noise_laws

CONTINUOUS = [
    (noise_laws.NORMAL, stats.norm()),
    (noise_laws.LAPLACE, stats.laplace()),
    (noise_laws.EXPONENTIAL, stats.expon()),
    (noise_laws.GUMBEL, stats.gumbel_r()),
    (noise_laws.UNIFORM, stats.uniform()),
]
DISCRETE = [
    (noise_laws.GeometricLaw(0.3), stats.geom(0.3)),
    (noise_laws.GeometricLaw(0.999), stats.geom(0.999)),
    (noise_laws.PoissonLaw(4.0), stats.poisson(4.0)),
    (noise_laws.PoissonLaw(0.0), stats.poisson(0.0)),
    (noise_laws.BinomialLaw(10, 0.3), stats.binom(10, 0.3)),
    (noise_laws.BinomialLaw(3, 1.0), stats.binom(3, 1.0)),
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
        (noise_laws.NORMAL, 40.0, 41.0, stats.norm.logsf(40.0)),
        (noise_laws.NORMAL, -41.0, -40.0, stats.norm.logcdf(-40.0)),
        (noise_laws.LAPLACE, 300.0, np.inf, -300.0 - np.log(2)),
        (noise_laws.EXPONENTIAL, 500.0, 501.0, -500 + np.log(-np.expm1(-1.0))),
        (noise_laws.GUMBEL, 200.0, np.inf, -200.0),
        (noise_laws.GeometricLaw(0.5), 1001.0, np.inf, -1000 * np.log(2)),
    ],
)
def test_a_small_probability_keeps_its_digits(law, low, high, expected) -> None:
    found = law.log_interval(np.array([low]), np.array([high]))
    assert found == pytest.approx([expected], rel=1e-10)


def test_the_support_holds_the_mass() -> None:
    for law, known in DISCRETE:
        low, high = law.support()
        assert known.cdf(high) - known.cdf(low - 1) == pytest.approx(1.0)
