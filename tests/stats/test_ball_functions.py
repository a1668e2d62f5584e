from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_ndtr

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.enclosures import (
    _stretch,
    ball,
    composed_delta,
    ends,
    exact,
    gaussian_delta,
    laplace_delta,
    normal_cdf,
    response_keep,
)

SHIFTS = st.floats(0.01, 20.0)
EPSILONS = st.floats(0.0, 20.0)


@pytest.mark.parametrize("x", [-300.0, -38.5, -8.0, -1e-9, 0.0, 0.7, 8.3, 40.0])
def test_the_normal_law_has_full_relative_accuracy_in_both_tails(x: float) -> None:
    low, high = ends(lambda: normal_cdf(ball(x)).log())
    assert low == pytest.approx(log_ndtr(x), rel=1e-13, abs=1e-300)
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


@given(SHIFTS, EPSILONS)
def test_the_gaussian_profile_is_that_of_the_doubles(shift: float, epsilon: float) -> None:
    low, high = ends(lambda: gaussian_delta(shift, epsilon))
    found = GaussianPair(shift).delta_at(epsilon)
    assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9) + 1e-300
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


@pytest.mark.parametrize(
    ("shift", "epsilon", "largest"),
    [(1.0, 700.0, 5e-324), (1.0, 1e300, 5e-324), (1e300, 1.0, 1.0000000000000002)],
)
def test_far_gaussian_profiles(shift: float, epsilon: float, largest: float) -> None:
    low, high = ends(lambda: gaussian_delta(shift, epsilon))
    assert low <= high <= largest


@given(st.lists(SHIFTS, min_size=1, max_size=2), EPSILONS)
def test_the_laplace_profile_is_that_of_the_doubles(shifts: list[float], epsilon: float) -> None:
    low, high = ends(lambda: laplace_delta(shifts, epsilon))
    assert low - 1e-12 <= LaplacePair(shifts).delta_at(epsilon) <= high + 1e-12


@given(st.lists(SHIFTS, min_size=1, max_size=2))
def test_the_laplace_profile_ends_at_the_sum_of_the_shifts(shifts: list[float]) -> None:
    assert ends(lambda: laplace_delta(shifts, sum(map(ball_free, shifts)))) == (0.0, 0.0)


def ball_free(shift: float) -> int:
    """Return a whole number above a shift, so that sums are exact."""
    return math.ceil(shift)


@pytest.mark.parametrize(
    ("low", "high", "epsilon"),
    [(-1.0, 0.5, 3.0), (-0.5, 0.5, 0.5), (0.5, 1.5, -1.5), (-1.5, -1.0, 0.25)],
)
def test_a_stretch_is_an_integral(low: float, high: float, epsilon: float) -> None:
    """Of e^(x/2)·δ(ε − x) of a coordinate that is moved by two noise scales."""
    x = np.linspace(low, high, 20_001)
    delta = [LaplacePair([2.0]).delta_at(abs(at)) for at in (epsilon - x).tolist()]
    # δ(−ε) = 1 − e^(−ε) + e^(−ε)·δ(ε)
    signed = np.where(epsilon >= x, delta, -np.expm1(epsilon - x) + np.exp(epsilon - x) * delta)
    expected = np.trapezoid(np.exp(x / 2) * signed, x)
    found = _stretch(exact(low), exact(high), exact(epsilon), exact(2.0))
    assert float(found) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_a_stretch_of_no_length_is_exactly_0() -> None:
    assert _stretch(exact(0.3), exact(0.3), exact(0.5), exact(2.0)).is_zero()


@given(st.floats(0.01, 8.0), st.integers(2, 12))
def test_randomised_response(epsilon: float, k: int) -> None:
    response = KaryRandomizedResponse(epsilon, k)
    keep = ends(lambda: response_keep(epsilon, k))
    assert keep == pytest.approx((response.keep_probability,) * 2, rel=1e-14)


def test_balls_shrink_with_the_precision() -> None:
    assert gaussian_delta(1, 1).rad() < arb(1e-12)


@pytest.mark.parametrize("told", [0.0, 0.1])
@pytest.mark.parametrize(("shift", "promised", "epsilon"), [(0.7, 1.0, 0.5), (2.0, 0.3, 1.5)])
def test_a_response_beside_gaussian_noise_composes(shift, promised, epsilon, told) -> None:
    """Against the integral of (p(x) − e^ε q(x))₊ over the noise, for each reply of the response."""
    x = np.linspace(-12.0, 12.0 + shift, 400_001)
    kept = 1 / (1 + math.exp(-promised))
    one, other = stats.norm.pdf(x - shift), stats.norm.pdf(x)
    excess = [
        np.maximum(0.0, p * one - math.exp(epsilon) * q * other).sum() * (x[1] - x[0])
        for p, q in ((kept, 1 - kept), (1 - kept, kept))
    ]
    low, high = ends(lambda: composed_delta(ball(shift), epsilon, promised=promised, told=told))
    assert low <= high
    assert (low + high) / 2 == pytest.approx(told + (1 - told) * sum(excess), abs=1e-8)
