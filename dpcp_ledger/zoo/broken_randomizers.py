"""Randomizers of the zoo: reports of one value, right and wrong, as users write them.

Each function takes an array of values in {0, …, K−1} and returns as many reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray


LABELS, EPSILON = 10, 1.0


def keep_probability(*, k: int = LABELS, epsilon: float = EPSILON) -> float:
    """Return the probability with which k-RR reports the value itself."""
    return float(np.exp(epsilon) / (np.exp(epsilon) + k - 1))


def randomized_response(value: IntArray, *, rng: np.random.Generator, k: int = LABELS) -> IntArray:
    """Keep a label of ten, or draw another uniformly; ``k`` is how many there are taken to be."""
    kept = rng.random(value.shape) < keep_probability(k=k)
    other = (value + rng.integers(1, LABELS, size=value.shape)) % LABELS
    return np.where(kept, value, other)


def nearby_labels(value: IntArray, *, rng: np.random.Generator) -> IntArray:
    """Keep a label, or draw another: one close to it more often than one far from it."""
    kept = rng.random(value.shape) < keep_probability()
    steps = rng.choice(np.arange(1, LABELS), size=value.shape, p=nearby_chances())
    return np.where(kept, value, (value + steps) % LABELS)


def nearby_chances() -> FloatArray:
    """Return the chance of each step away from the label, shape (9,)."""
    steps = np.arange(1, LABELS)
    weights: FloatArray = 1.0 / np.minimum(steps, LABELS - steps)
    chances: FloatArray = weights / weights.sum()
    return chances


def two_bits(value: IntArray, *, rng: np.random.Generator, share: float = 0.5) -> IntArray:
    """Flip both bits of a value below 4, each by randomised response at ``share`` times ε."""
    flip = flip_probability(share)
    first = (value >> 1) ^ (rng.random(value.shape) < flip)
    second = (value & 1) ^ (rng.random(value.shape) < flip)
    return 2 * first + second


def flip_probability(share: float) -> float:
    """Return the probability with which ``two_bits`` flips a bit."""
    return float(1 / (1 + np.exp(share * EPSILON)))


def channel(kept: float, others: FloatArray) -> FloatArray:
    """Return P(report | value), shape (10, 10), from the chances of the steps to other labels."""
    row = np.concatenate([[kept], (1 - kept) * others])
    return np.stack([np.roll(row, value) for value in range(LABELS)])


def two_bit_channel(share: float) -> FloatArray:
    """Return P(report | value) of ``two_bits``, shape (4, 4)."""
    flip = flip_probability(share)
    bit = np.array([[1 - flip, flip], [flip, 1 - flip]])
    chances: FloatArray = np.einsum("ij,kl->ikjl", bit, bit).reshape(4, 4)
    return chances
