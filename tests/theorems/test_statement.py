"""Every theorem object states its theorem, and hands out its check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcp_audit.laws.populations import Uniform
from dpcp_audit.mechanisms.local_scores import OnMiss
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.ldpcp import LabelTheorem, ScoreTheorem, UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import (
    CoverageReading,
    CoverageTheorem,
    NoiseBound,
    RankError,
)
from dpcp_audit.theorems.split import MarginalCoverage, SplitCoverage
from dpcp_audit.theorems.statement import Stated, claim_of, promises_nothing
from dpcp_audit.theorems.theorem import FailureRate
from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.claims.tightest_cases import ConfidentLabels, NoiselessEvent
from dpcp_ledger.pcoqs.marginal_grid import DrawnOnceCoverage, FiniteCoverage
from dpcp_ledger.pcoqs.pcoqs_theorems import FixedRankError, evenly_spaced

THEOREMS = (
    ConfidentLabels,
    CoverageTheorem,
    DrawnOnceCoverage,
    FiniteCoverage,
    FixedRankError,
    LabelTheorem,
    MarginalCoverage,
    NoiselessEvent,
    RankError,
    ScoreTheorem,
    SplitCoverage,
    UniformEvent,
)


def test_every_theorem_states_itself() -> None:
    """Those of the list, and others that a test of their own has loaded."""
    for theorem in {*THEOREMS, *subclasses(Stated)}:
        about = theorem.about
        for text in (about.words, about.formula, about.assumptions, about.bound):
            assert text.strip(), theorem
        assert about.source.paper, theorem
        assert about.source.section, theorem


def subclasses(base: type[Stated]) -> list[type[Stated]]:
    """Return the tool's subclasses that state something, those of others too."""
    below = [each for part in base.__subclasses__() for each in (part, *subclasses(part))]
    tools = (each for each in below if each.__module__.startswith("dpcp_audit."))
    return [each for each in tools if hasattr(each, "about")]


def test_a_theorem_hands_out_its_check() -> None:
    theorem = RankError(mechanism=PCOQS(alpha=0.1, rho=0.5), n=100, beta=0.1)
    assert theorem.check(n_trials=200) == FailureRate(theorem=theorem, n_trials=200)


UNIFORM = ScoreTheorem(population=Uniform(), n=11_080, epsilon=4.0, delta=0.1)
SEARCH = CoverageTheorem(
    mechanism=PCOQS(alpha=0.1, rho=0.5), n=500, beta=0.1, reading=CoverageReading.MARGINAL
)


@pytest.mark.parametrize(
    ("theorem", "words", "section"),
    [
        (UNIFORM, "covers at least 1−α−Δ_S", "Theorem 4"),
        (replace(UNIFORM, starred=True), "Calibrated at 1−α+Δ_S", "Section 2.2 and Table 1"),
        (replace(UNIFORM, on_miss=OnMiss.UPPER_END), "returning the upper end", "Theorem 4"),
        (replace(UNIFORM, two_sided=True), "[1−α−Δ_S, 1−α+2Δ_S]", "Algorithm 3"),
        (SEARCH, "over calibration and test data", "Theorem 1"),
        (replace(SEARCH, reading=CoverageReading.CONDITIONAL), "one calibrated set", "Theorem 1"),
        (replace(SEARCH, corrected=True), "Run at α*", "Corollary 1"),
        (
            RankError(
                mechanism=PCOQS(alpha=0.1, rho=0.5),
                n=100,
                beta=0.1,
                noise_bound=NoiseBound.GAUSSIAN,
            ),
            "Gaussian quantile",
            "Remark 3",
        ),
        (
            FixedRankError(
                mechanism=PCOQS(alpha=0.496, rho=10.0, resolution=1 / 32),
                scores=evenly_spaced(99),
                beta=0.01,
                windows=2,
            ),
            "τ* + 2·M(Δ)",
            "Proposition 1",
        ),
    ],
)
def test_a_variant_has_words_and_a_source_of_its_own(
    theorem: Stated, words: str, section: str
) -> None:
    assert words in theorem.says.words
    assert theorem.says.source.section.startswith(section)


def test_the_claim_of_a_theorem_is_in_its_words_with_all_that_the_case_fixes() -> None:
    claim = claim_of(
        UNIFORM,
        "some.claim[form=x]",
        Verdict.CONSISTENT,
        subject="LDP-CP-S",
        standing=Standing.READING,
        note="somewhere",
        parameters={"form": "x"},
    )
    assert claim.statement == (
        "LDP-CP-S covers at least 1−α−Δ_S with probability at least 1−δ, returning the last "
        "midpoint on a miss, somewhere, for uniform scores, n = 11,080, α = 0.1, ε = 4, δ = 0.1, "
        "T = 10."
    )
    assert claim.assumptions == ScoreTheorem.about.assumptions
    assert (claim.formula, claim.source) == (UNIFORM.says.formula, UNIFORM.says.source)
    inputs = UNIFORM.parameters.keys() - {"window_width"}
    assert claim.parameters.keys() == inputs | {"form"}


@pytest.mark.parametrize("starred", [False, True])
def test_a_correction_above_the_level_promises_nothing(starred: bool) -> None:
    small = ScoreTheorem(population=Uniform(), n=100, epsilon=1.0, delta=0.05, starred=starred)
    said = "calibrated at 2.08, above 1" if starred else "promises coverage ≥ −0.284"
    assert said in promises_nothing(small)
    claim = claim_of(small, "x", Verdict.PROVED, subject="y")
    assert claim.statement.startswith("Vacuous: ")
    assert claim.vacuous == promises_nothing(small)
    large = replace(small, n=10**6)
    assert not promises_nothing(large)
    assert not claim_of(large, "x", Verdict.PROVED, subject="y").vacuous


def test_an_upper_bound_below_one_promises_something() -> None:
    search = PCOQS(alpha=0.9, rho=0.5)
    theorem = CoverageTheorem(mechanism=search, n=60, beta=0.01)
    lower, upper = theorem.bounds.values()
    assert lower <= 0
    assert upper < 1
    assert not promises_nothing(theorem)
    assert "≤ 1" in promises_nothing(replace(theorem, n=20))
    assert not promises_nothing(RankError(mechanism=search, n=5, beta=0.01))
