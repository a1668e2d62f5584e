"""Rows for LDP-CP's sentences: its quantile, its widths, shuffled features, exchangeable data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import Standing, Verdict, claims_of
from dpcp_audit.extensions.laws import Classifier, Dataset, aps, classifier_pool, raps
from dpcp_audit.extensions.mechanisms import ShuffledBinaryResponse
from dpcp_ledger.claims.claim_pools import RAPS_PENALTY, RAPS_SPARED
from dpcp_ledger.claims.computed_rows import ComputedCase, computed_rows
from dpcp_ledger.claims.headings import Heading
from dpcp_ledger.computations import (
    exchangeable_scores,
    ldpcp_channels,
    ldpcp_label_rows,
    ldpcp_sentences,
    ldpcp_table_rows,
)
from dpcp_ledger.computations.ldpcp_remarks import score_range, shuffle_amplification
from dpcp_ledger.computations.ldpcp_sentences import Widths

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import FloatArray, Row
    from dpcp_audit.extensions.laws import ProbabilityPool


_EPSILONS = tuple(map(float, range(1, 9)))
_PAPER, _ERRATUM = Standing.PAPER, Standing.ERRATUM
_EXPERIMENT: dict[str, Any] = {"rounds": 10, "delta": 0.1}
_FIGURE_5: dict[str, Any] = {"rounds": 7, "delta": 0.1}
_SCORES: dict[str, Any] = {"n": 11_080, "alpha": 0.1, "epsilon": 4.0, "delta": 0.1, "rounds": 10}
_LABELS: dict[str, Any] = _SCORES | {"n": 50_000, "k": 10}
_EXCHANGEABLE = "samples that are exchangeable and not independent: one score for all"
_OTHER = "LDP-CP, other statements"
_claim = claims_of("LDP-CP", subject=_OTHER)


def rows() -> list[Row]:
    """Return the rows on LDP-CP's sentences."""
    cases = (
        *_background(),
        *_widths(),
        *_shuffled(),
        *_exchangeable(),
        _copied(),
        _jumps(),
        _apart(),
        _channel(),
    )
    return computed_rows(_claim, cases)


def _plain_aps(probabilities: FloatArray, u: FloatArray) -> FloatArray:  # noqa: ARG001
    return aps(probabilities)


def _raps_within(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    return raps(probabilities, penalty=RAPS_PENALTY, spared=RAPS_SPARED, u=u)


def _raps_as_published(probabilities: FloatArray, u: FloatArray) -> FloatArray:
    most = 1 + RAPS_PENALTY * (int(probabilities.shape[1]) - RAPS_SPARED)
    return np.multiply(most, _raps_within(probabilities, u))


def _raps_ranges(pool: Callable[[], ProbabilityPool]) -> tuple[ComputedCase, ...]:
    """RAPS as NACP's public code has it, and divided by the most that it can be."""
    says = "Scores lie in [0, 1], where the threshold is searched: RAPS "
    setting: dict[str, Any] = {"penalty": RAPS_PENALTY, "spared": RAPS_SPARED}
    return (
        ComputedCase(
            "ldpcp.aps-range[form=raps]",
            "Section 3.1, with NACP's public code",
            Standing.PRACTICE,
            Verdict.REFUTED,
            says + "as published, with λ for each rank after the fifth.",
            setting | {"form": "raps"},
            partial(score_range, _raps_as_published, pool),
            formula="Σ_{p_j > p_i} p_j + u·p_i + λ·(rank − 5)⁺ ≤ 1",
            subject=_OTHER,
        ),
        ComputedCase(
            "ldpcp.aps-range[form=raps-divided]",
            "Section 3.1, with NACP's public code",
            Standing.READING,
            Verdict.PROVED,
            says + "divided by 1 + λ·(k−5).",
            setting | {"form": "raps-divided"},
            partial(
                score_range,
                _raps_within,
                pool,
                argument="APS is at most 1 and a rank at most k, so that the sum is at most "
                "1 + λ·(k−5).",
            ),
            formula="Σ_{p_j > p_i} p_j + u·p_i + λ·(rank − 5)⁺ ≤ 1 + λ·(k−5)",
            subject=_OTHER,
        ),
    )


def _background() -> tuple[ComputedCase, ...]:
    pool = partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC)
    return (
        ComputedCase(
            "ldpcp.quantile[form=plain]",
            "Section 2.1",
            _ERRATUM,
            Verdict.REFUTED,
            "“If we set q to be the (1−α) quantile of the conformal scores” of the calibration "
            "set, the coverage is at least 1−α.",
            {"n": 10, "alpha": 0.1, "form": "plain"},
            partial(ldpcp_sentences.plain_quantile, n=10, alpha=0.1),
            formula="1−α ≤ p(y ∈ C_q(x)) ≤ 1−α+1/(n+1)",
            subject=Heading.SPLIT_COVERAGE,
        ),
        ComputedCase(
            "ldpcp.aps-range[form=preprint]",
            "Section 2.1 of the preprint",
            _PAPER,
            Verdict.PROVED,
            "Scores lie in [0, 1], where the threshold is searched: APS without randomisation.",
            {"form": "preprint"},
            partial(
                score_range,
                _plain_aps,
                pool,
                argument="A sum of probabilities of different labels is at most 1.",
            ),
            formula="Σ_{p_j ≥ p_i} p_j ≤ 1",
            subject=_OTHER,
        ),
        *_raps_ranges(pool),
    )


def _widths() -> tuple[ComputedCase, ...]:
    section = "Section 5, Figure 3"
    return (
        ComputedCase(
            "ldpcp.figure-3[widths]",
            section,
            Standing.READING,
            Verdict.REFUTED,
            "“For the evaluated medical datasets (with n fixed) Δ_S > Δ_L”, at every ε that is "
            "evaluated and for the given T, which the paper does not state.",
            _EXPERIMENT | {"epsilon": list(_EPSILONS)},
            partial(ldpcp_sentences.scores_wider, Widths(**_EXPERIMENT), epsilons=_EPSILONS),
            formula="Δ_L/Δ_S < 1",
            subject=_OTHER,
        ),
        ComputedCase(
            "ldpcp.figure-3[negligible]",
            section,
            Standing.READING,
            Verdict.REFUTED,
            "“For the majority of the evaluated datasets” Δ_L is “negligible for α = 0.1”: at "
            "most a fifth of α on three of the five.",
            {"alpha": 0.1, "epsilon": 3.0, "delta": 0.1, "share": 0.2},
            partial(
                ldpcp_sentences.negligible_widths,
                Widths(**_EXPERIMENT),
                epsilon=3.0,
                share=0.2,
                alpha=0.1,
            ),
            formula="Δ_L ≤ α/5",
            subject=_OTHER,
        ),
        ComputedCase(
            "ldpcp.figure-5[labels=many]",
            "Section 5, Figure 5",
            Standing.READING,
            Verdict.REFUTED,
            "“As the number of classes k increases (particularly for large values of k, e.g., "
            "100 or 1000), LDP-CP-S dominates”: at each ε of the figure, for the given T, "
            "which the paper does not state.",
            _FIGURE_5 | {"k": [100, 1000], "epsilon": [2.0, 4.0, 8.0]},
            partial(
                ldpcp_sentences.many_labels,
                Widths(**_FIGURE_5),
                labels=(100, 1000),
                epsilons=(2.0, 4.0, 8.0),
            ),
            formula="Δ_S ≤ Δ_L",
            subject=_OTHER,
        ),
        ComputedCase(
            "ldpcp.widths[labels=growing]",
            "Section 4.1",
            _PAPER,
            Verdict.PROVED,
            "“As k increases, the calibration error (Δ) grows” with LDP-CP-L, and with "
            "LDP-CP-S it does not.",
            {},
            partial(
                ldpcp_sentences.width_in_labels,
                Widths(**_EXPERIMENT),
                labels=range(2, 1001),
                epsilon=4.0,
            ),
            formula="Δ_L(k) < Δ_L(k+1)",
            subject=_OTHER,
        ),
    )


def _shuffled() -> tuple[ComputedCase, ...]:
    return (
        ComputedCase(
            "ldpcp.shuffle[reports=features]",
            "Section 4.1, Table 1 and Figure 4",
            _PAPER,
            Verdict.REFUTED,
            "The shuffle model gives LDP-CP-L, whose reports carry the features xᵢ, a label "
            "privacy of ε_eff = ε/√n; no δ is stated, so that a large one is granted.",
            {"epsilon": 4.0, "delta": 1e-3, "reports": "features"},
            partial(ldpcp_sentences.feature_reports, epsilon=4.0, granted_delta=1e-3),
            formula="ε_eff = ε/√n",
            subject=Heading.SHUFFLED,
        ),
        ComputedCase(
            "ldpcp.shuffle[reports=blocks]",
            "Section 4.2 and Table 1",
            _PAPER,
            Verdict.REFUTED,
            "LDP-CP-S, which asks n/T users a round, has ε_eff = ε/√n when each round's "
            "reports are shuffled: “this integration does not alter the algorithmic structure”.",
            {"n": 11_080, "epsilon": 4.0, "rounds": 10, "delta": 1e-3},
            partial(
                shuffle_amplification,
                ShuffledBinaryResponse(4.0),
                n=11_080,
                rounds=10,
                granted_delta=1e-3,
            ),
            formula="ε_eff = ε/√n",
            subject=Heading.SHUFFLED,
        ),
    )


def _exchangeable() -> tuple[ComputedCase, ...]:
    says = (
        "itself, read as the algorithm that “exists”, covers at least 1−α−Δ with probability at "
        f"least 1−δ, on {_EXCHANGEABLE}."
    )
    return (
        ComputedCase(
            "ldpcp.theorem-4[data=exchangeable]",
            "Theorem 4",
            Standing.READING,
            Verdict.REFUTED,
            f"LDP-CP-S {says}",
            _SCORES | {"data": "exchangeable"},
            partial(exchangeable_scores.common_score_failure, **_SCORES),
            formula="P(p(y ∈ C_q̂(x)) ≥ 1−α−Δ_S) ≥ 1−δ",
            subject=Heading.SCORE_COVERAGE,
        ),
        ComputedCase(
            "ldpcp.theorem-3[data=exchangeable]",
            "Theorem 3",
            Standing.READING,
            Verdict.REFUTED,
            f"LDP-CP-L {says}",
            _LABELS | {"data": "exchangeable"},
            partial(exchangeable_scores.common_label_failure, **_LABELS),
            formula="P(p(y ∈ C_q̂(x)) ≥ 1−α−Δ_L) ≥ 1−δ",
            subject=Heading.LABEL_COVERAGE,
        ),
        *(
            ComputedCase(
                f"ldpcp.theorem-{number}[algorithm=constant]",
                f"Theorem {number}",
                _PAPER,
                Verdict.VACUOUS,
                "“There exists an ε-local differentially private algorithm” with this coverage.",
                {"algorithm": "q̂ = 1", "threshold": 1.0},
                exchangeable_scores.constant_threshold_failure,
                formula="P(p(y ∈ C_1(x)) ≥ 1−α−Δ) ≥ 1−δ",
                subject=heading,
                vacuous="As printed this promises nothing: the algorithm that returns q̂ = 1 "
                "whatever the data, so that every set holds every label, is one.",
            )
            for number, heading in ((3, Heading.LABEL_COVERAGE), (4, Heading.SCORE_COVERAGE))
        ),
    )


def _copied() -> ComputedCase:
    return ComputedCase(
        "ldpcp.table-1[rows=tissue]",
        "Table 1",
        Standing.PRACTICE,
        Verdict.REFUTED,
        "The rows LDP-CP-S and LDP-CP-S* of TissueMNIST come from two calibrations, at 1−α and "
        "at 1−α+Δ: no printed result is the same in both.",
        {"epsilon": 4.0, "alpha": 0.1, "rows": "tissue"},
        partial(ldpcp_sentences.equal_rows, "TissueMNIST", ("LDP-CP-S", "LDP-CP-S*")),
        subject="LDP-CP, the printed table",
    )


def _jumps() -> ComputedCase:
    setting: dict[str, Any] = {"rounds": 4, "delta": 0.05}
    return ComputedCase(
        "ldpcp.table-1[rows=jump]",
        "Table 1",
        Standing.READING,
        Verdict.CONSISTENT,
        "The rows of LDP-CP-S and LDP-CP-S* on OrganCMNIST and OrganSMNIST, of 82 to 87 % and of "
        "98 %, can be Algorithm 3's as printed, on scores that jump over its window: its means and "
        "spreads come within half a point.",
        setting | {"epsilon": 4.0, "alpha": 0.1, "rows": "jump"},
        partial(
            ldpcp_table_rows.explained_rows,
            [(name, score) for name in ("OrganCMNIST", "OrganSMNIST") for score in ("HPS", "APS")],
            **setting,
            within=0.005,
        ),
        subject="LDP-CP, the printed table",
    )


def _apart() -> ComputedCase:
    setting: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-3}
    return ComputedCase(
        "ldpcp.table-1[rows=labels]",
        "Table 1",
        Standing.READING,
        Verdict.CONSISTENT,
        "The rows of LDP-CP-L and LDP-CP-L* come from a search that ends at its target, 1−α and "
        "1−α+Δ_L, as that of NACP's public code: where thresholds vary, the printed coverages are "
        "Δ_L apart up to a tenth of a point.",
        setting | {"alpha": 0.1, "rows": "labels"},
        partial(ldpcp_label_rows.search_ends_at_its_target, **setting, within=0.001),
        subject="LDP-CP, the printed table",
    )


def _channel() -> ComputedCase:
    setting: dict[str, Any] = {"k": [100, 1000], "epsilon": [1.0, 2.0, 3.0]}
    return ComputedCase(
        "ldpcp.open-problem[channel=unary]",
        "Section 6, Conclusion and Open Problems",
        Standing.PRACTICE,
        Verdict.PROVED,
        "“The integration of more advanced methods in Local Differential Privacy (LDP), such as "
        "RAPPOR”, into LDP-CP-L lowers the noise of one label where labels are many: by optimised "
        "unary encoding a report says with less noise than by k-RR whether the label is a given "
        "other.",
        setting | {"channel": "unary"},
        partial(
            ldpcp_channels.unary_noise,
            labels=tuple(setting["k"]),
            epsilons=tuple(setting["epsilon"]),
        ),
        formula="4e^ε/(e^ε−1)² ≤ (k−2+e^ε)/(e^ε−1)²",
    )
