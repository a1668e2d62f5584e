"""The budget of a pipeline whose model DP-SGD has trained: composed, against the textbook sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.computed import Computation
from dpcp_audit.figures import Figure, FigureKind, Series
from dpcp_audit.quantities import Quantity

if TYPE_CHECKING:
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.mechanisms.private_pipeline import PrivatePipeline

_LEAST = 1e-12


def trained_pipeline_budget(pipeline: PrivatePipeline, *, delta: float) -> Computation:
    """Compute ε of DP-SGD and P-COQS on the same people, at ``delta``.

    By composed privacy losses, held against the training's ε at δ/2 plus
    Tρ + 2·sqrt(Tρ·log(2/δ)), basic composition's sum.
    """
    value, claimed = pipeline.epsilon_at(delta), pipeline.textbook_epsilon(delta)
    parts = (pipeline.training.epsilon_at(delta), pipeline.release.epsilon_at(delta))
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": delta},
        detail="of the pipeline, from above",
        value=value,
        claimed=claimed,
        witness=pipeline.parameters
        | {"delta": delta, "epsilon_of_training": parts[0], "epsilon_of_thresholds": parts[1]},
        note=(
            f"Composed, ε is {value / claimed:.3g} times the textbook sum. The training alone "
            f"has {parts[0]:.4g}, the thresholds alone {parts[1]:.4g}."
        ),
        figures=(_figure(pipeline, claimed),),
    )


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
