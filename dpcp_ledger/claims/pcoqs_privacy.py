"""Rows for P-COQS: privacy (Proposition 1, the ε-equivalence, Remark 5), Remarks 2 and 7."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.audits import (
    DyadicBits,
    SampledPrivacy,
    WorstPairSearch,
    exact_outcome,
    law_figures,
)
from dpcp_audit.extensions.claims import (
    Computation,
    Computed,
    Neighbours,
    PureDP,
    Quantity,
    Relation,
    Row,
    Standing,
    Verdict,
    claims_of,
)
from dpcp_audit.extensions.laws import FinitePair, Uniform
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import CoverageReading, CoverageTheorem, FailureRate, MeanBound
from dpcp_ledger.claims.headings import REAL_NOISE, Heading
from dpcp_ledger.computations.pcoqs_remarks import (
    WindowCount,
    remark_2_fine,
    remark_7_bounds,
    zcdp_supremum,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import PlainData


_claim = claims_of("P-COQS", subject=Heading.SEARCH_PRIVACY)
_EQUIVALENCE = "P-COQS, equivalence with ε-DP"
_N = 50
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_PRINTED = PCOQS(alpha=0.1, rho=1.0)
_REMARK_7 = PCOQS(alpha=0.1, rho=0.1)
_REMARK_7_STATED = CoverageTheorem(
    mechanism=_REMARK_7,
    n=3000,
    beta=0.01,
    reading=CoverageReading.CONDITIONAL,
    window_count=0,  # τ = τ*, as the stated numbers have it
)


def _fixed(mechanism: PCOQS, n: int) -> PlainData:
    return {
        "n": n,
        "alpha": mechanism.alpha,
        "rho": mechanism.rho,
        "resolution": mechanism.resolution,
    }


def _neighbours(mechanism: PCOQS) -> PlainData:
    return _fixed(mechanism, _N) | {"relation": str(Relation.SUBSTITUTION)}


def _epsilon_equivalence(mechanism: PCOQS, note: str) -> Computation:
    """Compute what the balanced pair loses, against 1-DP."""
    scores, neighbour_scores = mechanism.worst_pair(_N)
    return exact_outcome(
        PureDP(1.0),
        [FinitePair(*mechanism.laws(scores, neighbour_scores))],
        witness={
            "n": _N,
            "alpha": mechanism.alpha,
            "rho": mechanism.rho,
            "scores": scores.tolist(),
            "neighbour_scores": neighbour_scores.tolist(),
        },
        note=note,
    )


def _sampled_equivalence() -> SampledPrivacy:
    scores, neighbour_scores = _DEFAULT.worst_pair(_N)
    return SampledPrivacy(
        sample=_DEFAULT.sample,
        guarantee=PureDP(1.0),
        neighbours=Neighbours(
            relation=Relation.SUBSTITUTION, value=scores, neighbour=neighbour_scores
        ),
        search=DyadicBits(
            bounds=_DEFAULT.bounds, rounds=_DEFAULT.rounds, resolution=_DEFAULT.resolution
        ),
        n_samples=100_000,
        witness={"alpha": _DEFAULT.alpha, "rho": _DEFAULT.rho},
    )


def _membership() -> Computation:
    scores, neighbour_scores = _DEFAULT.worst_pair(_N)
    pair = FinitePair(*_DEFAULT.laws(scores, neighbour_scores))
    allowed = _DEFAULT.guarantee.advantage()
    return Computation(
        quantity=Quantity.ADVANTAGE,
        detail="the largest on the pair",
        value=pair.total_variation(),
        claimed=allowed,
        witness={
            "n": _N,
            "alpha": _DEFAULT.alpha,
            "rho": _DEFAULT.rho,
            "scores": scores.tolist(),
            "neighbour_scores": neighbour_scores.tolist(),
        },
        note=(
            "The total variation between the released threshold's laws on the balanced pair: no "
            "attack on the release, however clever, has a larger advantage there."
        ),
        figures=law_figures(_DEFAULT.guarantee, pair),
    )


def rows() -> list[Row]:
    """Return the P-COQS rows."""
    return [*_privacy_rows(), *_remark_rows()]


def _privacy_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                "pcoqs.proposition-1.zcdp",
                "Proposition 1",
                Verdict.PROVED,
                "Algorithm 1 is ρ-zCDP.",
                "D_α(M(S) ‖ M(S′)) ≤ ρα for all α > 1",
                assumptions=REAL_NOISE,
                parameters={
                    "rho": _DEFAULT.rho,
                    "resolution": _DEFAULT.resolution,
                    "bounds": list(_DEFAULT.bounds),
                    "relation": str(Relation.SUBSTITUTION),
                },
            ),
            check=Computed(partial(zcdp_supremum, _DEFAULT, n=_N)),
        ),
        *_equivalence_rows(),
        Row(
            claim=_claim(
                "pcoqs.proposition-1.zcdp[neighbours=searched]",
                "Proposition 1",
                Verdict.CONSISTENT,
                "Algorithm 1 is ρ-zCDP; a search over neighbours looks for the pair whose exact "
                "laws lose most.",
                "D_α(M(S) ‖ M(S′)) ≤ ρα for all α > 1",
                parameters=_neighbours(_DEFAULT) | {"neighbours": "searched"},
            ),
            check=WorstPairSearch(
                mechanism=_DEFAULT, guarantee=_DEFAULT.guarantee, n=_N, evaluations=100
            ),
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-5",
                "Remark 5",
                Verdict.CONSISTENT,
                "No membership inference on the threshold beats what ρ-zCDP allows.",
                "TPR − FPR ≤ sup δ(0) of ρ-zCDP",
                parameters=_neighbours(_DEFAULT),
            ),
            check=Computed(_membership),
        ),
    ]


def _equivalence_rows() -> list[Row]:
    """Return the printed sentence at ρ = ε, and what the experiments take it for, ρ = ε²/2."""
    section = "Section 5, ε_CP"
    at_half = "At ρ = ε²/2 P-COQS gives the privacy of an ε-DP mechanism"
    reading = _neighbours(_DEFAULT) | {"epsilon": 1.0}
    return [
        Row(
            claim=_claim(
                "pcoqs.epsilon-equivalence",
                "Section 3.2",
                Verdict.REFUTED,
                "A randomised mechanism satisfies (ε, 0)-DP if and only if it satisfies ε-zCDP; "
                "here P-COQS with ρ = ε is to be ε-DP.",
                "ε-zCDP ⇒ (ε, 0)-DP",
                subject=_EQUIVALENCE,
                parameters=_neighbours(_PRINTED) | {"epsilon": 1.0},
            ),
            check=Computed(
                partial(
                    _epsilon_equivalence,
                    _PRINTED,
                    "Pure ε-DP implies (ε²/2)-zCDP. The converse is false: 1-zCDP does not bound "
                    "the log-ratio of probabilities by 1.",
                )
            ),
        ),
        Row(
            claim=_claim(
                "pcoqs.epsilon-equivalence[rho=epsilon^2/2]",
                section,
                Verdict.REFUTED,
                f"{at_half}.",
                "ε_CP = 1 ↔ ρ = 1/2",
                subject=_EQUIVALENCE,
                standing=Standing.READING,
                parameters=reading,
            ),
            check=Computed(
                partial(
                    _epsilon_equivalence,
                    _DEFAULT,
                    "ε-DP implies (ε²/2)-zCDP, not the other way round: at ρ = ε²/2 = 0.5 the "
                    "released threshold is not 1-DP, so the paper's comparison with ExponQ at one "
                    "ε is not like for like.",
                )
            ),
        ),
        Row(
            claim=_claim(
                "pcoqs.epsilon-equivalence[audit=sampled]",
                section,
                Verdict.REFUTED,
                f"{at_half}; tested by sampling, with events on the bits of the released "
                "threshold.",
                "P(q ∈ E) ≤ e^ε P′(q ∈ E)",
                subject=_EQUIVALENCE,
                standing=Standing.READING,
                parameters=reading | {"audit": "sampled"},
            ),
            check=_sampled_equivalence(),
        ),
    ]


def _remark_rows() -> list[Row]:
    statement = (
        "“If the score distribution admits a density bounded by L on [a,b], then we have that "
        "E[M(Δ)] ≤ L Δ n_cal”."
    )
    n = 1000
    return [
        Row(
            claim=_claim(
                "pcoqs.remark-2[resolution=1/n]",
                "Remark 2",
                Verdict.REFUTED,
                statement,
                "E[M(Δ)] ≤ LΔn",
                subject=Heading.SEARCH_RANK,
                parameters={
                    "n": n,
                    "resolution": 1 / n,
                    "density_bound": 1.0,
                    "population": "uniform",
                },
            ),
            check=MeanBound(
                theorem=WindowCount(population=Uniform(), density_bound=1.0, n=n, resolution=1 / n),
                at_most=1.0,
                range=(0.0, 20.0),
                n_trials=4_000,
                quantity=Quantity.COUNT,
            ),
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-2[resolution=1e-10]",
                "Remark 2",
                Verdict.REFUTED,
                statement,
                "E[M(Δ)] ≤ LΔn",
                subject=Heading.SEARCH_RANK,
                parameters={"n": n, "resolution": 1e-10, "density_bound": 1.0},
            ),
            check=Computed(partial(remark_2_fine, n=n, resolution=1e-10, density_bound=1.0)),
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-7[derivation]",
                "Remark 7",
                Verdict.REFUTED,
                "Following Proposition 1, the coverage bounds are 1−α−0.0183 and 1−α+0.0186.",
                "τ/(n+1) = 0.0183",
                subject=Heading.SEARCH_COVERAGE,
                standing=Standing.ERRATUM,
                parameters=_fixed(_REMARK_7, 3000) | {"beta": 0.01},
            ),
            check=Computed(partial(remark_7_bounds, _REMARK_7, n=3000, beta=0.01, stated=0.0183)),
        ),
        Row(
            claim=_claim(
                "pcoqs.remark-7[coverage=conditional]",
                "Remark 7",
                Verdict.CONSISTENT,
                "The coverage of one calibrated set lies in [1−α−0.0183, 1−α+0.0186] with "
                "probability at least 1−β.",
                subject=Heading.SEARCH_COVERAGE,
                standing=Standing.READING,
                parameters=_fixed(_REMARK_7, 3000)
                | {
                    "beta": 0.01,
                    "reading": str(CoverageReading.CONDITIONAL),
                    "population": "uniform",
                },
            ),
            check=FailureRate(theorem=_REMARK_7_STATED, n_trials=40_000),
        ),
    ]
