from __future__ import annotations

import math
import sys
from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betainc, log_ndtr

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.enclosures import (
    LAST_BITS,
    _chernoff,
    _stretch,
    at_most,
    ball,
    beta_cdf,
    binomial_tails,
    composed_delta,
    ends,
    exact,
    gaussian_delta,
    laplace_delta,
    lower,
    normal_cdf,
    response_keep,
    upper,
)

RATIONALS = st.fractions() | st.builds(
    lambda x, power: x * Fraction(10) ** power, st.fractions(), st.integers(-330, 300)
)


@given(RATIONALS)
def test_ends_are_outward_and_at_most_two_doubles_apart(number: Fraction) -> None:
    """A ball that reaches over a double keeps both of its neighbours; a double itself is exact."""
    low, high = ends(number)
    assert low == -math.inf or Fraction(low) <= number
    assert high == math.inf or Fraction(high) >= number
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)
    is_double = abs(number) <= Fraction(sys.float_info.max) and float(number) == number
    assert (low == high) == is_double


@given(RATIONALS, RATIONALS)
def test_rationals_are_compared_exactly(left: Fraction, right: Fraction) -> None:
    assert at_most("", left, right).holds == (left <= right)
    assert at_most("", left, lambda: ball(right)).holds == (left < right) or left == right


@pytest.mark.parametrize("bits", [20, 60, 200, 2000, 4000])
def test_the_precision_is_raised_until_it_is_decided(bits: int) -> None:
    beside = fmpq(2**bits + 1, 2**bits)
    assert at_most("", lambda: ball(1), lambda: ball(beside)).holds
    assert not at_most("", lambda: ball(beside), lambda: ball(1)).holds


def test_what_stays_undecided_does_not_hold() -> None:
    premise = at_most("√2² ≤ 2", lambda: arb(2).sqrt() ** 2, 2)
    assert not premise.holds
    assert premise.left[0] < 2 < premise.left[1]
    closer = fmpq(2 ** (2 * LAST_BITS) + 1, 2 ** (2 * LAST_BITS))
    assert not at_most("", lambda: ball(1) / 3, lambda: ball(closer) / 3).holds


@pytest.mark.parametrize("broken", [arb(math.nan), arb(-1).log(), arb(0, math.inf)])
def test_a_ball_without_ends_decides_nothing(broken: arb) -> None:
    assert (lower(broken), upper(broken)) == (-math.inf, math.inf)
    assert not at_most("", lambda: broken, 1.0).holds
    assert not at_most("", 1.0, lambda: broken).holds


def test_infinite_sides() -> None:
    assert at_most("", fmpq(10**400), math.inf).holds
    assert at_most("", math.inf, math.inf).holds
    assert not at_most("", math.inf, 1e308).holds
    assert at_most("", -math.inf, -1e308).holds
    with pytest.raises(ValueError, match="number must be finite, got inf"):
        exact(math.inf)


def test_numbers_beyond_the_doubles_have_ends_outward() -> None:
    largest = 1.7976931348623157e308
    assert ends(fmpq(10**400)) == (largest, math.inf)
    assert ends(fmpq(-(10**400))) == (-math.inf, -largest)
    assert ends(fmpq(1, 10**400)) == (0.0, 5e-324)
    assert ends(fmpq(-1, 10**400)) == (-5e-324, 0.0)


def test_flints_precision_is_restored() -> None:
    before = ctx.prec
    at_most("", lambda: arb(2).sqrt() ** 2, 2)

    def broken() -> arb:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ends(broken)
    assert ctx.prec == before


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


def tail_by_hand(count: int, trials: int, p: Fraction) -> Fraction:
    """P(Binomial ≥ count), by the definition."""
    terms = (comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(count, trials + 1))
    return sum(terms, Fraction(0))


def holds(ball: arb, truth: Fraction) -> bool:
    with ctx.workprec(500):
        return bool(ball.overlaps(arb(exact(truth))))


@given(
    trials=st.integers(0, 60),
    count=st.integers(-2, 63),
    p=st.fractions(0, 1, max_denominator=10**6),
)
def test_tails_hold_the_rational_sums(trials: int, count: int, p: Fraction) -> None:
    with ctx.workprec(96):
        below, reached = binomial_tails(count, trials, exact(p))
    truth = tail_by_hand(max(count, 0), trials, p)
    assert holds(reached, truth)
    assert holds(below, 1 - truth)
    assert reached.rad() < 1e-20
    assert below.rad() < 1e-20


@pytest.mark.parametrize("trials", [1_108, 10**5, 10**8, 10**11])
@pytest.mark.parametrize("deviations", [-12.0, -1.0, 0.0, 2.0, 30.0])
def test_large_tails_agree_with_scipy(trials: int, deviations: float) -> None:
    p = fmpq(9, 10)
    count = min(trials, int(0.9 * trials + deviations * (0.09 * trials) ** 0.5))
    with ctx.workprec(128):
        below, reached = binomial_tails(count, trials, p)
    assert float(reached) == pytest.approx(betainc(count, trials - count + 1, 0.9), rel=1e-5)
    assert below.rel_accuracy_bits() > 60
    assert reached.rel_accuracy_bits() > 60
    assert (below + reached).contains(1)


@pytest.mark.parametrize(("a", "b", "x"), [(5.0, 0.2, 0.999), (2.0, 5.0, 0.01), (0.3, 0.7, 0.5)])
def test_beta_laws_agree_with_mpmath(a: float, b: float, x: float) -> None:
    with ctx.workprec(128), mpmath.workprec(200):
        truth = mpmath.betainc(a, b, 0, x, regularized=True)
        found = beta_cdf(exact(x), arb(a), arb(b))
        assert found.overlaps(arb(mpmath.nstr(truth, 30)) + arb(0, 1e-28))
    assert found.rel_accuracy_bits() > 100


def test_what_the_precision_cannot_tell_is_any_probability() -> None:
    with ctx.workprec(64):
        found = beta_cdf(arb(0.5, 0.5), 10**6, 10**6)
    assert found.contains(0)
    assert found.contains(1)
    assert found.contains(0.5)


@pytest.mark.parametrize("trials", [5_000, 10**9, 10**17])
@pytest.mark.parametrize(("share", "p"), [(0.9, 0.1), (0.1, 0.9), (1.0, 0.5), (0.7, 0.25)])
def test_tails_below_every_double_are_bounded_at_once(trials: int, share: float, p: float) -> None:
    """Where the ball of the beta function itself is at hand, it lies below Chernoff's bound."""
    count = int(share * trials)
    with ctx.workprec(96):
        tails = binomial_tails(count, trials, exact(p))
        small, large = sorted(tails, key=float)
        assert 0 <= float(small) < 1e-300
        assert small < arb(2) ** -1100
        assert (large - 1).contains(0)
        if trials == 5_000 and count > p * trials:
            assert small.upper() >= beta_cdf(exact(p), count, trials - count + 1) > 0


@given(trials=st.integers(1, 60), count=st.integers(0, 60), p=st.fractions(0, 1))
def test_the_bound_is_above_the_tail(trials: int, count: int, p: Fraction) -> None:
    assume(0 < p < 1 and count <= trials and count > p * trials)
    with ctx.workprec(96):
        assert not _chernoff(count, trials, exact(p)) < exact(tail_by_hand(count, trials, p))


def test_a_ball_between_0_and_1_is_left_as_it_is() -> None:
    plain = arb(0.3).beta_lower(5, 7, regularized=1)
    found = beta_cdf(0.3, 5, 7)
    assert (found.mid(), found.rad()) == (plain.mid(), plain.rad())


@pytest.mark.parametrize("x", [arb(0.99, 0.02), arb(0.01, 0.02)], ids=["above 1", "below 0"])
def test_a_ball_that_leaves_the_unit_interval_is_cut(x: arb) -> None:
    """It holds what x may be within [0, 1], and no more than rounding beyond."""
    plain, found = x.beta_lower(2, 1, regularized=True), beta_cdf(x, 2, 1)
    assert not 0 <= plain <= 1
    assert float(found.lower()) >= -1e-8
    assert float(found.upper()) <= 1 + 1e-8
    assert found.contains((x.intersection(arb(0.5, 0.5)).mid()) ** 2)
