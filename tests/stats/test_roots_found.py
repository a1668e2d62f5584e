"""Roots and minima of functions of one number."""

from __future__ import annotations

import math

import pytest

from dpcp_audit.stats.roots import find_least, find_root


@pytest.mark.parametrize(
    ("f", "there"),
    [(math.sin, math.pi), (lambda x: -1.0 if x < 3.5 else 1.0, 3.5), (lambda x: (x - 3) ** 3, 3)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_root_is_found_to_the_tolerance(f, there, sign) -> None:
    assert find_root(lambda x: sign * f(x), 2.0, 4.0, xtol=1e-9) == pytest.approx(there, abs=2e-5)


def test_the_least_value_of_a_bend_is_found() -> None:
    assert find_least(lambda x: (x - 1) ** 2 + 3, 0.0, 5.0) == pytest.approx(3.0, abs=1e-9)


@pytest.mark.parametrize(("low", "high", "there"), [(0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)])
def test_an_end_may_be_the_root(low, high, there) -> None:
    assert find_root(lambda x: x, low, high) == there


def test_a_function_of_one_sign_has_no_root() -> None:
    with pytest.raises(ValueError, match="must have different signs"):
        find_root(lambda x: x * x, 1.0, 2.0)
