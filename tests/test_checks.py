from __future__ import annotations

import dataclasses
import hashlib
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import binom
from support.refusals import refusals
from support.samplers import context, response

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.coverage_audit import CoverageAudit
from dpcp_audit.words.checks import Context, Planned
from dpcp_audit.words.guarantees import Coverage, LocalDP, PureDP
from dpcp_audit.words.quantities import Bound

CONTEXT = Context(seed=5, name="a.b", significance=1e-3)


def test_streams_are_keyed_by_seed_name_and_chunk() -> None:
    again = dataclasses.replace(CONTEXT, significance=0.1, effort=3.0)
    others = [
        CONTEXT.rng(1),
        dataclasses.replace(CONTEXT, seed=6).rng(),
        dataclasses.replace(CONTEXT, name="a.c").rng(),
    ]
    first = CONTEXT.rng().integers(2**60)
    assert first == again.rng().integers(2**60)
    assert first not in [rng.integers(2**60) for rng in others]


def test_streams_are_the_same_in_every_process() -> None:
    """The built-in ``hash`` of a string would differ between processes."""
    key = int(hashlib.sha256(b"a.b").hexdigest()[:16], 16)
    sequence = np.random.SeedSequence(5, spawn_key=(key, 2))
    assert CONTEXT.rng(2).random() == np.random.default_rng(sequence).random()


def test_samples_scale_with_effort() -> None:
    assert CONTEXT.samples(1000) == 1000
    assert dataclasses.replace(CONTEXT, effort=2.5).samples(1000) == 2500
    assert dataclasses.replace(CONTEXT, effort=0.001).samples(1000) == 100


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"significance": 0.0}, "significance"),
        ({"significance": 1.0}, "significance"),
        ({"effort": 0.0}, "effort"),
    ],
)
def test_bad_input_names_the_argument(change, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        dataclasses.replace(CONTEXT, **change)


LEVEL = 1e-4


@dataclass(frozen=True, kw_only=True)
class Case:
    """A check, and the field that holds its budget."""

    check: Planned
    budget: str


CASES = [
    Case(
        check=BlackBoxPrivacy(
            sample=response(1.0), guarantee=PureDP(1.0), pairs=ScorePairs(sizes=(20,)), draws=40_000
        ),
        budget="draws",
    ),
    Case(
        check=LocalPrivacy(
            randomizer=KaryRandomizedResponse(1.0, 4).sample,
            guarantee=LocalDP(1.0),
            n_inputs=4,
            n_outputs=4,
        ),
        budget="n_samples",
    ),
    Case(
        check=CoverageAudit(
            calibrate=response(1.0), kind=Kind.QUANTILE, guarantee=Coverage(at_least=0.9), n=50
        ),
        budget="draws",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.check).__name__)
def test_the_draws_needed_for_the_smallest_violation_are_those_of_the_check(case: Case) -> None:
    assert isinstance(case.check, Planned)
    power = case.check.smallest_violation(context(0, significance=LEVEL))
    assert power.detection == 0.95
    worse = power.smallest < power.claimed
    assert worse == (power.bound is Bound.AT_LEAST)
    assert 1 < power.factor < 2
    needed = case.check.draws_needed(power.smallest, significance=LEVEL)
    assert needed == pytest.approx(getattr(case.check, case.budget), rel=0.05)


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
    with pytest.raises(ValueError, match="^violation is too close"):
        local(1.0).draws_needed(1 + 1e-9, significance=0.05)
    for significance in (0.0, 1.0):
        with pytest.raises(ValueError, match="^significance must"):
            local(1.0).draws_needed(2.0, significance=significance)
