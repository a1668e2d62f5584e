"""Rows for P-COQS's coverage: Proposition 1's ranks, Theorem 1 and Corollary 1."""

from __future__ import annotations

from functools import partial

from dpcp_audit.computed import Computed
from dpcp_audit.data.pools import Classifier
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.papers.claims.claim_pools import digits
from dpcp_audit.papers.computations.pcoqs_noise import noise_bound_growth, noise_exceeds
from dpcp_audit.papers.computations.pcoqs_rank import FixedRankError, evenly_spaced
from dpcp_audit.results import Verdict
from dpcp_audit.rows import Row, claims_of
from dpcp_audit.theorems.pcoqs_coverage import (
    CoverageReading,
    CoverageTheorem,
    NoiseBound,
    RankError,
)
from dpcp_audit.theorems.sequential_checks import AlongN
from dpcp_audit.theorems.theorem import FailureRate

_claim = claims_of("P-COQS")
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_COARSE = PCOQS(alpha=0.496, rho=10.0, resolution=1 / 32)


def _theorem_1(reading: CoverageReading, *, corrected: bool = False) -> FailureRate:
    """Theorem 1 or Corollary 1 on uniform scores; the marginal reading costs inner runs."""
    if reading is CoverageReading.MARGINAL:
        theorem = CoverageTheorem(
            mechanism=_DEFAULT, n=500, beta=0.1, reading=reading, corrected=corrected
        )
        return FailureRate(theorem=theorem, n_trials=800, chunk_trials=400)
    theorem = CoverageTheorem(
        mechanism=_DEFAULT, n=2400, beta=0.01, reading=reading, corrected=corrected
    )
    return FailureRate(theorem=theorem, n_trials=40_000)


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
        mechanism=_DEFAULT,
        n=500,
        beta=0.1,
        reading=CoverageReading.MARGINAL,
        window_count=8 + 1,
        population=digits(Classifier.LOGISTIC),
    )


def rows() -> list[Row]:
    """Return the rows of P-COQS's ranks and coverage."""
    return [*_rank_rows(), *_noise_rows(), *_coverage_rows()]


def _rank_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                "pcoqs.proposition-1.rank",
                "Proposition 1",
                Verdict.CONSISTENT,
                "With probability at least 1−β the rank error is at most τ* + M(Δ).",
                "τ* = √((N/ρ)·log(2N/β))",
            ),
            check=FailureRate(
                theorem=RankError(mechanism=_DEFAULT, n=2400, beta=0.01), n_trials=40_000
            ),
        ),
        *(
            Row(
                claim=_claim(
                    f"pcoqs.proposition-1.rank[resolution=1/32,bound={name}]",
                    "Proposition 1",
                    expected,
                    "At a coarse resolution too, with probability at least 1−β the rank error is "
                    f"at most {formula}.",
                    f"τ ≤ {formula}, Δ = 1/32",
                ),
                check=FailureRate(
                    theorem=FixedRankError(
                        mechanism=_COARSE, scores=evenly_spaced(999), beta=0.01, windows=windows
                    ),
                    n_trials=20_000,
                ),
            )
            for windows, name, formula, expected in (
                (1, "printed", "τ* + M(Δ)", Verdict.REFUTED),
                (2, "doubled", "τ* + 2·M(Δ)", Verdict.CONSISTENT),
            )
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-3",
                "Remark 3",
                Verdict.CONSISTENT,
                "The sharper Gaussian-quantile form of τ* bounds the rank error too.",
                "τ* = σ·Φ⁻¹(1 − β/(2N))",
            ),
            check=FailureRate(
                theorem=RankError(
                    mechanism=_DEFAULT, n=2400, beta=0.01, noise_bound=NoiseBound.GAUSSIAN
                ),
                n_trials=40_000,
            ),
        ),
    ]


def _noise_rows() -> list[Row]:
    return [
        *(
            Row(
                claim=_claim(
                    f"pcoqs.{name}[beta=1e-6,event=noise]",
                    section,
                    Verdict.PROVED,
                    "No round's noise exceeds τ*, with probability at least 1−β, at β = 1e-6.",
                    formula,
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
            ),
            check=Computed(partial(noise_bound_growth, _DEFAULT, beta=0.01)),
        ),
    ]


def _coverage_rows() -> list[Row]:
    return [
        *(
            Row(
                claim=_claim(
                    f"{name}[coverage={reading}]",
                    section,
                    expected,
                    f"{statement} Read as coverage {over}.",
                    formula,
                ),
                check=_theorem_1(reading, corrected=corrected),
            )
            for name, section, corrected, statement, formula in (
                (
                    "pcoqs.theorem-1",
                    "Theorem 1",
                    False,
                    "With probability at least 1−β the coverage lies within τ/(n+1) of 1−α.",
                    "1−α−τ/(n+1) ≤ P(Y ∈ C) ≤ 1−α+(τ+1)/(n+1)",
                ),
                (
                    "pcoqs.corollary-1",
                    "Corollary 1",
                    True,
                    "Run at α*, P-COQS covers at least 1−α with probability at least 1−β.",
                    "α* = max(0, α − τ/(n+1))",
                ),
            )
            for reading, expected, over in (
                (
                    CoverageReading.MARGINAL,
                    Verdict.CONSISTENT,
                    "over calibration and test data, given the noise",
                ),
                (
                    CoverageReading.CONDITIONAL,
                    Verdict.REFUTED,
                    "of the one calibrated set that a user holds",
                ),
            )
        ),
        Row(
            claim=_claim(
                "pcoqs.corollary-1[coverage=marginal,n=50,rho=0.05]",
                "Corollary 1",
                Verdict.REFUTED,
                "Run at α*, P-COQS covers at least 1−α with probability at least 1−β, also where "
                "α < τ/(n+1), so that α* = 0. Read as coverage over calibration and test data, "
                "given the noise.",
                "α* = max(0, α − τ/(n+1))",
            ),
            check=FailureRate(theorem=_CLAMPED, n_trials=800, chunk_trials=400),
        ),
        Row(
            claim=_claim(
                "pcoqs.theorem-1[coverage=conditional,n=any]",
                "Theorem 1",
                Verdict.REFUTED,
                "With probability at least 1−β the coverage lies within τ/(n+1) of 1−α, at any n. "
                "Read as coverage of the one calibrated set that a user holds: it varies by "
                "1/√n, the bound by 1/n.",
                "1−α−τ/(n+1) ≤ P(Y ∈ C) ≤ 1−α+(τ+1)/(n+1)",
            ),
            check=AlongN(
                theorem_at=_conditional_at,
                sizes=(50, 200, 1000, 5000, 20_000, 10**5, 10**6, 10**9, 10**12),
                n_trials=4_000,
            ),
        ),
        Row(
            claim=_claim(
                "pcoqs.theorem-1[coverage=marginal,scores=digits-logistic]",
                "Theorem 1",
                Verdict.CONSISTENT,
                "Theorem 1, coverage over calibration and test data, on scores of a calibrated "
                "classifier of digits; ties are not broken, which costs one rank.",
                "1−α−(τ+1)/(n+1) ≤ P(Y ∈ C) ≤ 1−α+(τ+1)/(n+1)",
            ),
            check=FailureRate(theorem=_on_digits(), n_trials=800, chunk_trials=400),
        ),
    ]
