"""What a rate check can detect, how many trials a rate needs, and checks that stop early."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.samplers import context
from support.theorems import Coin

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.stats.rate_power import RateSequence, draws_needed
from dpcp_audit.theorems.pcoqs_coverage import RankError
from dpcp_audit.theorems.theorem import FailureRate, TheoremTrials
from dpcp_audit.words.checks import Check
from dpcp_audit.words.results import Verdict


def early(**given: Any) -> FailureRate:
    return FailureRate(stops_early=True, **given)


@pytest.mark.parametrize("stops_early", [False, True])
def test_a_rate_check_states_its_power(stops_early: bool) -> None:
    check = FailureRate(theorem=Coin(), n_trials=5000, stops_early=stops_early)
    assert isinstance(check, Check)
    excess = check.smallest_violation(context(0, significance=1e-6, effort=2.0)).smallest
    assert 0.1 < excess < 0.15
    again = replace(check, n_trials=10_000).smallest_violation(context(0, significance=1e-6))
    assert again.smallest == excess


def test_the_smallest_violation_is_infinite_where_nothing_refutes() -> None:
    hopeless = Coin(allowed_failure=0.999)
    for check in (
        FailureRate(theorem=hopeless, n_trials=100),
        FailureRate(theorem=hopeless, n_trials=100, stops_early=True),
    ):
        assert check.smallest_violation(context(0, significance=1e-6)).smallest == math.inf


def test_a_sequence_needs_more_trials_than_one_look_but_not_many() -> None:
    """What stopping early costs: under twice the trials."""
    for rate in (0.11, 0.15, 0.5):
        one = draws_needed(0.1, rate, significance=1e-4)
        many = RateSequence(significance=1e-4, expected_rate=0.1)
        assert many.smallest_violation(0.1, 2 * one) < rate < many.smallest_violation(0.1, one)


def test_the_smallest_violation_of_a_sequence_from_its_intervals() -> None:
    sequence, trials = RateSequence(significance=1e-3, expected_rate=0.1), 800
    refuting = next(k for k in range(trials) if sequence.interval(k, trials)[0] > 0.1)
    excess = sequence.smallest_violation(0.1, trials)
    assert binom.sf(refuting - 1, trials, excess) == pytest.approx(0.95, abs=1e-6)


@pytest.mark.parametrize(("rate", "verdict"), [(0.0, Verdict.CONSISTENT), (0.9, Verdict.REFUTED)])
def test_clear_cases_end_at_the_first_look(rate: float, verdict: Verdict) -> None:
    outcome = early(theorem=Coin(rate=rate))(context(0, significance=1e-6))
    assert (outcome.verdict, outcome.evidence.n_samples) == (verdict, 137)
    assert outcome.evidence.lower <= rate <= outcome.evidence.upper
    assert outcome.witness["trials"] == 137


@pytest.mark.parametrize(("allowed", "first"), [(0.1, 137), (0.01, 2000)])
def test_the_first_look_is_where_no_failure_settles_it(allowed: float, first: int) -> None:
    """One trial less would leave δ within the interval; at δ = 0.01 it is at 500, and doubles."""
    outcome = early(theorem=Coin(rate=0.0, allowed_failure=allowed))(context(0, significance=1e-6))
    sequence = RateSequence(significance=1e-6, expected_rate=allowed)
    assert outcome.evidence.n_samples == first
    assert sequence.interval(0, first)[1] <= allowed
    assert sequence.interval(0, first - 1 if first < 500 else first // 2)[1] > allowed


@dataclass(frozen=True, kw_only=True)
class FailedAndUndecided(Coin):
    """A theorem whose every trial is marked both failed and undecided."""

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        both = np.ones(count, dtype=bool)
        return TheoremTrials(np.zeros(count), both, both)


def test_a_trial_both_failed_and_undecided_counts_once() -> None:
    outcome = early(theorem=FailedAndUndecided(), n_trials=500)(context(0, significance=1e-3))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.value == 1.0
    assert outcome.evidence.upper == 1.0


def test_a_close_case_spends_its_budget_and_no_more() -> None:
    outcome = early(theorem=Coin(rate=0.1), n_trials=1500)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.evidence.n_samples == 1500
    assert outcome.evidence.lower < 0.1 < outcome.evidence.upper


def test_a_close_case_that_spends_a_large_budget_is_judged_by_its_power() -> None:
    outcome = early(theorem=Coin(rate=0.1), n_trials=8000)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.power is not None
    assert 1 < outcome.power.factor < 1.5


def test_a_larger_budget_does_not_change_what_was_settled() -> None:
    runs = [
        early(theorem=Coin(rate=0.13), n_trials=n)(context(3, significance=1e-2))
        for n in (50_000, 100_000)
    ]
    assert runs[0].evidence == runs[1].evidence
    assert runs[0].verdict is Verdict.REFUTED
    assert runs[0].evidence.n_samples < 50_000


def test_undecided_trials_keep_a_sequential_check_open() -> None:
    theorem = Coin(rate=0.0, undecided=0.5)
    outcome = early(theorem=theorem, n_trials=1000)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.evidence.lower == 0.0
    assert outcome.evidence.upper > 0.5


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="n_trials must"):
        FailureRate(theorem=Coin(), n_trials=99, stops_early=True)


@pytest.mark.parametrize("stops_early", [False, True])
def test_a_witness_keeps_the_mechanism_bounds_beside_the_theorem_limits(stops_early: bool) -> None:
    theorem = RankError(mechanism=PCOQS(alpha=0.1, rho=0.5, bounds=(0.0, 2.0)), n=100, beta=0.1)
    witness = FailureRate(theorem=theorem, n_trials=100, stops_early=stops_early)(
        context(0)
    ).witness
    assert witness["bounds"] == [0.0, 2.0]
    assert witness["limits"] == theorem.bounds


def test_a_sequential_verdict_is_that_of_the_sequence_at_the_significance_given() -> None:
    check = early(theorem=Coin(rate=0.11), n_trials=1500)
    evidence = check(context(0, significance=0.01)).evidence
    sequence = RateSequence(significance=0.01, expected_rate=0.1)
    failures = round(evidence.value * evidence.n_samples)
    assert (evidence.lower, evidence.upper) == sequence.interval(failures, evidence.n_samples)
    assert evidence.confidence == 0.99
