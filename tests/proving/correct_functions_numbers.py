"""Right functions in which the number of records cancels."""

import math

import numpy as np

import dpcp_audit as dp


def mean_and_count(scores, *, rng):
    n = len(scores)
    return np.mean(scores) + rng.laplace(0, 2 / n), (scores > 0.5).sum() + rng.laplace(0, 2)


def sum_over_size(scores, *, rng, epsilon=1.0):
    return scores.sum() / scores.size + rng.laplace(scale=1 / (epsilon * scores.shape[0]))


def noise_times_mean(scores, *, rng):
    share = sum(1 for s in scores if s > 0.5) / len(scores)
    return share + rng.laplace() / len(scores)


def mean_of_many(scores, *, rng):
    n = float(len(scores))
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    return counts / n + rng.laplace(0, 2 / n, size=4)


def mean_from_a_mean(scores, *, rng):
    n = len(scores)
    return n * np.mean(scores) + rng.laplace(0, 1)


def largest_share(scores, *, rng):
    shares = np.array([np.mean(scores < t) for t in (0.2, 0.5, 0.8)])
    return np.argmax(shares + rng.gumbel(0, 2 / len(scores), size=3))


def exponential_of_shares(scores, *, rng):
    n, grid = len(scores), np.linspace(0, 1, 11)
    utility = -np.abs(np.array([np.mean(scores <= g) for g in grid]) - 0.9)
    weights = np.exp(n / 2 * (utility - utility.max()))
    return grid[rng.choice(11, p=weights / weights.sum())]


def guarded(scores, *, rng):
    if len(scores) == 0:
        return 0.0
    return np.mean(scores) + rng.laplace(0, 1 / max(len(scores), 1))


def refused_below_ten(scores, *, rng):
    if len(scores) < 10:
        raise ValueError("too few scores")
    return np.sum(scores) + rng.laplace()


def ranked(scores, *, rng):
    n, grid = len(scores), np.linspace(0, 1, 11)
    counts = np.array([np.count_nonzero(scores <= g) for g in grid])
    noisy = -np.abs(counts - math.ceil(0.9 * (n + 1))) + rng.gumbel(scale=2.0, size=11)
    return grid[np.argmax(noisy)]


def gaussian_mean(scores, *, rng):
    sigma = 1 / (len(scores) * math.sqrt(2))
    return np.clip(np.mean(scores), 0.1, 0.9) + sigma * rng.standard_normal()


RIGHT = [
    (mean_and_count, dp.PureDP(1.0)),
    (sum_over_size, dp.PureDP(1.0)),
    (noise_times_mean, dp.PureDP(1.0)),
    (mean_of_many, dp.PureDP(1.0)),
    (mean_from_a_mean, dp.PureDP(1.0)),
    (largest_share, dp.PureDP(1.0)),
    (exponential_of_shares, dp.PureDP(1.0)),
    (guarded, dp.PureDP(1.0)),
    (refused_below_ten, dp.PureDP(1.0)),
    (ranked, dp.PureDP(1.0)),
    (gaussian_mean, dp.ZCDP(1.0)),
]
