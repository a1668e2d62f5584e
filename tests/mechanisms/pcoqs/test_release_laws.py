from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp
from scipy.stats import norm
from support.levels import differing_cells, disagreeing_cells
from support.plain_pcoqs import plain_law, plain_trials

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.laws.populations import Beta, Uniform, atoms
from dpcp_audit.mechanisms.pcoqs import PCOQS, largest_bit_divergence, search_laws

if TYPE_CHECKING:
    from collections.abc import Sequence


RELEASES, BATCH = 250_000, 50_000
TIED = atoms([0.0, 0.125, 0.25, 0.5, 0.75, 1.0], [1, 3, 4, 6, 2, 1], name="tied")
EDGES = atoms([0.0, 1.0], [1, 1], name="edges")


def retraced_losses(mechanism: PCOQS, released: np.ndarray, pair: tuple) -> np.ndarray:
    """Return log P − log Q of each release, from the bits that it reveals.

    With m rounds to come, releases after "not below" end under mid + Δ(1 − 2^−m) and those
    after "below" above mid + Δ(1 − 2^−m/2): the drift of ``left`` carries past the midpoint.
    """
    left, right = (np.full(released.size, end) for end in mechanism.bounds)
    loss = np.zeros(released.size)
    for to_come in reversed(range(mechanism.rounds)):
        mid = (left + right) / 2
        below = released > mid + mechanism.resolution * (1 - 0.75 * 2.0**-to_come)
        both = np.unique(np.concatenate(pair))
        place = np.searchsorted(both, mid, side="right")
        losses = np.zeros((2, both.size + 1))
        for sign, scores in zip((1, -1), map(np.sort, pair), strict=True):
            counts = np.append([0], np.searchsorted(scores, both, side="right"))
            z = (mechanism.rank(scores.size) - counts) / mechanism.noise_scale
            losses += sign * np.stack([log_ndtr(-z), log_ndtr(z)])
        loss += losses.ravel()[place + (both.size + 1) * below]
        left, right = np.where(below, mid + mechanism.resolution, left), np.where(below, right, mid)
    return loss


@pytest.mark.statistical(false_alarm=1e-07)
@pytest.mark.parametrize("n", [40, 2400])
def test_fine_law_against_many_releases(n) -> None:
    """The privacy loss of 250,000 releases, in 60 cells, against its exact law; fails by chance
    with probability at most 1e-7.
    """
    mechanism = PCOQS(alpha=0.1, rho=4.0)
    rng = np.random.default_rng(20)
    scores = rng.random(n)
    rank = mechanism.rank(n)
    neighbour = scores.copy()
    neighbour[np.argsort(scores)[rank - 1]] = 1.0
    pair = FinitePair(*mechanism.laws(scores, neighbour))
    masses = np.exp(pair.law.log_mass)
    order = np.argsort(pair.loss)
    at = np.searchsorted(np.cumsum(masses[order]), np.linspace(0.01, 0.99, 59))
    sorted_loss = pair.loss[order]
    gaps = np.flatnonzero(np.diff(sorted_loss) > 1e-9)  # cut between losses, never at one
    cuts = np.unique(gaps[np.minimum(np.searchsorted(gaps, at), gaps.size - 1)])
    edges = (sorted_loss[cuts] + sorted_loss[cuts + 1]) / 2
    cells = np.bincount(np.searchsorted(edges, pair.loss), weights=masses)
    counts = np.zeros(edges.size + 1, dtype=np.int64)
    for _ in range(RELEASES // BATCH):
        released = mechanism.sample(scores, BATCH, rng=rng)
        losses = retraced_losses(mechanism, released, (scores, neighbour))
        counts += np.bincount(np.searchsorted(edges, losses), minlength=counts.size)
    assert edges.size > 20
    assert disagreeing_cells(counts, cells, trials=RELEASES, level=1e-7).size == 0


@pytest.mark.statistical(false_alarm=1e-07)
@pytest.mark.parametrize("resolution", [0.2, 1 / 64])
def test_coarse_law_against_many_releases(resolution) -> None:
    """Every threshold is a cell; fails by chance with probability at most 1e-7."""
    mechanism = PCOQS(alpha=0.25, rho=3.0, resolution=resolution)
    rng = np.random.default_rng(21)
    scores = TIED.sample(30, rng=rng)
    law = plain_law(mechanism, scores)
    thresholds = np.array(sorted(law))
    masses = np.exp([law[threshold] for threshold in thresholds])
    released = np.searchsorted(thresholds, mechanism.sample(scores, RELEASES, rng=rng))
    counts = np.bincount(released, minlength=thresholds.size)
    assert disagreeing_cells(counts, masses, trials=RELEASES, level=1e-7).size == 0
    (exact,) = mechanism.laws(scores)
    assert np.exp(exact.log_mass).sum() == pytest.approx(masses.sum(), abs=1e-12)


@pytest.mark.statistical(false_alarm=1e-07)
@pytest.mark.parametrize(
    ("mechanism", "population", "n", "trials"),
    [
        (PCOQS(alpha=0.3, rho=0.5, resolution=1e-3), Uniform(), 1, 40_000),
        (PCOQS(alpha=0.0, rho=5.0, resolution=1e-3), Uniform(), 3, 40_000),
        (PCOQS(alpha=0.3, rho=50.0, resolution=0.2), Uniform(), 8, 40_000),
        (PCOQS(alpha=0.5, rho=50.0, resolution=2.0**-10), TIED, 11, 40_000),
        (PCOQS(alpha=0.4, rho=5.0, resolution=0.3), EDGES, 7, 40_000),
        (PCOQS(alpha=0.1, rho=2.0, resolution=1e-6), Beta(5, 0.2), 60, 40_000),
        (PCOQS(alpha=0.1, rho=1e4, resolution=0.03), Uniform(), 2400, 10_000),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_trials_against_a_plain_recount(mechanism, population, n, trials) -> None:
    """Two-sample tests of the threshold, the rank error and both together, at 3e-8 each: fails
    by chance with probability below 1e-7.
    """
    fast = mechanism.trials(population, n=n, trials=trials, rng=22)
    rng = np.random.default_rng(23)
    parts = [
        plain_trials(mechanism, population, n=n, trials=size, rng=rng)
        for size in np.diff(np.append(np.arange(0, trials, 2000), trials))
    ]
    threshold, rank_error = (np.concatenate(column) for column in zip(*parts, strict=True))
    assert fast.coverage == pytest.approx(population.cdf(fast.threshold))
    scale = max(1.0, float(rank_error.max()))
    for first, second in (
        (fast.threshold, threshold),
        (fast.rank_error, rank_error),
        (fast.threshold + 10 * fast.rank_error / scale, threshold + 10 * rank_error / scale),
    ):
        assert differing_cells(first, second, cells=40, level=3e-8).size == 0


@pytest.mark.parametrize(
    ("noise_scale", "alpha"), [(0.3, 1.5), (1.0, 2.0), (5.0, 8.0), (2.0, 30.0)]
)
def test_the_largest_divergence_of_one_bit_is_over_all_counts(noise_scale, alpha) -> None:
    """By the definition of D_α, over every count within 500 of the rank."""
    z = np.arange(-500, 501) / noise_scale
    logs = np.stack([log_ndtr(z), log_ndtr(-z)])
    both = [(logs[:, 1:], logs[:, :-1]), (logs[:, :-1], logs[:, 1:])]
    found = max(logsumexp(alpha * p + (1 - alpha) * q, axis=0).max() for p, q in both)
    expected = float(found) / (alpha - 1)
    assert largest_bit_divergence(noise_scale, alpha) == pytest.approx(expected, rel=1e-12)


def enumerated(scores: Sequence[float], rank: int, rounds: int, resolution: float) -> np.ndarray:
    """Return the probabilities of all bits, by the definition of the search on [0, 1]."""
    masses = []
    for bits in product((0, 1), repeat=rounds):
        left, right, mass = 0.0, 1.0, 1.0
        for bit in bits:
            mid = (left + right) / 2
            z = (rank - sum(score <= mid for score in scores)) / 1.5
            mass *= norm.cdf(z if bit else -z)
            left, right = (mid + resolution, right) if bit else (left, mid)
        masses.append(mass)
    return np.array(masses)


@pytest.mark.parametrize("resolution", [0.0, 0.05])
@pytest.mark.parametrize("other", [[0.2, 0.3, 0.9], [0.2, 0.3], [0.2, 0.3, 0.62, 0.7]])
def test_neighbours_are_told_apart_wherever_a_score_of_either_lies(other, resolution) -> None:
    """By enumeration of 2⁶ sequences of bits; also where one has no score and the other has one."""
    scores, rounds = ([0.2, 0.3, 0.35], other), 6
    laws = search_laws(
        [np.array(each) for each in scores],
        ranks=[2, 3],
        noise_scale=1.5,
        rounds=rounds,
        bounds=(0.0, 1.0),
        resolution=resolution,
    )
    masses = [enumerated(x, r, rounds, resolution) for x, r in zip(scores, (2, 3), strict=True)]
    for pair, (p, q) in ((FinitePair(*laws), masses), (FinitePair(*laws[::-1]), masses[::-1])):
        for epsilon in (0.0, 0.3, 1.0):
            delta = np.maximum(p - np.exp(epsilon) * q, 0).sum()
            assert pair.delta_at(epsilon) == pytest.approx(delta, abs=1e-14)
