"""A private bound on residuals of a regression: budget, coverage, and the price of truncation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_ledger.pcoqs.zcdp import PrivatelyBounded

BOUND = PCOQS(alpha=0.02, rho=0.5, bounds=(0.0, 1e6), resolution=1.0)
MECHANISM = PrivatelyBounded(bound=BOUND, quantile=PCOQS(alpha=0.2, rho=2.0))


def residuals() -> np.ndarray:
    inputs, targets = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(inputs[:142], targets[:142])
    return np.abs(targets[142:] - model.predict(inputs[142:]))


def test_both_searches_are_paid_for() -> None:
    assert MECHANISM.guarantee.rho == pytest.approx(2.5)


@pytest.mark.statistical(false_alarm=1e-8)
def test_residuals_are_covered_as_with_a_public_bound() -> None:
    """The mean of F(q) over 60 releases; its standard error is about 0.002."""
    scores = residuals()
    private = MECHANISM.sample(scores, 60, rng=np.random.default_rng(0))
    public = replace(MECHANISM.quantile, bounds=BOUND.bounds, rho=2.5)
    known = public.sample(scores, 60, rng=np.random.default_rng(1))
    covered = [(scores[:, None] <= found).mean() for found in (private, known)]
    assert covered[0] == pytest.approx(0.8, abs=0.03)
    assert covered[0] == pytest.approx(covered[1], abs=0.02)
    assert MECHANISM.truncated(scores.size) < 1e-6


def test_a_bound_below_the_quantile_is_likely_where_the_budget_is_small() -> None:
    poor = replace(MECHANISM, bound=replace(BOUND, rho=1e-6))
    assert poor.truncated(300) == 1.0
    with pytest.raises(ValueError, match="alpha below"):
        PrivatelyBounded(bound=replace(BOUND, alpha=0.3), quantile=MECHANISM.quantile)
