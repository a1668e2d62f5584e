from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair, LaplacePair

SIZE = 5
masses = (
    st.lists(st.integers(0, 1000), min_size=SIZE, max_size=SIZE)
    .filter(any)
    .map(lambda weights: np.array(weights) / sum(weights))
)
finite = st.builds(
    lambda p, q: FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(q)), masses, masses
)
pairs = st.one_of(
    finite,
    st.builds(GaussianPair, st.floats(0.01, 6)),
    st.builds(LaplacePair, st.tuples(st.floats(0.01, 6))),
    st.builds(LaplacePair, st.tuples(st.floats(0.01, 6), st.floats(0.01, 6))),
)
epsilons = st.floats(0, 8)


@given(pairs, epsilons, epsilons)
def test_profile_is_decreasing_and_convex_in_the_odds(pair, first, second) -> None:
    """δ is convex in e^ε, a supremum of linear functions of it."""
    low, high = sorted((first, second))
    middle = math.log((math.exp(low) + math.exp(high)) / 2)
    at_low, at_middle, at_high = (pair.delta_at(e) for e in (low, middle, high))
    assert 0 <= at_high <= at_low + 1e-12 <= 1 + 2e-12
    assert at_middle <= (at_low + at_high) / 2 + 1e-11


@given(pairs, epsilons)
def test_both_directions_agree_through_the_mirror(pair, epsilon) -> None:
    """δ_QP(ε) = 1 − e^ε + e^ε·δ_PQ(−ε), the same event seen from the other law."""
    mirrored = 1 - math.exp(epsilon) + math.exp(epsilon) * pair.delta_at(-epsilon)
    assert math.isclose(pair.reversed().delta_at(epsilon), mirrored, abs_tol=1e-9)


@given(pairs, st.floats(1, 40), st.floats(1, 40))
def test_renyi_rises_with_its_order(pair, first, second) -> None:
    low, high = sorted((first, second))
    assert pair.renyi(low) <= pair.renyi(high) * (1 + 1e-9) + 1e-12
    assert pair.renyi(high) <= pair.max_divergence() + 1e-9


@given(pairs)
def test_rho_bounds_every_order_and_is_reached(pair) -> None:
    rho = pair.rho()
    ratios = [pair.renyi(alpha) / alpha for alpha in 1 + np.logspace(-6, 6, 121)]
    assert max(ratios) <= rho * (1 + 1e-9) + 1e-12
    assert math.isinf(rho) or rho <= max(ratios) * 1.02 + 1e-9


@given(finite, epsilons)
def test_pinsker_and_the_total_variation(pair, epsilon) -> None:
    p, q = np.exp(pair.law.log_mass), np.exp(pair.neighbour_law.log_mass)
    assert math.isclose(pair.total_variation(), np.abs(p - q).sum() / 2, abs_tol=1e-12)
    assert pair.total_variation() <= math.sqrt(pair.renyi(1) / 2) + 1e-9
    direct = np.maximum(0, p - math.exp(epsilon) * q).sum()
    assert math.isclose(pair.delta_at(epsilon), direct, abs_tol=1e-12)


@given(finite, epsilons, st.integers(1, SIZE - 1))
def test_merging_outcomes_loses_information(pair, epsilon, cut) -> None:
    def merge(law: FiniteLaw) -> FiniteLaw:
        mass = np.exp(law.log_mass)
        return FiniteLaw.from_mass([*mass[:cut], mass[cut:].sum()])

    merged = FinitePair(merge(pair.law), merge(pair.neighbour_law))
    assert merged.delta_at(epsilon) <= pair.delta_at(epsilon) + 1e-12
    assert merged.renyi(3) <= pair.renyi(3) * (1 + 1e-9) + 1e-9
    assert merged.max_divergence() <= pair.max_divergence() + 1e-9


@given(pairs, st.floats(1e-6, 1))
def test_epsilon_at_inverts_the_profile(pair, delta) -> None:
    epsilon = pair.epsilon_at(delta)
    if math.isinf(epsilon):
        assert pair.delta_at(600.0) > delta - 1e-12
    else:
        assert pair.delta_at(epsilon) <= delta + 1e-9
        assert epsilon < 1e-9 or pair.delta_at(epsilon * (1 - 1e-6) - 1e-9) >= delta - 1e-9


@given(finite, epsilons)
def test_the_tradeoff_curve_carries_the_profile(pair, epsilon) -> None:
    fpr, fnr = pair.tradeoff()
    assert (np.diff(fpr) >= 0).all()
    assert (np.diff(fnr) <= 1e-15).all()
    best = (1 - fnr - math.exp(epsilon) * fpr).max()
    assert math.isclose(pair.delta_at(epsilon), max(0.0, best), abs_tol=1e-9)
