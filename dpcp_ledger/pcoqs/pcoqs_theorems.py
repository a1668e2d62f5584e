"""P-COQS's coverage: Proposition 1's ranks, Theorem 1 and Corollary 1."""

from __future__ import annotations

from dataclasses import replace

from dpcp_audit.extensions.claims import Standing, Verdict
from dpcp_audit.extensions.laws import Classifier, Uniform
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
    FailureRate,
    NoiseBound,
    RankError,
    standing_of,
    window_count_for,
)
from dpcp_ledger.claims.claim_pools import digits
from dpcp_ledger.headings import Heading
from dpcp_ledger.paper import Paper
from dpcp_ledger.pcoqs.pcoqs_rank import FixedRankError, evenly_spaced

ranks = Paper(title="P-COQS", subject=Heading.SEARCH_RANK)
paper = Paper(title="P-COQS", subject=Heading.SEARCH_COVERAGE)
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_COARSE_DEFAULT = replace(_DEFAULT, resolution=1 / 32)
_COARSE_N = 100_000
_COARSE_CROWD = window_count_for(Uniform(), n=_COARSE_N, resolution=1 / 32, beta=0.01)
"""M(Δ) of so many uniform scores, but for a probability of β/4; 3,285 is its mean."""
_MARGINAL, _CONDITIONAL = CoverageReading.MARGINAL, CoverageReading.CONDITIONAL


# Proposition 1 and Remark 3 on uniform scores.
_RANK = RankError(mechanism=_DEFAULT, n=2400, beta=0.01)
for _theorem, _name in (
    (_RANK, "proposition-1.rank"),
    (replace(_RANK, noise_bound=NoiseBound.GAUSSIAN), "remark-3"),
):
    ranks.theorem(
        _theorem,
        f"pcoqs.{_name}",
        Verdict.CONSISTENT,
        FailureRate(theorem=_theorem, n_trials=40_000),
    )


# Proposition 1 at a coarse resolution, as printed and as its argument has it.
for _windows, _name, _standing, _expected in (
    (1, "printed", Standing.PAPER, Verdict.REFUTED),
    (2, "doubled", Standing.READING, Verdict.CONSISTENT),
):
    _fixed = FixedRankError(
        mechanism=PCOQS(alpha=0.496, rho=10.0, resolution=1 / 32),
        scores=evenly_spaced(999),
        beta=0.01,
        windows=_windows,
    )
    ranks.theorem(
        _fixed,
        f"pcoqs.proposition-1.rank[resolution=1/32,bound={_name}]",
        _expected,
        _fixed.check(),
        standing=_standing,
        parameters={"bound": _name, "population": "evenly spaced"},
    )


# Proposition 1 and Theorem 1 at a coarse resolution, on i.i.d. scores and at the paper's own α
# and ρ; a coverage counts the scores at the threshold itself.
_COARSE_RANK = RankError(
    mechanism=_COARSE_DEFAULT, n=_COARSE_N, beta=0.01, window_count=_COARSE_CROWD
)
_COARSE_COVERAGE = CoverageTheorem(
    mechanism=_COARSE_DEFAULT, n=_COARSE_N, beta=0.01, window_count=_COARSE_CROWD + 1
)
for _topic, _coarse, _name in (
    (ranks, _COARSE_RANK, "proposition-1.rank[scores=uniform"),
    (paper, _COARSE_COVERAGE, "theorem-1[coverage=marginal"),
):
    for _windows, _suffix, _expected in (
        (1, "", Verdict.REFUTED),
        (2, ",windows=2", Verdict.CONSISTENT),
    ):
        _at = replace(_coarse, windows=_windows)
        _topic.theorem(
            _at,
            f"pcoqs.{_name},resolution=1/32{_suffix}]",
            _expected,
            FailureRate(theorem=_at, n_trials=10_000),
            standing=standing_of(_at),
            note="at Δ = 1/32, on i.i.d. scores",
        )


def _covers(
    theorem: CoverageTheorem,
    variant: str,
    expected: Verdict,
    standing: Standing = Standing.PAPER,
    *,
    note: str = "",
) -> None:
    name = "corollary-1" if theorem.corrected else "theorem-1"
    paper.theorem(
        theorem,
        f"pcoqs.{name}[coverage={theorem.reading}{variant}]",
        expected,
        theorem.check(n_trials=40_000),
        standing=standing,
        note=note,
    )


# Theorem 1 and Corollary 1 on uniform scores, on average and for one calibrated set.
_AVERAGED = CoverageTheorem(mechanism=_DEFAULT, n=500, beta=0.1, reading=_MARGINAL)
_CALIBRATED = CoverageTheorem(mechanism=_DEFAULT, n=2400, beta=0.01, reading=_CONDITIONAL)
for _corrected in (False, True):
    _covers(replace(_AVERAGED, corrected=_corrected), "", Verdict.CONSISTENT)
    _covers(replace(_CALIBRATED, corrected=_corrected), "", Verdict.REFUTED, Standing.READING)
_covers(
    CoverageTheorem(
        mechanism=PCOQS(alpha=0.1, rho=0.05), n=50, beta=0.01, reading=_MARGINAL, corrected=True
    ),
    ",n=50,rho=0.05",
    Verdict.REFUTED,
    note="also where α < τ/(n+1), so that α* = 0",
)
# On real scores, drawn with replacement, duplicates make M(Δ) exceed 1. At n = 500 from a pool of
# about 900, a score is drawn nine times with probability below 1e-4 in all, so M(Δ) is taken as
# 8, plus the rank that unbroken ties cost.
_covers(
    CoverageTheorem(
        mechanism=replace(_DEFAULT, rho=0.02),
        n=500,
        beta=0.1,
        reading=_MARGINAL,
        window_count=8 + 1,
        population=digits(Classifier.LOGISTIC),
    ),
    ",scores=digits-logistic",
    Verdict.CONSISTENT,
    note="where unbroken ties cost one rank more",
)


_MANY = 10**12
_LARGEST = replace(
    _CALIBRATED,
    n=_MANY,
    window_count=window_count_for(
        _CALIBRATED.population,
        n=_MANY,
        resolution=_DEFAULT.resolution,
        beta=_CALIBRATED.beta,
        lost=1,
    ),
)
paper.theorem(
    _LARGEST,
    "pcoqs.theorem-1[coverage=conditional,n=any]",
    Verdict.REFUTED,
    FailureRate(theorem=_LARGEST, n_trials=4_000),
    standing=Standing.READING,
    note="at any n, however large: it varies by 1/√n, the bound by 1/n",
)
