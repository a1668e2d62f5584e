"""Enclosed distribution functions: rationals where F is one, and never away from the float's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.laws.populations import (
    Beta,
    Deferred,
    PiecewiseConstant,
    Pool,
    Population,
    Uniform,
    atoms,
)
from dpcp_audit.stats.enclosures import exact, lower, upper

HEAP = atoms([0.25, 0.5, 0.5625, 1.0], [3, 4, 1, 2], name="heap")
STEPS = PiecewiseConstant(
    edges=(0.0, 0.3, 1.0), cells=(0.2, 0.5), atoms=((0.0, 0.1), (0.3, 0.4), (1.0, 3.0))
)
LAWS = [Uniform(), Beta(5, 0.2), Beta(0.2, 5), HEAP, STEPS, Deferred("later", lambda: STEPS)]
POINTS = [-1.0, 0.0, 0.1, 0.25, 0.3, 0.5, 0.5625, 0.75, 1 - 2**-25, 1.0, 2.0]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("point", POINTS)
def test_the_float_is_the_enclosure_rounded(law: Population, point: float) -> None:
    pairs = ((law.enclosed_cdf, law.cdf), (law.enclosed_cdf_left, law.cdf_left))
    for enclosed, rounded in pairs:
        with ctx.workprec(96):
            ball = arb(enclosed(exact(point)))
        found = float(rounded(np.array(point)))
        assert lower(ball) - 1e-13 <= found <= upper(ball) + 1e-13
        assert upper(ball) - lower(ball) < 1e-15


def test_an_atom_is_counted_at_its_point_and_not_to_its_left() -> None:
    assert (HEAP.enclosed_cdf(fmpq(1, 2)), HEAP.enclosed_cdf_left(fmpq(1, 2))) == (
        fmpq(7, 10),
        fmpq(3, 10),
    )
    law = PiecewiseConstant(cells=(1,), atoms=((0.5, 3),))
    assert (law.enclosed_cdf(fmpq(1, 2)), law.enclosed_cdf_left(fmpq(1, 2))) == (
        fmpq(7, 8),
        fmpq(1, 8),
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.fractions(-1, 2))
def test_a_pool_is_counted_without_rounding(scores: list[float], point: Fraction) -> None:
    """At points between doubles too, where the float search would round first."""
    pool = Pool(np.array(scores), "drawn")
    at_or_below = sum(Fraction(score) <= point for score in scores)
    below = sum(Fraction(score) < point for score in scores)
    assert pool.enclosed_cdf(exact(point)) == fmpq(at_or_below, len(scores))
    assert pool.enclosed_cdf_left(exact(point)) == fmpq(below, len(scores))


@pytest.mark.parametrize(
    ("point", "above"), [(fmpq(1, 10), True), (fmpq(1, 3), False), (fmpq(3, 10), False)]
)
def test_a_score_is_not_the_rational_that_rounds_to_it(point: fmpq, above: bool) -> None:
    """0.1 is above 1/10, 0.3 below 3/10: of a score there, none or all lies at or below."""
    score = int(point.p) / int(point.q)
    assert (Fraction(score) > Fraction(int(point.p), int(point.q))) == above
    pool = Pool(np.array([score, score]), "one place")
    assert pool.enclosed_cdf(point) == pool.enclosed_cdf_left(point) == (0 if above else 1)


def test_a_law_without_a_formula_says_so() -> None:
    class Opaque(Uniform):
        enclosed_cdf = Population.enclosed_cdf

    with pytest.raises(NotImplementedError, match="uniform is not enclosed"):
        Opaque().enclosed_cdf_left(fmpq(1, 2))
