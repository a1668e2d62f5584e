"""Rows for LDP-CP: randomised response, the scores, Algorithm 3's lines, the shuffler."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.audits import channel_outcome, law_figures, response_loss, response_proof
from dpcp_audit.extensions.claims import Computation, Computed, Row, Standing, Verdict, claims_of
from dpcp_audit.extensions.laws import (
    Classifier,
    Dataset,
    FinitePair,
    aps,
    aps_as_printed,
    classifier_pool,
)
from dpcp_audit.extensions.mechanisms import (
    Debiasing,
    KaryRandomizedResponse,
    LDPCPScores,
    ShuffledBinaryResponse,
)
from dpcp_audit.extensions.statistics import ends
from dpcp_ledger.claims.headings import Heading
from dpcp_ledger.computations.ldpcp_remarks import (
    blocks_outside,
    estimate_bias,
    label_guess,
    score_range,
    shuffle_amplification,
    width_ratio,
    width_ratio_at_any_rounds,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray


_N, _EPSILON, _DELTA, _ROUNDS = 11_080, 4.0, 0.1, 10
_LOGISTIC_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC)
_SETTING = {"n": _N, "epsilon": _EPSILON, "rounds": _ROUNDS}
_RESPONSE = {"epsilon": 2.0, "k": 10}
_claim = claims_of("LDP-CP", subject="LDP-CP, other statements")


def rows() -> list[Row]:
    """Return the LDP-CP rows."""
    return [*_response_rows(), *_algorithm_rows(), *_shuffle_rows()]


def _krr() -> Computation:
    response = KaryRandomizedResponse(2.0, 10)
    laws = response.laws()
    channel = np.exp([law.log_mass for law in laws])
    found = channel_outcome(response.guarantee, channel, witness={"k": response.k})
    low, high = ends(partial(response_loss, response.move_probability, response.k))
    return replace(
        found,
        lower=low,
        upper=high,
        proof=response_proof(response, response.guarantee),
        figures=law_figures(response.guarantee, FinitePair(*laws[:2])),
    )


def _response_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                "ldpcp.krr",
                "Section 2.3",
                Verdict.PROVED,
                "k-ary randomised response with β = k/(k−1+e^ε) is ε-LDP.",
                "Q(z | y) ≤ e^ε Q(z | y′)",
                subject=Heading.ONE_REPORT,
                parameters=_RESPONSE,
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
                subject=Heading.ONE_REPORT,
                standing=Standing.PRACTICE,
                parameters=_RESPONSE,
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
                    f"with the reports' sum divided by {divisor}.",
                    "E[Z] = F(q)",
                    subject=Heading.SCORE_ALGORITHM,
                    standing=standing,
                    parameters=_SETTING | {"mean": name},
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
            for name, divisor, debiasing, standing, expected in (
                (
                    "block",
                    "the size of the block",
                    Debiasing.CORRECTED,
                    Standing.READING,
                    Verdict.PROVED,
                ),
                ("n", "n", Debiasing.PRINTED, Standing.ERRATUM, Verdict.REFUTED),
            )
        ),
    ]


def _printed_aps(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    return aps_as_printed(probabilities, u=u)


def _romano_aps(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    return aps(probabilities, u=u)


_FIGURE_5: dict[str, Any] = {"k": 8, "epsilon": _EPSILON, "rounds": 7, "delta": _DELTA}


def _algorithm_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                "ldpcp.blocks",
                "Algorithm 3, line 5",
                Verdict.REFUTED,
                "The blocks U(1), …, U(T) are disjoint subsets of the n users.",
                "U(j) = {j·n′+1, …, (j+1)·n′} ⊆ {1, …, n}",
                subject=Heading.SCORE_ALGORITHM,
                standing=Standing.ERRATUM,
                parameters={"n": _N, "rounds": _ROUNDS},
            ),
            check=Computed(partial(blocks_outside, n=_N, rounds=_ROUNDS)),
        ),
        Row(
            claim=_claim(
                "ldpcp.aps-range[form=printed]",
                "Section 2.1",
                Verdict.REFUTED,
                "Scores lie in [0, 1], where the threshold is searched: APS as printed.",
                "Σ_{p_j ≥ p_i} p_j + u·p_i ≤ 1",
                standing=Standing.ERRATUM,
                parameters={"form": "printed", "population": "digits-logistic"},
            ),
            check=Computed(partial(score_range, _printed_aps, _LOGISTIC_POOL)),
        ),
        Row(
            claim=_claim(
                "ldpcp.aps-range[form=romano]",
                "Section 2.1, after Romano et al. (2020)",
                Verdict.PROVED,
                "Scores lie in [0, 1], where the threshold is searched: APS as Romano et al. "
                "define it.",
                "Σ_{p_j > p_i} p_j + u·p_i ≤ 1",
                standing=Standing.READING,
                parameters={"form": "romano"},
            ),
            check=Computed(
                partial(
                    score_range,
                    _romano_aps,
                    _LOGISTIC_POOL,
                    argument=(
                        "Label i is not among the larger ones, and u ≤ 1: the score is a sum of "
                        "probabilities of different labels, which is at most 1."
                    ),
                )
            ),
        ),
        Row(
            claim=_claim(
                "ldpcp.figure-5",
                "Section 5, Figure 5",
                Verdict.REFUTED,
                "“Roughly speaking for n ≥ 10^5 → Δ_S ≤ Δ_L”: from there on LDP-CP-S has the "
                "smaller correction, at ε = 8, for some T ≥ 2 and some k up to 100.",
                "n ≥ 10⁵ → Δ_S ≤ Δ_L",
                parameters={"labels": "2..100", "epsilon": 8.0, "rounds": 2, "delta": _DELTA},
            ),
            check=Computed(
                partial(
                    width_ratio_at_any_rounds,
                    labels=range(2, 101),
                    epsilon=8.0,
                    rounds=2,
                    delta=_DELTA,
                )
            ),
        ),
        Row(
            claim=_claim(
                "ldpcp.figure-5[rounds=7]",
                "Section 5, Figure 5",
                Verdict.REFUTED,
                "“Roughly speaking for n ≥ 10^5 → Δ_S ≤ Δ_L”, at ε = 4 and for T = 7, which the "
                "paper does not state.",
                "n ≥ 10⁵ → Δ_S ≤ Δ_L",
                standing=Standing.READING,
                parameters=_FIGURE_5,
            ),
            check=Computed(partial(width_ratio, **_FIGURE_5)),
        ),
    ]


def _shuffle_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                f"ldpcp.shuffle[n={n}]",
                "Section 4.2 and Table 1",
                Verdict.REFUTED,
                "“The effective privacy loss can be reduced to approximately ε^eff = ε/√n” by "
                "shuffling n reports of ε-LDP; no δ is stated, so that a large one is granted.",
                "ε_eff = ε/√n",
                subject=Heading.SHUFFLED,
                parameters={"n": n, "epsilon": _EPSILON, "delta": 1e-3},
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
