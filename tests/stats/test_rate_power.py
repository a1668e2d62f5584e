"""The smallest rate that a Clopper–Pearson limit refutes, and the trials that a rate needs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpcp_audit.stats.rates import clopper_pearson, draws_needed, smallest_violation


def test_the_smallest_violation_is_refuted_and_no_smaller_one() -> None:
    claimed, trials, significance = 0.1, 2000, 1e-3
    excess = smallest_violation(claimed, trials, significance=significance)
    refuted = [
        clopper_pearson(k, trials, significance=significance)[0] > claimed
        for k in range(trials + 1)
    ]

    def power(rate: float) -> float:
        return float(binom.pmf(np.arange(trials + 1), trials, rate)[refuted].sum())

    assert power(excess) == pytest.approx(0.95, abs=1e-6)
    assert power(excess - 0.005) < 0.95
    assert power(claimed) <= significance / 2


def test_the_smallest_violation_is_infinite_where_nothing_refutes() -> None:
    assert smallest_violation(0.9, 10, significance=0.05) == math.inf
    assert smallest_violation(1.0, 10, significance=0.05) == math.inf
    assert smallest_violation(0.0, 1000, significance=0.05) < 0.01


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: smallest_violation(1.2, 10, significance=0.1), "claimed"),
        (lambda: smallest_violation(0.2, 0, significance=0.1), "trials"),
    ],
)
def test_bad_input_names_the_argument(call, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()


def fewest_by_trying(claimed: float, rate: float, *, significance: float) -> int:
    """Return the fewest trials by trying every number of them, from the definition."""
    for trials in range(1, 5000):
        refuting = [
            k
            for k in range(trials + 1)
            if clopper_pearson(k, trials, significance=significance)[0] > claimed
        ]
        if refuting and binom.sf(refuting[0] - 1, trials, rate) >= 0.95:
            return trials
    raise AssertionError


@pytest.mark.parametrize(
    ("claimed", "rate", "significance"),
    [(0.0, 0.3, 0.05), (0.1, 0.6, 0.05), (0.05, 0.5, 1e-6), (0.9, 0.99, 0.2), (0.7, 1.0, 1e-3)],
)
def test_draws_needed_by_trying_all(claimed: float, rate: float, significance: float) -> None:
    needed = draws_needed(claimed, rate, significance=significance)
    assert needed == fewest_by_trying(claimed, rate, significance=significance)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0.5, 0.5), "rate"), ((0.5, 0.4), "rate"), ((0.5, 1.1), "rate"), ((-0.1, 0.5), "claimed")],
)
def test_bad_rates_are_refused(arguments: tuple[float, float], name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        draws_needed(*arguments, significance=0.05)
