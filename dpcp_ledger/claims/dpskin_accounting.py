"""Rows for DP-SKIN: the Gaussian mechanism, and the accounting of its trainings."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.audits import Sampling, Training, exact_outcome
from dpcp_audit.extensions.claims import (
    Computation,
    Computed,
    Relation,
    Row,
    Standing,
    Verdict,
    claims_of,
)
from dpcp_audit.extensions.laws import GaussianPair
from dpcp_audit.extensions.mechanisms import Calibration, GaussianMechanism
from dpcp_audit.extensions.statistics import at_most, exact
from dpcp_ledger.claims.headings import REAL_NOISE
from dpcp_ledger.computations.gaussian_claims import (
    classic_over,
    conversion,
    printed_mechanism,
    tail_step,
)
from dpcp_ledger.computations.subsampled_claims import batch_bound, batch_map, epochs_for_steps
from dpcp_ledger.computations.training_budgets import (
    budgets_map,
    formula_budget,
    printed_formula,
    table_budget,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import PlainData


_DELTA = 1e-5
_PRINTED = {8.1: 0.59812, 8.3: 0.58371, 8.5: 0.56997, 8.7: 0.55687, 8.9: 0.54436}
_TRAININGS = {
    name: Training(n=10_015, batch_size=20, epochs=epochs, noise_multiplier=8.1)
    for name, epochs in (
        ("DP-SGD, ResNet50", 9),
        ("DP-SGD, ResNet18", 20),
        ("DP-Adam, ResNet50", 10),
        ("DP-Adam, ResNet18", 7),
    )
}
_TABLES = {
    "epsilon": list(_PRINTED.values()),
    "noise_multiplier": list(_PRINTED),
    "delta": _DELTA,
}
_RANGE = "ε in (0, 1)"
_STEP = "One Poisson-subsampled Gaussian step has a Rényi divergence of at most q²α/(2σ²)"

_GAUSSIAN = "DP-SKIN, the Gaussian mechanism"
_claim = claims_of("DP-SKIN", subject="DP-SKIN, privacy of training")
_analytic_claim = claims_of("Balle and Wang (2018)", subject=_GAUSSIAN)


def _fixed(training: Training) -> PlainData:
    return {
        "n": training.n,
        "noise_multiplier": training.noise_multiplier,
        "batch_size": training.batch_size,
        "epochs": training.epochs,
    }


def rows() -> list[Row]:
    """Return the DP-SKIN rows."""
    return [*_gaussian_rows(), *_proof_rows(), *_step_rows(), *_table_rows()]


def _gaussian(epsilon: float, delta: float, calibration: Calibration) -> Computation:
    mechanism = GaussianMechanism(
        epsilon=epsilon, delta=delta, sensitivity=1.0, calibration=calibration
    )
    shift = math.nextafter(mechanism.pair().shift, math.inf)
    ratio = exact(mechanism.sensitivity) / exact(mechanism.noise_scale)
    return exact_outcome(
        mechanism.guarantee,
        [GaussianPair(shift)],
        argument=(
            "Outputs at distance Δ₂ are the worst, and δ(ε) of a Gaussian pair grows with its "
            "shift: that of N(0, 1) against N(μ, 1) for a μ ≥ Δ₂/σ bounds every other."
        ),
        premises=(at_most("Δ₂/σ ≤ μ", ratio, shift),),
        parameters={"sensitivity": mechanism.sensitivity},
        witness={
            "epsilon": epsilon,
            "delta": delta,
            "sensitivity": 1.0,
            "calibration": str(calibration),
            "noise_scale": mechanism.noise_scale,
        },
    )


def _gaussian_rows() -> list[Row]:
    paper, outside = Standing.PAPER, Standing.OUTSIDE_HYPOTHESIS
    cases = ((0.5, 1e-5, paper, Verdict.PROVED), (8.0, 0.01, outside, Verdict.REFUTED))
    ranges = ((0.01, 1.0, paper, Verdict.CONSISTENT), (1.0, 20.0, outside, Verdict.REFUTED))
    classic = "Gaussian noise of the classic scale is (ε, δ)-DP"
    formula = "σ = Δ₂·√(2·log(1.25/δ))/ε"
    return [
        *(
            Row(
                claim=_claim(
                    f"dpskin.gaussian-classic[epsilon={epsilon:g}]",
                    "Theorem 1",
                    expected,
                    f"{classic}.",
                    formula,
                    subject=_GAUSSIAN,
                    standing=standing,
                    assumptions=_RANGE,
                    parameters={"epsilon": epsilon, "delta": delta, "sensitivity": 1.0},
                ),
                check=Computed(partial(_gaussian, epsilon, delta, Calibration.CLASSIC)),
            )
            for epsilon, delta, standing, expected in cases
        ),
        *(
            Row(
                claim=_claim(
                    f"dpskin.gaussian-classic[epsilon={low:g}..{high:g}]",
                    "Theorem 1",
                    expected,
                    f"{classic}, for every ε of an interval.",
                    formula,
                    subject=_GAUSSIAN,
                    standing=standing,
                    assumptions=_RANGE,
                    parameters={
                        "epsilon": [low, high],
                        "delta": [1e-2, 1e-5, 1e-8],
                        "sensitivity": 1.0,
                    },
                ),
                check=Computed(partial(classic_over, low, high)),
            )
            for low, high, standing, expected in ranges
        ),
        *(
            Row(
                claim=_analytic_claim(
                    f"dpskin.gaussian-analytic[epsilon={epsilon:g}]",
                    "Theorem 8",
                    Verdict.PROVED,
                    "Gaussian noise of the analytic scale is (ε, δ)-DP.",
                    assumptions=REAL_NOISE,
                    parameters={"epsilon": epsilon, "delta": delta, "sensitivity": 1.0},
                ),
                check=Computed(partial(_gaussian, epsilon, delta, Calibration.ANALYTIC)),
            )
            for epsilon, delta, _, _ in cases
        ),
        Row(
            claim=_claim(
                "dpskin.gaussian-printed",
                "Section on the Gaussian mechanism",
                Verdict.PROVED,
                "Noise N(0, Δ₂²) is (ε, δ)-DP with δ = 4/5·exp(−ε²/2) for every ε in (0, 1).",
                "δ ≥ 4/5·exp(−ε²/2)",
                subject=_GAUSSIAN,
                assumptions=_RANGE,
            ),
            check=Computed(printed_mechanism),
        ),
    ]


def _proof_rows() -> list[Row]:
    return [
        *(
            Row(
                claim=_claim(
                    f"dpskin.theorem-2[step=tail,epsilon={epsilon:g}]",
                    "Theorem 2, single-step updates",
                    expected,
                    "At the scale that the proof ends with, its bound exp(−z²/2) of Pr[L ≥ ε] is "
                    "at most δ: the 1.25 makes up for the term that it drops.",
                    "exp(−z²/2) ≤ δ, z = εσ/d − d/(2σ)",
                    subject=_GAUSSIAN,
                    standing=standing,
                    parameters={"epsilon": epsilon, "delta": _DELTA, "step": "tail"},
                ),
                check=Computed(partial(tail_step, epsilon, _DELTA)),
            )
            for epsilon, standing, expected in (
                (0.4, Standing.PAPER, Verdict.CONSISTENT),
                (0.59812, Standing.ERRATUM, Verdict.REFUTED),
            )
        ),
        Row(
            claim=_claim(
                "dpskin.theorem-2[step=conversion]",
                "Theorem 2, Equation (2)",
                Verdict.CONSISTENT,
                "A mechanism with D_α ≤ D is (D + log(1/δ)/(α−1), δ)-DP.",
                "ε = D_α + log(1/δ)/(α−1)",
                subject=_GAUSSIAN,
                parameters={"delta": _DELTA, "step": "conversion"},
            ),
            check=Computed(partial(conversion, _DELTA)),
        ),
    ]


def _step_rows() -> list[Row]:
    thesis = _TRAININGS["DP-SGD, ResNet50"]
    strong = Training(n=100, batch_size=1, epochs=1, noise_multiplier=1.0)
    section = "Section on Rényi DP, D_α of a batch"
    cases = (
        ("q=20/10015,sigma=8.1,alpha=2", thesis, 2),
        ("q=0.01,sigma=1,alpha=2", strong, 2),
        ("q=0.01,sigma=1,alpha=16", strong, 16),
    )
    return [
        *(
            Row(
                claim=_claim(
                    f"dpskin.rdp-batch[{variant}]",
                    section,
                    Verdict.REFUTED,
                    f"{_STEP}.",
                    "D_α ≤ q²α/(2σ²)",
                    parameters={
                        "sampling_rate": training.sampling_rate,
                        "noise_multiplier": training.noise_multiplier,
                        "order": order,
                    },
                ),
                check=Computed(partial(batch_bound, training, alpha=order)),
            )
            for variant, training, order in cases
        ),
        Row(
            claim=_claim(
                "dpskin.rdp-batch[anywhere]",
                section,
                Verdict.REFUTED,
                f"{_STEP}, if not everywhere then in one of 520 cases (q < 1, σ, whole α) at "
                "least.",
                "D_α ≤ q²α/(2σ²)",
                standing=Standing.READING,
                parameters={"variant": "anywhere"},
            ),
            check=Computed(batch_map),
        ),
        Row(
            claim=_claim(
                "dpskin.rdp-total",
                "Equation (1)",
                Verdict.REFUTED,
                "“For training over T epochs, the total Rényi divergence accumulates additively”, "
                "to T·q²α/(2σ²) at most, with T the number of epochs.",
                "D_α ≤ T·q²α/(2σ²)",
                parameters=_fixed(thesis) | {"order": 2},
            ),
            check=Computed(partial(epochs_for_steps, thesis, alpha=2)),
        ),
        Row(
            claim=_claim(
                "dpskin.rdp-total[epsilon]",
                "Theorem 2, last equation",
                Verdict.REFUTED,
                "A training is (ε, δ)-DP under Poisson sampling, with the ε that T epochs and the "
                "best order give.",
                "ε = T·q²α/(2σ²) + log(1/δ)/(α−1)",
                parameters=_fixed(thesis) | {"delta": _DELTA},
            ),
            check=Computed(partial(formula_budget, thesis, delta=_DELTA)),
        ),
    ]


_NO_BATCH_STATISTICS = (
    "a step is a Gaussian mechanism of sensitivity C: no layer mixes the images of a batch, as the "
    "batch normalisation of Table 2.1 does; without it one image moves the clipped sum by C at most"
)


def _table_rows() -> list[Row]:
    samplings = (
        (Sampling.POISSON, "Poisson sampling", Standing.PAPER, Verdict.PROVED),
        (
            Sampling.SHUFFLED,
            "fixed shuffled batches without amplification",
            Standing.READING,
            Verdict.REFUTED,
        ),
    )
    return [
        Row(
            claim=_claim(
                "dpskin.epsilon-table[formula]",
                "Chapter 4, all tables",
                Verdict.PROVED,
                "The printed ε are those of a single Gaussian release.",
                "ε = √(2·log(1.25/δ))/σ",
                standing=Standing.READING,
                parameters=_TABLES,
            ),
            check=Computed(_formula_table),
        ),
        *(
            Row(
                claim=_claim(
                    f"dpskin.epsilon-table[training={'-'.join(name.lower().split(', '))},"
                    f"sampling={sampling}]",
                    f"Section 4.{place}",
                    expected,
                    f"{name.replace(', ', ' on ')} is (ε, δ)-DP with each of the five printed ε, "
                    f"with {words}.",
                    "ε = √(2·log(1.25/δ))/σ",
                    standing=standing,
                    assumptions=_NO_BATCH_STATISTICS if sampling is Sampling.POISSON else "",
                    parameters=_fixed(training)
                    | _TABLES
                    | {
                        "training": name,
                        "sampling": str(sampling),
                        "relation": str(Relation.ZERO_OUT),
                    },
                ),
                check=Computed(
                    partial(table_budget, training, _PRINTED, delta=_DELTA, sampling=sampling)
                ),
            )
            for place, (name, training) in enumerate(_TRAININGS.items(), start=1)
            for sampling, words, standing, expected in samplings
        ),
    ]


def _formula_table() -> Computation:
    maps = tuple(
        budgets_map(_TRAININGS, _PRINTED, delta=_DELTA, sampling=sampling) for sampling in Sampling
    )
    return replace(printed_formula(_PRINTED, delta=_DELTA), figures=maps)
