"""Rows for the quantiles that P-COQS is compared with: ExponQ, HistLap, split conformal."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dpcp_audit.extensions.audits import SampledPrivacy, exact_outcome, exponq_proof, law_figures
from dpcp_audit.extensions.claims import (
    Computation,
    Computed,
    Neighbours,
    Quantity,
    Relation,
    Row,
    Source,
    Standing,
    Verdict,
    claims_of,
)
from dpcp_audit.extensions.laws import Classifier, FinitePair, Population, Uniform
from dpcp_audit.extensions.mechanisms import (
    EmptyHistogram,
    ExponQ,
    HistLap,
    Normaliser,
    optimal_gamma,
)
from dpcp_audit.extensions.theorems import (
    MarginalCoverage,
    MeanBound,
    claim_of,
    split_miscoverage,
    split_overcoverage,
)
from dpcp_ledger.claims.claim_pools import breast_cancer, digits
from dpcp_ledger.claims.headings import REAL_NOISE, Heading
from dpcp_ledger.computations.histlap_fallback import median_shown

_exponq_claim = claims_of("Angelopoulos et al. (2022)", subject=Heading.EXPONQ_PRIVACY)
_histlap_claim = claims_of("P-COQS", subject=Heading.HISTLAP_PRIVACY, standing=Standing.PRACTICE)
_conformal_claim = claims_of("Vovk et al. (2005)", subject=Heading.SPLIT_COVERAGE)
_COVERING = ExponQ(
    alpha=0.1,
    epsilon=1.0,
    n_candidates=200,
    gamma=optimal_gamma(1000, alpha=0.1, epsilon=1.0),
)


def rows() -> list[Row]:
    """Return the rows of ExponQ, HistLap and split conformal prediction."""
    return [*_exponq_rows(), *_histlap_rows(), *_conformal_rows()]


def _exponq(epsilon: float, normaliser: Normaliser) -> ExponQ:
    return ExponQ(
        alpha=0.1, epsilon=epsilon, n_candidates=10_000, gamma=0.01, normaliser=normaliser
    )


def _exponq_details(mechanism: ExponQ, n: int) -> dict[str, Any]:
    return {
        "n": n,
        "alpha": mechanism.alpha,
        "epsilon": mechanism.epsilon,
        "n_candidates": mechanism.n_candidates,
        "gamma": mechanism.gamma,
        "normaliser": str(mechanism.normaliser),
    }


def _exponq_privacy(mechanism: ExponQ, n: int) -> Computation:
    worst = mechanism.worst_log_ratio(n)
    bound = mechanism.log_ratio_bound(n)
    proof = exponq_proof(mechanism, (n,))
    pair = FinitePair(*mechanism.laws(worst.scores, worst.neighbour_scores))
    return Computation(
        quantity=Quantity.EPSILON,
        value=worst.log_ratio,
        claimed=mechanism.epsilon,
        slack=max(0.0, bound - worst.log_ratio),
        upper=None if proof is None else proof.premises[0].left[1],
        proof=proof,
        witness=_exponq_details(mechanism, n)
        | {
            "scores": worst.scores.tolist(),
            "neighbour_scores": worst.neighbour_scores.tolist(),
            "event": [worst.released],
            "probability": worst.probability,
            "neighbour_probability": worst.neighbour_probability,
        },
        note=(
            f"The target quantile is q̃ = {mechanism.target(n):.6g}; releasing "
            f"{worst.released:.4g} has probability {worst.probability:.4g} on one input and "
            f"{worst.neighbour_probability:.4g} on its neighbour."
        ),
        figures=law_figures(mechanism.guarantee, pair),
    )


def _exponq_rows() -> list[Row]:
    """ExponQ's privacy, as corrected and as the public code states it, and its coverage."""
    corrected, published = Normaliser.CORRECTED, Normaliser.PUBLISHED
    cases = (
        ("normaliser=corrected", _exponq(1.0, corrected), 500, Standing.PAPER, Verdict.PROVED),
        ("normaliser=published", _exponq(1.0, published), 500, Standing.STATED, Verdict.REFUTED),
        (
            "normaliser=published,n=2400",
            _exponq(0.1, published),
            2400,
            Standing.STATED,
            Verdict.REFUTED,
        ),
    )
    populations: tuple[Population, ...] = (Uniform(), digits(Classifier.LOGISTIC))
    return [
        *(
            Row(
                claim=_exponq_claim(
                    f"exponq.privacy[{variant}]",
                    "Algorithm 2 and the public code",
                    expected,
                    "The exponential-mechanism quantile is ε-DP, with the "
                    f"{mechanism.normaliser} normaliser.",
                    "P(release) ∝ exp(−(ε/2)·c·w), log P/Q ≤ ε",
                    standing=standing,
                    assumptions="a candidate drawn with exactly the stated probabilities",
                    parameters=_exponq_details(mechanism, n)
                    | {"relation": str(Relation.SUBSTITUTION)},
                ),
                check=Computed(partial(_exponq_privacy, mechanism, n)),
            )
            for variant, mechanism, n, standing, expected in cases
        ),
        *(
            _coverage_row(
                "exponq",
                _coverage(_COVERING, population, n=1000),
                Verdict.CONSISTENT,
                Heading.EXPONQ_COVERAGE,
                Standing.PAPER,
                source=None,
            )
            for population in populations
        ),
    ]


def _coverage(calibrator: ExponQ | HistLap, population: Population, *, n: int) -> MarginalCoverage:
    return MarginalCoverage(
        calibrator=calibrator,
        population=population,
        n=n,
        details={"calibrator": type(calibrator).__name__, "epsilon": calibrator.epsilon},
    )


def _coverage_row(
    name: str,
    theorem: MarginalCoverage,
    expected: Verdict,
    heading: Heading,
    standing: Standing,
    *,
    source: Source | None,
) -> Row:
    at_least = 1 - theorem.calibrator.alpha
    return Row(
        claim=claim_of(
            theorem,
            f"{name}.coverage[scores={theorem.population.name}]",
            expected,
            subject=heading,
            standing=standing,
            source=source,
        ),
        check=MeanBound(theorem=theorem, at_least=at_least, n_trials=10_000),
    )


_HISTOGRAM = {"epsilon": 1.0, "n_bins": HistLap(alpha=0.1, epsilon=1.0).n_bins}


def _histogram(noise: Relation, relation: Relation) -> Computation:
    mechanism = HistLap(alpha=0.1, epsilon=1.0, noise=noise)
    return exact_outcome(
        mechanism.guarantee,
        [mechanism.histogram_pair(relation)],
        argument=(
            "A person moves as many counts as the relation says, each by one. The law of Laplace "
            "noise depends on these shifts alone; the largest log-ratio is their sum in scales."
        ),
        parameters={"n_bins": mechanism.n_bins, "relation": str(relation)},
        witness={
            "epsilon": mechanism.epsilon,
            "n_bins": mechanism.n_bins,
            "noise_scale": mechanism.noise_scale,
            "relation": str(relation),
            "scores": [0.01],
            "neighbour_scores": [0.99] if relation is Relation.SUBSTITUTION else [],
        },
    )


def _released_quantile() -> SampledPrivacy:
    """HistLap's threshold with noise for add/remove, on neighbours under substitution."""
    mechanism = HistLap(alpha=0.5, epsilon=1.0, n_bins=2, noise=Relation.ADD_REMOVE)
    low, high = np.full(12, 0.25), np.full(8, 0.75)
    return SampledPrivacy(
        sample=mechanism.sample,
        guarantee=mechanism.guarantee,
        neighbours=Neighbours(
            relation=Relation.SUBSTITUTION,
            value=np.concatenate([low, high]),
            neighbour=np.concatenate([low[1:], [0.75], high]),
        ),
        n_samples=100_000,
        witness={"alpha": 0.5, "epsilon": 1.0, "n_bins": 2, "noise": "add-remove"},
    )


def _histlap_rows() -> list[Row]:
    substitution, add_remove = Relation.SUBSTITUTION, Relation.ADD_REMOVE
    cases = (
        ("2/epsilon", "", substitution, substitution, Verdict.PROVED),
        ("1/epsilon", "", add_remove, substitution, Verdict.REFUTED),
        ("1/epsilon", ",neighbours=add-remove", add_remove, add_remove, Verdict.PROVED),
    )
    return [
        *(
            Row(
                claim=_histlap_claim(
                    f"histlap.privacy[scale={scale}{variant}]",
                    "Section 5, HistLap",
                    expected,
                    "The histogram behind HistLap's quantile, with Laplace noise of scale "
                    f"{scale}, is ε-DP.",
                    "log P/Q ≤ ε",
                    assumptions=REAL_NOISE,
                    parameters=_HISTOGRAM | {"scale": scale, "relation": str(relation)},
                ),
                check=Computed(partial(_histogram, noise, relation)),
            )
            for scale, variant, noise, relation, expected in cases
        ),
        Row(
            claim=_histlap_claim(
                "histlap.privacy[scale=1/epsilon,release=quantile]",
                "Section 5, HistLap",
                Verdict.REFUTED,
                "HistLap's released quantile, with Laplace noise of scale 1/epsilon, is ε-DP; "
                "audited as a black box.",
                "P(q ∈ E) ≤ e^ε P′(q ∈ E)",
                parameters={
                    "n": 20,
                    "alpha": 0.5,
                    "epsilon": 1.0,
                    "n_bins": 2,
                    "scale": "1/epsilon",
                    "release": "quantile",
                    "relation": str(substitution),
                },
            ),
            check=_released_quantile(),
        ),
        _fallback_row(),
        _coverage_row(
            "histlap",
            _coverage(HistLap(alpha=0.1, epsilon=1.0), digits(Classifier.GAUSSIAN_NB), n=2_400),
            Verdict.REFUTED,
            Heading.HISTLAP_COVERAGE,
            Standing.CONTROL,
            source=Source(paper="P-COQS", section="Section 5 and Tables 1 to 14, HistLap"),
        ),
    ]


def _fallback_row() -> Row:
    published = HistLap(
        alpha=0.1, epsilon=0.1, noise=Relation.ADD_REMOVE, empty=EmptyHistogram.MEDIAN
    )
    return Row(
        claim=_histlap_claim(
            "histlap.privacy[scale=1/epsilon,empty=median]",
            "Section 5, HistLap, and the public code",
            Verdict.REFUTED,
            "HistLap's threshold is ε-DP, which is the scores' median where no noisy count is "
            "positive.",
            "P(q ∈ E) ≤ e^ε P′(q ∈ E)",
            parameters={
                "n": 10,
                "epsilon": published.epsilon,
                "n_bins": published.n_bins,
                "scale": "1/epsilon",
                "empty": str(published.empty),
                "relation": str(published.noise),
            },
        ),
        check=Computed(partial(median_shown, published, n=10)),
    )


def _conformal_rows() -> list[Row]:
    populations: tuple[Population, ...] = (Uniform(), breast_cancer(Classifier.LOGISTIC))
    return [
        Row(
            claim=_conformal_claim(
                f"conformal.split[scores={population.name}]",
                "Split conformal prediction",
                Verdict.PROVED,
                "Split conformal sets cover at least 1−α.",
                "P(Y ∈ C(X)) ≥ 1−α",
                assumptions="exchangeable scores",
                parameters={"n": 500, "alpha": 0.1, "population": population.name},
            ),
            check=Computed(partial(split_miscoverage, population, n=500, alpha=0.1)),
        )
        for population in populations
    ] + [
        Row(
            claim=_conformal_claim(
                "conformal.split[side=upper]",
                "Split conformal prediction",
                Verdict.PROVED,
                "Split conformal sets cover at most 1−α+1/(n+1) where scores are not tied.",
                "P(Y ∈ C(X)) ≤ 1−α+1/(n+1)",
                assumptions="exchangeable scores without ties",
                parameters={"n": 500, "alpha": 0.1, "side": "upper"},
            ),
            check=Computed(partial(split_overcoverage, n=500, alpha=0.1)),
        )
    ]
