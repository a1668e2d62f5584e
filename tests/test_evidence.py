"""Evidence of rates, means and losses, each by one constructor."""

from __future__ import annotations

import math

import pytest

from dpcp_audit.words.evidence import of_loss, of_mean, of_rate, refutes
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Count, Measure


def test_a_rate_is_that_of_the_count_that_is_shown() -> None:
    counts = Count(of="a", hits=3, trials=10), Count(of="b", hits=5, trials=20)
    evidence = of_rate(
        Quantity.FAILURE, (0.1, 0.6), *counts, claimed=0.2, confidence=0.9, worst=1, detail="of b"
    )
    assert (evidence.value, evidence.lower, evidence.upper) == (0.25, 0.1, 0.6)
    assert evidence.n_samples == 30
    assert evidence.sample is not None
    assert evidence.sample.counts == counts
    assert evidence.sample.measure is Measure.RATES


def test_a_mean_keeps_what_a_comparison_needs() -> None:
    evidence = of_mean(
        Quantity.COVERAGE,
        0.91,
        (0.9, 0.92),
        claimed=0.9,
        confidence=0.99,
        trials=100,
        variance=0.01,
        bound=Bound.AT_LEAST,
        limits=(0.0, 2.0),
    )
    assert evidence.bound is Bound.AT_LEAST
    assert evidence.sample is not None
    assert (evidence.sample.trials, evidence.sample.variance) == (100, 0.01)
    assert evidence.sample.range == (0.0, 2.0)


@pytest.mark.parametrize("lower", [-math.inf, 0.3, 0.9999, 1.0, 1.0001, 2.0])
@pytest.mark.parametrize("refuted", [True, False])
def test_the_bound_of_a_loss_lies_on_the_verdicts_side(lower: float, refuted: bool) -> None:
    evidence = of_loss(
        Quantity.EPSILON,
        -0.5,
        lower,
        refuted=refuted,
        claimed=1.0,
        confidence=0.99,
        n_samples=10,
    )
    assert refutes(evidence) == refuted
    assert evidence.value == evidence.lower
    assert 0.0 <= evidence.lower <= max(2.0, lower)
    assert evidence.upper == math.inf
