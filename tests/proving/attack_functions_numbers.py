"""Functions that are private at some numbers of records at most."""

import numpy as np

import dpcp_audit as dp


def leaks_at_seven(scores, *, rng):
    if len(scores) == 7:
        return scores[0]
    return scores.sum() + rng.laplace()


def exact_sum_at_seven(scores, *, rng):
    n = len(scores)
    return scores.sum() + rng.laplace(0, 1 if n != 7 else 1e-9)


def sum_by_small_noise(scores, *, rng):
    return scores.sum() + rng.laplace(0, 1 / len(scores))


def size_times_a_sum(scores, *, rng):
    return len(scores) * scores.sum() + rng.laplace()


def size_times_a_mean_of_noise(scores, *, rng):
    n = len(scores)
    return n * n * np.mean(scores) + rng.laplace()


def entry_near_the_middle(scores, *, rng):
    return np.sort(scores)[len(scores) // 2 - 3] + rng.laplace(0, 1 / len(scores))


def noiseless_for_one(scores, *, rng):
    return scores.sum() + rng.laplace(0, len(scores) - 1)


def noiseless_for_small(scores, *, rng):
    return scores.sum() + rng.laplace(0, max(len(scores) - 5, 0))


def small_noise_for_small(scores, *, rng):
    return scores.sum() + rng.laplace(0, len(scores) / 50)


def less_noise_for_many(scores, *, rng):
    return scores.sum() + rng.laplace(0, 50 / len(scores))


def mean_by_squared_size(scores, *, rng):
    return np.mean(scores) + rng.laplace(0, 2 / len(scores) ** 2)


def mean_by_two_sizes(scores, *, rng):
    n = len(scores)
    return np.mean(scores) + rng.laplace(0, 5 / n / n)


def mean_over_more(scores, *, rng):
    n = len(scores)
    return np.mean(scores) + rng.laplace(0, 1 / (n + 1))


def mean_times_noise(scores, *, rng):
    n = len(scores)
    return np.mean(scores) + rng.laplace() / n / 2


def gumbel_for_sums(scores, *, rng):
    sums = np.array([np.sum(scores < t) for t in (0.2, 0.5, 0.8)])
    return np.argmax(sums + rng.gumbel(0, 200 / len(scores), size=3))


def exponential_of_sizes(scores, *, rng):
    n, grid = len(scores), np.linspace(0, 1, 11)
    utility = -np.abs(np.array([np.count_nonzero(scores <= g) for g in grid]) - 5.0)
    weights = np.exp(n / 200 * (utility - utility.max()))
    return grid[rng.choice(11, p=weights / weights.sum())]


def by_a_mutable_default(scores, *, rng, seen=[]):  # noqa: B006
    seen.append(len(scores))
    return scores.sum() + rng.laplace(0, 1.0 if seen[0] > 5 else 0.01)


def negated_size(scores, *, rng):
    return scores.sum() + rng.laplace(0, 6 - len(scores) / 20)


def mixed_vector(scores, *, rng):
    n = len(scores)
    draws = [rng.laplace(0, 2), rng.laplace(0, 2 / n)]
    return np.array([scores.sum(), scores.sum()]) + np.array(draws)


def share_or_sum(scores, *, rng):
    found = np.mean(scores) if rng.random() < 0.5 else np.sum(scores)
    return found + rng.laplace(0, 1 / len(scores))


def mean_and_sum_together(scores, *, rng):
    n = len(scores)
    return np.mean(scores) + np.sum(scores) + rng.laplace(0, 2 / n)


def one_threshold_for_two(scores, *, rng):
    n = len(scores)
    threshold = 0.5 + rng.laplace(0, 2 / n)
    if np.mean(scores) + rng.laplace(0, 4 / n) > threshold:
        return 1
    return 2 if np.sum(scores) + rng.laplace(0, 4 / n) > threshold else 3


def rounded_share(scores, *, rng):
    return round(float(np.mean(scores))) + rng.laplace(0, 1 / len(scores))


def spread_of_partial_sums(scores, *, rng):
    n = len(scores)
    counts = np.array([np.count_nonzero(scores < t) / n for t in (0.2, 0.5, 0.8)])
    return np.cumsum(counts) * n + rng.laplace(0, 1, size=3)


def running_maximum(scores, *, rng):
    n, best, where = len(scores), -2000.0, -1
    for i, t in enumerate((0.2, 0.5, 0.8)):
        noisy = np.count_nonzero(scores < t) + n * rng.laplace(0, 2)
        if noisy > best:
            best, where = noisy, i
    return where


def shown_for_many(scores, *, rng):
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    noisy = counts + len(scores) * rng.laplace(0, 2, size=4)
    return np.where((counts > 0) & (noisy > 100), noisy, 0.0)


def loop_of_the_size(scores, *, rng):
    total = 0.0
    for _ in range(len(scores)):
        total += scores.sum() + rng.laplace(0, 100)
    return total


def mean_of_fewer(scores, *, rng):
    few = scores[scores < 0.5]
    return few.sum() / max(len(few), 1) + rng.laplace(0, 1 / len(scores))


def threshold_times_the_size(scores, *, rng):
    n, threshold = len(scores), rng.laplace(0, 2)
    for cut in np.linspace(0.1, 0.9, 30):
        if np.count_nonzero(scores <= cut) + rng.laplace(0, 8) > threshold:
            return 1
    above = np.count_nonzero(scores > 0.5) + rng.laplace(0, 8) > threshold * n
    return 2 if above else 3


def type_of_a_comparison(scores, *, rng):
    some = len(scores) * np.int64(1) > 0
    counted = sum([1 if s > 0.2 else some * 1 for s in scores])
    return counted + rng.laplace(0, 1)


def gumbel_of_two_scales(scores, *, rng):
    n, shares = len(scores), [np.mean(scores < t) for t in (0.2, 0.8)]
    return np.argmax([shares[0] + rng.gumbel(0, 2) * n / n, shares[1] + rng.gumbel(0, 2) / n])


ATTACKS = [
    (leaks_at_seven, dp.PureDP(1.0)),
    (exact_sum_at_seven, dp.PureDP(1.0)),
    (sum_by_small_noise, dp.PureDP(100.0)),
    (size_times_a_sum, dp.PureDP(100.0)),
    (size_times_a_mean_of_noise, dp.PureDP(100.0)),
    (entry_near_the_middle, dp.PureDP(100.0)),
    (noiseless_for_one, dp.PureDP(1.0)),
    (noiseless_for_small, dp.PureDP(1.0)),
    (small_noise_for_small, dp.PureDP(1.0)),
    (less_noise_for_many, dp.PureDP(2.0)),
    (mean_by_squared_size, dp.PureDP(100.0)),
    (mean_by_two_sizes, dp.PureDP(20.0)),
    (mean_over_more, dp.PureDP(1.0)),
    (mean_times_noise, dp.PureDP(1.9)),
    (gumbel_for_sums, dp.PureDP(1.0)),
    (exponential_of_sizes, dp.PureDP(1.0)),
    (by_a_mutable_default, dp.PureDP(1.0)),
    (negated_size, dp.PureDP(1.0)),
    (mixed_vector, dp.PureDP(100.0)),
    (share_or_sum, dp.PureDP(100.0)),
    (mean_and_sum_together, dp.PureDP(100.0)),
    (one_threshold_for_two, dp.PureDP(100.0)),
    (rounded_share, dp.PureDP(100.0)),
    (spread_of_partial_sums, dp.PureDP(2.9)),
    (running_maximum, dp.PureDP(0.1)),
    (shown_for_many, dp.ApproxDP(10.0, 1e-3)),
    (loop_of_the_size, dp.PureDP(1.0)),
    (mean_of_fewer, dp.PureDP(1.0)),
    (threshold_times_the_size, dp.PureDP(1.0)),
    (type_of_a_comparison, dp.PureDP(100.0)),
]
