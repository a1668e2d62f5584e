"""Theorem 4 of LDP-CP without sampling: its failure probability, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.computed import Computation
from dpcp_audit.figures import Figure, FigureKind, Series
from dpcp_audit.mechanisms.ldpcp.window_law import ThresholdLaw, threshold_law
from dpcp_audit.quantities import Quantity
from dpcp_audit.theorems.theorem import outside

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.theorems.ldpcp_coverage import ScoreTheorem


def exact_failure(theorem: ScoreTheorem) -> Computation:
    """Compute the failure probability of Theorem 4 on one population, against δ.

    The law of the threshold is enumerated (``threshold_law``) and the coverage of each
    threshold q is F(q), so nothing is sampled.
    """
    law = threshold_law(theorem.mechanism, theorem.population, n=theorem.n)
    coverage = theorem.population.cdf(law.threshold)
    mean = float(np.sum(law.mass * coverage))
    return Computation(
        quantity=Quantity.COVERAGE_FAILURE,
        value=law.probability(outside(coverage, theorem.bounds)),
        claimed=theorem.delta,
        slack=law.slack,
        covers="the law of the threshold was enumerated for this population and n.",
        witness=theorem.parameters | {"limits": theorem.bounds},
        note=(
            f"Mean coverage {mean:.4g}; the search misses its window with probability "
            f"{law.probability(law.missed):.3g}."
        ),
        figures=(_coverage_figure(coverage, law, theorem.bounds),),
    )


def _coverage_figure(coverage: FloatArray, law: ThresholdLaw, bounds: dict[str, float]) -> Figure:
    order = np.argsort(coverage)
    points = coverage[order]
    below = np.minimum(1.0, np.cumsum(law.mass[order]))
    return Figure(
        kind=FigureKind.LINES,
        title="Law of the coverage, exact",
        x_label="coverage",
        y_label="P(coverage ≤ x)",
        series=[
            Series(
                name="distribution function",
                x=np.repeat(points, 2).tolist(),
                y=np.concatenate([[0.0], np.repeat(below, 2)[:-1]]).tolist(),
            )
        ],
        marks=dict(bounds),
        description=(
            "The distribution function of the coverage over calibration users and noise, "
            "computed exactly, with the bounds of the theorem as vertical lines."
        ),
    )
