"""Theorem 1 where the law of the scores is drawn once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.laws.populations import PiecewiseConstant, Uniform
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.words.results import Verdict
from dpcp_ledger.pcoqs.marginal_grid import DrawnOnceCoverage

THEOREM = CoverageTheorem(
    mechanism=PCOQS(alpha=0.1, rho=0.5), n=60, beta=0.1, reading=CoverageReading.MARGINAL
)
LOW = PiecewiseConstant(edges=(0.0, 0.25, 1.0), cells=(1.0, 0.0))
HIGH = PiecewiseConstant(edges=(0.0, 0.75, 1.0), cells=(0.0, 1.0))
MIXED = DrawnOnceCoverage(theorem=THEOREM, populations=(LOW, HIGH))


def test_the_coverage_is_the_mean_over_the_laws() -> None:
    low, high, mixed = (
        DrawnOnceCoverage(theorem=THEOREM, populations=laws)
        .trials(30, rng=np.random.default_rng(0))
        .statistic
        for laws in ((LOW,), (HIGH,), (LOW, HIGH))
    )
    assert mixed == pytest.approx((low + high) / 2)
    assert np.abs(low - high).max() > 1e-3


def test_one_law_is_the_theorem_on_it() -> None:
    alone = DrawnOnceCoverage(theorem=THEOREM, populations=(Uniform(),))
    run, of_theorem = (each.trials(20, rng=np.random.default_rng(1)) for each in (alone, THEOREM))
    assert run.statistic.tolist() == of_theorem.statistic.tolist()


@pytest.mark.known_bad
def test_without_a_correction_it_is_refuted() -> None:
    """Corollary 1 at α is refuted, at α* it is not; false alarm below 1e-6."""
    right = replace(MIXED, theorem=replace(THEOREM, corrected=True, n=500))
    at = context(0, significance=1e-6)
    assert right.check(n_trials=200)(at).verdict is not Verdict.REFUTED
    wrong = replace(right, theorem=replace(right.theorem, correction=0.0, window_count=0))
    assert wrong.check(n_trials=200)(at).verdict is Verdict.REFUTED


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="populations must not be empty"):
        DrawnOnceCoverage(theorem=THEOREM, populations=())
    read = replace(THEOREM, reading=CoverageReading.CONDITIONAL)
    with pytest.raises(ValueError, match="theorem must be read marginally"):
        replace(MIXED, theorem=read)
