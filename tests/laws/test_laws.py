from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, laplace, norm

from dpcp_audit.laws import laws
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair, LaplacePair


def finite_pair(p, q) -> FinitePair:
    return FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(q))


def test_finite_pair_by_hand() -> None:
    pair = finite_pair([0.5, 0.3, 0.2], [0.25, 0.25, 0.5])
    assert pair.total_variation() == pytest.approx(0.3)
    assert pair.delta_at(math.log(1.5)) == pytest.approx(0.5 - 1.5 * 0.25)
    assert pair.max_divergence() == pytest.approx(math.log(2))
    assert pair.reversed().max_divergence() == pytest.approx(math.log(2.5))
    assert pair.renyi(2) == pytest.approx(math.log(0.25 / 0.25 + 0.09 / 0.25 + 0.04 / 0.5))
    kl = 0.5 * math.log(2) + 0.3 * math.log(1.2) + 0.2 * math.log(0.4)
    assert pair.renyi(1) == pytest.approx(kl)
    assert pair.renyi(1 + 1e-9) == pytest.approx(kl, rel=1e-7)
    assert pair.epsilon_at(0) == pytest.approx(math.log(2))
    fpr, fnr = pair.tradeoff()
    assert fpr == pytest.approx([0, 0.25, 0.5, 1])
    assert fnr == pytest.approx([1, 0.5, 0.2, 0])


@pytest.mark.parametrize("share", [1e-3, 0.5, 0.99, 1.01, 30.0])
def test_divergences_of_orders_near_1_by_their_definition(share: float) -> None:
    """On either side of where a moment is summed as its distance from 1."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.25, 0.5])
    excess = share * laws._NEAR / math.log(2.5)
    moment = (p ** (1 + excess) * q**-excess).sum()
    found = finite_pair(p, q).renyi(1 + excess)
    assert found == pytest.approx(math.log(moment) / excess, rel=1e-8)


def test_disjoint_supports_have_infinite_divergence() -> None:
    pair = finite_pair([0.5, 0.5, 0.0], [0.0, 0.5, 0.5])
    assert pair.delta_at(50.0) == pytest.approx(0.5)
    assert pair.renyi(2) == pair.renyi(1) == pair.max_divergence() == pair.rho() == math.inf
    assert pair.epsilon_at(0.4) == math.inf
    assert pair.epsilon_at(0.5) == pytest.approx(0, abs=1e-9)


def test_equal_laws() -> None:
    pair = finite_pair([0.5, 0.5, 0.0], [0.5, 0.5, 0.0])
    assert pair.delta_at(0) == pair.renyi(3) == pair.rho() == pair.epsilon_at(0) == 0


def test_multiplicity_does_not_change_divergences() -> None:
    ones = np.arange(11)
    law, other = (
        FiniteLaw(binom.logpmf(ones, 10, p), np.log([math.comb(10, k) for k in ones]))
        for p in (0.5, 0.6)
    )
    bits = FinitePair(FiniteLaw.from_mass([0.5, 0.5]), FiniteLaw.from_mass([0.4, 0.6]))
    pair = FinitePair(law, other)
    assert law.total == pytest.approx(1, abs=1e-14)
    assert pair.renyi(3) == pytest.approx(10 * bits.renyi(3), rel=1e-12)
    assert pair.max_divergence() == pytest.approx(10 * bits.max_divergence(), rel=1e-12)


def test_slack_of_a_pair_is_the_larger() -> None:
    log_mass = np.log([0.5, 0.5])
    pair = FinitePair(FiniteLaw(log_mass, np.zeros(2), 1e-9), FiniteLaw(log_mass, np.zeros(2)))
    assert pair.slack == pair.reversed().slack == 1e-9
    assert GaussianPair(1.0).slack == 0


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 4.0])
def test_gaussian_profile_by_integration(epsilon) -> None:
    direct = quad(
        lambda x: max(0.0, norm.pdf(x, 1.3) - math.exp(epsilon) * norm.pdf(x)),
        epsilon / 1.3 + 0.65,
        20,
    )[0]
    assert GaussianPair(1.3).delta_at(epsilon) == pytest.approx(direct, abs=1e-9)


def test_gaussian_pair() -> None:
    pair = GaussianPair(1.0)
    assert pair.reversed() == pair
    assert pair.rho() == pair.renyi(4) / 4 == 0.5
    assert GaussianPair(1e308).rho() == GaussianPair(1e308).renyi(2) == math.inf
    assert pair.max_divergence() == pair.epsilon_at(0) == math.inf
    assert pair.total_variation() == pytest.approx(2 * norm.cdf(0.5) - 1)
    assert pair.delta_at(pair.epsilon_at(1e-6)) == pytest.approx(1e-6, rel=1e-6)
    assert pair.tradeoff(0.05) == pytest.approx(norm.cdf(norm.isf(0.05) - 1))


@pytest.mark.parametrize("epsilon", [-2.0, -0.5, 0.0, 0.3, 0.8, 1.5, 3.0])
@pytest.mark.parametrize("shifts", [(1.0,), (1.0, 0.6), (0.5, 0.5), (0.2, 2.0)])
def test_laplace_profile_by_its_loss(shifts, epsilon) -> None:
    """The loss of a coordinate is put on a grid of quantiles; midpoints err by about 1e-3."""
    grid = laplace.ppf((np.arange(2000) + 0.5) / 2000)
    losses = [np.abs(grid - shift) - np.abs(grid) for shift in shifts]
    total = losses[0] if len(shifts) == 1 else losses[0][:, None] + losses[1]
    direct = np.mean(np.maximum(0, -np.expm1(epsilon - total)))
    assert LaplacePair(shifts).delta_at(epsilon) == pytest.approx(direct, abs=2e-3)


def test_laplace_renyi_by_integration() -> None:
    for alpha in (1.5, 2.0, 7.0):
        direct = quad(
            lambda x, a=alpha: math.exp(a * laplace.logpdf(x) + (1 - a) * laplace.logpdf(x, 0.7)),
            -40,
            40,
            points=[0, 0.7],
        )[0]
        assert LaplacePair((0.7,)).renyi(alpha) == pytest.approx(math.log(direct) / (alpha - 1))
    assert LaplacePair((0.7,)).renyi(1) == pytest.approx(LaplacePair((0.7,)).renyi(1 + 1e-7))
    assert LaplacePair((0.7, 0.2)).max_divergence() == pytest.approx(0.9)
    assert LaplacePair((1.0, 1.0)).epsilon_at(0) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: FiniteLaw.from_mass([0.5, 0.6]), "mass"),
        (lambda: FiniteLaw.from_mass([1.5, -0.5]), "mass"),
        (lambda: FiniteLaw.from_mass([]), "mass"),
        (lambda: finite_pair([1.0], [0.5, 0.5]), "neighbour_law"),
        (lambda: finite_pair([1.0], [1.0]).renyi(0.5), "alpha"),
        (lambda: finite_pair([1.0], [1.0]).epsilon_at(-0.1), "delta"),
        (lambda: GaussianPair(0.0), "shift"),
        (lambda: LaplacePair(()), "shifts"),
        (lambda: LaplacePair((1.0, -1.0)), "shifts"),
    ],
)
def test_bad_input_names_the_argument(build, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        build()


def test_the_profile_of_two_laplace_coordinates_near_a_kink() -> None:
    """Rounding leaves a sliver of an interval, on which the last digits are out of reach."""
    pair = LaplacePair((0.32235635300154875, 2.543279810115109))
    epsilon = pair.epsilon_at(0.5)
    assert pair.delta_at(epsilon) == pytest.approx(0.5, abs=1e-9)


def test_what_rounding_may_take_from_1_is_allowed() -> None:
    least = -laws._TOTAL
    assert FiniteLaw(np.zeros(1), np.array([least])).total == 1.0
    with pytest.raises(ValueError, match="log_multiplicity"):
        FiniteLaw(np.zeros(1), np.array([math.nextafter(least, -1.0)]))
    for log_mass in (math.log1p(0.9 * least), math.log1p(-0.9 * least)):
        FiniteLaw(np.array([log_mass]), np.zeros(1))
    for log_mass in (math.log1p(1.1 * least), math.log1p(-1.1 * least)):
        with pytest.raises(ValueError, match="log_mass"):
            FiniteLaw(np.array([log_mass]), np.zeros(1))


@pytest.mark.parametrize(
    ("log_mass", "log_multiplicity", "slack", "message"),
    [
        ([math.log(0.5)], [0.0], 0.0, "log_mass"),
        ([math.log(0.9), math.log(0.9)], [0.0, 0.0], 0.0, "log_mass"),
        ([math.log(0.9), math.log(0.9)], [0.0, 0.0], 0.1, "log_mass"),
        ([0.0, math.nan], [0.0, 0.0], 0.0, "log_mass"),
        ([0.0], [0.0, 0.0], 0.0, "log_multiplicity"),
        ([0.0], [-1.0], 0.0, "log_multiplicity"),
        ([0.0], [0.0], -0.1, "slack"),
    ],
)
def test_masses_that_are_no_law_are_refused(log_mass, log_multiplicity, slack, message) -> None:
    with pytest.raises(ValueError, match=message):
        FiniteLaw(np.array(log_mass), np.array(log_multiplicity), slack)


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
