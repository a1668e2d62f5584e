"""Rows for P-COQS's coverage: Proposition 1's ranks, Theorem 1 and Corollary 1."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from dpcp_audit.extensions.claims import Computed, Row, Standing, Verdict, claims_of
from dpcp_audit.extensions.laws import Classifier, Uniform
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    AlongN,
    CoverageReading,
    CoverageTheorem,
    FailureRate,
    NoiseBound,
    RankError,
    claim_of,
    standing_of,
    window_count_for,
)
from dpcp_ledger.claims.claim_pools import digits
from dpcp_ledger.claims.headings import REAL_NOISE, Heading
from dpcp_ledger.computations.pcoqs_noise import noise_bound_growth, noise_exceeds
from dpcp_ledger.computations.pcoqs_rank import FixedRankError, evenly_spaced

_claim = claims_of("P-COQS", subject=Heading.SEARCH_RANK)
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_COARSE = PCOQS(alpha=0.496, rho=10.0, resolution=1 / 32)
_COARSE_DEFAULT = replace(_DEFAULT, resolution=1 / 32)
_COARSE_N = 100_000
_COARSE_CROWD = window_count_for(Uniform(), n=_COARSE_N, resolution=1 / 32, beta=0.01)
"""M(Δ) of so many uniform scores, but for a probability of β/4; 3,285 is its mean."""


def _theorem_1(reading: CoverageReading, *, corrected: bool = False) -> CoverageTheorem:
    """Theorem 1 or Corollary 1 on uniform scores."""
    marginal = reading is CoverageReading.MARGINAL
    return CoverageTheorem(
        mechanism=_DEFAULT,
        n=500 if marginal else 2400,
        beta=0.1 if marginal else 0.01,
        reading=reading,
        corrected=corrected,
    )


_CLAMPED = CoverageTheorem(
    mechanism=PCOQS(alpha=0.1, rho=0.05),
    n=50,
    beta=0.01,
    reading=CoverageReading.MARGINAL,
    corrected=True,
)


def _conditional_at(n: int) -> CoverageTheorem:
    return CoverageTheorem(mechanism=_DEFAULT, n=n, beta=0.01, reading=CoverageReading.CONDITIONAL)


def _on_digits() -> CoverageTheorem:
    """Theorem 1 on real scores, drawn with replacement: duplicates make M(Δ) exceed 1.

    At n = 500 from a pool of about 900, a score is drawn nine times with probability below
    1e-4 in all, so M(Δ) is taken as 8, plus the rank that unbroken ties cost.
    """
    return CoverageTheorem(
        mechanism=replace(_DEFAULT, rho=0.02),
        n=500,
        beta=0.1,
        reading=CoverageReading.MARGINAL,
        window_count=8 + 1,
        population=digits(Classifier.LOGISTIC),
    )


def rows() -> list[Row]:
    """Return the rows of P-COQS's ranks and coverage."""
    return [*_rank_rows(), *_noise_rows(), *_coverage_rows(), *_coarse_coverage_rows()]


def _rank_rows() -> list[Row]:
    union = RankError(mechanism=_DEFAULT, n=2400, beta=0.01)
    gaussian = replace(union, noise_bound=NoiseBound.GAUSSIAN)
    return [
        _rank_row(union, "proposition-1.rank", Verdict.CONSISTENT),
        *_coarse_rows(),
        *_coarse_iid_rows(),
        _rank_row(gaussian, "remark-3", Verdict.CONSISTENT),
    ]


def _rank_row(theorem: RankError, name: str, expected: Verdict) -> Row:
    return Row(
        claim=claim_of(theorem, f"pcoqs.{name}", expected, subject=Heading.SEARCH_RANK),
        check=FailureRate(theorem=theorem, n_trials=40_000),
    )


def _coarse_rows() -> list[Row]:
    """Proposition 1 at a coarse resolution, as printed and as its argument has it."""
    cases = (
        (1, "printed", Standing.PAPER, Verdict.REFUTED),
        (2, "doubled", Standing.READING, Verdict.CONSISTENT),
    )
    rows: list[Row] = []
    for windows, name, standing, expected in cases:
        theorem = FixedRankError(
            mechanism=_COARSE, scores=evenly_spaced(999), beta=0.01, windows=windows
        )
        claim = claim_of(
            theorem,
            f"pcoqs.proposition-1.rank[resolution=1/32,bound={name}]",
            expected,
            subject=Heading.SEARCH_RANK,
            standing=standing,
            parameters={"bound": name, "population": "evenly spaced"},
        )
        rows.append(Row(claim=claim, check=theorem.check()))
    return rows


def _coarse_iid_rows() -> list[Row]:
    """Proposition 1 at a coarse resolution, on i.i.d. scores and at the paper's own α and ρ."""
    theorem = RankError(
        mechanism=_COARSE_DEFAULT, n=_COARSE_N, beta=0.01, window_count=_COARSE_CROWD
    )
    return [
        _coarse_row(replace(theorem, windows=windows), "proposition-1.rank", "scores=uniform")
        for windows in (1, 2)
    ]


def _coarse_coverage_rows() -> list[Row]:
    """Theorem 1 at a coarse resolution, on i.i.d. scores and at the paper's own α and ρ."""
    crowd = _COARSE_CROWD + 1  # a coverage counts the scores at the threshold itself
    theorem = CoverageTheorem(mechanism=_COARSE_DEFAULT, n=_COARSE_N, beta=0.01, window_count=crowd)
    return [
        _coarse_row(replace(theorem, windows=windows), "theorem-1", "coverage=marginal")
        for windows in (1, 2)
    ]


def _coarse_row(theorem: CoverageTheorem | RankError, name: str, variant: str) -> Row:
    """Return the row of a bound with M(Δ) as printed, or of the corrected variant."""
    corrected = theorem.windows > 1
    suffix = ",windows=2" if corrected else ""
    of_ranks = isinstance(theorem, RankError)
    return Row(
        claim=claim_of(
            theorem,
            f"pcoqs.{name}[{variant},resolution=1/32{suffix}]",
            Verdict.CONSISTENT if corrected else Verdict.REFUTED,
            subject=Heading.SEARCH_RANK if of_ranks else Heading.SEARCH_COVERAGE,
            standing=standing_of(theorem),
            note="at Δ = 1/32, on i.i.d. scores",
        ),
        check=FailureRate(theorem=theorem, n_trials=10_000),
    )


def _noise_rows() -> list[Row]:
    fixed = {
        "rho": _DEFAULT.rho,
        "resolution": _DEFAULT.resolution,
        "bounds": list(_DEFAULT.bounds),
    }
    return [
        *(
            Row(
                claim=_claim(
                    f"pcoqs.{name}[beta=1e-6,event=noise]",
                    section,
                    Verdict.PROVED,
                    "No round's noise exceeds τ*, with probability at least 1−β.",
                    formula,
                    assumptions=REAL_NOISE,
                    parameters=fixed | {"beta": 1e-6, "noise_bound": str(bound), "event": "noise"},
                ),
                check=Computed(partial(noise_exceeds, _DEFAULT, beta=1e-6, bound=bound)),
            )
            for name, section, formula, bound in (
                (
                    "proposition-1.rank",
                    "Proposition 1, proof",
                    "τ* = √((N/ρ)·log(2N/β))",
                    NoiseBound.UNION,
                ),
                ("remark-3", "Remark 3", "τ* = σ·Φ⁻¹(1 − β/(2N))", NoiseBound.GAUSSIAN),
            )
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-4",
                "Remark 4",
                Verdict.CONSISTENT,
                "τ* is at most the bound with log2 u + 1 for ⌈log2 u⌉, and grows like "
                "√(log u·log log u).",
                "τ* ≤ √((log2 u + 1)/ρ·log(2(log2 u + 1)/β))",
                parameters={"rho": _DEFAULT.rho, "beta": 0.01},
            ),
            check=Computed(partial(noise_bound_growth, _DEFAULT, beta=0.01)),
        ),
    ]


def _coverage_rows() -> list[Row]:
    paper, reading = Standing.PAPER, Standing.READING
    marginal, conditional = CoverageReading.MARGINAL, CoverageReading.CONDITIONAL
    sizes = (50, 200, 1000, 5000, 20_000, 10**5, 10**6, 10**9, 10**12)
    anywhere = claim_of(
        _conditional_at(sizes[0]),
        "pcoqs.theorem-1[coverage=conditional,n=any]",
        Verdict.REFUTED,
        subject=Heading.SEARCH_COVERAGE,
        standing=reading,
        note="at any n: it varies by 1/√n, the bound by 1/n",
        parameters={"n": list(sizes)},
    )
    return [
        *(
            _coverage_row(_theorem_1(coverage, corrected=corrected), "", expected, standing)
            for corrected in (False, True)
            for coverage, standing, expected in (
                (marginal, paper, Verdict.CONSISTENT),
                (conditional, reading, Verdict.REFUTED),
            )
        ),
        _coverage_row(
            _CLAMPED,
            ",n=50,rho=0.05",
            Verdict.REFUTED,
            paper,
            note="also where α < τ/(n+1), so that α* = 0",
        ),
        Row(
            claim=anywhere,
            check=AlongN(theorem_at=_conditional_at, sizes=sizes, n_trials=4_000),
        ),
        _coverage_row(
            _on_digits(),
            ",scores=digits-logistic",
            Verdict.CONSISTENT,
            paper,
            note="where unbroken ties cost one rank more",
        ),
    ]


def _coverage_row(
    theorem: CoverageTheorem,
    variant: str,
    expected: Verdict,
    standing: Standing,
    *,
    note: str = "",
) -> Row:
    name = "corollary-1" if theorem.corrected else "theorem-1"
    return Row(
        claim=claim_of(
            theorem,
            f"pcoqs.{name}[coverage={theorem.reading}{variant}]",
            expected,
            subject=Heading.SEARCH_COVERAGE,
            standing=standing,
            note=note,
        ),
        check=theorem.check(n_trials=40_000),
    )
