"""The page on membership inference under ρ-zCDP: its theorem, its numbers, and its figure."""

from __future__ import annotations

import math

import numpy as np
import pytest
import update_advantage
from hypothesis import given
from hypothesis import strategies as st
from update_advantage import converted, gaussian, largest_advantage, own_advantage, pinsker

from dpcp_audit.words.guarantees import ZCDP


def test_the_page_is_up_to_date() -> None:
    """``python docs/update_advantage.py`` renews it."""
    assert update_advantage.PAGE.read_text(encoding="utf-8") == update_advantage.page()
    assert update_advantage.FIGURE.read_text(encoding="utf-8").startswith("<svg")


@given(st.floats(1e-3, 20.0), st.floats(1.0 + 1e-3, 200.0))
def test_randomised_response_that_attains_it_is_zcdp(rho: float, order: float) -> None:
    epsilon = 2 * math.atanh(min(largest_advantage(rho), 1 - 1e-15))
    moment = np.logaddexp((order - 0.5) * epsilon, -(order - 0.5) * epsilon)
    divergence = (moment - np.logaddexp(epsilon / 2, -epsilon / 2)) / (order - 1)
    assert divergence <= rho * order * (1 + 1e-6) + 1e-9


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_no_pair_of_rates_has_a_larger_advantage(p: float, q: float) -> None:
    def loss(a: float, b: float) -> float:
        return a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))

    rho = max(loss(p, q), loss(q, p))
    if rho > 1e-9:
        assert abs(p - q) <= largest_advantage(rho) + 1e-7


@pytest.mark.parametrize("rho", update_advantage.BUDGETS)
def test_the_guarantee_is_as_tight_and_the_other_bounds_are_not(rho: float) -> None:
    largest = largest_advantage(rho)
    assert largest * (1 - 1e-9) <= ZCDP(rho).advantage() <= 1.0003 * largest
    assert gaussian(rho) < largest < pinsker(rho)
    assert largest < converted(rho)


def test_the_numbers_at_the_papers_budget() -> None:
    assert largest_advantage(0.5) == pytest.approx(0.4791, abs=5e-5)
    assert own_advantage() == pytest.approx(0.3098, abs=5e-5)
    assert converted(0.5) == pytest.approx(0.837, abs=5e-4)
