"""Rows for P-COQS's sentences: zCDP, Algorithm 1, the remarks, Theorem 1 over its parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import Standing, Verdict, claims_of
from dpcp_audit.extensions.mechanisms import PCOQS, PrivatelyBounded
from dpcp_ledger.claims.computed_rows import ComputedCase, computed_rows
from dpcp_ledger.claims.headings import Heading
from dpcp_ledger.computations import pcoqs_sentences, printed_search, printed_settings
from dpcp_ledger.computations.marginal_grid import MarginalGrid

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Row


_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_DELTA = 1e-10
_PAPER, _READING, _ERRATUM = Standing.PAPER, Standing.READING, Standing.ERRATUM
_REFUTED, _PROVED, _CONSISTENT = Verdict.REFUTED, Verdict.PROVED, Verdict.CONSISTENT
_EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)
_TIME: dict[str, Any] = {"n": [10, 100, 1000], "resolution": [1 / 32, 1e-3, 1e-10]}
_SEARCH: dict[str, Any] = {"resolution": _DELTA, "bounds": [0.0, 1.0]}
_CLASS: dict[str, Any] = {"n": 2400, "alpha": 0.1, "rho": 0.5, "share": 0.05}
_claim = claims_of("P-COQS", subject="P-COQS, other statements")


def rows() -> list[Row]:
    """Return the rows on P-COQS's sentences."""
    cases = (*_zcdp(), *_algorithm(), *_remarks(), *_settings(), *_marginal())
    return computed_rows(_claim, cases)


def _zcdp() -> tuple[ComputedCase, ...]:
    about = Heading.SEARCH_PRIVACY
    return (
        ComputedCase(
            "pcoqs.zcdp[to=approx-dp]",
            "Section 3.2",
            _PAPER,
            _PROVED,
            "“If M satisfies ρ-zCDP, then for δ > 0 M satisfies (ε, δ)-DP” with the printed ε.",
            {},
            pcoqs_sentences.zcdp_conversion,
            formula="ε = ρ + 2√(ρ·log(1/δ))",
            subject=about,
        ),
        ComputedCase(
            "pcoqs.zcdp[composition=tight]",
            "Section 3.2",
            _PAPER,
            _PROVED,
            "“ρ-zCDP is tight under sequential composition”: releases of ρ₁ and ρ₂ may cost "
            "all of ρ₁+ρ₂.",
            {},
            pcoqs_sentences.zcdp_composition,
            formula="sup D_α/α = ρ₁ + ρ₂",
            subject=about,
        ),
        ComputedCase(
            "pcoqs.zcdp[from=pure-dp]",
            "Section 5",
            _PAPER,
            _PROVED,
            "“ε-DP implies (ε²/2)-zCDP.”",
            {"epsilon": list(_EPSILONS)},
            partial(pcoqs_sentences.pure_to_zcdp, _EPSILONS),
            formula="D_α ≤ α·ε²/2",
            subject=about,
        ),
    )


def _algorithm() -> tuple[ComputedCase, ...]:
    about = "P-COQS, Algorithm 1"
    return (
        ComputedCase(
            "pcoqs.proposition-2",
            "Proposition 2",
            _PAPER,
            _PROVED,
            "Algorithm 1 takes O(n·log((b−a)/Δ)) time: n comparisons in each of at most "
            "log2((b−a)/Δ) + 1 rounds, with a fixed number of variables.",
            _TIME,
            partial(
                printed_search.search_time,
                tuple(_TIME["n"]),
                tuple(_TIME["resolution"]),
            ),
            formula="O(n·log((b−a)/Δ)) time, O(1) memory",
            subject=about,
        ),
        ComputedCase(
            "pcoqs.rounds[usual]",
            "After Proposition 2",
            _PAPER,
            _PROVED,
            "“The number of iterations is commonly around 30–40.”",
            _SEARCH,
            partial(printed_search.usual_rounds, _DEFAULT, most=40),
            formula="30 ≤ ⌈log2((b−a)/Δ)⌉ ≤ 40",
            subject=about,
        ),
        ComputedCase(
            "pcoqs.algorithm-1[ends=interval]",
            "Section 4 and the proof of Proposition 1",
            _PAPER,
            _PROVED,
            "“The algorithm stops with an interval of length at most Δ.”",
            {"resolution": _DELTA},
            partial(printed_search.final_interval, _DELTA),
            formula="right − left ≤ Δ",
            subject=about,
        ),
        ComputedCase(
            "pcoqs.algorithm-1[ends=within]",
            "Algorithm 1",
            Standing.PRACTICE,
            _REFUTED,
            "A search over [a, b] returns a threshold in [a, b].",
            {"resolution": _DELTA},
            partial(printed_search.beyond_the_end, _DELTA),
            formula="a ≤ q^DP ≤ b",
            subject=about,
        ),
    )


def _remarks() -> tuple[ComputedCase, ...]:
    return (
        ComputedCase(
            "pcoqs.remark-1[budget]",
            "Remark 1",
            _PAPER,
            _PROVED,
            "With a bound b that is released at ρ_b, “the total privacy cost then becomes "
            "ρ_total = ρ + ρ_b”.",
            {"rho": 0.5, "rho_bound": 0.0625},
            partial(
                pcoqs_sentences.private_bound_budget,
                PCOQS(alpha=0.01, rho=0.0625, bounds=(0.0, 1e3), resolution=1e-3),
                _DEFAULT,
            ),
            formula="ρ_total = ρ + ρ_b",
            subject=Heading.SEARCH_PRIVACY,
        ),
        ComputedCase(
            "pcoqs.remark-1[n=2400]",
            "Remark 1",
            _READING,
            _PROVED,
            "“Using a conservative public bound or a privately estimated high quantile yields "
            "similar utility”: at the same total budget the noise is within a tenth, whatever the "
            "scores, and the bound truncates hardly ever what matters.",
            {"rho": 0.4375, "rho_bound": 0.0625, "n": 2400},
            partial(
                pcoqs_sentences.private_bound_noise,
                PrivatelyBounded(
                    bound=PCOQS(alpha=0.01, rho=0.0625, bounds=(0.0, 1e3), resolution=1e-3),
                    quantile=replace(_DEFAULT, rho=0.4375),
                ),
                n=2400,
                claimed=1.1,
            ),
            formula="σ(b)/σ ≤ 1.1",
            subject=Heading.SEARCH_RANK,
        ),
        ComputedCase(
            "pcoqs.remark-2[resolution=any]",
            "Remark 2",
            _READING,
            _REFUTED,
            "“Any Δ in the regime Δ ≈ c/n_cal leads to similar behavior”: τ* + M(Δ) differs by no "
            "more than a factor of 2 for c from 0.1 to 100.",
            {"n": 2400, "rho": 0.5, "beta": 0.01, "multiples": [0.1, 1.0, 10.0, 100.0]},
            partial(
                pcoqs_sentences.coarse_tail,
                _DEFAULT,
                n=2400,
                beta=0.01,
                multiples=(0.1, 1.0, 10.0, 100.0),
            ),
            formula="Δ ≈ c/n",
            subject=Heading.SEARCH_RANK,
        ),
        ComputedCase(
            "pcoqs.remark-6",
            "Remark 6",
            _PAPER,
            _PROVED,
            "Theorem 1 “does not imply slice-wise (e.g., class-conditional …) coverage”: some "
            "class is covered less than its lower bound.",
            _CLASS,
            partial(pcoqs_sentences.one_class, _DEFAULT, n=2400, beta=0.01, share=0.05),
            formula="P(Y ∈ C | Y = y) < 1−α−τ/(n+1)",
            subject=Heading.SEARCH_COVERAGE,
        ),
        *(
            ComputedCase(
                f"pcoqs.remark-8[noise={name}]",
                "Remark 8",
                standing,
                expected,
                f"HistLap's discretisation 1/B and its noise {noise}, balanced over B, give "
                "the error of order (nε)^(−2/3) that the remark quotes.",
                {"noise": name},
                partial(pcoqs_sentences.histogram_rate, inside=inside, low=1e4, high=1e6),
                formula=f"1/B + {noise}",
                subject="HistLap, its error",
            )
            for name, noise, inside, standing, expected in (
                ("printed", "√(B/(εn))", True, _ERRATUM, _REFUTED),
                ("corrected", "√B/(εn)", False, _READING, _CONSISTENT),
            )
        ),
        ComputedCase(
            "pcoqs.corollary-1[crowd=histogram]",
            "After Corollary 1",
            _READING,
            _REFUTED,
            "“An auxiliary DP histogram over the Δ-grid can provide a private estimate of M(Δ) "
            "at negligible additional privacy cost”: at a tenth of ρ it errs by no more than a "
            "tenth of τ*.",
            _SEARCH | {"rho": 0.5, "beta": 0.01, "spent": 0.1},
            partial(pcoqs_sentences.crowd_histogram, _DEFAULT, beta=0.01, spent=0.1),
            formula="|M̂(Δ) − M(Δ)| ≤ τ*/10",
            subject=Heading.SEARCH_COVERAGE,
        ),
    )


def _settings() -> tuple[ComputedCase, ...]:
    about = Heading.PRINTED_TABLES
    return (
        ComputedCase(
            "pcoqs.abstract[sets=smaller]",
            "Abstract, and Tables 1 to 13",
            _PAPER,
            _REFUTED,
            "“P-COQS produces smaller conformal prediction sets” than ExponQ “in all these "
            "experimental settings”.",
            {},
            printed_settings.smaller_everywhere,
            subject=about,
        ),
        ComputedCase(
            "pcoqs.abstract[coverage=targeted]",
            "Abstract, and Tables 1 to 13",
            _READING,
            _REFUTED,
            "“Simultaneously targeting the desired coverage … in all these experimental "
            "settings”: no printed coverage falls short of 1−α by more than 0.02.",
            {"short": 0.02},
            partial(printed_settings.targeted_everywhere, short=0.02),
            subject=about,
        ),
        ComputedCase(
            "pcoqs.section-5.1.1[sensitivity]",
            "Section 5.1.1, Tables 1, 5, 7 and 12",
            _PAPER,
            _PROVED,
            "“P-COQS and HistLap show significantly lower sensitivity to ε_CP compared to ExponQ.”",
            {},
            printed_settings.less_sensitive,
            subject=about,
        ),
        ComputedCase(
            "pcoqs.section-5.1.1[small-epsilon]",
            "Section 5.1.1, Tables 1, 5, 7 and 12",
            _READING,
            _PROVED,
            "“For smaller values of ε_CP, the P-COQS appears to perform better than HistLap”: "
            "its printed coverage is nearer to 1−α at the smallest one.",
            {"epsilon": 0.1},
            printed_settings.nearer_at_small_budgets,
            subject=about,
        ),
        ComputedCase(
            "pcoqs.section-5.1.4[formula=printed-seconds]",
            "Section 5.1.4, Table 4",
            _READING,
            _PROVED,
            "“Table 4 highlights the considerable computational gain that P-COQS delivers with "
            "respect to ExponQ”, and “the HistLap approach is the most computationally efficient "
            "among the DP procedures”: in printed seconds, by a factor of fifty at least.",
            {},
            printed_settings.faster_in_print,
            subject=about,
        ),
    )


def _marginal() -> tuple[ComputedCase, ...]:
    about = Heading.SEARCH_COVERAGE
    words = "With probability at least 1−β over the noise the coverage"
    theorem = f"{words} lies within τ/(n+1) of 1−α, over calibration and test data"
    corollary = f"Run at α*, {words[0].lower()}{words[1:]} is at least 1−α"
    bounds, correction = "1−α−τ/(n+1) ≤ P(Y ∈ C) ≤ 1−α+(τ+1)/(n+1)", "α* = max(0, α − τ/(n+1))"
    distinct, tied = MarginalGrid(), MarginalGrid(levels=10)
    unclamped = MarginalGrid(corrected=True, clamped=False)
    clamped = MarginalGrid(corrected=True)
    cases = (
        ("theorem-1", "Theorem 1", theorem, bounds, "distinct", distinct, _CONSISTENT),
        (
            "theorem-1",
            "Theorem 1",
            f"{theorem}, with ties, for which the theorem allows one rank more below",
            bounds,
            "tied",
            tied,
            _CONSISTENT,
        ),
        (
            "corollary-1",
            "Corollary 1",
            f"{corollary}, where α ≥ τ/(n+1)",
            correction,
            "unclamped",
            unclamped,
            _CONSISTENT,
        ),
        (
            "corollary-1",
            "Corollary 1",
            f"{corollary}, also where α < τ/(n+1) and so α* = 0",
            correction,
            "clamped",
            clamped,
            _REFUTED,
        ),
    )
    return tuple(
        ComputedCase(
            f"pcoqs.{name}[coverage=marginal,grid={kind}]",
            section,
            _PAPER,
            expected,
            f"{words}.",
            grid.parameters | {"grid": kind},
            grid.worst,
            formula=formula,
            subject=about,
        )
        for name, section, words, formula, kind, grid, expected in cases
    )
