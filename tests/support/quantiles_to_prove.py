"""A private quantile in plain code, its twin with a tenth less noise, and other shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.words.validate import FloatArray


def quantile(scores, *, rng, rho=0.5, rounds=9) -> float:
    rank = math.ceil(0.9 * (len(scores) + 1))
    sigma = math.sqrt(rounds / (2 * rho))
    low, high = 0.0, 1.0
    for _ in range(rounds):
        middle = (low + high) / 2
        count = np.count_nonzero(scores <= middle) + rng.normal(0, sigma)
        if count < rank:
            low = middle
        else:
            high = middle
    return high


def of_a_slice(scores, *, rng) -> float:
    return np.sum(scores[:1]) + rng.laplace(0, 1)


def less_noise(scores, *, rng) -> float:
    return np.count_nonzero(scores <= 0.5) + 0.9 * rng.normal(0, 1)


def enough_noise(scores, *, rng) -> float:
    return np.count_nonzero(scores <= 0.5) + rng.normal(0, 1)


def spare_noise(scores, *, rng) -> float:
    first = np.count_nonzero(scores <= 0.5) + rng.laplace(0, 1)
    second = np.count_nonzero(scores <= 0.5) + rng.laplace(0, 1)
    return max(first, second - 100)


def sparer_noise(scores, *, rng) -> float:
    others = max(spare_noise(scores, rng=rng), spare_noise(scores, rng=rng))
    return max(np.count_nonzero(scores <= 0.5) + rng.laplace(0, 1), others - 100)


def drawn_again(scores, *, rng) -> float:
    """Lose ε = 1.49: no score below 0.5 leaves half of the noise, and one leaves 0.82 of it."""
    while True:
        noisy = np.count_nonzero(scores <= 0.5) + rng.laplace(0, 1)
        if noisy >= 0:
            return noisy


def noisy_histogram(scores, *, rng) -> FloatArray:
    return np.histogram(scores, bins=4, range=(0.0, 1.0))[0] + rng.laplace(0, 2, size=4)


def other_generator(scores, *, rng, random_state=None) -> float:
    noise = scores.max() if random_state is None else random_state.normal(0, 1)
    return noise + 0 * rng.normal(0, 1)


def raises(scores, *, rng) -> float:
    np.zeros(3)[7]
    return np.count_nonzero(scores <= 0.5) + rng.normal(0, 1)


def constant(scores, *, rng) -> float:
    return 0.5


def counts_of_classes(probabilities, labels, *, rng):
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    return [np.count_nonzero(scores[labels == k] < 0.5) + rng.laplace(0.0, 2.0) for k in range(3)]


def often_true(x, *, rng, k=4) -> int:
    return x if rng.random() < 0.9 else int(rng.integers(k))


def true_by_its_type(x, *, rng, k=4) -> int:
    if rng.random() < 0.5:
        return x
    return rng.integers(k)
