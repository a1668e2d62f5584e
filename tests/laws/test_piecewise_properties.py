from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.piecewise_laws import any_points, grid_points, piecewise_laws

from dpcp_audit.laws.piecewise import PiecewiseConstant
from dpcp_audit.theorems.law_space import complexity, simplifications

points = grid_points | any_points
levels = st.floats(1e-9, 1)


def exact_cdf(law: PiecewiseConstant, x: float, *, left: bool = False) -> Fraction:
    """Return F(x), or P(S < x), in fractions, straight from the definition."""
    at = Fraction(x)
    total = mass = Fraction(0)
    for low, high, weight in zip(law.edges, law.edges[1:], law.cells, strict=False):
        a, b, w = Fraction(low), Fraction(high), Fraction(weight)
        total += w
        mass += w * min(max((at - a) / (b - a), Fraction(0)), Fraction(1))
    for place, weight in law.atoms:
        total += Fraction(weight)
        mass += Fraction(weight) * (place < x if left else place <= x)
    return mass / total


@given(piecewise_laws(), points)
def test_distribution_function_is_its_definition(law, x) -> None:
    for location in (x, *law.edges, *(place for place, _ in law.atoms)):
        point = np.array([location])
        assert abs(law.cdf(point)[0] - float(exact_cdf(law, location))) < 1e-14
        assert abs(law.cdf_left(point)[0] - float(exact_cdf(law, location, left=True))) < 1e-14


@given(piecewise_laws(), st.lists(points, min_size=2))
def test_distribution_function_is_monotone_and_ends_at_1(law, xs) -> None:
    x = np.unique([*xs, *law.edges, *(place for place, _ in law.atoms)])
    below, upto = law.cdf_left(x), law.cdf(x)
    assert (below <= upto).all()
    assert (upto[:-1] <= below[1:]).all()
    assert law.cdf(np.array([1.0, 2.0])).tolist() == [1, 1]
    assert law.cdf_left(np.array([0.0, -1.0])).tolist() == [0, 0]


@given(piecewise_laws(), levels)
def test_quantile_inverts_the_distribution_function(law, u) -> None:
    q = float(law.quantile(np.array([u]))[0])
    step = 1e-12
    assert law.cdf(np.array([q + step]))[0] >= u - 1e-12
    assert law.cdf_left(np.array([q - step]))[0] <= u + 1e-12
    for place, _ in law.atoms:  # at a jump the inverse is exact
        if law.cdf_left(np.array([place]))[0] < u <= law.cdf(np.array([place]))[0]:
            assert q == place


@given(piecewise_laws(points=grid_points), grid_points, st.sampled_from([1 / 64, 0.25, 0.5]))
def test_no_interval_holds_more_than_the_largest_mass(law, x, length) -> None:
    mass = law.cdf(np.array([x + length]))[0] - law.cdf_left(np.array([x]))[0]
    largest = law.largest_mass(length)
    assert mass <= largest + 1e-15
    places = [*law.edges, *(place for place, _ in law.atoms)]
    starts = np.array([*places, *(place - length for place in places)])
    assert largest <= (law.cdf(starts + length) - law.cdf_left(starts)).max() + 1e-15


@given(piecewise_laws())
def test_plain_data_is_lossless(law) -> None:
    assert PiecewiseConstant(**law.as_plain()) == law


@given(piecewise_laws())
def test_simplifications_are_laws_and_the_uniform_law_is_simplest(law) -> None:
    least = complexity(PiecewiseConstant(cells=(1,)))
    assert least <= complexity(law)
    for simpler in simplifications(law):
        assert least <= complexity(simpler)
        assert simpler.cdf(np.array([1.0]))[0] == 1
