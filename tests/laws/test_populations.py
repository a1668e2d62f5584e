from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import beta, kstest

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

POOL = Pool(np.array([0.5, 0.1, 0.5, 0.9]), "pool")


def test_names() -> None:
    assert [p.name for p in (Uniform(), Beta(5, 0.2), POOL)] == ["uniform", "beta(5,0.2)", "pool"]


def test_beta_agrees_with_scipy() -> None:
    x = np.linspace(0, 1, 11)
    assert Beta(5, 0.2).cdf(x) == pytest.approx(beta.cdf(x, 5, 0.2), abs=1e-14)
    assert Beta(5, 0.2).cdf(np.array([-1.0, 2.0])).tolist() == [0, 1]
    assert Beta(2, 3).quantile(x) == pytest.approx(beta.ppf(x, 2, 3), abs=1e-12)


def test_pool_quantile_inverts_the_ecdf_at_every_size() -> None:
    for size in range(1, 120):
        pool = Pool(np.arange(size, dtype=float), "grid")
        assert (pool.quantile(pool.cdf(pool.scores)) == pool.scores).all()


def test_atoms_have_the_stated_masses() -> None:
    law = atoms([0.2, 0.8, 0.5], [1, 3, 0], name="two")
    assert law.cdf(np.array([0.2, 0.5, 0.8])).tolist() == [0.25, 0.25, 1]
    assert law.name == "two"


TWO = Pool([0.25, 0.5], "two")


@pytest.mark.parametrize(
    ("population", "left", "right", "expected"),
    [
        (Uniform(), 0.0, 1.0, True),
        (Uniform(), 0.5, 1.5, False),
        (Beta(5, 0.2), 0.0, 1.0, True),
        (Beta(2, 3), 0.0, 0.33, True),
        (Beta(2, 3), 0.3, 0.4, False),
        (Beta(0.5, 0.5), 0.4, 0.5, False),
        (Beta(1, 1), -0.1, 0.5, False),
        (TWO, 0.26, 0.49, True),
        (TWO, 0.26, 0.5, False),
        (TWO, 0.25, 0.49, False),
        (Deferred("later", lambda: TWO), 0.26, 0.49, True),
        (Deferred("later", lambda: TWO), 0.26, 0.5, False),
    ],
)
def test_where_the_density_is_monotone(
    population: Population, left: float, right: float, expected: bool
) -> None:
    assert population.monotone_between(left, right) is expected


def test_sample_takes_shape_and_seed() -> None:
    for population in (Uniform(), Beta(5, 0.2), POOL):
        first = population.sample((3, 4), rng=1)
        assert first.shape == (3, 4)
        assert (first == population.sample((3, 4), rng=1)).all()
        assert ((first >= 0) & (first <= 1)).all()


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize(("a", "b"), [(5, 0.2), (0.2, 0.3), (20, 20), (1, 3)])
def test_beta_scores_are_drawn_from_their_law(a: float, b: float) -> None:
    drawn = Beta(a, b).sample((20, 1000), rng=0).ravel()
    assert kstest(drawn, Beta(a, b).cdf).pvalue > 1e-9
    assert kstest(drawn, Beta(1.5 * a, b).cdf).pvalue < 1e-9


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: Beta(0, 1), "a"),
        (lambda: Beta(1, np.inf), "b"),
        (lambda: Beta(1e308, 1e308), "a and b"),
        (lambda: Pool([], "x"), "scores"),
        (lambda: Pool([0.1, np.nan], "x"), "scores"),
        (lambda: atoms([0.1], [0.5], name="x"), "counts"),
        (lambda: atoms([0.1, 0.2], [1], name="x"), "counts"),
        (lambda: atoms([0.1], [0], name="x"), "counts"),
        (lambda: atoms([0.1, 0.2], [2, -1], name="x"), "counts"),
        (lambda: Uniform().sample(3, rng="seed"), "rng"),
    ],
)
def test_bad_input_names_the_argument(build, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        build()


@pytest.mark.parametrize("shape", [(3000,), (3, 1000)])
def test_points_that_repeat_have_the_same_distribution_function(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    law = Beta(5, 0.2)
    for values in (rng.choice([-1.0, 0.25, 0.5, 0.99999, 2.0], size=shape), rng.random(shape)):
        found = law.cdf(values)
        assert found.shape == shape
        assert (found == betainc(5, 0.2, np.clip(values, 0, 1))).all()


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
