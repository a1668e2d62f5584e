"""How tight a theorem is by trials: what is counted, and that the multiple is certified."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, RankError
from dpcp_audit.theorems.theorem import (
    MULTIPLES,
    FailureRate,
    beyond_multiples,
    certified_tightness,
)
from dpcp_audit.words.results import Count

LIMITS = partial(clopper_pearson, significance=0.01)
RANK = RankError(mechanism=PCOQS(alpha=0.1, rho=0.5, resolution=2**-20), n=400, beta=0.1)


def test_a_trial_fails_where_it_needs_more_than_the_correction() -> None:
    for theorem in (
        RankError(mechanism=RANK.mechanism, n=400, beta=0.1, correction=0.3),
        CoverageTheorem(
            mechanism=RANK.mechanism,
            n=400,
            beta=0.1,
            reading=CoverageReading.CONDITIONAL,
            correction=0.3,
        ),
    ):
        run = theorem.trials(2000, rng=np.random.default_rng(0))
        assert run.needed is not None
        assert run.failed.any()
        assert (run.failed == (run.needed > 0.3 + 1e-12)).mean() > 0.999


def test_trials_beyond_each_multiple_are_counted() -> None:
    counts = beyond_multiples(np.array([-1.0, 0.5, 0.505, 2.0]))
    assert len(counts) == len(MULTIPLES)
    assert (counts[0], counts[50], counts[51], counts[-1]) == (3, 2, 1, 1)


def test_the_multiple_is_the_smallest_that_is_certified() -> None:
    """1000 trials of which none needs more than 0.4: at 0.39 their number is too large."""
    tally = Count(of="failures", hits=0, trials=1000)
    beyond = [300 if multiple < 0.4 else 0 for multiple in MULTIPLES]
    assert certified_tightness(RANK, beyond, tally, LIMITS).multiple == 0.4
    never = [300] * len(MULTIPLES)
    assert certified_tightness(RANK, never, tally, LIMITS).multiple == float("inf")


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_check_says_what_would_do() -> None:
    """A multiple of true failure probability above β is certified with probability 1e-6 only."""
    outcome = FailureRate(theorem=RANK, n_trials=2000)(context(0, significance=1e-6))
    (table,) = outcome.tables
    (multiple,) = table.columns[4].values
    assert 0.1 < multiple < 1
    assert f"τ* × {multiple:.2f} would do." in outcome.note
    run = RankError(mechanism=RANK.mechanism, n=400, beta=0.1, correction=multiple).trials(
        20_000, rng=np.random.default_rng(1)
    )
    assert run.failed.mean() < 0.1


def test_trials_that_are_undecided_are_counted_once() -> None:
    """What a trial needs takes its error in: all may need more, and be undecided as well."""
    tally = Count(of="failures", hits=0, trials=800, undecided=800)
    never = certified_tightness(RANK, [800] * len(MULTIPLES), tally, LIMITS)
    assert never.words == "No multiple of τ* up to 1.5 is certain to do."
    half = [800 if multiple < 0.5 else 0 for multiple in MULTIPLES]
    assert certified_tightness(RANK, half, tally, LIMITS).multiple == 0.5
