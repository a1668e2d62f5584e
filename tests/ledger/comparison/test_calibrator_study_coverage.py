"""The comparison measures what exact laws say, and promises of coverage are kept in it."""

from __future__ import annotations

import pytest

from dpcp_audit.mechanisms.quantiles import conformal_rank
from dpcp_audit.words.guarantees import ApproxDP
from dpcp_ledger.comparison.calibrator_study import ComparisonRow, measure, method
from dpcp_ledger.comparison.method import Case, subject

SIX_SIGMA = 6.0


def measured(key: str, name: str, *, n: int, epsilon: float, trials: int = 4000) -> ComparisonRow:
    case = Case(subject=subject(name), n=n, alpha=0.1, budget=ApproxDP(epsilon, 1e-6))
    return measure(method(key), case, trials=trials, seed=3)


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("name", ["uniform", "beta(5,0.2)", "beta(0.5,3)"])
def test_split_conformal_covers_as_its_beta_law_says(name) -> None:
    """The mean of F(q̂) is r/(n+1). False alarm: 2Φ(−6) < 2e-9 by the normal approximation."""
    row = measured("split", name, n=300, epsilon=1.0)
    expected = conformal_rank(300, alpha=0.1) / 301
    assert abs(row.coverage - expected) < SIX_SIGMA * row.coverage_error


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize("key", ["exponq", "exponq-full", "pcoqs-proven*", "ldpcp-s-shuffled*"])
@pytest.mark.parametrize("name", ["uniform", "beta(5,0.2)", "digits-logistic"])
def test_promised_coverage_is_kept_and_paid_for(key, name) -> None:
    """Mean coverage ≥ 1−α. False alarm: below Φ(−6) < 1e-9 by the normal approximation."""
    row = measured(key, name, n=2000, epsilon=2.0, trials=400)
    assert row.coverage >= 0.9 - SIX_SIGMA * row.coverage_error


@pytest.mark.statistical(false_alarm=1e-14)
def test_a_larger_share_of_the_budget_buys_smaller_coverage() -> None:
    """The gap is 0.010 ± 0.0005, held to 0.006: 8 standard errors. False alarm: below 1e-14."""
    half, full = (
        measured(key, "uniform", n=2000, epsilon=1.0) for key in ("exponq", "exponq-full")
    )
    assert full.coverage + 0.006 < half.coverage


@pytest.mark.statistical(false_alarm=1e-14)
def test_proven_noise_spreads_coverage_less_than_claimed_noise() -> None:
    """Distances from 1−α of 0.016 against 0.021. False alarm: a gap of 0.002 is 8 errors away."""
    rows = [
        measured(f"pcoqs-{noise}", "uniform", n=1000, epsilon=1.0)
        for noise in ("proven", "claimed")
    ]
    assert rows[0].distance + 0.002 < rows[1].distance
