"""How far apart two laws over very many values are, by the outputs that meet."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.audits.search.scattered_values import apart_by_meetings

VALUES, DRAWN = 5_000, 2_000


def drawn(keeps: float, *, seed: int) -> np.ndarray:
    """Draw outputs, even with probability ``keeps`` and odd otherwise."""
    rng = np.random.default_rng(seed)
    odd = rng.random(DRAWN) >= keeps
    return 2.0 * rng.integers(VALUES, size=DRAWN) + odd


@pytest.mark.statistical(false_alarm=1e-6)
def test_two_laws_over_ten_thousand_values_are_told_apart() -> None:
    """The mean of ten has a standard error below 0.03: outside with probability below 1e-6."""
    found = [apart_by_meetings(drawn(0.75, seed=i), drawn(0.25, seed=50 + i)) for i in range(10)]
    alike = [apart_by_meetings(drawn(0.75, seed=i), drawn(0.75, seed=50 + i)) for i in range(10)]
    assert 0.25 < np.mean(found) < 0.6
    assert np.mean(alike) < 0.15


def test_few_values_and_values_that_never_meet_say_nothing() -> None:
    assert apart_by_meetings(np.zeros(100), np.ones(100)) == 0.0
    assert apart_by_meetings(np.arange(100.0), np.arange(100.0, 200.0)) == 0.0
