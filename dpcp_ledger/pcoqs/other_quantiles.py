"""The quantiles that P-COQS is compared with: ExponQ, HistLap, split conformal."""

from __future__ import annotations

import math

import numpy as np

from dpcp_audit.extensions.audits import BlackBoxPrivacy, FixedPairs, exact_outcome, law_figures
from dpcp_audit.extensions.claims import (
    Computation,
    Neighbours,
    Quantity,
    Relation,
    Source,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.laws import Classifier, FinitePair, Population, Uniform
from dpcp_audit.extensions.mechanisms import ExponQ, Normaliser, optimal_gamma
from dpcp_audit.extensions.theorems import (
    MarginalCoverage,
    MeanBound,
    split_miscoverage,
    split_overcoverage,
)
from dpcp_ledger.mechanisms.histlap import EmptyHistogram, HistLap
from dpcp_ledger.mechanisms.releases import (
    exponq_case,
    exponq_proof,
    exponq_threshold,
    histlap_threshold,
    worst_log_ratio,
)
from dpcp_ledger.mechanisms.score_pools import breast_cancer, digits
from dpcp_ledger.paper import REAL_NOISE, Heading, Paper

exponq = Paper(title="Angelopoulos et al. (2022)", subject=Heading.EXPONQ_PRIVACY)
histlap = Paper(title="P-COQS", subject=Heading.HISTLAP_PRIVACY, standing=Standing.PRACTICE)
conformal = Paper(title="Vovk et al. (2005)", subject=Heading.SPLIT_COVERAGE)
_ATTACKED = "TPR ≤ min(e^ε·FPR, 1 − e^(−ε)(1−FPR))"
_MEMBERSHIP = {"n": 50, "alpha": 0.1, "relation": str(Relation.SUBSTITUTION)}


def _exponq(
    epsilon: float, normaliser: Normaliser, *, n_candidates: int = 10_000, gamma: float = 0.01
) -> ExponQ:
    return ExponQ(
        alpha=0.1, epsilon=epsilon, n_candidates=n_candidates, gamma=gamma, normaliser=normaliser
    )


def exponq_privacy(mechanism: ExponQ, n: int) -> Computation:
    """Compute the largest log-ratio of ExponQ's releases over all neighbours, against ε."""
    worst = worst_log_ratio(mechanism, n)
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
        witness=exponq_case(mechanism, n)
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


for _variant, _mechanism, _n, _standing, _expected in (
    ("corrected", _exponq(1.0, Normaliser.CORRECTED), 500, Standing.PAPER, Verdict.PROVED),
    ("published", _exponq(1.0, Normaliser.PUBLISHED), 500, Standing.STATED, Verdict.REFUTED),
    (
        "published,n=2400",
        _exponq(0.1, Normaliser.PUBLISHED),
        2400,
        Standing.STATED,
        Verdict.REFUTED,
    ),
):
    exponq.claim(
        f"exponq.privacy[normaliser={_variant}]",
        "Algorithm 2 and the public code",
        _expected,
        f"The exponential-mechanism quantile is ε-DP, with the {_mechanism.normaliser} normaliser.",
        "P(release) ∝ exp(−(ε/2)·c·w), log P/Q ≤ ε",
        standing=_standing,
        assumptions="a candidate drawn with exactly the stated probabilities",
        parameters=exponq_case(_mechanism, _n) | {"relation": str(Relation.SUBSTITUTION)},
        mechanism=_mechanism,
        n=_n,
    )(exponq_privacy)
_PUBLISHED = _exponq(1.0, Normaliser.PUBLISHED, n_candidates=50, gamma=0.2)
exponq.tested(
    "exponq.privacy[normaliser=published,attack=membership]",
    "Algorithm 2 and the public code",
    Verdict.REFUTED,
    "The exponential-mechanism quantile is ε-DP, with the published normaliser; seen "
    "by a membership attack on its threshold.",
    _ATTACKED,
    standing=Standing.STATED,
    parameters=_MEMBERSHIP | exponq_case(_PUBLISHED, 50) | {"attack": "membership"},
    check=exponq_threshold(_PUBLISHED, n=50),
)


def _coverage(calibrator: ExponQ | HistLap, population: Population, *, n: int) -> MarginalCoverage:
    return MarginalCoverage(
        calibrator=calibrator,
        population=population,
        n=n,
        details={"calibrator": type(calibrator).__name__, "epsilon": calibrator.epsilon},
    )


_COVERING = ExponQ(
    alpha=0.1, epsilon=1.0, n_candidates=200, gamma=optimal_gamma(1000, alpha=0.1, epsilon=1.0)
)
for _population in (Uniform(), digits(Classifier.LOGISTIC)):
    _theorem = _coverage(_COVERING, _population, n=1000)
    exponq.theorem(
        _theorem,
        f"exponq.coverage[scores={_population.name}]",
        Verdict.CONSISTENT,
        MeanBound(theorem=_theorem, at_least=0.9, n_trials=10_000),
        subject=Heading.EXPONQ_COVERAGE,
    )


_HISTOGRAM = {"epsilon": 1.0, "n_bins": HistLap(alpha=0.1, epsilon=1.0).n_bins}


def histogram_loss(noise: Relation, relation: Relation) -> Computation:
    """Compute the largest log-ratio of HistLap's noisy histogram, against ε."""
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


for _scale, _noise, _relation, _expected in (
    ("2/epsilon", Relation.SUBSTITUTION, Relation.SUBSTITUTION, Verdict.PROVED),
    ("1/epsilon", Relation.ADD_REMOVE, Relation.SUBSTITUTION, Verdict.REFUTED),
    ("1/epsilon", Relation.ADD_REMOVE, Relation.ADD_REMOVE, Verdict.PROVED),
):
    _neighbours = ",neighbours=add-remove" if _relation is Relation.ADD_REMOVE else ""
    histlap.claim(
        f"histlap.privacy[scale={_scale}{_neighbours}]",
        "Section 5, HistLap",
        _expected,
        f"The histogram behind HistLap's quantile, with Laplace noise of scale {_scale}, is ε-DP.",
        "log P/Q ≤ ε",
        assumptions=REAL_NOISE,
        parameters=_HISTOGRAM | {"scale": _scale, "relation": str(_relation)},
        noise=_noise,
        relation=_relation,
    )(histogram_loss)
_MEDIAN = HistLap(alpha=0.5, epsilon=1.0, n_bins=2, noise=Relation.ADD_REMOVE)
_LOW, _HIGH = np.full(12, 0.25), np.full(8, 0.75)
histlap.tested(
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
        "relation": str(Relation.SUBSTITUTION),
    },
    check=BlackBoxPrivacy(
        sample=_MEDIAN.sample,
        guarantee=_MEDIAN.guarantee,
        pairs=FixedPairs(
            (
                Neighbours(
                    relation=Relation.SUBSTITUTION,
                    value=np.concatenate([_LOW, _HIGH]),
                    neighbour=np.concatenate([_LOW[1:], [0.75], _HIGH]),
                ),
            )
        ),
        draws=200_000,
        witness={"alpha": 0.5, "epsilon": 1.0, "n_bins": 2, "noise": "add-remove"},
    ),
)
histlap.tested(
    "histlap.privacy[scale=2/epsilon,attack=membership]",
    "Section 5, HistLap",
    Verdict.CONSISTENT,
    "HistLap's threshold, with Laplace noise of scale 2/ε, is ε-DP; seen by a membership attack.",
    _ATTACKED,
    parameters=_MEMBERSHIP | {"epsilon": 1.0, "scale": "2/epsilon", "attack": "membership"},
    check=histlap_threshold(HistLap(alpha=0.1, epsilon=1.0), n=50),
)
_FALLBACK = HistLap(alpha=0.1, epsilon=0.1, noise=Relation.ADD_REMOVE, empty=EmptyHistogram.MEDIAN)
_ROUNDING = 1e-12


@histlap.claim(
    "histlap.privacy[scale=1/epsilon,empty=median]",
    "Section 5, HistLap, and the public code",
    Verdict.REFUTED,
    "HistLap's threshold is ε-DP, which is the scores' median where no noisy count is positive.",
    "P(q ∈ E) ≤ e^ε P′(q ∈ E)",
    parameters={
        "n": 10,
        "epsilon": _FALLBACK.epsilon,
        "n_bins": _FALLBACK.n_bins,
        "scale": "1/epsilon",
        "empty": str(_FALLBACK.empty),
        "relation": str(_FALLBACK.noise),
    },
    mechanism=_FALLBACK,
    n=10,
)
def median_shown(mechanism: HistLap, *, n: int) -> Computation:
    """Compute the probability of a release that a neighbour never makes.

    Half of the scores lie at the lower end of the lowest bin, half at its middle. Where no noisy
    count is positive their median is released, half-way between. The neighbour that lacks one of
    the upper scores never releases that very point: its median is the lower end, and where counts
    are positive the threshold has a density, or lies at 1−α of the width of the only such bin.

    Parameters
    ----------
    mechanism : HistLap
        A mechanism with an α other than 3/4, at which the threshold of a single bin is that very
        point.
    n : int
        An even number of scores, at least 2.
    """
    low, width = mechanism.bounds[0], (mechanism.bounds[1] - mechanism.bounds[0])
    upper = low + width / mechanism.n_bins / 2
    scores = [low] * (n // 2) + [upper] * (n // 2)
    chance = math.exp(-n / mechanism.noise_scale) * 2.0**-mechanism.n_bins
    return Computation(
        quantity=Quantity.DELTA,
        at={"epsilon": mechanism.epsilon},
        detail="probability of a release that a neighbour never makes",
        value=chance,
        claimed=0.0,
        lower=chance * (1 - _ROUNDING),
        upper=chance * (1 + _ROUNDING),
        witness={
            "scores": scores,
            "neighbour_scores": scores[:-1],
            "event": [low + (upper - low) / 2],
            "noise_scale": mechanism.noise_scale,
            "n_bins": mechanism.n_bins,
        },
        note=(
            "No noisy count is positive with probability e^(−εn)·2^(−50). So it is ε-DP for no n, "
            f"and hardly ever shows: {chance:.2g} at n = {n}, less than 10^(−100) with the tables' "
            "2,400 scores at ε = 0.1. With b in the place of the median it is ε-DP."
        ),
    )


_UNCOVERED = _coverage(HistLap(alpha=0.1, epsilon=1.0), digits(Classifier.GAUSSIAN_NB), n=2_400)
histlap.theorem(
    _UNCOVERED,
    "histlap.coverage[scores=digits-gaussian-nb]",
    Verdict.REFUTED,
    MeanBound(theorem=_UNCOVERED, at_least=0.9, n_trials=10_000),
    subject=Heading.HISTLAP_COVERAGE,
    standing=Standing.CONTROL,
    source=Source(paper="P-COQS", section="Section 5 and Tables 1 to 14, HistLap"),
)
for _population in (Uniform(), breast_cancer(Classifier.LOGISTIC)):
    conformal.claim(
        f"conformal.split[scores={_population.name}]",
        "Split conformal prediction",
        Verdict.PROVED,
        "Split conformal sets cover at least 1−α.",
        "P(Y ∈ C(X)) ≥ 1−α",
        assumptions="exchangeable scores",
        parameters={"n": 500, "alpha": 0.1, "population": _population.name},
        population=_population,
        n=500,
        alpha=0.1,
    )(split_miscoverage)
conformal.claim(
    "conformal.split[side=upper]",
    "Split conformal prediction",
    Verdict.PROVED,
    "Split conformal sets cover at most 1−α+1/(n+1) where scores are not tied.",
    "P(Y ∈ C(X)) ≤ 1−α+1/(n+1)",
    assumptions="exchangeable scores without ties",
    parameters={"n": 500, "alpha": 0.1, "side": "upper"},
    n=500,
    alpha=0.1,
)(split_overcoverage)
