"""The check of a mean that stops at the first look at which the answer is clear."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.levels import mean_interval
from support.samplers import context
from support.theorems import Level

from dpcp_audit.theorems.theorem import MeanBound, TheoremTrials
from dpcp_audit.words.checks import Check
from dpcp_audit.words.results import Verdict

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
    """An eighth for each of the first four, half for the last: their sum is the significance."""
    for mean, trials, share in ((0.9, 1000, 1 / 8), (0.5, BUDGET, 1 / 2)):
        check = sequential(mean)
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


def test_a_claim_from_above_is_settled_as_well() -> None:
    check = replace(sequential(0.1), at_least=-np.inf, at_most=0.2)
    outcome = check(context(0, significance=1e-6))
    assert (outcome.verdict, outcome.evidence.n_samples) == (Verdict.CONSISTENT, 1000)


def test_a_statistic_that_leaves_its_range_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"values must lie in \[0.6, 1\]"):
        sequential(0.5, range=(0.6, 1.0))(context(0))


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
