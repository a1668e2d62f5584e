"""Functions as people write them, which are proved at the total beside them."""

import math
import random

import numpy as np
from support.proof_marks import proved_at

import dpcp_audit as dp

GRID = np.linspace(0, 1, 21)


@proved_at(dp.ZCDP(0.5), 0.5)
def pcoqs(scores, *, rng, rho=0.5, rounds=9):
    r = math.ceil(0.9 * (len(scores) + 1))
    s = math.sqrt(rounds / (2 * rho))
    lo, hi = 0.0, 1.0
    for _ in range(rounds):
        m = (lo + hi) / 2
        c = np.count_nonzero(scores <= m) + rng.normal(0, s)
        if c < r:
            lo = m
        else:
            hi = m
    return hi


@proved_at(dp.ZCDP(0.4), 0.4)
def irrational_scale(scores, *, rng):
    return pcoqs(scores, rng=rng, rho=0.4, rounds=7)


@proved_at(dp.ZCDP(0.5), 0.5)
def published(D, t=0.5, a=0.0, b=1.0):
    rounds = int(np.ceil(np.log2((b - a) / 0.002)))
    sigma = np.sqrt(rounds / 2) / np.sqrt(0.5)
    left, right = a, b
    for _ in range(rounds):
        mid = (left + right) / 2
        count = sum(1 for z in D if a <= z <= mid) + np.random.normal(0, sigma)
        if count < 0.9 * len(D):
            left = mid
        else:
            right = mid
    return (left + right) / 2


@proved_at(dp.PureDP(1), 1.0)
def histogram(scores, *, rng):
    counts, edges = np.histogram(scores, bins=10, range=(0, 1))
    noisy = counts + rng.laplace(0, 2, size=10)
    below = np.cumsum(np.maximum(noisy, 0))
    return edges[np.searchsorted(below, 0.9 * below[-1])]


@proved_at(dp.PureDP(1), 1.0)
def histogram_by_entries(scores, *, rng):
    counts, _ = np.histogram(scores, bins=np.linspace(0, 1, 11))
    noisy = [c + rng.laplace(scale=2.0) for c in counts]
    return max(noisy)


@proved_at(dp.PureDP(1), 1.0)
def exponential_mechanism(scores, *, rng):
    utility = -np.abs(np.searchsorted(np.sort(scores), GRID) - 0.9 * len(scores))
    weights = np.exp(0.5 * (utility - utility.max()))
    return GRID[rng.choice(21, p=weights / weights.sum())]


@proved_at(dp.ZCDP(0.125), 0.125)
def gumbel(scores, *, rng):
    utility = [-abs(np.mean(scores <= t) - 0.9) for t in GRID]
    return GRID[np.argmax(np.array(utility) + rng.gumbel(0, 2 / len(scores), size=21))]


@proved_at(dp.PureDP(0.5), 0.5)
def mean_of_clipped(scores, *, rng):
    return np.clip(scores, 0.2, 0.7).mean() + rng.laplace(0, 0.01)


@proved_at(dp.PureDP(1), 1.0)
def python_loop(scores):
    count = 0
    for score in scores:
        if score <= 0.3:
            count += 1
    return count + random.gauss(0, 1) * 0 + np.random.laplace()


@proved_at(dp.GaussianDP(1), 1.0)
def gaussian(scores, *, rng):
    return float(np.sum(scores) + rng.standard_normal() * 1.0)


@proved_at(dp.ZCDP(0.5), 0.5)
def noise_drawn_before(scores, *, rng):
    noise = rng.normal(0, 2, size=4)
    return [np.sum(scores <= (k + 1) / 5) + noise[k] for k in range(4)]


@proved_at(dp.PureDP(1), 1.0)
def on_either_branch(scores, *, rng):
    def noisy(value):
        return value + rng.laplace(0, 2)

    first = noisy(np.count_nonzero(scores > 0.5))
    if first > 50:
        second = noisy(np.count_nonzero(scores > 0.75))
    else:
        second = noisy(np.count_nonzero(scores > 0.25))
    return first, second


@proved_at(dp.PureDP(0.75), 0.75)
def first_above(scores, *, rng):
    threshold = 40 + rng.laplace(0, 4)
    for level in GRID:
        if np.count_nonzero(scores <= level) + rng.laplace(0, 4) >= threshold:
            return level
    return None


@proved_at(dp.PureDP(1), 1.0)
def first_below(scores, *, rng):
    threshold = 40 + rng.laplace(0, 2)
    for level in GRID:
        if np.count_nonzero(scores > level) + rng.laplace(0, 4) < threshold:
            return level
    return None


@proved_at(dp.ZCDP(0.475), 0.75 * math.tanh(0.375))
def concentrated_above(scores, *, rng):
    return first_above(scores, rng=rng)


@proved_at(dp.ZCDP(0.125), 0.125)
def gap_quantile(scores, *, rng):
    n = len(scores)
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    weights = np.diff(edges) * np.exp(-0.5 * np.abs(np.arange(n + 1) - 0.9 * n))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


@proved_at(dp.PureDP(0.5), 0.5)
def each_half(scores, *, rng):
    half = len(scores) // 2
    return [part.sum() + rng.laplace(0, 2) for part in (scores[:half], scores[half:])]
