"""Rows for attacks: membership inference on what is released, and audits of local reports."""

from __future__ import annotations

from dpcp_audit.extensions.audits import (
    LocalPrivacy,
    conformal_threshold,
    exponq_threshold,
    histlap_threshold,
    label_report,
    pcoqs_threshold,
    score_answer,
    through_sets,
)
from dpcp_audit.extensions.claims import (
    LocalDP,
    PureDP,
    Relation,
    Row,
    Standing,
    Verdict,
    claims_of,
)
from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    BinaryRandomizedResponse,
    ExponQ,
    HistLap,
    KaryRandomizedResponse,
    LDPCPLabels,
    LDPCPScores,
    Normaliser,
    SplitConformal,
)
from dpcp_ledger.claims.headings import Heading

_pcoqs_claim = claims_of("P-COQS", subject=Heading.SEARCH_PRIVACY)
_ldpcp_claim = claims_of("LDP-CP", subject=Heading.ONE_REPORT)
_exponq_claim = claims_of("Angelopoulos et al. (2022)", subject=Heading.EXPONQ_PRIVACY)
_N = 50
_MEMBERSHIP = {"n": _N, "alpha": 0.1, "relation": str(Relation.SUBSTITUTION)}


def rows() -> list[Row]:
    """Return the rows that attack."""
    return [*_threshold_rows(), *_control_rows(), *_other_quantile_rows(), *_local_rows()]


def _threshold_rows() -> list[Row]:
    game = pcoqs_threshold(PCOQS(alpha=0.1, rho=0.5), n=_N)
    statement = "No membership attack on {what} of P-COQS beats what ρ-zCDP allows."
    return [
        Row(
            claim=_pcoqs_claim(
                f"pcoqs.remark-5[attack={attack}]",
                "Remark 5",
                Verdict.CONSISTENT,
                statement.format(what=what),
                "TPR ≤ the largest that ρ-zCDP allows at each FPR",
                parameters=_MEMBERSHIP | {"rho": 0.5, "attack": attack},
            ),
            check=check,
        )
        for attack, what, check in (
            ("threshold", "the released threshold", game),
            (
                "sets",
                "the prediction sets of 19 fixed queries",
                through_sets(game, [(i + 1) / 20 for i in range(19)]),
            ),
        )
    ]


def _control_rows() -> list[Row]:
    """Return the positive controls: split conformal prediction without privacy."""
    game = conformal_threshold(SplitConformal(alpha=0.1), n=_N, claim=PureDP(1.0))
    return [
        Row(
            claim=_pcoqs_claim(
                f"pcoqs.remark-5[mechanism=split-conformal,attack={attack}]",
                "Section 1 (calibration without privacy)",
                Verdict.REFUTED,
                f"Split conformal prediction, which adds no noise, is ε-DP as seen through {what}.",
                "TPR ≤ min(e^ε·FPR, 1 − e^(−ε)(1−FPR))",
                subject="Split conformal prediction, without noise",
                standing=Standing.CONTROL,
                parameters=_MEMBERSHIP
                | {"epsilon": 1.0, "mechanism": "split-conformal", "attack": attack},
            ),
            check=check,
        )
        for attack, what, check in (
            ("threshold", "its threshold", game),
            ("sets", "the prediction set of one query", through_sets(game, [0.5])),
        )
    ]


def _other_quantile_rows() -> list[Row]:
    published = ExponQ(
        alpha=0.1, epsilon=1.0, n_candidates=50, gamma=0.2, normaliser=Normaliser.PUBLISHED
    )
    return [
        Row(
            claim=_exponq_claim(
                "exponq.privacy[normaliser=published,attack=membership]",
                "Algorithm 2 and the public code",
                Verdict.REFUTED,
                "The exponential-mechanism quantile is ε-DP, with the published normaliser; seen "
                "by a membership attack on its threshold.",
                "TPR ≤ min(e^ε·FPR, 1 − e^(−ε)(1−FPR))",
                standing=Standing.STATED,
                parameters=_MEMBERSHIP
                | {
                    "epsilon": published.epsilon,
                    "n_candidates": published.n_candidates,
                    "gamma": published.gamma,
                    "normaliser": str(published.normaliser),
                    "attack": "membership",
                },
            ),
            check=exponq_threshold(published, n=_N),
        ),
        Row(
            claim=_pcoqs_claim(
                "histlap.privacy[scale=2/epsilon,attack=membership]",
                "Section 5, HistLap",
                Verdict.CONSISTENT,
                "HistLap's threshold, with Laplace noise of scale 2/ε, is ε-DP; seen by a "
                "membership attack.",
                "TPR ≤ min(e^ε·FPR, 1 − e^(−ε)(1−FPR))",
                subject=Heading.HISTLAP_PRIVACY,
                standing=Standing.PRACTICE,
                parameters=_MEMBERSHIP
                | {"epsilon": 1.0, "scale": "2/epsilon", "attack": "membership"},
            ),
            check=histlap_threshold(HistLap(alpha=0.1, epsilon=1.0), n=_N),
        ),
    ]


def _local_rows() -> list[Row]:
    labels = LDPCPLabels(alpha=0.1, epsilon=2.0, k=10, rounds=10, window_width=0.05)
    scores = LDPCPScores(alpha=0.1, epsilon=4.0, rounds=10, window_width=0.05)
    return [
        Row(
            claim=_ldpcp_claim(
                "ldpcp.membership[report=label]",
                "Theorem 3",
                Verdict.CONSISTENT,
                "No attack on LDP-CP-L's report distinguishes two labels better than ε-LDP allows.",
                "TPR − FPR ≤ tanh(ε/2)",
                parameters={"epsilon": 2.0, "k": 10, "report": "label"},
            ),
            check=label_report(labels),
        ),
        Row(
            claim=_ldpcp_claim(
                "ldpcp.membership[report=score]",
                "Theorem 4",
                Verdict.CONSISTENT,
                "No attack on LDP-CP-S's answer distinguishes two scores better than ε-LDP allows.",
                "TPR − FPR ≤ tanh(ε/2)",
                parameters={"epsilon": 4.0, "report": "score"},
            ),
            check=score_answer(scores),
        ),
        Row(
            claim=_ldpcp_claim(
                "ldpcp.krr[audit=sampled]",
                "Section 2.3",
                Verdict.CONSISTENT,
                "k-RR is ε-LDP: the sampler, audited over all pairs of labels, and the best guess "
                "of a label.",
                "Q(z | y) ≤ e^ε Q(z | y′)",
                parameters={"epsilon": 2.0, "k": 10, "audit": "sampled"},
            ),
            check=LocalPrivacy(
                randomizer=KaryRandomizedResponse(2.0, 10).sample,
                guarantee=LocalDP(2.0),
                n_inputs=10,
                n_outputs=10,
                witness={"k": 10},
            ),
        ),
        Row(
            claim=_ldpcp_claim(
                "ldpcp.rr[audit=sampled]",
                "Algorithm 3",
                Verdict.CONSISTENT,
                "Binary randomised response is ε-LDP: the sampler, audited.",
                "Q(z | b) ≤ e^ε Q(z | b′)",
                parameters={"epsilon": 4.0, "k": 2, "audit": "sampled"},
            ),
            check=LocalPrivacy(
                randomizer=BinaryRandomizedResponse(4.0).sample,
                guarantee=LocalDP(4.0),
                n_inputs=2,
                n_outputs=2,
            ),
        ),
    ]
