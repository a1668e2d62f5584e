"""The level of theorem checks that are met with equality is spent, and their power is as stated.

That no auditor's level is exceeded is tested in tests/benchmarks/test_level_cases.py.

Every count of refusals of a true claim is held against Binomial(repetitions, 0.05); each of
the tests raises a false alarm with probability at most 1e-7 on either side.
"""

from __future__ import annotations

import pytest
from scipy.stats import binom
from support.refusals import most_refusals, refusals
from support.theorems import Coin, Level

from dpcp_audit.stats.rates import clopper_pearson, smallest_violation
from dpcp_audit.theorems.theorem import FailureRate, MeanBound

pytestmark = pytest.mark.statistical(false_alarm=1e-7)

LEVEL, ALARM = 0.05, 1e-7


@pytest.mark.statistical(false_alarm=2e-7)
@pytest.mark.parametrize("delta", [0.1, 0.5])
def test_a_theorem_that_fails_exactly_as_often_as_claimed(delta: float) -> None:
    """False alarm at most 1e-7; one side of the interval errs at most 0.025 of the time."""
    check = FailureRate(theorem=Coin(rate=delta, allowed_failure=delta), n_trials=500)
    count = refusals(check, repetitions=2000, significance=LEVEL)
    assert count <= most_refusals(2000, level=LEVEL / 2, false_alarm=ALARM)
    assert count >= binom.ppf(ALARM, 2000, LEVEL / 8)  # and the level is spent, not wasted


@pytest.mark.parametrize("side", ["at_least", "at_most"])
def test_a_mean_exactly_at_its_bound(side: str) -> None:
    """False alarm at most 1e-7; one side of the interval errs at most 0.025 of the time."""
    check = MeanBound(theorem=Level(mean=0.3, spread=1.0), n_trials=400, **{side: 0.3})  # type: ignore[arg-type]
    count = refusals(check, repetitions=1000, significance=LEVEL)
    assert count <= most_refusals(1000, level=LEVEL / 2, false_alarm=ALARM)


@pytest.mark.statistical(false_alarm=0)
@pytest.mark.parametrize(("claimed", "trials"), [(0.1, 2000), (0.01, 20_000), (0.5, 300)])
def test_the_smallest_violation_is_the_smallest(claimed: float, trials: int) -> None:
    """Nothing is sampled: the exact power is 0.95 at the excess, and below it lower."""
    excess = smallest_violation(claimed, trials, significance=LEVEL)
    least = next(
        count
        for count in range(trials + 1)
        if clopper_pearson(count, trials, significance=LEVEL)[0] > claimed
    )
    assert binom.sf(least - 1, trials, excess) == pytest.approx(0.95, abs=1e-6)
    assert binom.sf(least - 1, trials, (claimed + excess) / 2) < 0.9
