from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from support.plain_pcoqs import plain_law

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_ledger.mechanisms import published_variants
from dpcp_ledger.pcoqs.zcdp import PrivatelyBounded

mechanisms = st.builds(
    PCOQS,
    alpha=st.floats(0, 0.95),
    rho=st.floats(0.01, 20),
    bounds=st.sampled_from([(0.0, 1.0), (-1.0, 1.5)]),
    resolution=st.sampled_from([0.4, 0.25, 0.2, 0.07, 1 / 64, 0.01]),
)
fractions = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
neighbours = st.lists(fractions, min_size=1, max_size=8).flatmap(
    lambda units: st.tuples(st.just(np.array(units)), st.integers(0, len(units) - 1), fractions)
)


def pair_within(mechanism: PCOQS, drawn) -> tuple[np.ndarray, np.ndarray]:
    """Put the drawn units on the bounds' scale, and move one score."""
    units, moved, target = drawn
    low, high = mechanism.bounds
    scores = low + (high - low) * units
    neighbour = scores.copy()
    neighbour[moved] = low + (high - low) * target
    return scores, neighbour


def expanded(law) -> np.ndarray:
    """Return the probability of every single output, sorted."""
    copies = np.rint(np.exp(law.log_multiplicity)).astype(int)
    return np.sort(np.repeat(np.exp(law.log_mass - law.log_multiplicity), copies))


@given(mechanisms, neighbours)
def test_law_is_the_plain_enumeration(mechanism, drawn) -> None:
    scores, neighbour = pair_within(mechanism, drawn)
    laws = mechanism.laws(scores, neighbour)
    plain = [plain_law(mechanism, s) for s in (scores, neighbour)]
    for law, outputs in zip(laws, plain, strict=True):
        assert math.isclose(law.total, 1, abs_tol=1e-12)
        assert len(outputs) == 2**mechanism.rounds
        if law.slack == 0:
            masses = np.exp(np.array(list(outputs.values())))
            assert np.allclose(expanded(law), np.sort(masses), rtol=1e-9, atol=1e-15)
    p, q = (np.exp(np.array([outputs[t] for t in sorted(plain[0])])) for outputs in plain)
    for epsilon in (0.0, 0.5, 2.0):
        direct = np.maximum(0, p - math.exp(epsilon) * q).sum()
        assert math.isclose(FinitePair(*laws).delta_at(epsilon), direct, abs_tol=1e-11)


@settings(max_examples=30)
@given(mechanisms, neighbours, st.floats(1.01, 20))
def test_neighbours_stay_within_the_supremum_and_the_claim(mechanism, drawn, alpha) -> None:
    pair = FinitePair(*mechanism.laws(*pair_within(mechanism, drawn)))
    supremum = mechanism.renyi_supremum(alpha)
    assert pair.renyi(alpha) <= supremum * (1 + 1e-9) + 1e-12
    assert supremum <= mechanism.rho * alpha * (1 + 1e-9)
    assert pair.delta_at(0.5) <= mechanism.guarantee.delta_at(0.5) + 1e-9


BOUND = PCOQS(alpha=0.02, rho=0.5, bounds=(0.0, 1e6), resolution=1.0)
MECHANISM = PrivatelyBounded(bound=BOUND, quantile=PCOQS(alpha=0.2, rho=2.0))


def residuals() -> np.ndarray:
    inputs, targets = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(inputs[:142], targets[:142])
    return np.abs(targets[142:] - model.predict(inputs[142:]))


@pytest.mark.statistical(false_alarm=1e-8)
def test_residuals_are_covered_as_with_a_public_bound() -> None:
    """The mean of F(q) over 60 releases; its standard error is about 0.002."""
    scores = residuals()
    private = MECHANISM.sample(scores, 60, rng=np.random.default_rng(0))
    public = replace(MECHANISM.quantile, bounds=BOUND.bounds, rho=2.5)
    known = public.sample(scores, 60, rng=np.random.default_rng(1))
    covered = [(scores[:, None] <= found).mean() for found in (private, known)]
    assert covered[0] == pytest.approx(0.8, abs=0.03)
    assert covered[0] == pytest.approx(covered[1], abs=0.02)
    assert MECHANISM.truncated(scores.size) < 1e-6


def test_a_bound_below_the_quantile_is_likely_where_the_budget_is_small() -> None:
    poor = replace(MECHANISM, bound=replace(BOUND, rho=1e-6))
    assert poor.truncated(300) == 1.0


def scores(n: int = 500) -> np.ndarray:
    return np.sort(np.round(np.random.default_rng(1).beta(0.4, 1.0, size=n), 4))


@pytest.mark.parametrize("n", [9, 24, 500, 2400])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5])
def test_the_standard_threshold_is_numpys_quantile(n: int, alpha: float) -> None:
    level = min(1.0, np.ceil(round((1 - alpha) * (n + 1), 9)) / n)
    expected = np.quantile(scores(n), level)
    assert published_variants.standard_threshold(scores(n), alpha=alpha) == pytest.approx(expected)


def test_pcoqs_rounds_the_reference_threshold_to_two_decimals() -> None:
    noise = np.random.default_rng(2).standard_normal(34)
    mechanism = PCOQS(alpha=0.1, rho=0.5)
    exact = mechanism.search(scores(), mechanism.rank(500), noise[:, None])[0]
    found = published_variants.pcoqs_threshold(scores(), alpha=0.1, rho=0.5, noise=noise)
    assert found == round(exact, 2)
    assert found != exact


def test_a_lowest_point_leaves_out_the_scores_below_it() -> None:
    data = np.concatenate([np.zeros(100), np.linspace(0.5, 0.9, 900)])
    silent = np.zeros(34)
    whole = published_variants.pcoqs_threshold(data, alpha=0.1, rho=0.5, noise=silent)
    missed = published_variants.pcoqs_threshold(
        data, alpha=0.1, rho=0.5, noise=silent, lowest=1e-20
    )
    assert whole == pytest.approx(0.86, abs=0.005)
    assert missed == 1.0


def test_histlap_adds_one_draw_a_bin_in_the_published_order() -> None:
    data, edges = scores(), np.linspace(0, 1, 51)
    noise = np.random.default_rng(12).laplace(scale=1 / 0.5, size=50)
    cumulative = np.cumsum(np.maximum(np.histogram(data, edges)[0] + noise, 0))
    goal = 0.9 * cumulative[-1]
    at = int(np.searchsorted(cumulative, goal))
    expected = edges[at] + (goal - cumulative[at - 1]) / (cumulative[at] - cumulative[at - 1]) / 50
    found = published_variants.histlap_threshold(
        data, alpha=0.1, epsilon=0.5, rng=np.random.default_rng(12)
    )
    assert found == pytest.approx(expected)


def test_histlap_falls_back_on_the_median_where_no_count_is_positive() -> None:
    class Negative(np.random.Generator):
        def laplace(self, *, scale: float, size: tuple[int, ...]) -> np.ndarray:
            return np.full(size, -1e6 * scale)

    rng = Negative(np.random.PCG64(0))
    found = published_variants.histlap_threshold(
        np.array([0.1, 0.3, 0.9]), alpha=0.1, epsilon=1.0, rng=rng
    )
    assert found == 0.3
