"""Rows for DP-SKIN: the Gaussian mechanism."""

from __future__ import annotations

from functools import partial

from dpcp_audit.audits.computed import Computation, Computed
from dpcp_audit.audits.evidence import Claim, Source, Verdict
from dpcp_audit.audits.exact import hold_against
from dpcp_audit.mechanisms.gaussian import Calibration, GaussianMechanism
from dpcp_audit.reports.suite.row import Row


def _gaussian(epsilon: float, delta: float, calibration: Calibration) -> Computation:
    mechanism = GaussianMechanism(
        epsilon=epsilon, delta=delta, sensitivity=1.0, calibration=calibration
    )
    return hold_against(
        mechanism.guarantee,
        [mechanism.pair()],
        covers="the pair of outputs at distance Δ₂ dominates every other pair of inputs.",
        witness={
            "epsilon": epsilon,
            "delta": delta,
            "sensitivity": 1.0,
            "calibration": str(calibration),
            "noise_scale": mechanism.noise_scale,
        },
    )


def rows() -> list[Row]:
    """Return the DP-SKIN rows."""
    cases = (
        (0.5, 1e-5, Verdict.PROVED, "Theorem 1"),
        (8.0, 0.01, Verdict.REFUTED, "Theorem 1, outside of its range ε < 1"),
    )
    return [
        Row(
            claim=Claim(
                id=f"dpskin.gaussian-classic[epsilon={epsilon:g}]",
                statement=(
                    f"Gaussian noise of the classic scale is (ε, δ)-DP, at ε = {epsilon:g} and "
                    f"δ = {delta:g}."
                ),
                formula="σ = Δ₂·√(2·log(1.25/δ))/ε",
                source=Source(paper="DP-SKIN", section=section),
                expected=expected,
            ),
            check=Computed(partial(_gaussian, epsilon, delta, Calibration.CLASSIC)),
        )
        for epsilon, delta, expected, section in cases
    ]
