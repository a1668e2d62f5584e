"""The classic Gaussian scale over ε, the steps of its proof, and Rényi conversion."""

from __future__ import annotations

import math

import pytest

from dpcp_audit.mechanisms import pcoqs_budget as gaussian
from dpcp_audit.words.guarantees import RenyiDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.dpskin import gaussian_claims
from dpcp_ledger.dpskin.gaussian_claims import (
    batch_map,
    classic_over,
    conversion,
    tail_step,
)


@pytest.mark.known_bad
def test_a_scale_that_is_too_small_is_refuted_in_the_proved_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four fifths of the classic noise are not enough at ε = 1."""
    original = gaussian.GaussianMechanism.noise_scale.fget
    assert original is not None
    monkeypatch.setattr(
        gaussian.GaussianMechanism, "noise_scale", property(lambda self: original(self) / 1.25)
    )
    assert classic_over(0.01, 1.0).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("epsilon", "verdict"),
    [(0.1, Verdict.CONSISTENT), (0.44, Verdict.CONSISTENT), (0.46, Verdict.REFUTED)],
)
def test_the_proof_reaches_as_far_as_its_constant_does(epsilon: float, verdict: Verdict) -> None:
    """exp(−z²/2) = δ/1.25·exp(ε/2 − 1/(8σ²)): ε/2 may reach log(1.25), nearly."""
    result = tail_step(epsilon, 1e-5)
    assert result.verdict is verdict
    sigma = result.witness["noise_scale"]
    assert result.value == pytest.approx(
        1e-5 / 1.25 * math.exp(epsilon / 2 - 1 / (8 * sigma**2)), rel=1e-9
    )


def test_the_conversion_holds_and_is_not_vacuous() -> None:
    result = conversion(1e-5)
    assert result.verdict is Verdict.CONSISTENT
    assert 0.9 < result.value < 1
    region = RenyiDP(result.witness["alpha"], result.witness["divergence"])
    claimed = region.epsilon + math.log(1e5) / (region.alpha - 1)
    assert region.epsilon_at(1e-5) / claimed == pytest.approx(result.value)


@pytest.mark.known_bad
def test_a_bound_that_holds_somewhere_is_not_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Had the thesis printed twice the bound, it would hold where σ is large."""
    true = gaussian_claims.step_divergence
    monkeypatch.setattr(gaussian_claims, "step_divergence", lambda *a, **k: true(*a, **k) / 2)
    assert batch_map().verdict is Verdict.CONSISTENT
