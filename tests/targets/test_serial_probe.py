"""The probe of independence: what it says, how seldom it errs, and what it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from level_limits import LevelTest

from dpcp_audit.stats.serial_dependence import serial_dependence
from dpcp_audit.targets.degenerate import (
    PROBED,
    DependentOutputsError,
    require_independent,
    unprobed,
)

SIGNIFICANCE = 0.01


def refused(*batches: np.ndarray) -> bool:
    try:
        require_independent(*batches, significance=SIGNIFICANCE)
    except DependentOutputsError:
        return True
    return False


def test_the_probe_and_the_tests_share_the_significance() -> None:
    assert unprobed(0.05) + PROBED * 0.05 == pytest.approx(0.05)


@pytest.mark.statistical(false_alarm=1e-6)
def test_independent_outputs_are_refused_as_seldom_as_said() -> None:
    """False alarm at most 1e-6: 2,000 probes that would refuse at 9e-4, and none does at 1e-6.

    At ten times that it passes with probability below 0.02.
    """
    test = LevelTest(level=9e-4, repetitions=2000, false_alarm=1e-6)
    assert test.passes(10 * test.level) < 0.1
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(test.repetitions):
        batches = rng.normal(size=200), rng.integers(3, size=200)
        found = filter(None, map(serial_dependence, batches))
        alarms += any(each.p_value <= test.level / len(batches) for each in found)
        assert not refused(*batches)
    assert alarms <= test.most


def test_one_draw_in_three_that_is_reused_is_refused() -> None:
    """At a significance of 1e-3 / 21: the first stage's, where an audit of a run probes least."""
    rng = np.random.default_rng(0)
    for size in (400, 1200):
        draws = rng.laplace(size=size)
        reused = rng.random(size) < 1 / 3
        outputs = draws.copy()
        for i in np.flatnonzero(reused[1:]) + 1:
            outputs[i] = outputs[i - 1]
        with pytest.raises(DependentOutputsError):
            require_independent(outputs, outputs, significance=1e-3 / 21)


@pytest.mark.parametrize("batch", [np.zeros(500), np.full(500, np.inf)])
def test_a_deterministic_target_is_none_of_its_business(batch) -> None:
    require_independent(batch, batch, significance=SIGNIFICANCE)


def test_the_message_names_the_lag_the_statistic_and_what_to_do() -> None:
    reused = np.repeat(np.random.default_rng(0).normal(size=200), 2)
    with pytest.raises(DependentOutputsError) as caught:
        require_independent(np.zeros(100), reused, significance=1e-6)
    message = str(caught.value)
    assert "depend on each other: at lag 1, large outputs follow each other " in message
    assert " times in 397, where independent outputs do " in message
    assert message.endswith("draw anew for each, or let one call return one output")
