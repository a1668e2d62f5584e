from __future__ import annotations

import numpy as np
import pytest
from support.fixed_users import threshold_law_of
from support.levels import disagreeing_cells
from support.transcripts import transcript_pair

from dpcp_audit.mechanisms.local_scores import Blocks, LDPCPScores, OnMiss, Window
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse, hidden_laws

pytestmark = pytest.mark.statistical(false_alarm=1e-7)

LEVEL, TRIALS = 1e-7, 50_000
SCORES = np.random.default_rng(3).random(43)


def released_cells(mechanism: LDPCPScores, law: dict[float, float]) -> np.ndarray:
    """Return how often each threshold of a law is released."""
    released = mechanism.sample(SCORES, TRIALS, rng=1)
    cells = np.array([(released == q).sum() for q in law])
    assert cells.sum() == TRIALS
    return cells


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"on_miss": OnMiss.UPPER_END, "window": Window.PREPRINT, "blocks": Blocks.PRINTED},
        {"starred": True},
    ],
)
def test_thresholds_of_fixed_users_have_the_exact_law(variant) -> None:
    """False alarm: at most 1e-7."""
    mechanism = LDPCPScores(alpha=0.3, epsilon=1.5, rounds=4, window_width=0.08, **variant)
    law = threshold_law_of(mechanism, SCORES)
    cells, expected = released_cells(mechanism, law), np.array([*law.values()])
    assert disagreeing_cells(cells, expected, trials=TRIALS, level=LEVEL).size == 0


@pytest.mark.known_bad
def test_users_who_answer_with_half_the_privacy_are_caught() -> None:
    """False alarm of the correct twin: at most 1e-7."""
    mechanism = LDPCPScores(alpha=0.3, epsilon=1.5, rounds=4, window_width=0.08)
    candid = LDPCPScores(alpha=0.3, epsilon=3.0, rounds=4, window_width=0.08)
    law = threshold_law_of(mechanism, SCORES)
    expected = np.array([*law.values()])
    for target, caught in ((mechanism, False), (candid, True)):
        cells = released_cells(target, law)
        alarms = disagreeing_cells(cells, expected, trials=TRIALS, level=LEVEL)
        assert bool(alarms.size) == caught


def test_shuffled_histograms_have_the_exact_law() -> None:
    """False alarm: at most 1e-7."""
    response, n = KaryRandomizedResponse(1.0, 3), 6
    keep, flip = response.keep_probability, response.beta / 3
    (law,) = hidden_laws(n, [keep, flip, flip], [[flip, keep, flip]], tail=0.0)
    reports = response.sample(np.tile(np.arange(n) == 0, (TRIALS, 1)).astype(np.int64), rng=4)
    zeros, ones = (reports == 0).sum(axis=1), (reports == 1).sum(axis=1)
    cells = np.bincount(zeros * (n + 1) + ones, minlength=(n + 1) ** 2).reshape(n + 1, n + 1)
    # The law's outcomes run through the narrower two counts in the order of their windows.
    mass = np.sort(np.exp(law.log_mass[:-1]))
    expected = np.zeros((n + 1, n + 1))
    for first in range(n + 1):
        for second in range(n + 1 - first):
            expected[first, second] = _histogram_mass(n, (keep, flip), first, second)
    np.testing.assert_allclose(np.sort(expected[expected > 0]), mass, rtol=1e-10)
    alarms = disagreeing_cells(cells.ravel(), expected.ravel(), trials=TRIALS, level=LEVEL)
    assert alarms.size == 0


def _histogram_mass(n: int, chances: tuple[float, float], first: int, second: int) -> float:
    """Return P(counts of 0 and 1) where n−1 users hold 0 and one holds 1, of three labels."""
    from scipy.stats import multinomial  # noqa: PLC0415

    keep, flip = chances
    rest = n - first - second
    return sum(
        chance * float(multinomial.pmf(counts, n - 1, [keep, flip, flip]))
        for chance, counts in (
            (flip, [first - 1, second, rest]),
            (keep, [first, second - 1, rest]),
            (flip, [first, second, rest - 1]),
        )
        if min(counts) >= 0
    )


def test_noisy_counts_of_the_search_have_the_transcripts_shift() -> None:
    """False alarm: at most 1e-7; the log-likelihood ratio of N counts is a N(±μ²/2, μ²)."""
    from scipy.stats import norm  # noqa: PLC0415

    mechanism = PCOQS(alpha=0.1, rho=0.5, resolution=1e-3)
    mu, sigma = transcript_pair(mechanism).shift, mechanism.noise_scale
    noise = sigma * np.random.default_rng(5).standard_normal((TRIALS, mechanism.rounds))
    loss = ((noise + 1) ** 2 - noise**2).sum(axis=1) / (2 * sigma**2)
    edges = norm.ppf(np.linspace(0, 1, 21), loc=mu**2 / 2, scale=mu)
    cells = np.histogram(loss, edges)[0]
    alarms = disagreeing_cells(cells, np.full(20, 0.05), trials=TRIALS, level=LEVEL)
    assert alarms.size == 0
