"""Quotients of sums of exponentials: field operations, signs and logarithms, exactly."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.proving.exact_numbers import ExponentialQuotient, combine, exponential, form_of

RATIONALS = st.fractions(min_value=-3, max_value=3, max_denominator=8)


@st.composite
def quotients(draw):  # noqa: ANN201
    parts = [
        ExponentialQuotient.of(draw(RATIONALS), draw(RATIONALS)) for _ in range(draw(st.just(2)))
    ]
    return parts[0] + parts[1]


@given(quotients(), quotients())
def test_operators_are_those_of_real_numbers(a, b) -> None:
    assert float(a + b) == pytest.approx(float(a) + float(b), abs=1e-9)
    assert float(a - b) == pytest.approx(float(a) - float(b), abs=1e-9)
    assert float(a * b) == pytest.approx(float(a) * float(b), abs=1e-6)
    if b.sign and abs(float(b)) > 1e-6:
        assert float(a / b * b) == pytest.approx(float(a), abs=1e-6)
        assert ((a / b) * b - a).sign == 0
    assert (a < b) == (float(a) < float(b)) or float(a) == pytest.approx(float(b))


@given(quotients())
def test_a_logarithm_is_never_below_the_true_one(a) -> None:
    if a.sign > 0:
        assert float(a.log_above()) >= math.log(float(a)) - 1e-12


def test_near_equals_are_told_apart() -> None:
    e = ExponentialQuotient.of(1, exponent=1)
    double = ExponentialQuotient.of(Fraction(math.e))
    assert (e - double).sign != 0
    assert ((e * e) - ExponentialQuotient.of(1, exponent=2)).sign == 0


def test_a_probability_is_known_as_it_is_written() -> None:
    e = exponential(math.exp(2.0), 2.0)
    keep = combine("Div", e / (e + 3), e, combine("Add", e + 3, e, 3))
    form = form_of(keep)
    assert form is not None
    rest = ExponentialQuotient.of(1) - form
    assert (form / (rest / ExponentialQuotient.of(3))).log_above() == 2


def test_a_number_that_lost_its_digits_is_the_double_itself() -> None:
    e = exponential(math.exp(1e-14), 1e-14)
    less = combine("Sub", e - 1, e, 1)
    assert form_of(less).rational == Fraction(repr(float(less)))
