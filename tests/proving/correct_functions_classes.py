"""Calibrators of rows of class probabilities and labels: one for all classes, and one for each."""

import math

import numpy as np


def thresholds_of_classes(probabilities, labels, *, rng, rho=0.5, rounds=6):
    scores = 1.0 - probabilities[np.arange(len(labels)), labels]
    sigma = math.sqrt(rounds / (2 * rho))
    found = np.zeros(probabilities.shape[1])
    for k in range(probabilities.shape[1]):
        own = scores[labels == k]
        low, high = 0.0, 1.0
        for _ in range(rounds):
            middle = (low + high) / 2
            if np.count_nonzero(own <= middle) + rng.normal(0, sigma) < 5:
                low = middle
            else:
                high = middle
        found[k] = high
    return found


def one_threshold(probabilities, labels, *, rng):
    scores = 1 - probabilities[np.arange(labels.size), labels]
    grid = np.linspace(0, 1, 21)
    u = -np.abs(np.searchsorted(np.sort(scores), grid, side="right") - 18)
    w = np.exp(0.5 * (u - u.max()))
    return rng.choice(grid, p=w / w.sum())


def in_a_comprehension(probabilities, labels, *, rng):
    scores = np.array([1 - p[y] for p, y in zip(probabilities, labels)])
    return [np.count_nonzero(scores[labels == k] <= 0.5) + rng.laplace() for k in range(3)]


def in_a_dictionary(probabilities, labels, *, rng):
    rows = np.arange(probabilities.shape[0])
    scores = -probabilities[rows, labels]
    found = {}
    for k in (0, 1, 2):
        found[k] = np.count_nonzero((labels == k) & (scores > -0.9)) + rng.laplace(0.0, 1.0)
    return found


def counts_by_label(probabilities, labels, *, rng):
    return [sum(1 for y in labels if y == k) + rng.laplace(0.0, 1.0) for k in range(3)]


def counts_of_bins(probabilities, labels, *, rng):
    return np.bincount(labels, minlength=3) + rng.laplace(0.0, 1.0, size=3)


def mean_of_one_class(probabilities, labels, *, rng):
    return (1 - probabilities)[:, 1].sum() + rng.laplace(0.0, 1.0)


def sums_at_places(probabilities, labels, *, rng):
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    return [np.sum(scores[np.where(labels == k)[0]]) + rng.laplace(0.0, 1.0) for k in range(3)]


def sums_at_flat_places(probabilities, labels, *, rng):
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    found = []
    for k in range(3):
        own = np.flatnonzero(labels == k)
        found.append(scores[own].sum() + rng.laplace(0.0, 1.0))
    return found


def sums_of_groups(probabilities, labels, *, rng):
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    groups = {k: scores[labels == k] for k in range(3)}
    return {k: np.sum(own) + rng.laplace(0.0, 1.0) for k, own in groups.items()}


def counted_in_loops(probabilities, labels, *, rng):
    found = []
    for k in range(3):
        count = 0
        for p, y in zip(probabilities, labels):
            if y == k and 1 - p[y] < 0.5:
                count += 1
        found.append(count + rng.laplace(0.0, 1.0))
    return found


def histograms(probabilities, labels, *, rng):
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    return [
        np.histogram(scores[labels == k], bins=5, range=(0, 1))[0] + rng.laplace(0.0, 1.0, size=5)
        for k in range(3)
    ]


def by_its_own_rank(probabilities, labels, *, rng, sigma=5.0):
    scores = 1 - probabilities[np.arange(len(labels)), labels]

    def quantile(own):
        rank = math.ceil((len(own) + 1) * 0.9)
        low, high = 0.0, 1.0
        for _ in range(5):
            middle = (low + high) / 2
            if np.count_nonzero(own <= middle) - rank + rng.normal(0.0, sigma) < 0:
                low = middle
            else:
                high = middle
        return high

    return [quantile(scores[labels == k]) for k in range(3)]


OF_CLASSES = {
    in_a_comprehension: (1.0, 2.0),
    in_a_dictionary: (1.0, 2.0),
    counts_by_label: (1.0, 2.0),
    counts_of_bins: (1.0, 2.0),
    mean_of_one_class: (1.0, 1.0),
    one_threshold: (1.0, 1.0),
    sums_at_places: (1.0, 2.0),
    sums_at_flat_places: (1.0, 2.0),
    sums_of_groups: (1.0, 2.0),
    counted_in_loops: (1.0, 2.0),
    histograms: (1.0, 4.0),
}
"""ε of each function where a record is added, and where one is replaced."""
