"""Rows for P-COQS: Proposition 1, Theorem 1, Corollary 1, the remarks and the ε-equivalence."""

from __future__ import annotations

from functools import partial

from dpcp_audit.audits.computed import Computation, Computed
from dpcp_audit.audits.evidence import Verdict
from dpcp_audit.audits.exact import hold_against, profile_figure
from dpcp_audit.mechanisms.guarantees import PureDP
from dpcp_audit.mechanisms.laws import FinitePair
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.pools import Classifier
from dpcp_audit.mechanisms.populations import Uniform
from dpcp_audit.reports.suite.data import digits
from dpcp_audit.reports.suite.row import Row, claims_of
from dpcp_audit.theorems.pcoqs import CoverageTheorem, NoiseBound, RankError, Reading
from dpcp_audit.theorems.pcoqs_rank import FixedRankError, evenly_spaced
from dpcp_audit.theorems.pcoqs_remarks import (
    WindowCount,
    remark_2_fine,
    remark_7_bounds,
    zcdp_supremum,
)
from dpcp_audit.theorems.theorem import FailureRate, MeanBound

_claim = claims_of("P-COQS")
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_COARSE = PCOQS(alpha=0.496, rho=10.0, resolution=1 / 32)
_REMARK_7 = PCOQS(alpha=0.1, rho=0.1)
_REMARK_7_STATED = CoverageTheorem(
    mechanism=_REMARK_7,
    n=3000,
    beta=0.01,
    reading=Reading.CONDITIONAL,
    window_count=0,  # τ = τ*, as the stated numbers have it
)


def _epsilon_equivalence() -> Computation:
    scores, neighbour_scores = _DEFAULT.worst_pair(50)
    return hold_against(
        PureDP(1.0),
        [FinitePair(*_DEFAULT.laws(scores, neighbour_scores))],
        witness={
            "n": 50,
            "alpha": _DEFAULT.alpha,
            "rho": _DEFAULT.rho,
            "scores": scores.tolist(),
            "neighbour_scores": neighbour_scores.tolist(),
        },
        note=(
            "ε-DP implies (ε²/2)-zCDP, not the other way round: at ρ = ε²/2 = 0.5 the released "
            "threshold is not 1-DP, so the papers' comparison with ExponQ at one ε is not like "
            "for like."
        ),
    )


def _membership() -> Computation:
    scores, neighbour_scores = _DEFAULT.worst_pair(50)
    pair = FinitePair(*_DEFAULT.laws(scores, neighbour_scores))
    allowed = _DEFAULT.guarantee.advantage()
    return Computation(
        quantity="largest membership advantage on the pair",
        value=pair.total_variation(),
        claimed=allowed,
        witness={
            "n": 50,
            "alpha": _DEFAULT.alpha,
            "rho": _DEFAULT.rho,
            "scores": scores.tolist(),
            "neighbour_scores": neighbour_scores.tolist(),
        },
        note=(
            "The total variation between the released threshold's laws on the balanced pair: no "
            "attack on the release, however clever, has a larger advantage there."
        ),
        figures=(profile_figure(_DEFAULT.guarantee, pair),),
    )


def _theorem_1(reading: Reading, *, corrected: bool = False) -> FailureRate:
    """Theorem 1 or Corollary 1 on uniform scores; the marginal reading costs inner runs."""
    if reading is Reading.MARGINAL:
        theorem = CoverageTheorem(
            mechanism=_DEFAULT, n=500, beta=0.1, reading=reading, corrected=corrected
        )
        return FailureRate(theorem=theorem, n_trials=800)
    theorem = CoverageTheorem(
        mechanism=_DEFAULT, n=2400, beta=0.01, reading=reading, corrected=corrected
    )
    return FailureRate(theorem=theorem, n_trials=40_000)


def _on_digits() -> CoverageTheorem:
    """Theorem 1 on real scores, drawn with replacement: duplicates make M(Δ) exceed 1.

    At n = 500 from a pool of about 900, a score is drawn nine times with probability below
    1e-4 in all, so M(Δ) is taken as 8, plus the rank that unbroken ties cost.
    """
    return CoverageTheorem(
        mechanism=_DEFAULT,
        n=500,
        beta=0.1,
        reading=Reading.MARGINAL,
        window_count=8 + 1,
        population=digits(Classifier.LOGISTIC),
    )


def rows() -> list[Row]:
    """Return the P-COQS rows."""
    return [*_privacy_rows(), *_coverage_rows(), *_remark_rows()]


def _privacy_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                "pcoqs.proposition-1.zcdp",
                "Proposition 1",
                Verdict.PROVED,
                "Algorithm 1 is ρ-zCDP under substitution of one score.",
                "D_α(M(S) ‖ M(S′)) ≤ ρα for all α > 1",
            ),
            check=Computed(partial(zcdp_supremum, _DEFAULT, n=50)),
        ),
        Row(
            claim=_claim(
                "pcoqs.epsilon-equivalence",
                "Sections 3.2 and 5",
                Verdict.REFUTED,
                "At ρ = ε²/2 P-COQS gives the privacy of an ε-DP mechanism (here ε = 1).",
                "(ε, 0)-DP ⇔ ε-zCDP; ε_CP = 1 ↔ ρ = 1/2",
            ),
            check=Computed(_epsilon_equivalence),
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-5",
                "Remark 5",
                Verdict.CONSISTENT,
                "No membership inference on the threshold beats what ρ-zCDP allows.",
                "TPR − FPR ≤ sup δ(0) of ρ-zCDP",
            ),
            check=Computed(_membership),
        ),
    ]


def _coverage_rows() -> list[Row]:
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
                    Reading.MARGINAL,
                    Verdict.CONSISTENT,
                    "over calibration and test data, given the noise",
                ),
                (
                    Reading.CONDITIONAL,
                    Verdict.REFUTED,
                    "of the one calibrated set that a user holds",
                ),
            )
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
            check=FailureRate(theorem=_on_digits(), n_trials=800),
        ),
    ]


def _remark_rows() -> list[Row]:
    statement = "If the score density is bounded by L, the expected M(Δ) is at most L·Δ·n."
    n = 1000
    return [
        Row(
            claim=_claim(
                "pcoqs.remark-2[resolution=1/n]",
                "Remark 2",
                Verdict.REFUTED,
                statement,
                "E[M(Δ)] ≤ LΔn, at Δ = 1/n",
            ),
            check=MeanBound(
                theorem=WindowCount(population=Uniform(), density_bound=1.0, n=n, resolution=1 / n),
                at_most=1.0,
                range=(0.0, 20.0),
                n_trials=4_000,
            ),
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-2[resolution=1e-10]",
                "Remark 2",
                Verdict.REFUTED,
                statement,
                "E[M(Δ)] ≤ LΔn, at Δ = 1e-10",
            ),
            check=Computed(partial(remark_2_fine, n=n, resolution=1e-10, density_bound=1.0)),
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-7[derivation]",
                "Remark 7",
                Verdict.REFUTED,
                "Following Proposition 1, the coverage bounds at Δ = 1e-10, ρ = 0.1, n = 3000 and "
                "β = 0.01 are 1−α−0.0183 and 1−α+0.0186.",
                "τ/(n+1) = 0.0183",
            ),
            check=Computed(partial(remark_7_bounds, _REMARK_7, n=3000, beta=0.01, stated=0.0183)),
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-7[coverage=conditional]",
                "Remark 7",
                Verdict.CONSISTENT,
                "The coverage stays within [1−α−0.0183, 1−α+0.0186] with probability ≥ 0.99.",
            ),
            check=FailureRate(theorem=_REMARK_7_STATED, n_trials=40_000),
        ),
    ]
