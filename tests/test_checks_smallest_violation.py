"""The smallest violation and the draws needed: right, and inverse to each other."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scipy.stats import binom
from support.refusals import refusals
from support.samplers import context, pair, response

from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.release_membership import MembershipInference
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.guarantees import (
    ZCDP,
    LocalDP,
    PureDP,
)

RUNS = 200
ENOUGH = int(binom.ppf(1e-7, RUNS, 0.95))
"""Refutations in RUNS that a power of 0.95 falls short of with probability at most 1e-6."""


def local(true_epsilon: float, *, k: int = 4, n_samples: int = 4000) -> LocalPrivacy:
    return LocalPrivacy(
        randomizer=KaryRandomizedResponse(true_epsilon, k).sample,
        guarantee=LocalDP(1.0),
        n_inputs=k,
        n_outputs=k,
        n_samples=n_samples,
    )


def attack(guarantee: PureDP | ZCDP) -> MembershipInference:
    return MembershipInference(sample=response(1.0), guarantee=guarantee, neighbours=pair(0, 1))


@pytest.mark.statistical(false_alarm=1e-7)
def test_a_local_audit_refutes_what_it_says() -> None:
    """False alarm 1e-7: a power of 0.95 refutes at least ENOUGH times."""
    smallest = local(1.0).smallest_violation(context(0, significance=0.01)).smallest
    assert 1.05 < smallest < 1.5
    assert refusals(local(smallest), repetitions=RUNS, significance=0.01) >= ENOUGH


def test_of_ten_labels_a_few_hundred_reports_of_each_are_enough() -> None:
    """k-RR(2, 10) as 1.8-LDP, at 5 % and a power of 0.95: the game of all inputs is exact."""
    check = replace(local(1.0, k=10), guarantee=LocalDP(1.8))
    needed = check.draws_needed(2.0, significance=0.05)
    assert needed <= 250
    rounds = 10 * (needed - 2 * (needed // 4))
    right, own = (math.exp(e) / (math.exp(e) + 9) for e in (2.0, 1.8))
    critical = next(c for c in range(rounds + 1) if binom.sf(c - 1, rounds, own) <= 0.999 * 0.05)
    assert binom.sf(critical - 1, rounds, right) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("true_epsilon", [1.2, 2.0, 5.0])
@pytest.mark.parametrize("significance", [0.05, 1e-6])
def test_local_samples_invert_the_smallest_violation(
    true_epsilon: float, significance: float
) -> None:
    needed = local(1.0).draws_needed(true_epsilon, significance=significance)

    def smallest(n_samples: int) -> float:
        check = replace(local(1.0), n_samples=n_samples)
        return check.smallest_violation(context(0, significance=significance)).smallest

    assert smallest(needed) <= true_epsilon + 1e-6
    if needed > 400:
        assert smallest(int(0.9 * needed)) > true_epsilon


@pytest.mark.parametrize(("guarantee", "violation"), [(PureDP(1.0), 1.5), (ZCDP(0.2), 0.5)])
def test_games_invert_the_smallest_loss(guarantee: PureDP | ZCDP, violation: float) -> None:
    check = attack(guarantee)
    needed = check.draws_needed(violation, significance=0.01)

    def smallest(n_samples: int) -> float:
        where = context(0, significance=0.01)
        return replace(check, n_samples=n_samples).smallest_violation(where).smallest

    assert smallest(needed) <= violation < smallest(int(0.9 * needed))


def test_outcomes_carry_the_smallest_violation() -> None:
    where = context(0, significance=0.01)
    power = local(1.0).smallest_violation(where)
    assert local(1.0)(where).power == power
    assert power.detection == 0.95


def test_infinity_where_nothing_is_refuted() -> None:
    few = context(0, significance=1e-9)
    assert replace(local(1.0), guarantee=LocalDP(20.0)).smallest_violation(few).smallest == math.inf


@pytest.mark.parametrize("true_epsilon", [1.0, 0.5, math.nan, math.inf])
def test_an_epsilon_that_the_claim_allows_is_refused(true_epsilon: float) -> None:
    with pytest.raises(ValueError, match="^violation must"):
        local(1.0).draws_needed(true_epsilon, significance=0.05)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="^violation is too close to the claim"):
        attack(PureDP(1.0)).draws_needed(1.0, significance=0.05)
    with pytest.raises(ValueError, match="^violation is too close"):
        local(1.0).draws_needed(1 + 1e-9, significance=0.05)
    for significance in (0.0, 1.0):
        with pytest.raises(ValueError, match="^significance must"):
            local(1.0).draws_needed(2.0, significance=significance)
