"""The level and the power of the moment test; the search that uses it is in tests/benchmarks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from level_limits import LevelTest
from scipy.stats import binom

from dpcp_audit.audits.search.features import ScalarValue
from dpcp_audit.audits.search.moment_test import choose_moments
from dpcp_audit.words.guarantees import ZCDP, RenyiDP

pytestmark = pytest.mark.statistical(false_alarm=1e-7)

LEVEL, ALARM = LevelTest(level=0.05, repetitions=600, false_alarm=1e-7), 1e-7


@pytest.mark.statistical(false_alarm=2e-7)
@pytest.mark.parametrize("guarantee", [ZCDP(0.5), RenyiDP(2.0, 1.0)], ids=["zcdp", "renyi"])
def test_the_moment_test_holds_its_level_and_has_power(guarantee) -> None:
    """False alarm at most 1e-7 each for the level and for the power, which is above 0.9."""
    rng = np.random.default_rng(1)
    cuts = np.linspace(-3, 4, 40)

    def refusals(shift: float) -> int:
        pilot = (rng.normal(shift, size=4000), rng.normal(size=4000))
        test = choose_moments(guarantee, ScalarValue(), (pilot[0], pilot[1]), cuts)
        assert test is not None
        return sum(
            test.judge(
                guarantee,
                rng.normal(shift, size=3000),
                rng.normal(size=3000),
                significance=LEVEL.level,
            ).refuted
            for _ in range(100)
        )

    assert refusals(1.4) >= binom.ppf(ALARM, 100, 0.9)
    tight = choose_moments(
        ZCDP(0.3) if isinstance(guarantee, ZCDP) else RenyiDP(2.0, 0.6),
        ScalarValue(),
        (rng.normal(1.0, size=4000), rng.normal(size=4000)),
        cuts,
    )
    assert tight is not None  # a test that would refute a smaller claim, put to the true one
    refused = sum(
        tight.judge(
            guarantee, rng.normal(1.0, size=1000), rng.normal(size=1000), significance=LEVEL.level
        ).refuted
        for _ in range(LEVEL.repetitions)
    )
    assert refused <= LEVEL.most
    assert LEVEL.passes(3 * LEVEL.level) < 1e-3


def test_the_certified_moment_is_valid_and_far_above_the_claim() -> None:
    """False alarm at most 1e-7: bounds of ρ = 1 exceed it in at most Binomial(600, 0.05) runs."""
    rng = np.random.default_rng(2)
    guarantee, shift = ZCDP(0.5), math.sqrt(2)
    pilot = rng.normal(shift, size=8000), rng.normal(size=8000)
    test = choose_moments(guarantee, ScalarValue(), pilot, np.linspace(-3, 5, 60))
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
