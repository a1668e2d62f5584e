from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_pcoqs import plain_law

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.mechanisms.pcoqs import PCOQS

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


@given(mechanisms, neighbours)
def test_order_of_scores_does_not_matter(mechanism, drawn) -> None:
    scores, _ = pair_within(mechanism, drawn)
    law, same = mechanism.laws(scores, scores[::-1])
    assert (law.log_mass == same.log_mass).all()


@given(mechanisms, neighbours, st.integers(0, 2**32))
def test_releases_are_possible_and_near_the_bounds(mechanism, drawn, seed) -> None:
    scores, _ = pair_within(mechanism, drawn)
    released = mechanism.sample(scores, 20, rng=seed)
    assert set(released) <= set(plain_law(mechanism, scores))
    low, high = mechanism.bounds
    assert ((released >= low) & (released <= high + mechanism.resolution)).all()
