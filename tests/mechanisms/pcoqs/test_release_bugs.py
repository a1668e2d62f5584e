"""P-COQS with planted bugs, each beside the correct mechanism under the same check."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.levels import disagreeing_cells, mean_interval
from support.plain_pcoqs import plain_law

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.laws.populations import Uniform, atoms
from dpcp_audit.mechanisms.pcoqs.release import PCOQS

pytestmark = pytest.mark.known_bad


class RankTooLow(PCOQS):
    """Searches for rank r − 1."""

    def rank(self, n: int) -> int:
        return super().rank(n) - 1


class OneRoundOfNoise(PCOQS):
    """Scales the noise for one round and forgets to compose N of them."""

    @property
    def noise_scale(self) -> float:
        return math.sqrt(1 / (2 * self.rho))


class HalfTheNoise(PCOQS):
    """Halves the scale of the noise."""

    @property
    def noise_scale(self) -> float:
        return super().noise_scale / 2


class StrictComparison(PCOQS):
    """Counts the scores below the midpoint, not those at or below it."""

    def sample(self, scores, size, *, rng=None) -> np.ndarray:
        return super().sample(np.nextafter(scores, np.inf), size, rng=rng)


SETTINGS = {"alpha": 0.1, "rho": 0.5}


def refutes_zcdp(mechanism: PCOQS) -> bool:
    """Tell whether the exact laws of the worst pair exceed ρ; no chance is involved."""
    pair = FinitePair(*mechanism.laws(*mechanism.worst_pair(2400)))
    return max(pair.rho(), pair.reversed().rho()) > mechanism.rho * (1 + 1e-9)


def refutes_coverage(mechanism: PCOQS, *, seed: int) -> bool:
    """Tell whether mean coverage is certified to leave [r/(n+1), (r+1)/(n+1)] almost without
    noise, where the threshold lies between the order statistics r and r + 1.
    """
    n, rank = 9, 9
    coverage = mechanism.trials(Uniform(), n=n, trials=50_000, rng=seed).coverage
    low, high = mean_interval(coverage, bounds=(0, 1), significance=1e-6)
    return bool(high < rank / (n + 1) - 1e-9 or low > (rank + 1) / (n + 1))


def refutes_law(mechanism: PCOQS, *, seed: int) -> bool:
    """Tell whether releases on tied scores at midpoints leave the law of Algorithm 1."""
    scores = atoms([0.25, 0.5, 0.75], [1, 2, 1], name="tied").scores.repeat(3)
    law = plain_law(mechanism, scores)
    thresholds = np.array(sorted(law))
    released = np.searchsorted(thresholds, mechanism.sample(scores, 50_000, rng=seed))
    counts = np.bincount(released, minlength=thresholds.size)
    masses = np.exp([law[threshold] for threshold in thresholds])
    return disagreeing_cells(counts, masses, trials=50_000, level=1e-6).size > 0


@pytest.mark.parametrize("broken", [OneRoundOfNoise, HalfTheNoise])
def test_too_little_noise_is_refuted_by_the_exact_law(broken) -> None:
    assert refutes_zcdp(broken(**SETTINGS))


@pytest.mark.parametrize("rho", [0.01, 0.5, 10.0])
@pytest.mark.parametrize("resolution", [1e-10, 0.2])
def test_the_correct_noise_is_not_refuted(rho, resolution) -> None:
    assert not refutes_zcdp(PCOQS(alpha=0.1, rho=rho, resolution=resolution))


def test_a_rank_too_low_is_refuted_by_its_coverage() -> None:
    """Mean coverage is below 0.87; missed by chance with probability below 1e-6."""
    assert refutes_coverage(RankTooLow(alpha=0.1, rho=1e12), seed=5)


def test_the_correct_rank_is_not_refuted() -> None:
    """Fails by chance with probability at most 1e-6."""
    assert not refutes_coverage(PCOQS(alpha=0.1, rho=1e12), seed=5)


def test_a_rank_too_low_keeps_the_privacy() -> None:
    """No privacy audit can see this bug: the worst pair's bits are the same."""
    assert not refutes_zcdp(RankTooLow(**SETTINGS))


def test_a_strict_comparison_is_refuted_by_tied_scores() -> None:
    """The first midpoint is an atom; missed by chance with probability below 1e-6."""
    assert refutes_law(StrictComparison(alpha=0.5, rho=1.0, resolution=0.125), seed=6)


def test_the_correct_comparison_is_not_refuted() -> None:
    """Fails by chance with probability at most 1e-6."""
    assert not refutes_law(PCOQS(alpha=0.5, rho=1.0, resolution=0.125), seed=6)
