from __future__ import annotations

import numpy as np
import pytest
from support.levels import differing_cells, disagreeing_cells
from support.plain_ldpcp import plain_scores
from support.plain_pcoqs import drawn_scores

from dpcp_audit.laws.pools import hps, true_label_scores
from dpcp_audit.laws.populations import Beta, Population, Uniform, atoms
from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.local_scores import Blocks, Debiasing, LDPCPScores, OnMiss, Window
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
)
from dpcp_audit.mechanisms.window_law import threshold_law
from dpcp_ledger.mechanisms.shuffled_response import ShuffledBinaryResponse

pytestmark = pytest.mark.statistical(false_alarm=1e-7)

LEVEL = 1e-7
ATOMS = atoms([0.0, 0.25, 0.5, 0.75, 1.0], [1, 2, 3, 2, 2], name="atoms")
VARIANTS = [
    LDPCPScores(alpha=0.3, epsilon=1.0, rounds=4, window_width=0.1),
    LDPCPScores(
        alpha=0.3,
        epsilon=2.0,
        rounds=3,
        window_width=0.2,
        window=Window.PREPRINT,
        blocks=Blocks.PRINTED,
        on_miss=OnMiss.UPPER_END,
    ),
    LDPCPScores(
        alpha=0.4,
        epsilon=1.0,
        rounds=4,
        window_width=0.05,
        debiasing=Debiasing.PRINTED,
        starred=True,
    ),
]


@pytest.mark.parametrize("k", [2, 5])
def test_k_rr_reports_have_the_exact_law(k: int) -> None:
    """False alarm: at most 1e-7."""
    mechanism, trials = KaryRandomizedResponse(1.0, k), 100_000
    for label, law in enumerate(mechanism.laws()):
        reports = mechanism.sample(np.full(trials, label), rng=label)
        counts = np.bincount(reports, minlength=k)
        alarms = disagreeing_cells(counts, np.exp(law.log_mass), trials=trials, level=LEVEL / k)
        assert alarms.size == 0


def test_binary_reports_and_their_counts_have_the_exact_law() -> None:
    """False alarm: at most 1e-7."""
    rr, trials = BinaryRandomizedResponse(1.0), 50_000
    expected = np.exp(ShuffledBinaryResponse(1.0).law(3, 8).log_mass)
    bits = np.tile(np.arange(8) < 3, (trials, 1))
    one_by_one = rr.sample(bits, rng=1).sum(axis=1)
    at_once = rr.sample_counts(np.full(trials, 3), 5, rng=2)
    for counts in (one_by_one, at_once):
        cells = np.bincount(counts, minlength=9)
        assert disagreeing_cells(cells, expected, trials=trials, level=LEVEL / 2).size == 0


@pytest.mark.parametrize("population", [Uniform(), Beta(2, 0.5), ATOMS], ids=lambda p: p.name)
@pytest.mark.parametrize("mechanism", VARIANTS)
def test_trials_have_the_exact_law_of_the_threshold(
    mechanism: LDPCPScores, population: Population
) -> None:
    """False alarm: at most 1e-7."""
    trials = 40_000
    law = threshold_law(mechanism, population, n=90)
    run = mechanism.trials(population, n=90, trials=trials, rng=3)
    points, at = np.unique(law.threshold, return_inverse=True)
    place = np.searchsorted(points, run.threshold)
    np.testing.assert_array_equal(points[place], run.threshold)
    np.testing.assert_array_equal(population.cdf(run.threshold), run.coverage)
    counts = np.bincount(place, minlength=points.size)
    expected = np.bincount(at, weights=law.mass)
    assert disagreeing_cells(counts, expected, trials=trials, level=LEVEL / 2).size == 0
    missed = float(law.mass[law.missed].sum())
    alarms = disagreeing_cells([run.missed.sum()], [missed], trials=trials, level=LEVEL / 2)
    assert alarms.size == 0


@pytest.mark.parametrize("population", [Beta(2, 0.5), ATOMS], ids=lambda p: p.name)
@pytest.mark.parametrize("mechanism", VARIANTS[:2])
def test_trials_agree_with_runs_on_scores_really_drawn(
    mechanism: LDPCPScores, population: Population
) -> None:
    """False alarm: at most 1e-7."""
    trials, rng = 3000, np.random.default_rng(4)
    drawn = drawn_scores(population, (trials, 90), rng)
    real = np.array([mechanism.sample(scores, 1, rng=rng)[0] for scores in drawn])
    quick = mechanism.trials(population, n=90, trials=trials, rng=rng).threshold
    assert differing_cells(real, quick, cells=16, level=LEVEL).size == 0


@pytest.mark.parametrize("mechanism", VARIANTS)
def test_releases_from_fixed_scores_agree_with_algorithm_3_report_by_report(
    mechanism: LDPCPScores,
) -> None:
    """False alarm: at most 1e-7."""
    scores = np.random.default_rng(5).permutation(np.linspace(0, 1, 33))
    rng = np.random.default_rng(6)
    plain = np.array([plain_scores(mechanism, scores, rng) for _ in range(2000)])
    quick = mechanism.sample(scores, 20_000, rng=rng)
    assert differing_cells(plain, quick, cells=16, level=LEVEL).size == 0


@pytest.mark.parametrize("on_miss", OnMiss)
@pytest.mark.parametrize("step", [1e-9, 0.125], ids=["spread", "on-midpoints"])
def test_label_trials_agree_with_runs_on_users_really_drawn(on_miss: OnMiss, step: float) -> None:
    """False alarm: at most 1e-7."""
    rng = np.random.default_rng(7)
    scores = np.round(hps(rng.dirichlet([0.6, 0.5, 0.4], size=40)) / step) * step
    labels = rng.integers(0, 3, size=40)
    mechanism = LDPCPLabels(
        alpha=0.3, epsilon=1.0, k=3, rounds=5, window_width=0.1, on_miss=on_miss
    )
    trials = 2000
    users = rng.integers(0, 40, size=(trials, 60))
    real = [mechanism.sample(scores[who], labels[who], 1, rng=rng)[0] for who in users]
    run = mechanism.trials(scores, labels, n=60, trials=20_000, rng=rng)
    assert differing_cells(real, run.threshold, cells=16, level=LEVEL).size == 0
    own = true_label_scores(scores, labels)
    covered = (own <= run.threshold[:50, None]).mean(axis=1)
    np.testing.assert_allclose(run.coverage[:50], covered, rtol=1e-12)


def test_reports_debiased_over_their_block_are_unbiased() -> None:
    """False alarm: at most 1e-7, by Hoeffding's inequality for the mean of all reports."""
    mechanism, rng = VARIANTS[0], np.random.default_rng(8)
    n, repeats, share = 80, 20_000, 0.6
    asked = mechanism.block_sizes(n)[0]
    ones = round(share * asked)
    reports = mechanism.response.sample_counts(np.full(repeats, ones), asked - ones, rng=rng)
    z = mechanism.debias(reports, asked=asked, n=n)
    radius = mechanism.response.gain * np.sqrt(np.log(2 / LEVEL) / (2 * asked * repeats))
    assert abs(z.mean() - share) < radius
