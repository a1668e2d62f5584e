"""The sequential test that tests of levels and of power use: its error probabilities, computed."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest
from support.refusals import WaldTest

LEVELS = WaldTest(allowed=0.05, excessive=0.15, false_alarm=1e-6)
LARGE = WaldTest(allowed=0.3, excessive=0.9, false_alarm=1e-6)
POWER = WaldTest(allowed=0.05, excessive=0.25, false_alarm=1e-7)


def decided(test: WaldTest, rate: float, *, outcomes: int = 4000) -> tuple[float, float, float]:
    """Return the probabilities that a rate passes and is refused, and the mean number of outcomes.

    After n outcomes, the test is where the number of true ones says; a row of states is moved.
    """
    low, high = test._gains
    state, passed, refused, mean = np.zeros(outcomes + 1), 0.0, 0.0, 0.0
    state[0] = 1.0
    for n in range(1, outcomes + 1):
        mean += state.sum()
        state[1:] = (1 - rate) * state[1:] + rate * state[:-1]
        state[0] *= 1 - rate
        at = low * (n - np.arange(outcomes + 1)) + high * np.arange(outcomes + 1)
        out, in_ = at >= -np.log(test.false_alarm), at <= np.log(test.missed)
        passed += state[in_ & (np.arange(outcomes + 1) <= n)].sum()
        refused += state[out].sum()
        state[out | in_] = 0.0
    return passed, refused, mean


@pytest.mark.parametrize("test", [LEVELS, LARGE, POWER], ids=["level", "large", "power"])
def test_both_errors_are_at_most_what_is_said(test: WaldTest) -> None:
    """And they are computed, outcome for outcome; hardly any run is left undecided."""
    passed, refused, _ = decided(test, test.allowed)
    assert 0.999 < passed < 1
    assert 0 < refused <= test.false_alarm
    passed, refused, _ = decided(test, test.excessive)
    assert 0 < passed <= test.missed
    assert refused > 0.999


def test_it_takes_a_part_of_what_a_fixed_number_does() -> None:
    """40 outcomes at 0.3, and 600 at 0.05, have the same errors; fewer are too few."""
    assert decided(LARGE, 0.3)[2] < 12
    assert decided(LARGE, 0.1)[2] < 7
    assert decided(LEVELS, 0.05)[2] < 200
    assert decided(LEVELS, 0.01)[2] < 110


def test_what_happens_always_is_refused_and_what_never_happens_passes() -> None:
    assert LARGE.exceeded_by(repeat(True))
    assert not LARGE.exceeded_by(repeat(False))
    with pytest.raises(ValueError, match="outcomes end"):
        LARGE.exceeded_by([False, True])
