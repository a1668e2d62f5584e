"""The classic Gaussian scale over ε, the steps of its proof, and Rényi conversion."""

from __future__ import annotations

import math

import pytest

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.mechanisms import pcoqs_budget as gaussian
from dpcp_audit.words.guarantees import RenyiDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.dpskin.gaussian_claims import (
    classic_over,
    conversion,
    printed_mechanism,
    tail_step,
)


def test_the_classic_scale_holds_where_it_is_proved_and_fails_beyond() -> None:
    proved, beyond = classic_over(0.01, 1.0), classic_over(1.0, 20.0)
    assert (proved.verdict, beyond.verdict) == (Verdict.CONSISTENT, Verdict.REFUTED)
    assert beyond.witness["epsilon"] == 20.0
    delta = beyond.witness["delta"]
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / 20
    assert beyond.value == pytest.approx(GaussianPair(1 / sigma).delta_at(20.0) / delta)


def test_both_figures_cross_one_at_the_same_epsilon() -> None:
    """More noise than is needed means less δ than is claimed, and the reverse."""
    losses, scales = classic_over(1.0, 20.0).figures
    for loss, scale in zip(losses.series[1:], scales.series[1:], strict=True):
        assert loss.x == scale.x
        sides = [(a < 1, b > 1) for a, b in zip(loss.y, scale.y, strict=True)]
        assert all(first == second for first, second in sides)
        assert len(set(sides)) == 2


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


def test_the_printed_mechanism_is_private_enough() -> None:
    result = printed_mechanism()
    assert result.verdict is Verdict.PROVED
    for epsilon in (0.01, 0.5, 0.99):
        assert GaussianPair(1.0).delta_at(epsilon) <= 0.8 * math.exp(-(epsilon**2) / 2)
    assert GaussianPair(10.0).delta_at(0.5) > 0.8 * math.exp(-((0.1 * 0.5) ** 2) / 2)


def test_the_conversion_holds_and_is_not_vacuous() -> None:
    result = conversion(1e-5)
    assert result.verdict is Verdict.CONSISTENT
    assert 0.9 < result.value < 1
    region = RenyiDP(result.witness["alpha"], result.witness["divergence"])
    claimed = region.epsilon + math.log(1e5) / (region.alpha - 1)
    assert region.epsilon_at(1e-5) / claimed == pytest.approx(result.value)


def test_bad_ranges_are_refused() -> None:
    with pytest.raises(ValueError, match="^low must"):
        classic_over(0.0, 1.0)
    with pytest.raises(ValueError, match="^delta must"):
        tail_step(0.5, 0.0)
