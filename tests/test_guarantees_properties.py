from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    LocalDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)

EPSILON = st.floats(1e-3, 20)
RHO = st.floats(1e-4, 50)
linear = st.one_of(
    st.builds(PureDP, EPSILON),
    st.builds(LocalDP, EPSILON),
    st.builds(ApproxDP, st.floats(0, 20), st.floats(0, 1)),
)
renyi = st.one_of(
    st.builds(ZCDP, RHO), st.builds(RenyiDP, st.floats(1.05, 100), st.floats(1e-3, 20))
)
guarantees = st.one_of(linear, renyi)
rates = st.floats(0, 1)


@given(guarantees, rates, rates, rates)
def test_power_is_concave_and_rises_above_the_diagonal(guarantee, q1, q2, weight) -> None:
    low, high = sorted((q1, q2))
    middle = weight * low + (1 - weight) * high
    at_low, at_middle, at_high = guarantee.power(np.array([low, middle, high]))
    assert at_low <= at_high + 1e-12
    assert at_middle >= weight * at_low + (1 - weight) * at_high - 1e-9
    assert at_low >= low - 1e-15
    assert at_high <= 1


@given(guarantees, rates)
def test_the_region_is_its_own_mirror_image(guarantee, q) -> None:
    """If (q, p) is extreme, so is (1 − p, 1 − q): the complement in the other direction."""
    p = float(guarantee.power(q))
    assume(1e-6 < p < 1 - 1e-6)
    assert guarantee.power(1 - p) >= 1 - q - 1e-6


@given(linear, st.floats(0, 25))
def test_closed_profile_is_the_generic_maximum(guarantee, epsilon) -> None:
    generic = PrivacyGuarantee.delta_at(guarantee, epsilon)
    assert math.isclose(guarantee.delta_at(epsilon), generic, abs_tol=1e-6)


@settings(max_examples=12)
@given(guarantees, st.floats(0, 25), st.floats(0, 25))
def test_profile_decreases_and_bounds_every_allowed_event(guarantee, first, second) -> None:
    low, high = sorted((first, second))
    assert guarantee.delta_at(high) <= guarantee.delta_at(low) + 1e-9
    q = np.linspace(0, 1, 23)
    excess = guarantee.power(q) - math.exp(low) * q
    assert (excess <= guarantee.delta_at(low) + 1e-6).all()


@settings(max_examples=10)  # of two to three seconds each, where δ is a maximum over orders
@given(guarantees, st.floats(0, 10))
def test_epsilon_and_delta_round_trip(guarantee, epsilon) -> None:
    delta = guarantee.delta_at(epsilon)
    assume(guarantee.parameters.get("delta", 0) + 1e-12 < delta < 1 - 1e-9)
    found = guarantee.epsilon_at(delta)
    assert math.isclose(guarantee.delta_at(found), delta, rel_tol=1e-6)
    assert found <= epsilon + 1e-6 * (1 + epsilon)


@settings(max_examples=20)
@given(RHO, st.floats(0, 80))
def test_zcdp_profile_lies_between_gaussian_and_textbook(rho, epsilon) -> None:
    allowed = ZCDP(rho).delta_at(epsilon)
    assert GaussianPair(math.sqrt(2 * rho)).delta_at(epsilon) <= allowed * (1 + 1e-6) + 1e-15
    textbook = math.exp(-(max(0.0, epsilon - rho) ** 2) / (4 * rho))  # Bun and Steinke, Lemma 3.5
    assert allowed <= textbook * (1 + 1e-6) + 1e-15


@given(RHO, st.floats(1.01, 3), rates)
def test_a_weaker_promise_allows_more(rho, factor, q) -> None:
    assert ZCDP(rho * factor).power(q) >= ZCDP(rho).power(q) - 1e-12
    assert PureDP(rho * factor).power(q) >= PureDP(rho).power(q) - 1e-12


@given(RHO, st.floats(0.01, 0.99))
def test_the_extreme_bernoulli_pair_keeps_the_renyi_bound(rho, q) -> None:
    """The orders are a grid, which enlarges the region: by up to 0.12 % over 2,500 random cases."""
    p = float(ZCDP(rho).power(q))
    assume(p < 1 - 1e-9)
    pair = FinitePair(FiniteLaw.from_mass([p, 1 - p]), FiniteLaw.from_mass([q, 1 - q]))
    reached = max(pair.rho(), pair.reversed().rho())
    assert reached <= rho * (1 + 2e-3) + 1e-9
    assert reached >= rho * (1 - 2e-3) - 1e-9


@given(guarantees, rates, rates)
def test_allows_is_symmetric_and_agrees_with_power(guarantee, p, q) -> None:
    assert guarantee.allows(p, q) == guarantee.allows(q, p) == guarantee.allows(1 - p, 1 - q)
    if p > guarantee.power(q) + 1e-9:
        assert not guarantee.allows(p, q)
