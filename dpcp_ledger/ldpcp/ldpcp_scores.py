"""What LDP-CP asks of scores: that they lie in [0, 1], where it searches, and are independent.

Exchangeable scores, on which Theorems 3 and 4 fail: all n users hold the same score θ, and θ is
uniform on [0, 1]. Each score's law is uniform, which both theorems admit. The search finds θ to
2^(−T) and returns the last midpoint, q. Both readings of the coverage fail:

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
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity, Standing, Verdict
from dpcp_audit.extensions.laws import Classifier, Dataset, classifier_pool
from dpcp_audit.extensions.mechanisms import LDPCPLabels, LDPCPScores, dkw_width, hoeffding_width
from dpcp_audit.extensions.statistics import at_most, exact
from dpcp_ledger.mechanisms.label_scores import aps, aps_as_printed, raps
from dpcp_ledger.mechanisms.score_pools import RAPS_PENALTY, RAPS_SPARED
from dpcp_ledger.paper import Heading, Paper

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.laws import ProbabilityPool


ranges = Paper(title="LDP-CP", subject="LDP-CP, other statements")
_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC)
_RAPS: dict[str, Any] = {"penalty": RAPS_PENALTY, "spared": RAPS_SPARED}


def _printed_aps(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    return aps_as_printed(probabilities, u=u)


def _romano_aps(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    return aps(probabilities, u=u)


def _plain_aps(probabilities: FloatArray, u: FloatArray) -> FloatArray:  # noqa: ARG001
    return aps(probabilities)


def _raps_within(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    return raps(probabilities, penalty=RAPS_PENALTY, spared=RAPS_SPARED, u=u)


def _raps_as_published(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    most = 1 + RAPS_PENALTY * (int(probabilities.shape[1]) - RAPS_SPARED)
    return np.multiply(most, _raps_within(probabilities, u))


@ranges.claim(
    "ldpcp.aps-range[form=printed]",
    "Section 2.1",
    Verdict.REFUTED,
    "Scores lie in [0, 1], where the threshold is searched: APS as printed.",
    "Σ_{p_j ≥ p_i} p_j + u·p_i ≤ 1",
    standing=Standing.ERRATUM,
    parameters={"form": "printed", "population": "digits-logistic"},
    score=_printed_aps,
    pool=_POOL,
)
@ranges.claim(
    "ldpcp.aps-range[form=romano]",
    "Section 2.1, after Romano et al. (2020)",
    Verdict.PROVED,
    "Scores lie in [0, 1], where the threshold is searched: APS as Romano et al. define it.",
    "Σ_{p_j > p_i} p_j + u·p_i ≤ 1",
    standing=Standing.CORRECTED,
    parameters={"form": "romano"},
    score=_romano_aps,
    pool=_POOL,
    argument="Label i is not among the larger ones, and u ≤ 1: the score is a sum of "
    "probabilities of different labels, which is at most 1.",
)
@ranges.claim(
    "ldpcp.aps-range[form=preprint]",
    "Section 2.1 of the preprint",
    Verdict.PROVED,
    "Scores lie in [0, 1], where the threshold is searched: APS without randomisation.",
    "Σ_{p_j ≥ p_i} p_j ≤ 1",
    parameters={"form": "preprint"},
    score=_plain_aps,
    pool=_POOL,
    argument="A sum of probabilities of different labels is at most 1.",
)
@ranges.claim(
    "ldpcp.aps-range[form=raps]",
    "Section 3.1, with NACP's public code",
    Verdict.REFUTED,
    "Scores lie in [0, 1], where the threshold is searched: RAPS as published, with λ for each "
    "rank after the fifth.",
    "Σ_{p_j > p_i} p_j + u·p_i + λ·(rank − 5)⁺ ≤ 1",
    standing=Standing.PRACTICE,
    parameters=_RAPS | {"form": "raps"},
    score=_raps_as_published,
    pool=_POOL,
)
@ranges.claim(
    "ldpcp.aps-range[form=raps-divided]",
    "Section 3.1, with NACP's public code",
    Verdict.PROVED,
    "Scores lie in [0, 1], where the threshold is searched: RAPS divided by 1 + λ·(k−5).",
    "Σ_{p_j > p_i} p_j + u·p_i + λ·(rank − 5)⁺ ≤ 1 + λ·(k−5)",
    standing=Standing.CORRECTED,
    parameters=_RAPS | {"form": "raps-divided"},
    score=_raps_within,
    pool=_POOL,
    argument="APS is at most 1 and a rank at most k, so that the sum is at most 1 + λ·(k−5).",
)
def score_range(
    score: Callable[[FloatArray, FloatArray], FloatArray],
    pool: Callable[[], ProbabilityPool],
    *,
    argument: str = "",
) -> Computation:
    """Compute the largest score over a pool and over certain predictions, at u = 1.

    Parameters
    ----------
    score : callable
        A function from probabilities (m, k) and u (m,) to scores (m, k), increasing in u.
    argument : str
        Why no score of exact probabilities exceeds 1, if that is known. It proves nothing of
        scores one of which, as computed, exceeds 1 by however little.
    """
    probabilities = pool().probabilities
    certain = np.eye(probabilities.shape[1])
    rows = np.concatenate([certain, probabilities])
    scores = score(rows, np.ones(len(rows)))
    row, label = np.unravel_index(int(np.argmax(scores)), scores.shape)
    real = scores[certain.shape[0] :]
    found = Computation(
        quantity=Quantity.VALUE,
        detail="largest score",
        value=float(scores[row, label]),
        claimed=1.0,
        witness={"probabilities": rows[row].tolist(), "label": int(label), "u": 1.0},
        note=(
            f"On real predictions the largest is {real.max():.4g}, and "
            f"{(real > 1 + 1e-9).mean():.1%} of the scores can exceed 1, where the search on "
            "[0, 1] never looks."
        ),
    )
    if not argument or found.value > 1:
        return found
    return found.between(
        at_most("largest score of certain and of the pool's predictions ≤ 1", found.value, 1),
        method=ProofMethod.ARGUMENT,
        argument=argument,
        parameters={},
    )


@ranges.claim(
    "ldpcp.quantile[form=plain]",
    "Section 2.1",
    Verdict.REFUTED,
    "“If we set q to be the (1−α) quantile of the conformal scores” of the calibration set, the "
    "coverage is at least 1−α.",
    "1−α ≤ p(y ∈ C_q(x)) ≤ 1−α+1/(n+1)",
    subject=Heading.SPLIT_COVERAGE,
    standing=Standing.ERRATUM,
    parameters={"n": 10, "alpha": 0.1, "form": "plain"},
    n=10,
    alpha=0.1,
)
def plain_quantile(*, n: int, alpha: float) -> Computation:
    """Compute the miscoverage at the plain (1−α)-quantile of n scores, against α (Section 2.1).

    Without ties the r-th smallest of n scores is exceeded with probability 1 − r/(n+1); the
    quantile of the scores is the ⌈n(1−α)⌉-th.
    """
    level = 1 - Fraction(repr(alpha))
    plain = -int(-level * n // 1)
    conformal = -int(-level * (n + 1) // 1)
    missed = 1 - Fraction(plain, n + 1)
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean, at the plain quantile of the scores",
        value=float(missed),
        claimed=alpha,
        witness={"n": n, "alpha": alpha, "rank": plain, "conformal_rank": conformal},
        note=(
            f"The {1 - alpha:g}-quantile of {n} scores is that of rank {plain}, and covers "
            f"{float(1 - missed):.4g}; the theorem holds of the rank ⌈(n+1)(1−α)⌉, here "
            f"{conformal}. Interpolation, as numerical libraries have it, covers less than 1−α "
            f"as well: {_interpolated(n, level):.4g} on uniform scores."
        ),
    )


def _interpolated(n: int, level: Fraction) -> float:
    """Return the coverage at the linearly interpolated quantile, on uniform scores."""
    return float((1 + level * (n - 1)) / (n + 1))


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
