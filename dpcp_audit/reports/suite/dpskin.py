"""Rows for DP-SKIN: the Gaussian mechanism, and the accounting of its trainings."""

from __future__ import annotations

from functools import partial

from dpcp_audit.audits.accounting import Sampling, Training
from dpcp_audit.audits.computed import Computation, Computed
from dpcp_audit.audits.evidence import Verdict
from dpcp_audit.audits.exact import hold_against
from dpcp_audit.audits.subsampled import (
    batch_bound,
    epochs_for_steps,
    training_budget,
)
from dpcp_audit.mechanisms.gaussian import Calibration, GaussianMechanism
from dpcp_audit.reports.suite.row import Row, claims_of

_claim = claims_of("DP-SKIN")


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
    return [*_gaussian_rows(), *_training_rows()]


def _gaussian_rows() -> list[Row]:
    cases = (
        (0.5, 1e-5, Verdict.PROVED, "Theorem 1"),
        (8.0, 0.01, Verdict.REFUTED, "Theorem 1, outside of its range ε < 1"),
    )
    return [
        Row(
            claim=_claim(
                f"dpskin.gaussian-classic[epsilon={epsilon:g}]",
                section,
                expected,
                f"Gaussian noise of the classic scale is (ε, δ)-DP, at ε = {epsilon:g} and "
                f"δ = {delta:g}.",
                "σ = Δ₂·√(2·log(1.25/δ))/ε",
            ),
            check=Computed(partial(_gaussian, epsilon, delta, Calibration.CLASSIC)),
        )
        for epsilon, delta, expected, section in cases
    ]


def _training_rows() -> list[Row]:
    noisy = Training(n=10_015, batch_size=20, epochs=9, noise_multiplier=8.1)
    strong = Training(n=100, batch_size=1, epochs=1, noise_multiplier=1.0)
    steps = (
        ("q=20/10015,sigma=8.1,alpha=2", noisy, 2),
        ("q=0.01,sigma=1,alpha=2", strong, 2),
        ("q=0.01,sigma=1,alpha=16", strong, 16),
    )
    samplings = (
        (Sampling.POISSON, "Poisson sampling", Verdict.PROVED),
        (Sampling.SHUFFLED, "fixed shuffled batches without amplification", Verdict.REFUTED),
    )
    return [
        *(
            Row(
                claim=_claim(
                    f"dpskin.rdp-batch[{variant}]",
                    "Section on Rényi DP, D_α of a batch",
                    Verdict.REFUTED,
                    "One Poisson-subsampled Gaussian step has a Rényi divergence of at most "
                    "q²α/(2σ²).",
                    "D_α ≤ q²α/(2σ²)",
                ),
                check=Computed(partial(batch_bound, training, alpha=alpha)),
            )
            for variant, training, alpha in steps
        ),
        Row(
            claim=_claim(
                "dpskin.rdp-total",
                "Equation (1)",
                Verdict.REFUTED,
                "The training's Rényi divergence is at most T·q²α/(2σ²) with T the number of "
                "epochs (here 9, at α = 2).",
                "D_α ≤ T·q²α/(2σ²)",
            ),
            check=Computed(partial(epochs_for_steps, noisy, alpha=2)),
        ),
        *(
            Row(
                claim=_claim(
                    f"dpskin.epsilon-table[sampling={sampling}]",
                    "Chapter 4",
                    expected,
                    "Nine epochs of DP-SGD with σ = 8.1, batches of 20 of 10015, are "
                    f"(0.59812, 1e-5)-DP, with {words}.",
                    "ε = √(2·log(1.25/δ))/σ",
                ),
                check=Computed(
                    partial(training_budget, noisy, epsilon=0.59812, delta=1e-5, sampling=sampling)
                ),
            )
            for sampling, words, expected in samplings
        ),
    ]
