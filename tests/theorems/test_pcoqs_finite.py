"""Theorem 1 and Corollary 1 on a finite population in random order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.words.results import Verdict
from dpcp_ledger.pcoqs.hostile_scores import undercovered
from dpcp_ledger.pcoqs.marginal_grid import FiniteCoverage

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
    with pytest.raises(ValueError, match="scores must hold n \\+ 1 = 501, got 3"):
        FiniteCoverage(theorem=THEOREM, scores=np.zeros(3))
    read = replace(THEOREM, reading=CoverageReading.CONDITIONAL)
    with pytest.raises(ValueError, match="theorem must be read marginally"):
        FiniteCoverage(theorem=read, scores=np.zeros(501))
