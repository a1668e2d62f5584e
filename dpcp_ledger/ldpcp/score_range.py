"""A check that LDP-CP's scores lie in [0, 1], where thresholds are searched; its plain quantile."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import (
    Computation,
    ProofMethod,
    Quantity,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import (
    Classifier,
    Dataset,
    aps,
    aps_as_printed,
    classifier_pool,
    raps,
)
from dpcp_audit.extensions.statistics import at_most
from dpcp_ledger.claims.claim_pools import RAPS_PENALTY, RAPS_SPARED
from dpcp_ledger.paper import Heading, Paper

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.laws import ProbabilityPool


paper = Paper(title="LDP-CP", subject="LDP-CP, other statements")
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


@paper.claim(
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
@paper.claim(
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
@paper.claim(
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
@paper.claim(
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
@paper.claim(
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
        From probabilities (m, k) and u (m,) to scores (m, k), increasing in u.
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


@paper.claim(
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
    _validate.integer(n=n, at_least=1)
    _validate.open_unit(alpha=alpha)
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
