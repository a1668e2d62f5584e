"""Binomial and beta tails in balls: against rational sums, against other libraries, at any size."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import pytest
from flint import arb, ctx, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import betainc

from dpcp_audit.stats.enclosures import _chernoff, beta_cdf, binomial_tails, exact


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


def test_tails_of_another_count_are_excluded() -> None:
    """Balls are narrow enough that an error of one in the count, or 1e-12 in p, shows."""
    p = Fraction(3, 10)
    truth = tail_by_hand(7, 20, p)
    with ctx.workprec(96):
        for count, chance in ((6, p), (8, p), (7, p * (1 + Fraction(1, 10**12)))):
            assert not holds(binomial_tails(count, 20, exact(chance))[1], truth)


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
