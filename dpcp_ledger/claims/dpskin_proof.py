"""Rows for the steps of DP-SKIN's Theorem 2, and for what the thesis says of its lots."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import Standing, Verdict, claims_of
from dpcp_ledger.claims.computed_rows import ComputedCase, computed_rows
from dpcp_ledger.computations.proof_steps import (
    clipped_mean_budget,
    gaussian_divergence,
    layer_sensitivity,
    loss_law,
    lot_bias,
    markov_step,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Row


_claim = claims_of("DP-SKIN", subject="DP-SKIN, the Gaussian mechanism")
_TAIL: dict[str, Any] = {"shift": 1.0, "epsilon": 2.0, "order": 3.5}
_GRADIENTS = (3, -1, -1, -1)
_UNCLIPPED = (5, 2, -1, -3)
_LOT = 2
_MEAN: dict[str, Any] = {
    "epochs": [9, 20, 10, 7],
    "noise": 8.1,
    "tensors": 66,
    "delta": 1e-5,
}


def rows() -> list[Row]:
    """Return the rows on the proof's steps."""
    paper, reading, erratum = Standing.PAPER, Standing.READING, Standing.ERRATUM
    refuted, proved = Verdict.REFUTED, Verdict.PROVED
    cases = (
        ComputedCase(
            "dpskin.theorem-2[step=loss-law]",
            "Theorem 2, single-step updates",
            paper,
            proved,
            "The privacy loss of one Gaussian release is normal, of mean d²/(2σ²) and variance "
            "d²/σ².",
            {},
            loss_law,
            formula="L ~ N(d²/(2σ²), d²/σ²)",
        ),
        ComputedCase(
            "dpskin.theorem-2[step=divergence]",
            "Theorem 2, multi-step updates",
            paper,
            proved,
            "Two normal laws of one variance at distance Δ have the Rényi divergence αΔ²/(2σ²).",
            {},
            gaussian_divergence,
            formula="D_α(P‖Q) = αΔ²/(2σ²)",
        ),
        ComputedCase(
            "dpskin.theorem-2[step=markov]",
            "Theorem 2, multi-step updates",
            erratum,
            refuted,
            "By Markov's inequality the loss exceeds ε with probability at most "
            "E[e^((α−1)L)]/e^((α−1)ε), with the mean over outputs of the neighbour, o ∼ Q.",
            _TAIL,
            partial(markov_step, **_TAIL),
            formula="Pr[L ≥ ε] ≤ E_{o∼Q}[e^((α−1)L)]/e^((α−1)ε)",
        ),
        ComputedCase(
            "dpskin.theorem-2[step=markov,outputs=own]",
            "Theorem 2, multi-step updates",
            reading,
            Verdict.CONSISTENT,
            "By Markov's inequality the loss exceeds ε with probability at most "
            "E[e^((α−1)L)]/e^((α−1)ε), with the mean over the mechanism's own outputs, o ∼ P.",
            _TAIL,
            partial(markov_step, **_TAIL, own=True),
            formula="Pr[L ≥ ε] ≤ E_{o∼P}[e^((α−1)L)]/e^((α−1)ε)",
        ),
        ComputedCase(
            "dpskin.lots[clipping=none]",
            "Section 3.3, Lots",
            paper,
            proved,
            "“This averaged gradient serves as an unbiased estimator” of the gradient: that of "
            "a lot of unclipped gradients.",
            {"lot": _LOT},
            partial(lot_bias, _UNCLIPPED, lot=_LOT, clip=None),
            formula="E[(1/L)·Σ g(xᵢ)] = (1/N)·Σ g(xᵢ)",
        ),
        ComputedCase(
            "dpskin.lots[clipping=1]",
            "Section 3.3, Lots, with Algorithms 1 and 2",
            reading,
            refuted,
            "The averaged gradient that Algorithms 1 and 2 take, of clipped gradients, is an "
            "unbiased estimator of the gradient.",
            {"lot": _LOT, "clip": 1},
            partial(lot_bias, _GRADIENTS, lot=_LOT, clip=1),
            formula="E[(1/L)·Σ ḡ(xᵢ)] = (1/N)·Σ g(xᵢ)",
        ),
        ComputedCase(
            "dpskin.clipping[per-layer]",
            "Section 3.3, Per-layer and time-dependent parameters",
            Standing.PRACTICE,
            refuted,
            "Each of the layers clipped to C by itself, with the noise σC of Algorithm 1, a "
            "step has the sensitivity, and so the privacy, of Algorithm 1.",
            {"layers": 18},
            partial(layer_sensitivity, layers=18),
            formula="‖Σ over layers‖ ≤ C",
        ),
        ComputedCase(
            "dpskin.clipping[after-averaging]",
            "Section 3.3, Norm Clipping",
            Standing.PRACTICE,
            refuted,
            "A training that clips after averaging, tensor by tensor, and adds noise of "
            "σ = 8.1 to the mean of a batch has the ε that Chapter 4 prints for that σ.",
            _MEAN,
            partial(
                clipped_mean_budget,
                (9, 20, 10, 7),
                noise=8.1,
                tensors=66,
                delta=1e-5,
                claimed=0.59812,
            ),
            formula="ε = √(2·log(1.25/δ))/σ",
        ),
    )
    return computed_rows(_claim, cases)
