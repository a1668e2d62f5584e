"""Exchangeable scores on which LDP-CP's Theorems 3 and 4 fail.

All n users hold the same score θ, and θ is uniform on [0, 1]. They are exchangeable, and each
score's law is uniform, which both theorems admit. The search finds θ to 2^(−T) and returns the last
midpoint, q. Both readings of the coverage fail:

- A test point that is exchangeable with the users has the score θ too. It lies above the last
  midpoint in half of the cases, and then nothing is covered: given θ the law of the scores is an
  atom, which the theorems do not admit. The upper end of the bracket in q's place would cover.
- A test point that is drawn by itself is covered with probability q ≈ θ, which is less than
  1−α−Δ in most cases, whatever the search returns on a miss: it has seen one draw of the law.

The first fails less often, and is the one that counts.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from dpcp_audit.extensions.claims import (
    Computation,
    ProofMethod,
    Quantity,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.mechanisms import LDPCPLabels, LDPCPScores, dkw_width, hoeffding_width
from dpcp_audit.extensions.statistics import at_most, exact
from dpcp_audit.extensions.theorems import ScoreTheorem
from dpcp_ledger.paper import Heading, Paper

paper = Paper(title="LDP-CP", subject=Heading.SCORE_COVERAGE)
_SCORES: dict[str, Any] = {"n": 11_080, "alpha": 0.1, "epsilon": 4.0, "delta": 0.1, "rounds": 10}
_LABELS: dict[str, Any] = _SCORES | {"n": 50_000, "k": 10}
_CONSTANT: dict[str, Any] = {"algorithm": "q̂ = 1", "threshold": 1.0}
_ERROR = 1e-9
"""More than the relative error of a few dozen products of binomial tails."""


@paper.claim(
    "ldpcp.theorem-4[data=exchangeable]",
    "Theorem 4",
    Verdict.REFUTED,
    "LDP-CP-S itself, read as the algorithm that “exists”, covers at least 1−α−Δ with probability "
    "at least 1−δ, on samples that are exchangeable and not independent: one score for all.",
    "P(p(y ∈ C_q̂(x)) ≥ 1−α−Δ_S) ≥ 1−δ",
    standing=Standing.READING,
    parameters=_SCORES | {"data": "exchangeable"},
    **_SCORES,
)
def common_score_failure(
    *, n: int, alpha: float, epsilon: float, delta: float, rounds: int
) -> Computation:
    """Compute how often LDP-CP-S covers less than 1−α−Δ_S, from below (Theorem 4).

    Counted are the cases where every round answers rightly: θ's digits are fair coins, and a
    round with the midpoint below θ sees no score, one above it all of them.
    """
    width = hoeffding_width(n=n - n % rounds, epsilon=epsilon, rounds=rounds, delta=delta)
    mechanism = LDPCPScores(alpha=alpha, epsilon=epsilon, rounds=rounds, window_width=width)
    asked = min(mechanism.block_sizes(n))
    above, below = _score_answers(mechanism, asked)
    value = above / 2 * ((above + below) / 2) ** (rounds - 1)
    alone = min(above, below) ** rounds * _low_scores(alpha, width, rounds)
    case = {"n": n, "alpha": alpha, "epsilon": epsilon, "delta": delta, "rounds": rounds}
    return _failure(value, alone, "LDP-CP-S", case | {"window_width": width})


def _low_scores(alpha: float, width: float, rounds: int) -> float:
    """Return a share of the θ near which every threshold covers less than 1−α−Δ by itself."""
    return max(0.0, 1 - alpha - width - 2.0**-rounds)


def _score_answers(mechanism: LDPCPScores, asked: int) -> tuple[float, float]:
    """Return the probabilities of the right answer where no score, and where all, lie below."""
    counts = np.arange(asked + 1)
    estimates = mechanism.debias(counts, asked=asked, n=asked)
    low, high = 1 - mechanism.alpha, 1 - mechanism.alpha + mechanism.window_width
    keep = mechanism.response.keep_probability
    none, every = (stats.binom(asked, p).pmf(counts) for p in (1 - keep, keep))
    return float(none[estimates < low].sum()), float(every[estimates > high].sum())


@paper.claim(
    "ldpcp.theorem-3[data=exchangeable]",
    "Theorem 3",
    Verdict.REFUTED,
    "LDP-CP-L itself, read as the algorithm that “exists”, covers at least 1−α−Δ with probability "
    "at least 1−δ, on samples that are exchangeable and not independent: one score for all.",
    "P(p(y ∈ C_q̂(x)) ≥ 1−α−Δ_L) ≥ 1−δ",
    subject=Heading.LABEL_COVERAGE,
    standing=Standing.READING,
    parameters=_LABELS | {"data": "exchangeable"},
    **_LABELS,
)
def common_label_failure(
    *, n: int, k: int, alpha: float, epsilon: float, delta: float, rounds: int
) -> Computation:
    """Compute how often LDP-CP-L covers less than 1−α−Δ_L, from below (Theorem 3).

    With HPS and the probability 1−θ on the true label, θ/(k−1) on each other, wrong labels score
    1 − θ/(k−1) or more: above 7/8 for k ≥ 9. Counted are θ < 7/8, where no midpoint passes 7/8.
    """
    _validate.integer(k=k, at_least=9)
    _validate.integer(rounds=rounds, at_least=4)
    mechanism = LDPCPLabels(alpha=alpha, epsilon=epsilon, k=k, rounds=rounds, window_width=0.5)
    response = mechanism.response
    width = dkw_width(n=n, beta=response.beta, delta=delta)
    needed = (1 - response.beta) * (1 - alpha + width) + response.beta / k
    every = float(stats.binom(n, response.keep_probability).sf(math.floor(needed * n)))
    value = 7 / 8 / 2 * every ** (rounds - 1)  # a midpoint below θ sees no score and no noise
    alone = every**rounds * min(7 / 8, _low_scores(alpha, width, rounds))
    case = {"n": n, "alpha": alpha, "epsilon": epsilon, "delta": delta, "rounds": rounds, "k": k}
    return _failure(value, alone, "LDP-CP-L", case | {"window_width": width})


def _failure(value: float, alone: float, method: str, case: dict[str, float]) -> Computation:
    return Computation(
        quantity=Quantity.COVERAGE_FAILURE,
        value=value,
        claimed=case["delta"],
        lower=value * (1 - _ERROR),
        upper=1.0,
        witness=case | {"scores": "one score for all, uniform on [0, 1]", "drawn_by_itself": alone},
        note=(
            "All users share one score, uniform on [0, 1]: exchangeable, and each of them with an "
            "admissible law. A test point that shares it too lies above the last midpoint in every "
            "second case, and is then missed for certain: given the score, the law is an atom. A "
            "test point that is drawn by itself is covered too seldom in "
            f"{math.floor(1000 * alone) / 10:.1f} % of cases at least. Section 3.3 states the "
            f"theorem of {method}; “there exists an algorithm” alone is true of the threshold 1."
        ),
    )


def constant_threshold_failure() -> Computation:
    """Compute the failure probability and the privacy loss of the algorithm that returns q̂ = 1."""
    never = at_most("1 − F(1) ≤ 0, the coverage that q̂ = 1 lacks", exact(0), 0)
    private = at_most("log P(q̂ = 1 | x)/P(q̂ = 1 | x′) = log 1 ≤ 0", exact(0), 0)
    return Computation(
        quantity=Quantity.COVERAGE_FAILURE,
        value=0.0,
        claimed=0.0,
        error=0.0,
        witness={"threshold": 1.0},
        note=(
            "Theorems 3 and 4 say that an algorithm exists. A constant asks nobody, is 0-LDP, "
            "takes no iteration, and covers always, since scores are at most 1: both theorems are "
            "true of it, and promise nothing of Algorithms 2 and 3 by themselves."
        ),
    ).between(
        never,
        private,
        method=ProofMethod.ARGUMENT,
        argument=(
            "Scores lie in [0, 1], so that C_1(x) holds every label and p(y ∈ C_1(x)) = 1, which "
            "is at least 1−α−Δ for any α, Δ > 0, any n and any law. Its output is the same for "
            "all inputs, which is ε-LDP for every ε; it takes 0 ≤ T iterations."
        ),
        parameters={"threshold": 1.0},
    )


for _number, _heading in ((3, Heading.LABEL_COVERAGE), (4, Heading.SCORE_COVERAGE)):
    paper.claim(
        f"ldpcp.theorem-{_number}[algorithm=constant]",
        f"Theorem {_number}",
        Verdict.VACUOUS,
        "“There exists an ε-local differentially private algorithm” with this coverage.",
        "P(p(y ∈ C_1(x)) ≥ 1−α−Δ) ≥ 1−δ",
        subject=_heading,
        vacuous="As printed this promises nothing: the algorithm that returns q̂ = 1 "
        "whatever the data, so that every set holds every label, is one.",
        parameters=_CONSTANT,
    )(constant_threshold_failure)


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
