"""Computed coverages against enumeration of every calibration set, and against trials."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.plain_pcoqs import plain_trials

from dpcp_audit.laws.populations import Beta, PiecewiseConstant, Pool, Population, Uniform, atoms
from dpcp_audit.mechanisms import iid_coverage
from dpcp_audit.mechanisms.iid_coverage import (
    _MeanCoverage,
    coverage_given_noise,
    coverage_outside,
)
from dpcp_audit.mechanisms.pcoqs import PCOQS

FOUR = atoms([0.1, 0.35, 0.6, 0.95], [4, 3, 2, 1], name="four")
POPULATIONS = (
    Uniform(),
    Beta(2, 5),
    PiecewiseConstant(edges=(0.0, 0.3, 1.0), cells=(1.0, 3.0)),
    PiecewiseConstant(cells=(0.7,), atoms=((0.6, 0.3),)),
    FOUR,
)


def enumerated(mechanism: PCOQS, population: Population, n: int, noise: np.ndarray) -> np.ndarray:
    """Return E[F(q)] of each column of the noise, over every set of n atoms."""
    values = np.array([0.1, 0.35, 0.6, 0.95])
    chances = np.array([0.4, 0.3, 0.2, 0.1])
    total = np.zeros(noise.shape[1])
    for choice in itertools.product(range(4), repeat=n):
        found = mechanism.search(np.sort(values[list(choice)]), mechanism.rank(n), noise)
        total += chances[list(choice)].prod() * population.cdf(found)
    return total


@pytest.mark.parametrize("rho", [0.2, 3.0, 1e3])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.6])
def test_every_set_of_four_atoms(alpha: float, rho: float) -> None:
    mechanism = PCOQS(alpha=alpha, rho=rho, resolution=2**-12)
    noise = np.random.default_rng(0).standard_normal((mechanism.rounds, 30))
    computed = coverage_given_noise(mechanism, FOUR, n=5, noise=noise)
    expected = enumerated(mechanism, FOUR, 5, noise)
    assert np.abs(computed.coverage - expected).max() < 1e-12
    assert computed.error < 1e-10


@pytest.mark.statistical(false_alarm=4e-9)
@pytest.mark.parametrize("population", POPULATIONS, ids=lambda p: p.name)
@pytest.mark.parametrize(("n", "rho"), [(1, 0.5), (40, 0.1), (300, 0.5)])
def test_means_of_trials(population: Population, n: int, rho: float) -> None:
    """Six standard errors and the stated error in each of 30 cases: 30 · 2Φ(−6) = 6e-8."""
    mechanism = PCOQS(alpha=0.1, rho=rho)
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((mechanism.rounds, 2))
    computed = coverage_given_noise(mechanism, population, n=n, noise=noise)
    assert computed.error <= 0.011 / n
    for case in range(2):
        given = noise[:, case]
        threshold, _ = plain_trials(mechanism, population, n=n, trials=4000, rng=rng, noise=given)
        run = population.cdf(threshold)
        room = 6 * run.std(ddof=1) / np.sqrt(run.size) + computed.error
        assert abs(run.mean() - computed.coverage[case]) < room + 1e-9


DYADIC = Pool(np.arange(65) / 64, "dyadic")
COMB = PiecewiseConstant(edges=(0, 0.125, 0.25, 0.375, 0.5, 1), cells=(0, 1, 0, 1, 2))


@pytest.mark.parametrize(
    ("population", "n", "alpha", "resolution"),
    [
        (DYADIC, 8, 0.1, 1e-6),
        (Pool(np.arange(257) / 256, "finer"), 20, 0.5, 1e-5),
        (PiecewiseConstant(cells=(63,), atoms=((0.5, 1),)), 8, 0.5, 1e-5),
        (COMB, 8, 0.5, 1e-5),
        (Beta(2, 2), 8, 0.5, 1e-5),
        (Beta(5, 0.2), 30, 0.1, 1e-5),  # intervals near 1 shorter than the resolution
    ],
    ids=lambda case: case.name if isinstance(case, Population) else str(case),
)
def test_the_stated_error_holds_against_the_whole_tree(
    monkeypatch: pytest.MonkeyPatch,
    population: Population,
    n: int,
    alpha: float,
    resolution: float,
) -> None:
    mechanism = PCOQS(alpha=alpha, rho=0.5, resolution=resolution)
    noise = np.random.default_rng(1).standard_normal((mechanism.rounds, 20))
    computed = coverage_given_noise(mechanism, population, n=n, noise=noise)
    monkeypatch.setattr(iid_coverage, "_CROWD", -1.0)  # nothing is taken as evenly spread
    whole = coverage_given_noise(mechanism, population, n=n, noise=noise)
    away = np.abs(computed.coverage - whole.coverage).max()
    assert away <= computed.error + whole.error
    assert computed.error <= 0.011 / n


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("population", POPULATIONS, ids=lambda p: p.name)
def test_the_law_of_one_calibrated_set(population: Population) -> None:
    """Six standard deviations of a binomial rate: 5 · 2Φ(−6) = 1e-8."""
    mechanism = PCOQS(alpha=0.1, rho=0.5)
    value, error = coverage_outside(mechanism, population, n=200, lower=0.85, upper=0.93)
    run = mechanism.trials(population, n=200, trials=20_000, rng=np.random.default_rng(3)).coverage
    rate = ((run < 0.85) | (run > 0.93)).mean()
    assert abs(rate - value) < 6 * np.sqrt(value * (1 - value) / run.size) + error
    assert error < 1e-8


def test_the_shape_of_the_noise_is_checked() -> None:
    with pytest.raises(ValueError, match=r"noise must have 34 rows, got shape \(2, 3\)"):
        coverage_given_noise(PCOQS(alpha=0.1, rho=0.5), Uniform(), n=5, noise=np.zeros((2, 3)))


@pytest.mark.parametrize("rho", [0.5, 50.0])
@pytest.mark.parametrize("alpha", [0.1, 0.9])
def test_what_is_not_followed_is_within_the_stated_error(
    alpha: float, rho: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = PCOQS(alpha=alpha, rho=rho)
    noise = np.random.default_rng(0).standard_normal((mechanism.rounds, 20))
    found: dict[float, _MeanCoverage] = {}
    for seldom in (0.9, 1e-12):
        monkeypatch.setattr(iid_coverage, "_SELDOM", seldom)
        found[seldom] = coverage_given_noise(mechanism, Uniform(), n=60, noise=noise)
    gap = np.abs(found[0.9].coverage - found[1e-12].coverage).max()
    assert found[1e-12].error < 1e-8
    assert 1e-3 < gap <= found[0.9].error + found[1e-12].error
