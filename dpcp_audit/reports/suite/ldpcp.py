"""Rows for LDP-CP: randomised response, Algorithms 1 to 3, Theorems 3 and 4, the shuffler."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from dpcp_audit._types import FloatArray
from dpcp_audit.audits.computed import Computation, Computed
from dpcp_audit.audits.evidence import Claim, Source, Verdict
from dpcp_audit.audits.exact import hold_against
from dpcp_audit.mechanisms.laws import FinitePair
from dpcp_audit.mechanisms.ldpcp_scores import LDPCPScores
from dpcp_audit.mechanisms.pools import Classifier, Dataset, classifier_pool
from dpcp_audit.mechanisms.populations import Beta, Population, Uniform
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.mechanisms.scores import aps, aps_as_printed
from dpcp_audit.mechanisms.shuffled import ShuffledBinaryResponse
from dpcp_audit.mechanisms.variants import Blocks, Debiasing, OnMiss
from dpcp_audit.reports.suite.data import digits
from dpcp_audit.reports.suite.row import Row
from dpcp_audit.theorems.ldpcp import LabelTheorem, ScoreTheorem
from dpcp_audit.theorems.ldpcp_remarks import (
    blocks_outside,
    estimate_bias,
    label_guess,
    score_range,
    shuffle_amplification,
    width_ratio,
)
from dpcp_audit.theorems.theorem import FailureRate

_N, _EPSILON, _DELTA, _ROUNDS = 11_080, 4.0, 0.1, 10
_OVERCONFIDENT = digits(Classifier.GAUSSIAN_NB)
_NB_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.GAUSSIAN_NB)
_LOGISTIC_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC)


def _claim(id_: str, section: str, expected: Verdict, statement: str, formula: str = "") -> Claim:
    source = Source(paper="LDP-CP", section=section)
    return Claim(id=id_, statement=statement, source=source, expected=expected, formula=formula)


def rows() -> list[Row]:
    """Return the LDP-CP rows."""
    return [
        *_response_rows(),
        *_algorithm_rows(),
        *_output_rows(),
        *_theorem_rows(),
        *_shuffle_rows(),
    ]


def _krr() -> Computation:
    response = KaryRandomizedResponse(2.0, 10)
    laws = response.laws()
    pairs = [
        FinitePair(law, other) for i, law in enumerate(laws) for other in laws[i + 1 :]
    ]
    return hold_against(
        response.guarantee,
        pairs,
        covers="all pairs of labels were computed.",
        witness={"epsilon": 2.0, "k": 10, "value": 0, "neighbour": 1, "event": [0]},
    )


def _response_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                "ldpcp.krr",
                "Section 2.3",
                Verdict.PROVED,
                "k-ary randomised response with β = k/(k−1+e^ε) is ε-LDP (here k = 10, ε = 2).",
                "Q(z | y) ≤ e^ε Q(z | y′)",
            ),
            check=Computed(_krr),
        ),
        Row(
            claim=_claim(
                "ldpcp.label-attack",
                "Section 2.3",
                Verdict.PROVED,
                "From a k-RR report no one guesses a label, uniform beforehand, with probability "
                "above e^ε/(e^ε+k−1).",
                "max_g P(g(ỹ) = y) ≤ e^ε/(e^ε+k−1)",
            ),
            check=Computed(partial(label_guess, KaryRandomizedResponse(2.0, 10))),
        ),
        *(
            Row(
                claim=_claim(
                    f"ldpcp.rr-debias[mean={name}]",
                    "Algorithm 3, line 8",
                    expected,
                    "Z is an unbiased estimate of the fraction of scores below the midpoint, "
                    f"with the reports' sum divided by {name}.",
                    "E[Z] = F(q)",
                ),
                check=Computed(
                    partial(
                        estimate_bias,
                        LDPCPScores(
                            alpha=0.1,
                            epsilon=_EPSILON,
                            rounds=_ROUNDS,
                            window_width=0.05,
                            debiasing=debiasing,
                        ),
                        n=_N,
                    )
                ),
            )
            for name, debiasing, expected in (
                ("block", Debiasing.CORRECTED, Verdict.PROVED),
                ("n", Debiasing.PRINTED, Verdict.REFUTED),
            )
        ),
    ]


def _printed_aps(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    return aps_as_printed(probabilities, u=u)


def _romano_aps(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    return aps(probabilities, u=u)


def _algorithm_rows() -> list[Row]:
    printed = LDPCPScores(
        alpha=0.1, epsilon=_EPSILON, rounds=_ROUNDS, window_width=0.05, blocks=Blocks.PRINTED
    )
    return [
        Row(
            claim=_claim(
                "ldpcp.blocks",
                "Algorithm 3, line 5",
                Verdict.REFUTED,
                "The blocks U(1), …, U(T) are disjoint subsets of the n users.",
                "U(j) = {j·n′+1, …, (j+1)·n′} ⊆ {1, …, n}",
            ),
            check=Computed(partial(blocks_outside, printed, n=_N)),
        ),
        Row(
            claim=_claim(
                "ldpcp.aps-range[form=printed]",
                "Section 2.1",
                Verdict.REFUTED,
                "Scores lie in [0, 1], where the threshold is searched: APS as printed.",
                "Σ_{p_j ≥ p_i} p_j + u·p_i ≤ 1",
            ),
            check=Computed(partial(score_range, _printed_aps, _LOGISTIC_POOL, covers="")),
        ),
        Row(
            claim=_claim(
                "ldpcp.aps-range[form=romano]",
                "Section 2.1, after Romano et al. (2020)",
                Verdict.PROVED,
                "Scores lie in [0, 1], where the threshold is searched: APS as Romano et al. "
                "define it.",
                "Σ_{p_j > p_i} p_j + u·p_i ≤ 1",
            ),
            check=Computed(
                partial(
                    score_range,
                    _romano_aps,
                    _LOGISTIC_POOL,
                    covers=(
                        "label i is not among the larger ones, so the sum is at most the total "
                        "probability 1; certain predictions attain it."
                    ),
                )
            ),
        ),
        Row(
            claim=_claim(
                "ldpcp.figure-5",
                "Section 5, Figure 5",
                Verdict.REFUTED,
                "From n ≥ 10⁵ on, LDP-CP-S has the smaller correction (here k = 8, ε = 4, T = 7).",
                "n ≥ 10⁵ → Δ_S ≤ Δ_L",
            ),
            check=Computed(partial(width_ratio, k=8, epsilon=_EPSILON, rounds=7, delta=_DELTA)),
        ),
    ]


_THEOREM_4 = ScoreTheorem(
    population=Uniform(), n=_N, epsilon=_EPSILON, delta=_DELTA, rounds=_ROUNDS
)


def _rate(theorem: ScoreTheorem) -> FailureRate:
    return FailureRate(theorem=theorem, n_trials=40_000)


def _output_rows() -> list[Row]:
    """Algorithm 3 as printed (1/n, blocks from n′+1 on) and corrected, on uniform scores."""
    forms = (
        ("printed", Debiasing.PRINTED, Blocks.PRINTED, Verdict.REFUTED),
        ("corrected", Debiasing.CORRECTED, Blocks.CORRECTED, Verdict.CONSISTENT),
    )
    return [
        Row(
            claim=_claim(
                f"ldpcp.algorithm-3[form={form}]",
                "Algorithm 3 and the proof of Theorem 4",
                expected,
                f"Algorithm 3 ({form}) returns the (1−α)-quantile: the coverage is within 2Δ_S "
                "of 1−α with probability at least 1−δ, on uniform scores.",
                "1−α−Δ_S ≤ coverage ≤ 1−α+2Δ_S",
            ),
            check=_rate(
                replace(
                    _THEOREM_4, n=10**6, debiasing=debiasing, blocks=blocks, two_sided=True
                )
            ),
        )
        for form, debiasing, blocks, expected in forms
    ]


def _theorem_rows() -> list[Row]:
    statement = "LDP-CP-S covers at least 1−α−Δ_S with probability at least 1−δ"
    formula = "Δ_S = (e^ε+1)/(e^ε−1)·√(T·log(2T/δ)/(2n))"
    beta = Beta(5, 0.2)
    cases: list[tuple[Population, OnMiss, Verdict]] = [
        (Uniform(), OnMiss.LAST_MIDPOINT, Verdict.CONSISTENT),
        (beta, OnMiss.LAST_MIDPOINT, Verdict.REFUTED),
        (beta, OnMiss.UPPER_END, Verdict.CONSISTENT),
        (_OVERCONFIDENT, OnMiss.LAST_MIDPOINT, Verdict.REFUTED),
        (_OVERCONFIDENT, OnMiss.UPPER_END, Verdict.CONSISTENT),
        (digits(Classifier.LOGISTIC), OnMiss.LAST_MIDPOINT, Verdict.CONSISTENT),
    ]
    return [
        *(
            Row(
                claim=_claim(
                    f"ldpcp.theorem-4[scores={population.name}{_suffix(on_miss)}]",
                    "Theorem 4",
                    expected,
                    f"{statement}, on {population.name} scores, {_RETURNS[on_miss]}.",
                    formula,
                ),
                check=_rate(replace(_THEOREM_4, population=population, on_miss=on_miss)),
            )
            for population, on_miss, expected in cases
        ),
        Row(
            claim=_claim(
                "ldpcp.starred[scores=uniform]",
                "Section 2.2 and Table 1, LDP-CP-S*",
                Verdict.CONSISTENT,
                "Calibrated at 1−α+Δ_S, LDP-CP-S covers at least 1−α with probability ≥ 1−δ.",
                "P(coverage ≥ 1−α) ≥ 1−δ",
            ),
            check=_rate(replace(_THEOREM_4, starred=True)),
        ),
        *_label_rows(),
    ]


_RETURNS = {
    OnMiss.LAST_MIDPOINT: "returning the last midpoint on a miss, as printed",
    OnMiss.UPPER_END: "returning the upper end of the bracket on a miss",
}


def _suffix(on_miss: OnMiss) -> str:
    return "" if on_miss is OnMiss.LAST_MIDPOINT else f",on-miss={on_miss}"


def _label_rows() -> list[Row]:
    pools = (
        ("digits-logistic", _LOGISTIC_POOL, Verdict.CONSISTENT),
        ("digits-gaussian-nb", _NB_POOL, Verdict.REFUTED),
    )
    return [
        Row(
            claim=_claim(
                f"ldpcp.theorem-3[scores={name}]",
                "Theorem 3",
                expected,
                "LDP-CP-L covers at least 1−α−Δ_L with probability at least 1−δ, on HPS scores "
                f"of {name}, returning the last midpoint on a miss, as printed.",
                "Δ_L = √(log(4/δ)/(2nh²)), h = (1−β)/(1+β)",
            ),
            check=FailureRate(
                theorem=LabelTheorem(
                    pool_name=name, pool=pool, k=10, n=2_000, epsilon=_EPSILON, delta=_DELTA
                ),
                n_trials=2_000,
            ),
        )
        for name, pool, expected in pools
    ]


def _shuffle_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                f"ldpcp.shuffle[n={n}]",
                "Section 4.2 and Table 1",
                Verdict.REFUTED,
                f"Shuffling n = {n} reports of ε = 4 gives ε_eff = ε/√n; no δ is stated, and even "
                "δ = 1e-3 is granted here.",
                "ε_eff = ε/√n",
            ),
            check=Computed(
                partial(
                    shuffle_amplification,
                    ShuffledBinaryResponse(_EPSILON),
                    n=n,
                    granted_delta=1e-3,
                )
            ),
        )
        for n in (2_452, 11_080)
    ]
