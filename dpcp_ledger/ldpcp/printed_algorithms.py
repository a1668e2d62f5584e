"""What LDP-CP's algorithms print beside the theorems: rounds, probabilities, its open problem."""

from __future__ import annotations

import math
from fractions import Fraction

from dpcp_audit.extensions.claims import (
    Computation,
    Quantity,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.theorems import ScoreTheorem
from dpcp_ledger.headings import Heading
from dpcp_ledger.paper import Paper

paper = Paper(title="LDP-CP", subject=Heading.SCORE_COVERAGE)


@paper.claim(
    "ldpcp.theorem-4[rounds=natural]",
    "Theorems 3 and 4",
    Verdict.REFUTED,
    "T = ⌈log(1/τ)⌉ rounds are enough, with the natural logarithm, as in log(1/δ): without any "
    "noise the search covers at least 1−α−Δ.",
    "T = ⌈ln(1/τ)⌉, F(q̂) ≥ 1−α−Δ",
    standing=Standing.READING,
    parameters={"rounds": "natural", "alpha": 0.05, "width": 0.05, "spacing": 0.05},
    alpha=0.05,
    width=0.05,
    spacing=0.05,
)
def natural_rounds(*, alpha: float, width: float, spacing: float) -> Computation:
    """Compute the miscoverage of a search without noise in ⌈ln(1/τ)⌉ rounds, on uniform scores.

    No interval of length τ holds more than τ = Δ of their mass, as the theorem assumes.
    """
    rounds = math.ceil(math.log(1 / spacing))
    low, high = Fraction(0), Fraction(1)
    target, room = 1 - Fraction(str(alpha)), Fraction(str(width)) / 2
    middle = (low + high) / 2
    for _ in range(rounds):
        middle = (low + high) / 2
        if abs(middle - target) <= room:
            break
        low, high = (middle, high) if middle < target else (low, middle)
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        value=float(1 - middle),
        error=0.0,
        claimed=alpha + width,
        witness={"rounds": rounds, "threshold": float(middle), "scores": "uniform"},
        note=(
            f"After {rounds} rounds the search, told the exact shares, returns {float(middle):g}; "
            f"{math.ceil(math.log2(1 / spacing))} rounds, by the logarithm to the base 2, are "
            "enough. The paper writes log for both logarithms."
        ),
    )


@paper.claim(
    "ldpcp.algorithm-3[probability=none]",
    "Algorithms 2 and 3",
    Verdict.REFUTED,
    "“Threshold q ensuring private coverage” 1−α−Δ “on true labels”, without a probability: "
    "Algorithm 3 never covers less.",
    "P(F(q̂) < 1−α−Δ_S) = 0",
    subject=Heading.SCORE_ALGORITHM,
    standing=Standing.ERRATUM,
    parameters={"probability": "none", "n": 2_400, "epsilon": 4.0, "delta": 0.1},
    n=2_400,
    epsilon=4.0,
    delta=0.1,
)
def failure_without_probability(*, n: int, epsilon: float, delta: float) -> Computation:
    """Compute how often Algorithm 3 covers less than 1−α−Δ_S, which its output line leaves out."""
    theorem = ScoreTheorem(population=Uniform(), n=n, epsilon=epsilon, delta=delta)
    return Computation(
        quantity=Quantity.COVERAGE_FAILURE,
        value=theorem.failure_probability(),
        claimed=0.0,
        error=1e-3,
        witness=theorem.parameters,
        note="Theorem 4 says it with probability 1−δ, which holds; the algorithm's line does not.",
    )
