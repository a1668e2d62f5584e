from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import ExponQ, Normaliser
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.guarantees import LocalDP
from dpcp_ledger.mechanisms.releases import exponq_proof, response_proof, search_proof

PART = 1e-12


@given(st.floats(0.01, 50.0), st.integers(2, 100))
def test_randomised_response_is_its_parameter(epsilon: float, k: int) -> None:
    response = KaryRandomizedResponse(epsilon, k)
    assert response_proof(response, response.guarantee).holds
    assert response_proof(response, LocalDP(epsilon * (1 + PART))).holds
    assert not response_proof(response, LocalDP(epsilon * (1 - PART))).holds


def test_labels_that_are_moved_less_often_are_not_private(monkeypatch: pytest.MonkeyPatch) -> None:
    response = KaryRandomizedResponse(2.0, 10)
    less = response.move_probability * (1 - PART)
    monkeypatch.setattr(KaryRandomizedResponse, "move_probability", property(lambda _: less))
    assert not response_proof(response, response.guarantee).holds


@given(st.floats(1e-3, 20.0), st.floats(1e-12, 0.4))
def test_the_noise_of_a_search_is_what_counts(rho: float, resolution: float) -> None:
    search = PCOQS(alpha=0.1, rho=rho, resolution=resolution)

    def holds(factor: float) -> bool:
        noise = search.noise_scale * factor
        return search_proof(rho, rounds=search.rounds, noise_scale=noise, parameters={}).holds

    assert holds(1 + PART)
    assert not holds(1 - PART)


@given(st.floats(0.01, 0.5), st.floats(0.1, 4.0), st.integers(2, 10_000), st.integers(20, 10_000))
def test_the_corrected_normaliser_is_private_at_every_size(
    alpha: float, epsilon: float, n_candidates: int, n: int
) -> None:
    options = {"alpha": alpha, "epsilon": epsilon, "n_candidates": n_candidates, "gamma": 0.1}
    mechanism = ExponQ(**options)  # type: ignore[arg-type]
    proof = exponq_proof(mechanism, (n, n + 1))
    assert proof is not None
    assert proof.holds
    if mechanism.normalisation(n) > 0:
        bound = mechanism.log_ratio_bound(n)
        assert proof.premises[0].left[1] >= bound * (1 - 1e-12)
    published = ExponQ(**options, normaliser=Normaliser.PUBLISHED)  # type: ignore[arg-type]
    assert exponq_proof(published, (n,)) is None


def test_a_target_of_a_half_is_the_tightest() -> None:
    mechanism = ExponQ(alpha=0.5, epsilon=1.0, n_candidates=2, gamma=1e-9)
    proof = exponq_proof(mechanism, (10**9,))
    assert proof is not None
    assert proof.premises[0].left[1] == pytest.approx(1.0, rel=1e-6)
    assert math.isclose(mechanism.log_ratio_bound(10**9), proof.premises[0].left[1], rel_tol=1e-9)
