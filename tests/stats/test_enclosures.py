from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.stats.enclosures import LAST_BITS, at_most, ball, ends, exact, lower, upper

RATIONALS = st.fractions() | st.builds(
    lambda x, power: x * Fraction(10) ** power, st.fractions(), st.integers(-330, 300)
)


def fraction(number: fmpq) -> Fraction:
    return Fraction(int(number.p), int(number.q))


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


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_dyadic_number_that_it_is(number: float) -> None:
    assert fraction(exact(number)) == Fraction(number)
    assert ends(number) == (number, number)


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
