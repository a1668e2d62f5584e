"""P-COQS's Remarks 2, 6, 7 and 8, and what it says after Corollary 1."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpcp_audit.extensions.claims import (
    Computation,
    ProofMethod,
    Quantity,
    Standing,
    Verdict,
    rounded_down,
)
from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.mechanisms import PCOQS, coverage_outside
from dpcp_audit.extensions.statistics import at_most, decimal
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
    FailureRate,
    MeanBound,
    likely_crowd,
    noise_rank_error,
)
from dpcp_ledger.paper import Heading, Paper
from dpcp_ledger.pcoqs.pcoqs_theorems import WindowCount

if TYPE_CHECKING:
    from collections.abc import Sequence


paper = Paper(title="P-COQS", subject=Heading.SEARCH_RANK)
_DEFAULT, _DELTA = PCOQS(alpha=0.1, rho=0.5), 1e-10
_REMARK_7 = PCOQS(alpha=0.1, rho=0.1)
_OF_REMARK_7 = {"n": 3000, "alpha": 0.1, "rho": 0.1, "resolution": _DELTA, "beta": 0.01}
_ONE_SCORE = 1.0
"""c of an interval Δ = c/n that holds one score in the mean."""
_MEAN_CROWD = (
    "“If the score distribution admits a density bounded by L on [a,b], then we have that "
    "E[M(Δ)] ≤ L Δ n_cal”."
)
_N = 1000


paper.tested(
    "pcoqs.remark-2[resolution=1/n]",
    "Remark 2",
    Verdict.REFUTED,
    _MEAN_CROWD,
    "E[M(Δ)] ≤ LΔn",
    parameters={"n": _N, "resolution": 1 / _N, "density_bound": 1.0, "population": "uniform"},
    check=MeanBound(
        theorem=WindowCount(population=Uniform(), density_bound=1.0, n=_N, resolution=1 / _N),
        at_most=1.0,
        range=(0.0, 20.0),
        n_trials=4_000,
        quantity=Quantity.COUNT,
    ),
)


@paper.claim(
    "pcoqs.remark-2[resolution=1e-10]",
    "Remark 2",
    Verdict.REFUTED,
    _MEAN_CROWD,
    "E[M(Δ)] ≤ LΔn",
    n=_N,
    resolution=_DELTA,
    density_bound=1.0,
)
def remark_2_fine(*, n: int, resolution: float, density_bound: float) -> Computation:
    """Compute the least E[M(Δ)] possible, 1, against Remark 2's L·Δ·n at a fine resolution."""
    claimed = density_bound * resolution * n
    return Computation(
        quantity=Quantity.VALUE,
        detail="least possible E[M(Δ)]",
        value=1.0,
        claimed=claimed,
        witness={"n": n, "resolution": resolution, "density_bound": density_bound},
        note=(
            "M(Δ) is a maximum over windows and is at least 1; L·Δ·n bounds the expected count of "
            "one fixed window. The expectation of a maximum is not the maximum of expectations."
        ),
    )


@paper.claim(
    "pcoqs.remark-2[resolution=any]",
    "Remark 2",
    Verdict.REFUTED,
    "“Any Δ in the regime Δ ≈ c/n_cal leads to similar behavior”: τ* + M(Δ) differs by no more "
    "than a factor of 2 for c from 0.1 to 100.",
    "Δ ≈ c/n",
    standing=Standing.READING,
    parameters={"n": 2400, "rho": 0.5, "beta": 0.01, "multiples": [0.1, 1.0, 10.0, 100.0]},
    mechanism=_DEFAULT,
    n=2400,
    beta=0.01,
    multiples=(0.1, 1.0, 10.0, 100.0),
)
def coarse_tail(
    mechanism: PCOQS, *, n: int, beta: float, multiples: Sequence[float]
) -> Computation:
    """Compute the largest ratio of τ* + M(Δ) among Δ = c/n (Remark 2, its end).

    M(Δ) is at least c by the pigeonhole principle, and for the Δ that does best at most what
    n uniform scores exceed with probability 0.001.
    """
    least: dict[float, float] = {}
    most: dict[float, float] = {}
    for multiple in multiples:
        at = replace(mechanism, resolution=multiple / n)
        noise = noise_rank_error(at, beta=beta)
        crowd = likely_crowd(Uniform(), n=n, length=at.resolution, chance=1e-3)
        least[multiple], most[multiple] = noise + max(1.0, multiple), noise + crowd
    worst = max(least, key=lambda c: least[c])
    best = min(most, key=lambda c: most[c])
    near = [c for c in multiples if c <= _ONE_SCORE]
    apart = max(most[c] for c in near) / min(least[c] for c in near)
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest τ over the smallest, among Δ = c/n",
        value=least[worst] / most[best],
        claimed=2.0,
        upper=math.inf,
        witness={"n": n, "worst": worst, "best": best, "tau": least[worst]},
        note=(
            f"τ is at least {least[worst]:.3g} at c = {worst:g} and at most {most[best]:.3g} at c "
            f"= {best:g}: Δ = c/n adds c ranks, beside a τ* of "
            f"{noise_rank_error(replace(mechanism, resolution=best / n), beta=beta):.3g}. For c "
            f"up to {_ONE_SCORE:g} they differ by a factor of {apart:.2f} at most."
        ),
    )


@paper.claim(
    "pcoqs.remark-6",
    "Remark 6",
    Verdict.PROVED,
    "Theorem 1 “does not imply slice-wise (e.g., class-conditional …) coverage”: some class is "
    "covered less than its lower bound.",
    "P(Y ∈ C | Y = y) < 1−α−τ/(n+1)",
    subject=Heading.SEARCH_COVERAGE,
    parameters={"n": 2400, "alpha": 0.1, "rho": 0.5, "share": 0.05},
    mechanism=_DEFAULT,
    n=2400,
    beta=0.01,
    share=0.05,
)
def one_class(mechanism: PCOQS, *, n: int, beta: float, share: float) -> Computation:
    """Compute the coverage of a rare class, from above, where Theorem 1 holds (Remark 6).

    Scores are uniform, and the class is that of the highest of them: it is covered only where the
    threshold exceeds 1 − share.
    """
    above, error = coverage_outside(mechanism, Uniform(), n=n, lower=0.0, upper=1 - share)
    bound = 1 - mechanism.alpha - (noise_rank_error(mechanism, beta=beta) + 1) / (n + 1)
    found = Computation(
        quantity=Quantity.PROBABILITY,
        detail="bound on the coverage of the class",
        value=above,
        claimed=bound,
        slack=error,
        witness={"share": share, "n": n, "alpha": mechanism.alpha, "rho": mechanism.rho},
        note=(
            "Theorem 1's lower bound of the coverage over all classes is "
            f"{rounded_down(bound)} there."
        ),
    )
    return found.between(
        at_most("coverage of the class < 1−α−τ/(n+1)", above + error, decimal(bound)),
        method=ProofMethod.ARGUMENT,
        argument=(
            "One example is enough: the scores of a class of the given share are the highest of "
            "uniform ones, and a test point of it is covered only where q exceeds 1 − share. That "
            "probability is summed over the exact law of q, with what is pruned added."
        ),
        parameters={"n": n, "alpha": mechanism.alpha, "rho": mechanism.rho, "share": share},
    )


@paper.claim(
    "pcoqs.remark-7[derivation]",
    "Remark 7",
    Verdict.REFUTED,
    "Following Proposition 1, the coverage bounds are 1−α−0.0183 and 1−α+0.0186.",
    "τ/(n+1) = 0.0183",
    subject=Heading.SEARCH_COVERAGE,
    standing=Standing.ERRATUM,
    parameters=_OF_REMARK_7,
    mechanism=_REMARK_7,
    n=3000,
    beta=0.01,
    stated=0.0183,
)
def remark_7_bounds(mechanism: PCOQS, *, n: int, beta: float, stated: float) -> Computation:
    """Compute the least half-width that Theorem 1 gives, against the one that Remark 7 states.

    τ = τ* + M(Δ), and M(Δ) ≥ 1 for any scores: a window that ends at a score holds it.
    """
    noise = noise_rank_error(mechanism, beta=beta)
    least = (noise + 1) / (n + 1)
    return Computation(
        quantity=Quantity.VALUE,
        detail="least τ/(n+1) that Theorem 1 allows",
        value=least,
        claimed=stated + 5e-5,  # stated to four decimals
        witness={
            "n": n,
            "rho": mechanism.rho,
            "beta": beta,
            "resolution": mechanism.resolution,
            "bounds": list(mechanism.bounds),
        },
        note=(
            f"τ* alone gives {noise / (n + 1):.4f} below and {(noise + 1) / (n + 1):.4f} above, "
            f"the stated numbers; with the term M(Δ) ≥ 1 of Proposition 1 the bounds are "
            f"{least:.4f} and {(noise + 2) / (n + 1):.4f}. The remark leaves out one rank, and its "
            "condition min|sᵢ − sⱼ| < Δ must read >."
        ),
    )


paper.tested(
    "pcoqs.remark-7[coverage=conditional]",
    "Remark 7",
    Verdict.CONSISTENT,
    "The coverage of one calibrated set lies in [1−α−0.0183, 1−α+0.0186] with "
    "probability at least 1−β.",
    subject=Heading.SEARCH_COVERAGE,
    standing=Standing.READING,
    parameters=_OF_REMARK_7
    | {"reading": str(CoverageReading.CONDITIONAL), "population": "uniform"},
    check=FailureRate(
        theorem=CoverageTheorem(
            mechanism=_REMARK_7,
            n=3000,
            beta=0.01,
            reading=CoverageReading.CONDITIONAL,
            window_count=0,  # τ = τ*, as the stated numbers have it
        ),
        n_trials=40_000,
    ),
)


@paper.claim(
    "pcoqs.remark-7[hypothesis=printed]",
    "Remark 7",
    Verdict.REFUTED,
    "“Assuming” min |s_i − s_j| < Δ, as printed, a window of length Δ holds one score.",
    "M(Δ) = 1",
    standing=Standing.ERRATUM,
    parameters={"hypothesis": "printed", "resolution": _DELTA},
    resolution=_DELTA,
)
def close_scores(*, resolution: float) -> Computation:
    """Count the scores in one window where some two of them are closer than Δ (Remark 7)."""
    scores = np.array([0.25, 0.25 + resolution / 2, 0.5, 0.75])
    ends = np.searchsorted(scores, scores + resolution, side="left")
    crowd = int((ends - np.arange(scores.size)).max())
    return Computation.counted(
        crowd,
        detail="scores in a window of length Δ",
        claimed=1,
        witness={"scores": scores.tolist(), "resolution": resolution},
        note=(
            "The smallest distance between scores is below Δ, as the remark assumes, and M(Δ) is "
            "not 1; that takes a distance above Δ. With M(Δ) = 1 the remark's numbers still lack a "
            "rank, see pcoqs.remark-7[derivation]."
        ),
    )


def histogram_rate(*, inside: bool, low: float, high: float) -> Computation:
    """Compute the exponent of nε in the least of 1/B + noise over B (Remark 8).

    Parameters
    ----------
    inside : bool
        True if the noise term is √(B/(nε)), as printed, with nε under the root; else √B/(nε).
    low, high : float
        The nε between which the slope is taken.
    """

    def least(scale: float) -> float:
        bins = np.logspace(0, 2 * math.log10(scale), 200_001)
        noise = np.sqrt(bins / scale) if inside else np.sqrt(bins) / scale
        return float((1 / bins + noise).min())

    slope = math.log(least(high) / least(low)) / math.log(high / low)
    return Computation(
        quantity=Quantity.VALUE,
        detail="exponent of nε in the best error of a histogram",
        value=slope,
        claimed=-2 / 3 + 1e-4,
        error=1e-6,
        witness={"low": low, "high": high, "inside": inside},
        note=(
            "The sum of B Laplace counts of scale 1/ε has the standard deviation √(2B)/ε, which "
            "is √(2B)/(nε) of the sample. Balanced with 1/B that gives (nε)^(−2/3), the rate that "
            "the remark quotes from the literature; with nε under the root it gives (nε)^(−1/3). "
            "As an upper bound the printed term is true, and loose by a factor of √(nε)."
        ),
    )


for _name, _noise, _inside, _standing, _expected in (
    ("printed", "√(B/(εn))", True, Standing.ERRATUM, Verdict.REFUTED),
    ("corrected", "√B/(εn)", False, Standing.CORRECTED, Verdict.CONSISTENT),
):
    paper.claim(
        f"pcoqs.remark-8[noise={_name}]",
        "Remark 8",
        _expected,
        f"HistLap's discretisation 1/B and its noise {_noise}, balanced over B, give "
        "the error of order (nε)^(−2/3) that the remark quotes.",
        f"1/B + {_noise}",
        subject="HistLap, its error",
        standing=_standing,
        parameters={"noise": _name},
        inside=_inside,
        low=1e4,
        high=1e6,
    )(histogram_rate)


@paper.claim(
    "pcoqs.corollary-1[crowd=histogram]",
    "After Corollary 1",
    Verdict.REFUTED,
    "“An auxiliary DP histogram over the Δ-grid can provide a private estimate of M(Δ) at "
    "negligible additional privacy cost”: at a tenth of ρ it errs by no more than a tenth of τ*.",
    "|M̂(Δ) − M(Δ)| ≤ τ*/10",
    subject=Heading.SEARCH_COVERAGE,
    standing=Standing.READING,
    parameters={"resolution": _DELTA, "bounds": [0.0, 1.0], "rho": 0.5, "beta": 0.01, "spent": 0.1},
    mechanism=_DEFAULT,
    beta=0.01,
    spent=0.1,
)
def crowd_histogram(mechanism: PCOQS, *, beta: float, spent: float) -> Computation:
    """Compute a DP histogram's error of M(Δ), in units of τ*, at a small cost (Corollary 1).

    Substitution moves two counts by one: Gaussian noise of variance 1/ρ_b on each of the
    (b−a)/Δ counts is ρ_b-zCDP. The error is the median of the largest noise; all counts but a
    few are 0.

    Parameters
    ----------
    spent : float
        ρ_b, as a share of ρ.
    """
    low, high = mechanism.bounds
    bins = (high - low) / mechanism.resolution
    scale = math.sqrt(1 / (spent * mechanism.rho))
    median = -float(ndtri(-math.expm1(math.log(0.5) / bins)))
    noise = noise_rank_error(mechanism, beta=beta)
    direct = math.sqrt(1 / (2 * spent * mechanism.rho))
    return Computation(
        quantity=Quantity.RATIO,
        detail="error of M(Δ) over τ*",
        value=scale * median / noise,
        claimed=0.1,
        witness={"bins": bins, "noise_scale": scale, "rho_b": spent * mechanism.rho, "tau": noise},
        note=(
            f"The largest of {bins:.3g} noises of scale {scale:.3g} is {scale * median:.3g} ranks "
            f"in the median, beside τ* = {noise:.3g}; Laplace noise of a pure ε does worse. M(Δ) "
            f"has sensitivity 1 itself: noise of scale {direct:.3g} on M(Δ) alone costs as much, "
            "and needs no histogram."
        ),
    )
