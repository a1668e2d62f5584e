"""Mechanisms whose loss no interval of the output shows: ε on the inputs 0 and 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Sampler


def scattered(epsilon: float) -> Sampler:
    """Ten thousand outcomes without order, whose loss is ±ε: half are likelier on 0."""
    values = np.random.default_rng(1).permutation(10_000).astype(float)

    def sample(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        keeps = rng.random(size) < 1 / (1 + math.exp(-epsilon))
        return values[5000 * (keeps ^ (value == 1)) + rng.integers(5000, size=size)]

    return sample


def last_bit(epsilon: float) -> Sampler:
    """Noise whose last bit is the input, by randomised response."""

    def sample(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        keeps = rng.random(size) < 1 / (1 + math.exp(-epsilon))
        bits = rng.laplace(scale=100, size=size).view(np.int64)
        return ((bits & ~1) | np.where(keeps, value, 1 - value)).view(np.float64)

    return sample


def rounding(epsilon: float) -> Sampler:
    """Noise that is rounded to two decimals more often on one input."""

    def sample(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        keeps = rng.random(size) < 1 / (1 + math.exp(-epsilon))
        noise = rng.laplace(scale=10, size=size)
        return np.where(keeps ^ (value == 1), np.round(noise, 2), noise)

    return sample


def many_coordinates(epsilon: float) -> Sampler:
    """Twenty coordinates of Laplace noise, each of which moves by ε/20."""

    def sample(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return value * epsilon / 20 + rng.laplace(size=(size, 20))

    return sample
