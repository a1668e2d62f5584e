"""P-COQS Algorithm 1 written down as plainly as can be, to compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr

from dpcp_audit.laws.populations import Beta

if TYPE_CHECKING:
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.mechanisms.pcoqs import PCOQS


def plain_law(mechanism: PCOQS, scores: np.ndarray) -> dict[float, float]:
    """Return the log-probability of every threshold that can be released, by recursion."""
    rank, law = mechanism.rank(scores.size), {}

    def search(left: float, right: float, rounds: int, log_mass: float) -> None:
        if rounds == 0:
            threshold = (left + right) / 2
            assert threshold not in law
            law[threshold] = log_mass
            return
        mid = (left + right) / 2
        z = (rank - int((scores <= mid).sum())) / mechanism.noise_scale
        search(mid + mechanism.resolution, right, rounds - 1, log_mass + float(log_ndtr(z)))
        search(left, mid, rounds - 1, log_mass + float(log_ndtr(-z)))

    search(*mechanism.bounds, mechanism.rounds, 0.0)
    return law


def drawn_scores(
    population: Population, shape: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Return i.i.d. scores; of a Beta law without its quantile function, which is slow."""
    if isinstance(population, Beta):
        return rng.beta(population.a, population.b, size=shape)
    return population.sample(shape, rng=rng)


def plain_trials(
    mechanism: PCOQS,
    population: Population,
    *,
    n: int,
    trials: int,
    rng: np.random.Generator,
    noise: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return thresholds and rank errors on really drawn scores, all of them counted anew.

    ``noise`` gives the standard normal draws of the rounds, the same in all trials.
    """
    rank = mechanism.rank(n)
    scores = drawn_scores(population, (trials, n), rng)
    left, right = (np.full(trials, end) for end in mechanism.bounds)

    def count(point: np.ndarray) -> np.ndarray:
        return (scores <= point[:, None]).sum(axis=1)

    for number in range(mechanism.rounds):
        mid = (left + right) / 2
        drawn = rng.standard_normal(trials) if noise is None else noise[number]
        below = count(mid) + mechanism.noise_scale * drawn < rank
        left, right = np.where(below, mid + mechanism.resolution, left), np.where(below, right, mid)
    threshold = (left + right) / 2
    return threshold, np.abs(count(threshold) - rank)
