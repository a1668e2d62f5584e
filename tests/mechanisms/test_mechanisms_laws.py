from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import laplace, norm
from support.levels import differing_cells, disagreeing_cells
from support.plain_pcoqs import drawn_scores

from dpcp_audit.laws.populations import Beta, Population, Uniform, atoms
from dpcp_audit.mechanisms.pcoqs_budget import GaussianMechanism
from dpcp_audit.mechanisms.quantiles import ExponQ, HistLap, Normaliser
from dpcp_audit.words.guarantees import Relation

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
@pytest.mark.parametrize("population", [Uniform(), Beta(5, 0.2), ATOMS], ids=lambda p: p.name)
@pytest.mark.parametrize("normaliser", Normaliser)
def test_exponq_trials_are_runs_on_drawn_scores(
    normaliser: Normaliser, population: Population
) -> None:
    """4000 runs on scores really drawn against 40 000 trials; false alarm at most 1e-9 a case."""
    mechanism, rng = exponq(normaliser), np.random.default_rng(3)
    drawn = drawn_scores(population, (4000, 60), rng)
    direct = [mechanism.sample(scores, 1, rng=rng)[0] for scores in drawn]
    trials = mechanism.trials(population, n=60, trials=40_000, rng=rng)
    assert differing_cells(direct, trials.threshold, cells=12, level=LEVEL).size == 0


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize("population", [Uniform(), Beta(5, 0.2), ATOMS], ids=lambda p: p.name)
@pytest.mark.parametrize("noise", [Relation.SUBSTITUTION, Relation.ADD_REMOVE])
def test_histlap_trials_are_runs_on_drawn_scores(noise: Relation, population: Population) -> None:
    """4000 runs on scores really drawn against 40 000 trials; false alarm at most 1e-9 a case."""
    mechanism = HistLap(alpha=0.2, epsilon=0.5, n_bins=12, noise=noise)
    rng = np.random.default_rng(4)
    drawn = drawn_scores(population, (4000, 60), rng)
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
