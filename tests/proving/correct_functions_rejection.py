"""Discrete Gaussian noise by rejection, written in several ways."""

import math

import numpy as np


def sampled(sigma, rng):
    t = math.floor(sigma) + 1
    p = 1 - math.exp(-1 / t)
    while True:
        y = rng.geometric(p) - rng.geometric(p)
        if rng.random() < math.exp(-((abs(y) - sigma**2 / t) ** 2) / (2 * sigma**2)):
            return y


def in_a_helper(scores, *, rng, sigma=1.5):
    return np.count_nonzero(scores > 0.5) + sampled(sigma, rng)


def inside(scores, *, rng, sigma=1.5):
    t = int(sigma) + 1
    while True:
        a = rng.geometric(1 - np.exp(-1 / t))
        b = rng.geometric(1 - np.exp(-1 / t))
        candidate = a - b
        bias = (np.abs(candidate) - sigma * sigma / t) ** 2 / (2 * sigma * sigma)
        u = rng.random()
        if u <= np.exp(-bias):
            break
    return np.count_nonzero(scores > 0.5) + candidate


def expanded(scores, *, rng, sigma=1.5):
    p = 1 - math.exp(-0.5)
    while True:
        y = rng.geometric(p) - rng.geometric(p)
        size = abs(y)
        if math.exp(size / 2 - y**2 / (2 * sigma**2) - sigma**2 / 8) > rng.random():
            return int(y) + np.count_nonzero(scores > 0.5)


def of_bins(scores, *, rng, sigma=1.5):
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    return counts + np.array([sampled(sigma, rng) for _ in range(4)])


def of_an_irrational_sigma(scores, *, rng, rho=0.25):
    sigma = math.sqrt(1 / (2 * rho))
    p = 1 - math.exp(-1 / 2)
    while 1:
        y = rng.geometric(p) - rng.geometric(p)
        z = (abs(y) - sigma**2 / 2) / sigma
        if rng.random() < math.exp(-(z**2) / 2):
            return np.count_nonzero(scores > 0.5) - y


RIGHT = {
    in_a_helper: 1 / 4.5,
    inside: 1 / 4.5,
    expanded: 1 / 4.5,
    of_bins: 2 / 4.5,
    of_an_irrational_sigma: 0.25,
}
"""ρ of each function where a record is replaced."""
