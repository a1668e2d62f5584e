from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import laplace, norm
from support.levels import differing_cells, disagreeing_cells
from support.plain_pcoqs import drawn_scores

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.laws.populations import Beta, Population, Uniform, atoms
from dpcp_audit.mechanisms.pcoqs_budget import Calibration, GaussianMechanism
from dpcp_audit.mechanisms.quantiles import ExponQ, Normaliser
from dpcp_audit.words.guarantees import Relation
from dpcp_ledger.mechanisms.histlap import HistLap


def plain_law(mechanism: ExponQ, scores: np.ndarray) -> np.ndarray:
    """Return the probability of every edge, by loops; both bounds are edges."""
    low, high = mechanism.bounds
    m, n, alpha, gamma = (
        mechanism.n_candidates, len(scores), mechanism.alpha, mechanism.gamma
    )  # fmt: skip
    edges = np.linspace(low, high, m)
    target = (n + 1) * (1 - alpha) / (n * (1 - gamma * alpha))
    target += 2 / (mechanism.epsilon * n) * math.log(m / (gamma * alpha))
    published = mechanism.normaliser is Normaliser.PUBLISHED
    if published:
        target, scale = min(target, 1 - 1e-12), min(alpha, 1 - alpha)
    elif target >= 1:
        return np.eye(m)[-1]
    else:
        scale = min(target, 1 - target)
    rounded = [next((e for e in edges if s < e), high) for s in scores]
    worse = []
    for edge in edges:
        below = sum(s < edge for s in rounded)
        if published and edge == high:
            below = n
        worse.append(max(below / target, sum(s > edge for s in rounded) / (1 - target)))
    weight = np.exp(-mechanism.epsilon / 2 * scale * (np.array(worse) - min(worse)))
    return weight / weight.sum()


exponqs = st.builds(
    ExponQ,
    alpha=st.floats(0.05, 0.95),
    epsilon=st.floats(0.1, 200),
    n_candidates=st.integers(2, 40),
    gamma=st.floats(0.05, 0.95),
    bounds=st.sampled_from([(0.0, 1.0), (-3.0, 1.5)]),
    normaliser=st.sampled_from(Normaliser),
)
units = st.lists(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), min_size=2,
                 max_size=30)  # fmt: skip


def within(mechanism: ExponQ, fractions: list[float]) -> np.ndarray:
    low, high = mechanism.bounds
    return np.minimum(low + (high - low) * np.array(fractions), high)


@given(exponqs, units)
def test_exponq_law_is_that_of_the_plain_loops(mechanism: ExponQ, fractions: list[float]) -> None:
    scores = within(mechanism, fractions)
    (law,) = mechanism.laws(scores)
    assert law.total == pytest.approx(1, abs=1e-12)
    assert np.exp(law.log_mass) == pytest.approx(plain_law(mechanism, scores), rel=1e-8, abs=1e-300)


@given(exponqs, units)
def test_no_neighbours_exceed_the_bound(mechanism: ExponQ, fractions: list[float]) -> None:
    """The first score of the array is replaced by its last, which is then dropped."""
    scores = within(mechanism, fractions)
    pair = FinitePair(*mechanism.laws(scores[:-1], np.append(scores[1:-1], scores[-1])))
    worst = max(pair.max_divergence(), pair.reversed().max_divergence())
    n = scores.size - 1
    bound = mechanism.log_ratio_bound(n)
    assert worst <= bound * (1 + 1e-9) + 1e-9
    if mechanism.normaliser is Normaliser.CORRECTED:
        assert bound <= mechanism.guarantee.epsilon * (1 + 1e-12)


histograms = arrays(np.float64, (3, 8), elements=st.floats(-20, 50, width=32))


@given(histograms, st.floats(0.02, 0.9))
def test_histlap_threshold_holds_its_share_and_moves_with_the_scale(
    noisy: np.ndarray, alpha: float
) -> None:
    mechanism = HistLap(alpha=alpha, epsilon=1.0, n_bins=8)
    counts = np.maximum(noisy, 0)
    thresholds = mechanism.threshold(noisy)
    for row, threshold in zip(counts, thresholds, strict=True):
        if row.sum() == 0:
            assert threshold == 1
        else:
            held = np.interp(threshold, mechanism.edges, np.append(0, np.cumsum(row)) / row.sum())
            assert held == pytest.approx(1 - alpha, abs=1e-6)
    moved = HistLap(alpha=alpha, epsilon=1.0, n_bins=8, bounds=(-2.0, 6.0))
    assert moved.threshold(noisy) == pytest.approx(-2 + 8 * thresholds, abs=1e-9)


@given(st.floats(1e-3, 30), st.floats(1e-12, 0.99))
def test_analytic_noise_is_enough_and_never_more_than_classic_needs(
    epsilon: float, delta: float
) -> None:
    classic, analytic = (
        GaussianMechanism(epsilon=epsilon, delta=delta, calibration=c) for c in Calibration
    )
    assert analytic.pair().delta_at(epsilon) <= delta
    if epsilon < 1:
        assert classic.pair().delta_at(epsilon) <= delta
        assert analytic.noise_scale <= classic.noise_scale


LEVEL = 1e-9
ATOMS = atoms([0.0, 0.25, 0.5, 0.8, 1.0], [1, 3, 2, 5, 1], name="atoms")


def exponq(normaliser: Normaliser) -> ExponQ:
    return ExponQ(alpha=0.3, epsilon=2.0, n_candidates=13, gamma=0.3, normaliser=normaliser)


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize("normaliser", Normaliser)
def test_exponq_samples_follow_the_exact_law(normaliser: Normaliser) -> None:
    """Every edge's count in 5·10^5 releases; false alarm at most 1e-9 a case."""
    mechanism = exponq(normaliser)
    scores = Beta(4, 1).sample(60, rng=1)
    assert mechanism.target(60) < 1
    (law,) = mechanism.laws(scores)
    released = mechanism.sample(scores, 500_000, rng=2)
    counts = np.bincount(np.searchsorted(mechanism.edges, released), minlength=13)
    wrong = disagreeing_cells(counts, np.exp(law.log_mass), trials=500_000, level=LEVEL)
    assert wrong.size == 0


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize(
    ("normaliser", "population"),
    [
        (Normaliser.CORRECTED, Uniform()),
        (Normaliser.CORRECTED, ATOMS),
        (Normaliser.PUBLISHED, Beta(5, 0.2)),
    ],
    ids=str,
)
def test_exponq_trials_are_runs_on_drawn_scores(
    normaliser: Normaliser, population: Population
) -> None:
    """2000 runs on scores really drawn against 40 000 trials; false alarm at most 1e-9 a case."""
    mechanism, rng = exponq(normaliser), np.random.default_rng(3)
    drawn = drawn_scores(population, (2000, 60), rng)
    direct = [mechanism.sample(scores, 1, rng=rng)[0] for scores in drawn]
    trials = mechanism.trials(population, n=60, trials=40_000, rng=rng)
    assert differing_cells(direct, trials.threshold, cells=12, level=LEVEL).size == 0


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize(
    ("noise", "population"),
    [(Relation.SUBSTITUTION, Uniform()), (Relation.ADD_REMOVE, ATOMS)],
    ids=str,
)
def test_histlap_trials_are_runs_on_drawn_scores(noise: Relation, population: Population) -> None:
    """2000 runs on scores really drawn against 40 000 trials; false alarm at most 1e-9 a case."""
    mechanism = HistLap(alpha=0.2, epsilon=0.5, n_bins=12, noise=noise)
    rng = np.random.default_rng(4)
    drawn = drawn_scores(population, (2000, 60), rng)
    direct = [mechanism.sample(scores, 1, rng=rng)[0] for scores in drawn]
    trials = mechanism.trials(population, n=60, trials=40_000, rng=rng)
    assert differing_cells(direct, trials.threshold, cells=20, level=LEVEL).size == 0


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("noise", [Relation.SUBSTITUTION, Relation.ADD_REMOVE])
def test_histlap_noise_is_laplace_of_its_scale(noise: Relation) -> None:
    """40 cells of equal mass, 2·10^5 draws in each of two bins; false alarm at most 2e-9 a case."""
    mechanism = HistLap(alpha=0.2, epsilon=0.5, n_bins=2, noise=noise)
    drawn = mechanism.sample_histogram([0.1, 0.2, 0.7], 200_000, rng=5) - np.array([2, 1])
    for column in drawn.T:
        cell = (40 * laplace.cdf(column, scale=mechanism.noise_scale)).astype(int)
        counts = np.bincount(cell, minlength=40)
        assert disagreeing_cells(counts, np.full(40, 1 / 40), trials=200_000, level=LEVEL).size == 0


@pytest.mark.statistical(false_alarm=1e-9)
def test_gaussian_noise_is_normal_of_its_scale() -> None:
    """40 cells of equal mass, 5·10^5 draws; false alarm at most 1e-9."""
    mechanism = GaussianMechanism(epsilon=1.0, delta=1e-3, sensitivity=2.0)
    drawn = mechanism.sample(7.0, 500_000, rng=6)
    cell = (40 * norm.cdf(drawn, loc=7.0, scale=mechanism.noise_scale)).astype(int)
    counts = np.bincount(cell, minlength=40)
    assert disagreeing_cells(counts, np.full(40, 1 / 40), trials=500_000, level=LEVEL).size == 0
