"""What a rate check can detect, how many trials a rate needs, and checks that stop early."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom
from support.levels import mean_interval
from support.samplers import context
from support.theorems import Coin, Level

from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.stats.rates import RateSequence, clopper_pearson, draws_needed
from dpcp_audit.theorems.ldpcp import UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, RankError
from dpcp_audit.theorems.theorem import FailureRate, MeanBound, TheoremTrials
from dpcp_audit.words.checks import Check
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable


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


BUDGET = 16_000


def sequential(mean: float, **limits: Any) -> MeanBound:
    given: dict[str, Any] = {"at_least": 0.5, "n_trials": BUDGET} | limits
    return MeanBound(theorem=Level(mean=mean, spread=100.0), stops_early=True, **given)


@pytest.mark.parametrize(
    ("mean", "verdict", "trials"),
    [
        (0.9, Verdict.CONSISTENT, 1000),
        (0.1, Verdict.REFUTED, 1000),
        (0.54, Verdict.INCONCLUSIVE, 2000),
        (0.48, Verdict.REFUTED, 4000),
        (0.5, Verdict.INCONCLUSIVE, BUDGET),
    ],
)
def test_it_stops_where_the_mean_is_settled(mean: float, verdict: Verdict, trials: int) -> None:
    """The radii are 0.050, 0.027, 0.015, 0.008 and 0.006, six standard errors from each case."""
    check = sequential(mean)
    assert isinstance(check, Check)
    outcome = check(context(0, significance=1e-6))
    assert (outcome.verdict, outcome.evidence.n_samples) == (verdict, trials)
    assert outcome.evidence.lower < mean < outcome.evidence.upper
    assert outcome.witness["trials"] == trials
    assert f"{trials:,} of at most 16,000 trials were run." in outcome.note


def test_what_is_not_settled_is_judged_by_the_power_of_the_budget() -> None:
    outcome = sequential(0.5, tolerance=0.05)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.power is not None
    assert 0.49 < outcome.power.smallest < 0.5
    assert outcome.power.detail == "by the full budget"


def test_a_mean_at_the_smallest_violation_is_refuted() -> None:
    """The power is promised with probability 0.95; half as much again is next to certain."""
    check = sequential(0.5, tolerance=0.05)
    at = context(0, significance=1e-6)
    missed = 0.5 - check.smallest_violation(at, variance=0.5**2 / 101).smallest
    assert sequential(0.5 - 1.5 * missed)(at).verdict is Verdict.REFUTED
    assert sequential(0.5 - missed / 3)(at).verdict is not Verdict.REFUTED


def test_the_looks_share_the_significance() -> None:
    """An eighth for each of the first four, half for the last; a single look has all of it."""
    single = replace(sequential(0.5), stops_early=False, n_trials=1000)
    for check, trials, share in (
        (sequential(0.9), 1000, 1 / 8),
        (sequential(0.5), BUDGET, 1 / 2),
        (single, 1000, 1),
    ):
        at = context(0, significance=1e-4)
        evidence = check(at).evidence
        values = drawn(check, trials)
        low, high = mean_interval(values, bounds=(0.0, 1.0), significance=share * 1e-4)
        assert (evidence.lower, evidence.upper) == (pytest.approx(low), pytest.approx(high))
        assert evidence.confidence == 1 - 1e-4


def drawn(bound: MeanBound, trials: int) -> np.ndarray[Any, Any]:
    """Return the statistics of the looks up to so many trials."""
    counts, at = [1000, 1000, 2000, 4000, 8000], context(0, significance=1e-4)
    looks = int(np.searchsorted(np.cumsum(counts), trials)) + 1
    parts = [bound.theorem.trials(counts[k], rng=at.rng(k)).statistic for k in range(looks)]
    return np.concatenate(parts)


class Swinging(Level):
    """A statistic whose first 2000 trials are above its claim, and later ones below."""

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        above = count <= 1000
        return TheoremTrials(np.full(count, 0.515 if above else 0.3), np.zeros(count, dtype=bool))


def test_later_looks_count_what_came_before() -> None:
    check = MeanBound(theorem=Swinging(mean=0.3), at_least=0.5, n_trials=BUDGET, stops_early=True)
    outcome = check(context(0, significance=1e-6))
    trials = outcome.evidence.n_samples
    assert trials == 4000
    assert outcome.evidence.value == pytest.approx((2000 * 0.515 + 2000 * 0.3) / 4000)


SEARCH = {"mechanism": PCOQS(alpha=0.1, rho=0.5, resolution=2**-20), "n": 400, "beta": 0.1}
POOL = ProbabilityPool("two", np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]))


@pytest.mark.parametrize(
    "theorem",
    [
        RankError(**SEARCH),
        RankError(**SEARCH, window_count=2),
        CoverageTheorem(**SEARCH),
        CoverageTheorem(**SEARCH, reading=CoverageReading.CONDITIONAL, window_count=1),
        UniformEvent(pool_name="two", pool=lambda: POOL, n=50, epsilon=2.0, delta=0.1, k=2),
    ],
    ids=["rank error", "a wider window", "marginal", "conditional", "labels"],
)
def test_trials_that_fail_without_the_correction_are_marked(theorem: CoverageTheorem) -> None:
    run = theorem.trials(500, rng=np.random.default_rng(0))
    without = replace(theorem, correction=0.0).trials(500, rng=np.random.default_rng(0))
    possibly = without.failed if without.undecided is None else without.failed | without.undecided
    assert run.uncorrected is not None
    assert run.uncorrected.sum() > 0
    assert (run.uncorrected == possibly).all()


def test_what_has_no_such_correction_marks_none() -> None:
    for theorem in (
        RankError(**SEARCH, windows=2),
        CoverageTheorem(**SEARCH, reading=CoverageReading.CONDITIONAL, windows=2),
        CoverageTheorem(**SEARCH, reading=CoverageReading.CONDITIONAL, corrected=True),
    ):
        assert theorem.trials(10, rng=np.random.default_rng(0)).uncorrected is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needing(Coin):
    """A theorem that never fails; ``needing`` of its trials would without the correction."""

    needing: int
    correction_name: str = "Δ"

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        del rng
        never = np.zeros(count, dtype=np.bool_)
        return TheoremTrials(np.zeros(count), never, uncorrected=np.arange(count) < self.needing)


@pytest.mark.parametrize(
    ("budget", "trials", "limits"),
    [
        (2000, 2000, partial(clopper_pearson, significance=1e-6)),
        (20_000, 137, RateSequence(significance=1e-6, expected_rate=0.1).interval),
    ],
    ids=["all", "until it is settled"],
)
def test_a_bound_that_holds_without_its_correction_is_not_consistent(
    budget: int, trials: int, limits: Callable[[int, int], tuple[float, float]]
) -> None:
    """Up to the last number of such trials whose upper limit allows δ."""
    early = trials < budget
    check = FailureRate(theorem=Needing(needing=0), n_trials=budget, stops_early=early)
    at = context(0, significance=1e-6)
    last = max(k for k in range(trials // 5) if limits(k, trials)[1] <= 0.1)
    found = [replace(check, theorem=Needing(needing=needing))(at) for needing in (last, last + 1)]
    assert [each.verdict for each in found] == [Verdict.INCONCLUSIVE, Verdict.CONSISTENT]
    assert found[0].power is not None
    assert found[0].power.smallest == math.inf
    assert found[0].power.why == "without any Δ the bound would hold here too"
