"""The level of black-box audits on claims that are met with equality.

All of the search runs: catalogue, race, local moves, stages. Each count of refusals of a true
claim is held against Binomial(repetitions, 0.05); each test raises a false alarm with
probability at most 1e-7.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom
from support.blackbox import gaussian_mean, laplace_mean, search
from support.refusals import most_refusals

from dpcp_audit.audits.search.features import ScalarValue
from dpcp_audit.audits.search.moment_test import choose_moments
from dpcp_audit.audits.search.record_pairs import ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.guarantees import ZCDP, LocalDP, PureDP, RenyiDP
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.results import Verdict

pytestmark = pytest.mark.statistical

LEVEL, ALARM = 0.05, 1e-7
SMALL = ScorePairs(sizes=(1, 2))


def respond(value, size, *, rng) -> np.ndarray:
    return KaryRandomizedResponse(1.0, 3).sample(np.full(size, value), rng=rng)


@pytest.mark.parametrize(
    ("sample", "guarantee", "pairs", "repetitions"),
    [
        (laplace_mean(1.0), PureDP(1.0), SMALL, 20),
        (respond, LocalDP(1.0), ValuePairs(n_values=3), 30),
        (gaussian_mean(1.0), ZCDP(0.5), SMALL, 12),
    ],
    ids=["laplace", "response", "gaussian-zcdp"],
)
def test_a_tight_claim_is_refuted_at_most_at_the_level(
    sample, guarantee, pairs, repetitions: int
) -> None:
    """False alarm at most 1e-7: the refusals are at most Binomial(repetitions, 0.05)."""
    refused = sum(
        search(sample, guarantee, pairs, draws=2500, seed=seed, significance=LEVEL).verdict
        is Verdict.REFUTED
        for seed in range(repetitions)
    )
    assert refused <= most_refusals(repetitions, level=LEVEL, false_alarm=ALARM)


@pytest.mark.study
@pytest.mark.parametrize(
    ("sample", "guarantee", "pairs"),
    [
        (laplace_mean(1.0), PureDP(1.0), SMALL),
        (respond, LocalDP(1.0), ValuePairs(n_values=3)),
        (gaussian_mean(1.0), ZCDP(0.5), SMALL),
    ],
    ids=["laplace", "response", "gaussian-zcdp"],
)
def test_the_level_over_many_runs(sample, guarantee, pairs) -> None:
    """False alarm at most 1e-7, over 200 runs of 4000 outputs."""
    refused = sum(
        search(sample, guarantee, pairs, draws=4000, seed=seed, significance=LEVEL).verdict
        is Verdict.REFUTED
        for seed in range(200)
    )
    print(f"refused {refused} of 200 true claims at a level of {LEVEL}")  # noqa: T201
    assert refused <= most_refusals(200, level=LEVEL, false_alarm=ALARM)


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
                significance=LEVEL,
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
            guarantee, rng.normal(1.0, size=1000), rng.normal(size=1000), significance=LEVEL
        ).refuted
        for _ in range(300)
    )
    assert refused <= most_refusals(300, level=LEVEL, false_alarm=ALARM)


def test_the_certified_moment_is_valid_and_far_above_the_claim() -> None:
    """False alarm at most 1e-7: bounds of ρ = 1 exceed it in at most Binomial(100, 0.05) runs."""
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
                significance=LEVEL,
            ).evidence.lower
            for _ in range(100)
        ]
    )
    assert (lower > 1.0).sum() <= most_refusals(100, level=LEVEL, false_alarm=ALARM)
    assert np.median(lower) > 0.65
