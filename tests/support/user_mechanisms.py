"""Private mechanisms as users write them, on plain Python and NumPy, right and wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def flip(value, *, rng) -> Any:
    return value ^ int(rng.random() < 0.25)


def noisy_sum(values, *, rng) -> Any:
    return sum(values) + rng.laplace(scale=1)


def noisy_search(scores, *, rng, rho=0.5, rounds=12, alpha=0.1, noise=1.0, one_draw=False) -> Any:
    """P-COQS with a resolution of 2^-rounds: bisection by noisy counts."""
    rank = math.ceil((1 - alpha) * (len(scores) + 1))
    sigma = noise * math.sqrt(rounds / (2 * rho))
    drawn = rng.normal(scale=sigma)
    left, right = 0.0, 1.0
    for _ in range(rounds):
        middle = (left + right) / 2
        noisy = (scores <= middle).sum() + drawn
        if noisy < rank:
            left = middle
        else:
            right = middle
        if not one_draw:
            drawn = rng.normal(scale=sigma)
    return (left + right) / 2


def noisy_histogram(scores, *, rng, epsilon=1.0, bins=8) -> Any:
    """Laplace noise on every bin, under substitution; then post-processing."""
    counts, _ = np.histogram(scores, bins=bins, range=(0, 1))
    noisy = counts + rng.laplace(scale=2 / epsilon, size=bins)
    return np.maximum(noisy, 0).round(2)


def exponential_mechanism(scores, *, rng, epsilon=1.0) -> Any:
    """Choose a median by its utility, through Gumbel noise."""
    points = np.linspace(0, 1, 9)
    utility = np.array([-abs((scores <= point).sum() - len(scores) / 2) for point in points])
    return int(np.argmax(epsilon * utility / 2 + rng.gumbel(size=9)))


def exponential_choice(scores, *, rng, epsilon=1.0) -> Any:
    """Choose a median by its utility, with the probabilities written down."""
    points = np.linspace(0, 1, 9)
    utility = np.array([-abs((scores <= point).sum() - len(scores) / 2) for point in points])
    weights = np.exp(epsilon * (utility - utility.max()) / 2)
    return float(rng.choice(points, p=weights / weights.sum()))


def report_noisy_max(scores, *, rng, epsilon=1.0) -> Any:
    """Report the fullest bin, by one Laplace draw each (sensitivity 1, not monotone)."""
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return int(np.argmax(counts + rng.laplace(scale=2 / epsilon, size=5)))


def sparse_vector(scores, *, rng, epsilon=1.0, fresh=True) -> Any:
    """Return the first point below which there are many scores; without ``fresh``, bugged."""
    threshold = 0.7 * len(scores) + rng.laplace(scale=2 / epsilon)
    for place, point in enumerate(np.linspace(0, 1, 6)):
        noise = rng.laplace(scale=4 / epsilon) if fresh else 0.0
        if (scores <= point).sum() + noise >= threshold:
            return place
    return None


def noisy_mean(scores, *, rng, epsilon=1.0, noise=1.0) -> Any:
    """Clamp, average, add Laplace noise."""
    clipped = np.clip(scores, 0, 1)
    return clipped.mean() + rng.laplace(scale=noise / (epsilon * len(scores)))


def randomised_response(value, *, rng, epsilon=2.0, k=10) -> Any:
    """Keep the value, or return another one."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    if rng.random() < keep:
        return value
    other = rng.integers(k - 1)
    return int(other + (other >= value))


def unary_encoding(value, *, rng, epsilon=2.3, k=8) -> Any:
    """Optimised unary encoding: a bit for every value."""
    flip = 1 / (math.exp(epsilon) + 1)
    return rng.random(k) < np.where(np.arange(k) == value, 0.5, flip)


def rappor(value, *, rng, f=0.3, k=6) -> Any:
    """Permanent randomised response of RAPPOR."""
    bits, drawn = np.eye(k, dtype=int)[value], rng.random(k)
    return np.where(drawn < f / 2, 1, np.where(drawn < f, 0, bits))


def hadamard_response(value, *, rng, epsilon=1.0, size=16) -> Any:
    """One random entry of the value's row of the Hadamard matrix, flipped at times."""
    column = int(rng.integers(size))
    sign = 1 - 2 * ((column & value).bit_count() % 2)
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return column, sign if rng.random() < keep else -sign
