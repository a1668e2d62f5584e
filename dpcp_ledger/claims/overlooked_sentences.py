"""Rows on sentences beside the theorems: of appendices, discussions and tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import Standing, Verdict, claims_of
from dpcp_ledger.claims.computed_rows import ComputedCase, computed_rows
from dpcp_ledger.claims.headings import Heading
from dpcp_ledger.computations import printed_comparisons, printed_settings

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Row

_PAPER, _READING = Standing.PAPER, Standing.READING
_REFUTED, _PROVED = Verdict.REFUTED, Verdict.PROVED
_ROUNDS: dict[str, Any] = {"alpha": 0.05, "width": 0.05, "spacing": 0.05}
_SCORES: dict[str, Any] = {"n": 2_400, "epsilon": 4.0, "delta": 0.1}
_search = claims_of("P-COQS", subject=Heading.PRINTED_TABLES)
_local = claims_of("LDP-CP", subject="LDP-CP, the printed table")


def rows() -> list[Row]:
    """Return the rows."""
    search, local = map(_named, _search_cases()), map(_named, _local_cases())
    return [*computed_rows(_search, search), *computed_rows(_local, local)]


def _named(case: ComputedCase) -> ComputedCase:
    """Return a case whose parameters hold the variant that its id names."""
    name, _, variant = case.id.partition("[")[2].rstrip("]").partition("=")
    return case._replace(parameters={name.replace("-", "_"): variant, **case.parameters})


def _search_cases() -> tuple[ComputedCase, ...]:
    solved = "“P-COQS under-covering appears to be solved already starting from n=200”: "
    return (
        ComputedCase(
            "pcoqs.appendix-e[errors=lowest]",
            "Appendix E, Tables 15 and 16",
            _PAPER,
            _REFUTED,
            "“HISTLAP and P-COQS have the lowest errors over the different settings”: in none "
            "has ExponQ the lowest.",
            {"tables": [15, 16]},
            printed_comparisons.lower_errors_of_exponq,
        ),
        ComputedCase(
            "pcoqs.appendix-e[budgets=small]",
            "Appendix E, Tables 15 and 16",
            _READING,
            _REFUTED,
            "“P-COQS showing generally better performance for smaller privacy budgets”, read as "
            "at each of ε_CP = 0.1 and 0.5: its error is at most HistLap's.",
            {"epsilon": [0.1, 0.5]},
            partial(printed_comparisons.worse_at_small_budgets, budgets=("0.1", "0.5")),
        ),
        ComputedCase(
            "pcoqs.section-5.1.2[under-covering=naive-bayes]",
            "Section 5.1.2, Tables 6 and 8",
            _PAPER,
            _PROVED,
            f"{solved}no printed coverage of the naive Bayes models, of which it speaks, falls "
            "short of 0.9 by more than three standard errors from there on.",
            {"tables": [6, 8], "from_n": 200, "errors": 3.0},
            partial(printed_comparisons.shortfall, (6, 8), from_n=200, errors=3.0),
        ),
        ComputedCase(
            "pcoqs.section-5.1.2[under-covering=forests]",
            "Section 5.1.2, Table 2",
            _READING,
            _REFUTED,
            f"{solved}nor does one of the random forests, of which the sentence does not speak.",
            {"tables": [2], "from_n": 200, "errors": 3.0},
            partial(printed_comparisons.shortfall, (2,), from_n=200, errors=3.0),
        ),
        ComputedCase(
            "pcoqs.section-5.1.3[level=targeted]",
            "Section 5.1.3, Tables 3 and 9",
            _PAPER,
            _PROVED,
            "“P-COQS and HISTLAP appear to better target the required coverage level on average”: "
            "their mean distance from 1−α is at most ExponQ's, in both tables.",
            {"tables": [3, 9]},
            printed_comparisons.further_from_level,
        ),
        ComputedCase(
            "pcoqs.remark-7[hypothesis=printed]",
            "Remark 7",
            Standing.ERRATUM,
            _REFUTED,
            "“Assuming” min |s_i − s_j| < Δ, as printed, a window of length Δ holds one score.",
            {"resolution": 1e-10},
            partial(printed_comparisons.close_scores, resolution=1e-10),
            formula="M(Δ) = 1",
            subject=Heading.SEARCH_RANK,
        ),
        ComputedCase(
            "pcoqs.discussion[coverage=targeted]",
            "Section 6, Tables 1 to 13",
            _READING,
            _REFUTED,
            "“It targets the correct coverage level in all settings”: no printed coverage falls "
            "short of 1−α by more than 0.02.",
            {"short": 0.02},
            partial(printed_settings.targeted_everywhere, short=0.02),
        ),
    )


def _local_cases() -> tuple[ComputedCase, ...]:
    return (
        ComputedCase(
            "ldpcp.table-1[starred=covers]",
            "Section 5, Table 1",
            _PAPER,
            _PROVED,
            "“We indeed obtain the required” 1−α “coverage”: no printed starred coverage is "
            "below 90 %.",
            {"alpha": 0.1},
            printed_comparisons.starred_short,
        ),
        ComputedCase(
            "ldpcp.algorithm-3[probability=none]",
            "Algorithms 2 and 3",
            Standing.ERRATUM,
            _REFUTED,
            "“Threshold q ensuring private coverage” 1−α−Δ “on true labels”, without a "
            "probability: Algorithm 3 never covers less.",
            _SCORES,
            partial(printed_comparisons.failure_without_probability, **_SCORES),
            formula="P(F(q̂) < 1−α−Δ_S) = 0",
            subject=Heading.SCORE_ALGORITHM,
        ),
        ComputedCase(
            "ldpcp.theorem-4[rounds=natural]",
            "Theorems 3 and 4",
            _READING,
            _REFUTED,
            "T = ⌈log(1/τ)⌉ rounds are enough, with the natural logarithm, as in log(1/δ): without "
            "any noise the search covers at least 1−α−Δ.",
            _ROUNDS,
            partial(printed_comparisons.natural_rounds, **_ROUNDS),
            formula="T = ⌈ln(1/τ)⌉, F(q̂) ≥ 1−α−Δ",
            subject=Heading.SCORE_COVERAGE,
        ),
    )
