"""The bound of the moment test is valid; its level and power are in tests/benchmarks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from level_limits import LevelTest

from dpcp_audit.audits.search.event_search import PilotCounts, ScalarValue
from dpcp_audit.audits.search.moment_test import PilotMoments
from dpcp_audit.words.guarantees import ZCDP

pytestmark = pytest.mark.statistical(false_alarm=1e-7)

LEVEL = LevelTest(level=0.05, repetitions=200, false_alarm=1e-7)


def test_the_certified_moment_is_valid_and_far_above_the_claim() -> None:
    """False alarm at most 1e-7: bounds of ρ = 1 exceed it in at most Binomial(200, 0.05) runs."""
    rng = np.random.default_rng(2)
    guarantee, shift = ZCDP(0.5), math.sqrt(2)
    pilot = rng.normal(shift, size=8000), rng.normal(size=8000)
    counts = PilotCounts.of(pilot, np.linspace(-3, 5, 60))
    moments = PilotMoments.of(guarantee, pilot, counts, thorough=True)
    test = moments.best(guarantee, ScalarValue())
    assert test is not None
    lower = np.array(
        [
            test.judge(
                guarantee,
                rng.normal(shift, size=10_000),
                rng.normal(size=10_000),
                significance=LEVEL.level,
            ).evidence.lower
            for _ in range(LEVEL.repetitions)
        ]
    )
    assert (lower > 1.0).sum() <= LEVEL.most
    assert np.median(lower) > 0.65
