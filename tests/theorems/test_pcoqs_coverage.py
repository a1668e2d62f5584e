"""Theorem 1 and Corollary 1 on a finite population in random order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.laws.populations import PiecewiseConstant, Uniform
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.words.results import Verdict
from dpcp_ledger.pcoqs.hostile_scores import undercovered
from dpcp_ledger.pcoqs.marginal_grid import DrawnOnceCoverage, FiniteCoverage

THEOREM = CoverageTheorem(
    mechanism=PCOQS(alpha=0.1, rho=0.5), n=500, beta=0.1, reading=CoverageReading.MARGINAL
)


def finite(theorem: CoverageTheorem = THEOREM) -> FiniteCoverage:
    found = undercovered(theorem)
    assert found is not None
    return found


@pytest.mark.statistical(false_alarm=2e-9)
def test_trials_fail_as_often_as_computed() -> None:
    """Six standard deviations of a binomial rate: 2e-9."""
    case = finite(replace(THEOREM, beta=0.9)).scaled(0.3)
    chance = case.failure_probability()
    run = case.trials(20_000, rng=np.random.default_rng(0))
    assert 0.001 < chance < 0.5
    assert abs(run.failed.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / 20_000)


def test_the_check_is_computed_and_says_how_tight_it_is() -> None:
    outcome = finite().check()(context(0))
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.evidence.n_samples is None
    assert outcome.tables[0].columns[4].values[0] < 1
    assert "τ* ×" in outcome.note


def test_the_witness_builds_the_scores_again() -> None:
    case = finite()
    assert case.parameters["population"].startswith("split(")
    own = FiniteCoverage(theorem=replace(THEOREM, n=3), scores=np.array([0.1, 0.2, 0.7, 0.9]))
    assert own.parameters["scores"] == [0.1, 0.2, 0.7, 0.9]


def test_bad_input_is_refused() -> None:
    read = replace(THEOREM, reading=CoverageReading.CONDITIONAL)
    with pytest.raises(ValueError, match="theorem must be read marginally"):
        FiniteCoverage(theorem=read, scores=np.zeros(501))


MIXTURE = CoverageTheorem(
    mechanism=PCOQS(alpha=0.1, rho=0.5), n=60, beta=0.1, reading=CoverageReading.MARGINAL
)
LOW = PiecewiseConstant(edges=(0.0, 0.25, 1.0), cells=(1.0, 0.0))
HIGH = PiecewiseConstant(edges=(0.0, 0.75, 1.0), cells=(0.0, 1.0))
MIXED = DrawnOnceCoverage(theorem=MIXTURE, populations=(LOW, HIGH))


def test_the_coverage_is_the_mean_over_the_laws() -> None:
    low, high, mixed = (
        DrawnOnceCoverage(theorem=MIXTURE, populations=laws)
        .trials(30, rng=np.random.default_rng(0))
        .statistic
        for laws in ((LOW,), (HIGH,), (LOW, HIGH))
    )
    assert mixed == pytest.approx((low + high) / 2)
    assert np.abs(low - high).max() > 1e-3


def test_one_law_is_the_theorem_on_it() -> None:
    alone = DrawnOnceCoverage(theorem=MIXTURE, populations=(Uniform(),))
    run, of_theorem = (each.trials(20, rng=np.random.default_rng(1)) for each in (alone, MIXTURE))
    assert run.statistic.tolist() == of_theorem.statistic.tolist()


@pytest.mark.known_bad
def test_without_a_correction_it_is_refuted() -> None:
    """Corollary 1 at α is refuted, at α* it is not; false alarm below 1e-6."""
    right = replace(MIXED, theorem=replace(MIXTURE, corrected=True, n=500))
    at = context(0, significance=1e-6)
    assert right.check(n_trials=200)(at).verdict is not Verdict.REFUTED
    wrong = replace(right, theorem=replace(right.theorem, correction=0.0, window_count=0))
    assert wrong.check(n_trials=200)(at).verdict is Verdict.REFUTED


def test_bad_input_of_a_mixture_is_refused() -> None:
    read = replace(MIXTURE, reading=CoverageReading.CONDITIONAL)
    with pytest.raises(ValueError, match="theorem must be read marginally"):
        replace(MIXED, theorem=read)
