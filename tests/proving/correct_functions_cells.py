"""Functions of records in disjoint cells, of which one record lies in one."""

import numpy as np


def bins_by_masks(scores, *, rng, k=5):
    ends = np.linspace(0, 1, k + 1)
    return [
        np.count_nonzero((scores >= a) & (scores < b)) + rng.laplace(0.0, 1.0)
        for a, b in zip(ends[:-1], ends[1:])
    ]


def bins_in_an_array(scores, *, rng):
    counts = np.array([np.sum((0.2 * i <= scores) & (scores < 0.2 * (i + 1))) for i in range(5)])
    return counts + rng.laplace(0.0, 1.0, size=5)


def bins_in_comprehensions(scores, *, rng):
    def count(low, high):
        return sum(1 for s in scores if low <= s < high) + rng.laplace(0.0, 1.0)

    return count(0.0, 0.3), count(0.3, 0.6), count(0.6, 2.0)


def sums_of_selections(scores, *, rng):
    low, high = scores[scores < 0.5], scores[scores >= 0.5]
    return low.sum() + rng.laplace(0.0, 1.0), high.sum() + rng.laplace(0.0, 1.0)


def choice_in_each_half(scores, *, rng):
    grid = np.linspace(0, 1, 11)
    found = []
    for part in (np.sort(scores[scores < 0.5]), np.sort(scores[scores >= 0.5])):
        u = -np.abs(np.searchsorted(part, grid, side="right") - 5)
        w = np.exp(0.5 * (u - u.max()))
        found.append(rng.choice(grid, p=w / w.sum()))
    return found


def counts_and_a_bound(scores, *, rng):
    low, high = np.count_nonzero(scores < 0.5), np.count_nonzero(scores >= 0.5)
    return low + rng.laplace(0.0, 1.0), np.maximum(high, 1) + rng.laplace(0.0, 1.0)


def noisy_classes(scores, *, rng):
    return [np.count_nonzero(scores == k) + rng.normal(0.0, 2.0) for k in range(3)]
