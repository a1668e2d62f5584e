"""The budget of a pipeline whose model DP-SGD has trained: composed, against the textbook sum."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import (
    Computation,
    Figure,
    FigureKind,
    Proof,
    ProofMethod,
    Quantity,
    Relation,
    Series,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.mechanisms import PCOQS, PrivatePipeline, SubsampledGaussian
from dpcp_audit.extensions.statistics import (
    at_most,
    ball,
    ends,
    exact,
    renyi_epsilon,
    sampled_renyi,
    substituted_renyi,
)
from dpcp_ledger.headings import REAL_NOISE, Heading
from dpcp_ledger.paper import Paper

if TYPE_CHECKING:
    from flint import arb

    from dpcp_audit.extensions.claims import PrivacyGuarantee


paper = Paper(title="DP-SKIN", subject=Heading.TRAINING_PIPELINE, standing=Standing.PRACTICE)
DELTA = 1e-5
PIPELINE = PrivatePipeline(
    training=SubsampledGaussian(
        sampling_rate=0.2, steps=60, noise_multiplier=4.0, relation=Relation.SUBSTITUTION
    ),
    calibration=PCOQS(alpha=0.1, rho=0.125, resolution=2.0**-6),
)
_LEAST = 1e-12
_ORDERS = (2, 3, 4, 5, 6, 8, 12, 16, 32)
"""Orders of Rényi divergences that bound ε; the best of them is shown."""


@paper.claim(
    "dpskin.pipeline[budget]",
    "Future work, with P-COQS, Proposition 1",
    Verdict.PROVED,
    "A DP-SGD classifier and a P-COQS threshold on the same people spend no more than the textbook "
    "sum of their budgets.",
    "ε(δ) ≤ ε₁(δ/2) + ρ + 2·√(ρ·log(2/δ))",
    assumptions=f"no layer mixes the images of a batch; {REAL_NOISE}",
    parameters=PIPELINE.parameters | {"delta": DELTA, "relation": str(PIPELINE.training.relation)},
    pipeline=PIPELINE,
    delta=DELTA,
)
def trained_pipeline_budget(pipeline: PrivatePipeline, *, delta: float) -> Computation:
    """Compute ε of DP-SGD and P-COQS on the same people, at ``delta``.

    By composed privacy losses, from above, held against the training's ε at δ/2 plus
    Tρ + 2·sqrt(Tρ·log(2/δ)), basic composition's sum. The training alone bounds it from below.
    """
    value, claimed = pipeline.epsilon_at(delta), pipeline.textbook_epsilon(delta)
    parts = (pipeline.training.epsilon_at(delta), pipeline.release.epsilon_at(delta))
    proof = _proof(pipeline, delta, claimed)
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": delta},
        detail="of the pipeline",
        value=value,
        claimed=claimed,
        lower=pipeline.training.epsilon_below(delta),
        upper=proof.premises[0].left[1] if proof.holds else None,
        proof=proof,
        witness=pipeline.parameters
        | {"delta": delta, "epsilon_of_training": parts[0], "epsilon_of_thresholds": parts[1]},
        note=(
            f"Composed, ε is {value / claimed:.3g} times the textbook sum. The training alone "
            f"has {parts[0]:.4g}, the thresholds alone {parts[1]:.4g}."
        ),
        figures=(_figure(pipeline, claimed),),
    )


def _proof(pipeline: PrivatePipeline, delta: float, claimed: float) -> Proof:
    """Return the proof that the accounted sum is enough, by divergences of a whole order."""
    bounds = {order: partial(_composed, pipeline, order, delta) for order in _ORDERS}
    order = min(_ORDERS, key=lambda order: ends(bounds[order])[1])
    return Proof(
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "The pair of a step of the training, and that of the noisy counts, dominate every "
            "pair of neighbours, also where the scores are those of the trained model. Their "
            f"Rényi divergences of the order {order}, of a step bounded by a binomial sum, add up "
            "and bound ε at δ; the sum on the right is the accountant's."
        ),
        premises=(at_most("ε(δ) ≤ ε₁(δ/2) + Tρ + 2√(Tρ·log(2/δ))", bounds[order], claimed),),
        parameters=pipeline.parameters
        | {"delta": delta, "relation": str(pipeline.training.relation)},
    )


def _composed(pipeline: PrivatePipeline, order: int, delta: float) -> arb:
    training, search = pipeline.training, pipeline.calibration
    substituted = training.relation is Relation.SUBSTITUTION
    step = (substituted_renyi if substituted else sampled_renyi)(
        training.sampling_rate, training.noise_multiplier, order
    )
    counts = pipeline.thresholds * search.rounds / (2 * exact(search.noise_scale) ** 2)
    return renyi_epsilon(training.steps * step + ball(order * counts), order, delta)


def _figure(pipeline: PrivatePipeline, claimed: float) -> Figure:
    epsilons = np.linspace(0.0, 1.1 * claimed, 41).tolist()
    curves: dict[str, PrivacyGuarantee] = {
        "the whole pipeline": pipeline,
        "the training alone": pipeline.training,
        "the thresholds alone": pipeline.release,
    }
    return Figure(
        kind=FigureKind.LINES,
        title="Privacy profile of a DP-SGD classifier under P-COQS",
        x_label="ε",
        y_label="δ(ε)",
        log_y=True,
        series=[
            Series(name=name, x=epsilons, y=[max(curve.delta_at(e), _LEAST) for e in epsilons])
            for name, curve in curves.items()
        ],
        marks={"textbook sum": claimed},
        description=(
            "δ(ε), from above, of the private training, of the noisy counts of its thresholds, "
            "and of both together on the same people."
        ),
    )
