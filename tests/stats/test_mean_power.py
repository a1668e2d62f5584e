"""The smallest miss of a mean that an empirical-Bernstein limit refutes, and the values needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from support.levels import mean_interval

from dpcp_audit.stats.roots import smallest_violation

UNIT = (0.0, 1.0)


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_smallest_violation_is_refuted() -> None:
    """False alarm at most 1e-6, but for the normal approximation of a mean of 2000 values."""
    miss = smallest_violation(1 / 12, 2000, bounds=UNIT, significance=0.01)
    samples = np.random.default_rng(0).random((400, 2000))
    high = mean_interval(samples, bounds=UNIT, significance=0.01)[1]
    assert (high < 0.5 + miss).sum() >= binom.ppf(1e-6, 400, 0.95)
    assert (high < 0.5 + miss / 2).sum() < 200


def test_a_wider_range_takes_more() -> None:
    narrow, wide = (
        smallest_violation(0.01, 500, bounds=(0.0, end), significance=0.01) for end in (1.0, 4.0)
    )
    assert narrow < wide


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: smallest_violation(-1.0, 10, bounds=UNIT, significance=0.1), "variance"),
        (lambda: smallest_violation(1.0, 1, bounds=UNIT, significance=0.1), "count"),
        (lambda: smallest_violation(1.0, 9, bounds=(1, 0), significance=0.1), "bounds"),
    ],
)
def test_bad_input_names_the_argument(call, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
