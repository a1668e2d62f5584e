"""Trials of the theorems against exact laws and really drawn scores; levels of rate checks."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta
from support.levels import differing_cells, disagreeing_cells
from support.refusals import WaldTest, refutes
from support.samplers import context
from support.theorems import Coin

from dpcp_audit.laws.pools import hps
from dpcp_audit.laws.populations import Beta, Population, Uniform, atoms
from dpcp_audit.mechanisms.local_labels import CellCounts
from dpcp_audit.mechanisms.local_scores import (
    Blocks,
    Debiasing,
    LDPCPScores,
    OnMiss,
    Window,
    threshold_law,
)
from dpcp_audit.mechanisms.quantiles import conformal_rank
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.rates import RateSequence
from dpcp_audit.theorems.theorem import FailureRate
from dpcp_ledger.mechanisms.histlap import SplitConformal

pytestmark = pytest.mark.statistical(false_alarm=1e-7)

LEVEL = 1e-7
HEAP = atoms([0.25, 0.5, 0.5625, 1.0], [3, 4, 1, 2], name="heap")
VARIANTS = list(product(Window, Debiasing, Blocks, OnMiss, (False, True)))


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.parametrize("population", [Beta(2, 0.5), HEAP], ids=lambda p: p.name)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, v)))
def test_trials_have_the_exact_law_in_every_variant(
    variant: tuple[Window, Debiasing, Blocks, OnMiss, bool], population: Population
) -> None:
    """Thresholds, hits and misses apart; false alarm at most 1e-8 a case, 64 cases."""
    window, debiasing, blocks, on_miss, starred = variant
    mechanism = LDPCPScores(
        alpha=0.3,
        epsilon=1.5,
        rounds=5,
        window_width=0.1,
        window=window,
        debiasing=debiasing,
        blocks=blocks,
        on_miss=on_miss,
        starred=starred,
    )
    trials = 10_000
    law = threshold_law(mechanism, population, n=203)
    run = mechanism.trials(population, n=203, trials=trials, rng=1)
    keys, at = np.unique(law.threshold + 2 * law.missed, return_inverse=True)
    drawn = run.threshold + 2 * run.missed
    place = np.searchsorted(keys, drawn)
    np.testing.assert_array_equal(keys[place], drawn)
    counts = np.bincount(place, minlength=keys.size)
    masses = np.bincount(at, weights=law.mass)
    assert disagreeing_cells(counts, masses, trials=trials, level=1e-8).size == 0


def cells(copies: int) -> CellCounts:
    """Return a pool of five users, each of them listed so often with ever so slightly lower scores.

    At the five users' own scores, all of these pools have one law.
    """
    rng = np.random.default_rng(2)
    scores, labels = hps(rng.dirichlet([0.8, 0.5, 0.4], size=5)), rng.integers(0, 3, size=5)
    lower = np.concatenate([scores - 1e-9 * copy for copy in range(copies)])
    return CellCounts(lower, np.tile(labels, copies), KaryRandomizedResponse(1.0, 3))


def test_users_drawn_one_by_one_and_by_their_counts_have_one_law() -> None:
    """40 users of 15 cells are drawn by counts, of 150 cells one by one; each estimate and the
    supremum are compared in 20 000 trials a side. False alarm at most 1e-7.
    """
    by_counts, one_by_one = cells(1), cells(10)
    shared = np.isin(one_by_one.points, by_counts.points)
    assert shared.sum() == 15
    np.testing.assert_allclose(by_counts.true_cdf, one_by_one.true_cdf[shared])
    first = by_counts.estimates(40, 20_000, rng=np.random.default_rng(0))
    second = one_by_one.estimates(40, 20_000, rng=np.random.default_rng(1))[:, shared]
    truth = by_counts.true_cdf
    statistics = [(first[:, j], second[:, j]) for j in range(truth.size - 1)]
    statistics.append(((first - truth).max(axis=1), (second - truth).max(axis=1)))
    statistics.append((first[:, 3] - first[:, 9], second[:, 3] - second[:, 9]))
    for left, right in statistics:
        level = LEVEL / len(statistics)
        alarms = differing_cells(left.round(9), right.round(9), cells=15, level=level)
        assert alarms.size == 0


@pytest.mark.parametrize(("n", "alpha"), [(9, 0.1), (60, 0.25), (10**12, 0.1)])
def test_split_conformal_coverage_has_its_beta_law(n: int, alpha: float) -> None:
    """40 cells of equal mass, 50 000 trials; false alarm at most 1e-7 a case."""
    coverage = SplitConformal(alpha=alpha).trials(Uniform(), n=n, trials=50_000, rng=4).coverage
    rank = conformal_rank(n, alpha=alpha)
    edges = beta(rank, n + 1 - rank).ppf(np.linspace(0, 1, 41)[1:-1])
    counts = np.bincount(np.searchsorted(edges, coverage), minlength=40)
    assert disagreeing_cells(counts, np.full(40, 1 / 40), trials=50_000, level=LEVEL).size == 0


@pytest.mark.parametrize("population", [Uniform(), Beta(5, 0.2), HEAP], ids=lambda p: p.name)
def test_split_conformal_trials_are_runs_on_drawn_scores(population: Population) -> None:
    """5000 thresholds of scores really drawn against 50 000 trials; false alarm at most 1e-7."""
    mechanism, rng = SplitConformal(alpha=0.25), np.random.default_rng(5)
    real = [mechanism.threshold(scores) for scores in population.sample((5000, 37), rng=rng)]
    run = mechanism.trials(population, n=37, trials=50_000, rng=rng)
    assert differing_cells(real, run.threshold, cells=20, level=LEVEL).size == 0
    np.testing.assert_array_equal(run.coverage, population.cdf(run.threshold))


def chance_of_ever_missing(sequence: RateSequence, rate: float, trials: int) -> float:
    """Compute P(some interval after 1, ..., ``trials`` misses the rate), exactly.

    The law of the count among paths that were never missed is carried from look to look.
    """
    alive = np.array([1.0])
    fewest, most = 0, 0
    missed = 0.0
    for n in range(1, trials + 1):
        alive = np.append(alive * (1 - rate), 0.0) + np.append(0.0, alive * rate)
        fewest = next(k for k in range(fewest, n + 1) if sequence.interval(k, n)[1] >= rate)
        most = max(k for k in (most, most + 1) if k <= n and sequence.interval(k, n)[0] <= rate)
        missed += alive[:fewest].sum() + alive[most + 1 :].sum()
        alive[:fewest] = alive[most + 1 :] = 0.0
    return float(missed)


@pytest.mark.statistical(false_alarm=0)
@pytest.mark.parametrize(("rate", "expected"), [(0.1, 0.1), (0.02, 0.3), (0.9, 0.1)])
def test_intervals_hold_at_all_times_at_once(rate: float, expected: float) -> None:
    """Computed, not sampled: over 300 looks the level is kept, and where the mixture expects
    the rate a good part of it is spent.
    """
    sequence = RateSequence(significance=0.1, expected_rate=expected)
    missed = chance_of_ever_missing(sequence, rate, 300)
    assert missed <= 0.1
    assert missed > (0.03 if rate == expected else 0.001)


@pytest.mark.statistical(false_alarm=0)
@pytest.mark.parametrize("significance", [0.3, 1e-3, 1e-9])
@pytest.mark.parametrize("trials", [1, 7, 400, 10**9])
def test_intervals_hold_the_mean_and_move_with_it(significance: float, trials: int) -> None:
    sequence = RateSequence(significance=significance, expected_rate=0.1)
    counts = sorted({round(share * trials) for share in (0, 0.001, 0.1, 0.5, 0.99, 1)})
    intervals = [sequence.interval(count, trials) for count in counts]
    for count, (low, high) in zip(counts, intervals, strict=True):
        assert 0 <= low <= count / trials <= high <= 1
    assert sorted(intervals) == intervals
    assert sorted(high for _, high in intervals) == [high for _, high in intervals]
    assert trials < 10**9 or all(high - low < 1e-3 for low, high in intervals)


@pytest.mark.parametrize("early", [True, False])
def test_the_smallest_violation_is_refuted(early: bool) -> None:
    """Runs at a rate that is to be refuted with probability 0.95; false alarm at most 1e-7."""
    right = FailureRate(theorem=Coin(), n_trials=2000, stops_early=early)
    power = right.smallest_violation(context(0, significance=1e-3))
    check = replace(right, theorem=Coin(rate=power.smallest))
    test = WaldTest(allowed=0.05, excessive=0.2, false_alarm=LEVEL)
    assert not test.exceeded_by(not seen for seen in refutes(check, significance=1e-3))
