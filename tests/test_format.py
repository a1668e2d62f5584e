"""What a statement prints of its parameters is the very case: no two numbers read the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpcp_audit.laws.populations import Beta
from dpcp_audit.words.formatting import (
    all_digits,
    exact,
    in_setting,
    rounded_down,
    rounded_up,
    setting,
)

_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read(text: str) -> float:
    """Return the number that a text stands for, read as a reader does."""
    mantissa, _, power = text.replace(",", "").rpartition("10" if any(map(_raised, text)) else "?")
    if not mantissa and not any(map(_raised, text)):
        return float(power)
    return float(f"{mantissa.removesuffix('·') or 1}e{power.translate(_PLAIN)}")


def _raised(character: str) -> bool:
    return ord(character) in _PLAIN


@given(value=st.floats(allow_nan=False, allow_infinity=False))
@example(value=0.619453122599085)
@example(value=0.10000004)
@example(value=12345.678)
@example(value=1234567890123456.0)
@example(value=1e23)
def test_a_float_is_read_back(value: float) -> None:
    assert read(exact(value)) == value
    assert read(exact(np.float64(value))) == value
    assert setting({"delta": value}) == f"δ = {exact(value)}"


@given(value=st.integers(min_value=0, max_value=10**40))
@example(value=10**15 + 1)
@example(value=3 * 10**23)
def test_a_whole_number_is_read_back(value: int) -> None:
    shown = exact(value)
    assert read(shown) == float(value)
    assert shown == exact(value + 0)
    assert exact(value + 1) != shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.1, "0.1"), (1e-5, "10⁻⁵"), (2.5e-7, "2.5·10⁻⁷"), (4.0, "4"), (10**6, "10⁶")],
)
def test_short_numbers_stay_short(value: float, shown: str) -> None:
    assert in_setting("It covers.", {"delta": value}) == f"It covers, for δ = {shown}."


@given(a=st.floats(1e-3, 1e6), b=st.floats(1e-3, 1e6))
@example(a=2.0000004, b=5.0)
def test_a_beta_law_is_read_back_from_its_name(a: float, b: float) -> None:
    first, second = Beta(a, b).name.removeprefix("beta(").removesuffix(")").split(",")
    assert (float(first), float(second)) == (a, b)
    assert all_digits(5.0) == "5"


@given(value=st.floats(1e-12, 1e12), digits=st.integers(2, 8))
def test_bounds_are_rounded_outward(value: float, digits: int) -> None:
    assert read(rounded_down(value, digits=digits)) <= value
    assert read(rounded_up(value, digits=digits)) >= value
