"""Right mechanisms as people write them, each with its tight claim."""

import math
from dataclasses import dataclass

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp
from dpcp_audit.words.guarantees import Relation

CORRECT = Table("correct")


def add(function, family, claim=dp.PureDP(1.0), **rest):
    CORRECT.add(function, "right", claim, family=family, **rest)


def count(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)


add(count, "count")


def count_by_sum(scores, *, rng):
    return sum(1 for s in scores if 0.2 <= s <= 0.8) + rng.laplace(scale=1.0)


add(count_by_sum, "count")


def count_by_loop(scores, *, rng):
    total = 0
    for s in scores:
        if s > 0.5:
            total += 1
    return total + rng.laplace(0.0, 1.0)


add(count_by_loop, "count")


def count_geometric(scores, *, rng):
    p = 1 - math.exp(-1.0)
    return np.count_nonzero(scores > 0.5) + rng.geometric(p) - rng.geometric(p)


add(count_geometric, "count")


def count_rounded(scores, *, rng):
    return round(np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0))


add(count_rounded, "count")


def count_whole_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + round(rng.laplace(0.0, 1.0))


add(count_whole_noise, "count")


def count_at_least_zero(scores, *, rng):
    return max(0.0, (scores > 0.5).sum() + rng.laplace(0.0, 1.0))


add(count_at_least_zero, "count")


def mean(scores, *, rng):
    return scores.mean() + rng.laplace(0.0, 1 / len(scores))


add(mean, "sum")


def clipped_mean(scores, *, rng):
    low, high = 0.1, 0.6
    return np.clip(scores, low, high).mean() + rng.laplace(0.0, (high - low) / scores.size)


add(clipped_mean, "sum")


def total(scores, *, rng):
    return rng.laplace(loc=np.sum(scores), scale=1.0)


add(total, "sum")


def total_gaussian(scores, *, rng):
    return scores.sum() + rng.normal(0.0, 1.0)


add(total_gaussian, "sum", dp.ZCDP(0.5))


def total_mu(scores, *, rng):
    return scores.sum() + 2 * rng.standard_normal()


add(total_mu, "sum", dp.GaussianDP(0.5))


def total_scaled_noise(scores, *, rng):
    return scores.sum() + 2.0 * rng.laplace(0.0, 0.5)


add(total_scaled_noise, "sum")


def sum_and_squares(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, 2.0), (scores**2).sum() + rng.laplace(0.0, 2.0)


add(sum_and_squares, "sum")


def histogram(scores, *, rng):
    counts, _ = np.histogram(scores, bins=10, range=(0, 1))
    return counts + rng.laplace(0.0, 2.0, size=10)


add(histogram, "histogram")


def histogram_add_remove(scores, *, rng):
    counts, _ = np.histogram(scores, bins=10, range=(0, 1))
    return counts + rng.laplace(0.0, 1.0, size=counts.shape)


add(histogram_add_remove, "histogram", neighbours=Relation.ADD_REMOVE)


def histogram_gaussian(scores, *, rng):
    counts, _ = np.histogram(scores, bins=10, range=(0, 1))
    return counts + rng.normal(0.0, math.sqrt(2), size=10)


add(histogram_gaussian, "histogram", dp.ZCDP(0.5))


def histogram_loop(scores, *, rng):
    counts = np.zeros(4)
    for s in scores:
        counts[min(3, int(4 * s))] += 1
    return counts + rng.laplace(0.0, 2.0, size=4)


add(histogram_loop, "histogram")


def histogram_bincount(scores, *, rng):
    bins = np.minimum(3, (4 * scores).astype(int))
    return np.bincount(bins, minlength=4) + rng.laplace(0.0, 2.0, size=4)


add(histogram_bincount, "histogram")


def histogram_quantile(scores, *, rng):
    counts, edges = np.histogram(scores, bins=10, range=(0, 1))
    noisy = np.maximum(0, counts + rng.laplace(0.0, 2.0, size=10))
    k = np.searchsorted(np.cumsum(noisy), 0.9 * noisy.sum())
    return edges[min(k + 1, 10)]


add(histogram_quantile, "histogram")


def histogram_shares(scores, *, rng):
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    noisy = np.maximum(1e-3, counts + rng.laplace(0.0, 2.0, size=4))
    return noisy / noisy.sum()


add(histogram_shares, "histogram")


def pcoqs_for(scores, *, rng):
    low, high, rounds = 0.0, 1.0, 10
    for _ in range(rounds):
        middle = (low + high) / 2
        if np.count_nonzero(scores <= middle) + rng.normal(0.0, math.sqrt(rounds)) < 19:
            low = middle
        else:
            high = middle
    return high


add(pcoqs_for, "p-coqs", dp.ZCDP(0.5))


def pcoqs_while(scores, *, rng):
    low, high, done = 0.0, 1.0, 0
    while done < 8:
        middle = low + (high - low) / 2
        noisy = (scores <= middle).sum() + rng.normal(scale=8**0.5)
        low, high = (middle, high) if noisy < 18 else (low, middle)
        done += 1
    return (low + high) / 2


add(pcoqs_while, "p-coqs", dp.ZCDP(0.5))


def pcoqs_comprehension(scores, *, rng):
    a, b = 0.0, 1.0
    for _ in range(10):
        c = (a + b) / 2
        inside = sum(1 for s in scores if 0.0 <= s <= c)
        if inside + rng.normal(0, 1 / np.sqrt(2 * 0.05)) >= 18:
            b = c
        else:
            a = c
    return b


add(pcoqs_comprehension, "p-coqs", dp.ZCDP(0.5))


def pcoqs_laplace(scores, *, rng):
    bounds = [0.0, 1.0]
    for _ in range(5):
        middle = sum(bounds) / 2
        bounds[int(np.mean(scores <= middle) + rng.laplace(0.0, 5 / len(scores)) >= 0.9)] = middle
    return bounds[1]


add(pcoqs_laplace, "p-coqs")


class Calibrator:
    def __init__(self, rho):
        self.rho = rho
        self.threshold = 1.0

    def fit(self, scores, rng):
        low, high = 0.0, 1.0
        for _ in range(6):
            middle = (low + high) / 2
            noisy = np.count_nonzero(scores <= middle) + rng.normal(
                0, math.sqrt(6 / (2 * self.rho))
            )
            if noisy < 18:
                low = middle
            else:
                high = middle
        self.threshold = high
        return self

    def predict_set(self, points):
        return [p <= self.threshold for p in points]


def calibrator(scores, *, rng):
    return Calibrator(0.5).fit(scores, rng).predict_set([0.2, 0.5, 0.8])


add(calibrator, "p-coqs", dp.ZCDP(0.5))


def noisy_max_laplace(scores, *, rng):
    counts = [np.count_nonzero(scores <= t) for t in (0.2, 0.4, 0.6)]
    return int(np.argmax(np.array(counts) + rng.laplace(0.0, 2.0, size=3)))


add(noisy_max_laplace, "selection")


def peak_of_shown_counts(scores, *, rng):
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    noisy = counts + rng.laplace(0.0, 2.0, size=4)
    share = np.maximum(noisy, 0.0) / max(noisy.sum(), 1.0)
    return share, int(np.argmax(noisy))


add(peak_of_shown_counts, "selection")


def noisy_max_exponential(scores, *, rng):
    u = np.array([-abs(np.count_nonzero(scores <= t) - 10) for t in (0.2, 0.4, 0.6)])
    return int(np.argmax(u + rng.exponential(2.0, size=3)))


add(noisy_max_exponential, "selection")


def noisy_max_gumbel(scores, *, rng):
    u = np.array([-abs(np.count_nonzero(scores <= t) - 10) for t in (0.2, 0.4, 0.6)])
    return np.argmax(u + rng.gumbel(0.0, 2.0, size=3))


add(noisy_max_gumbel, "selection")


def exponential_grid(scores, *, rng):
    grid = np.linspace(0, 1, 11)
    u = -np.abs(np.array([np.count_nonzero(scores <= t) for t in grid]) - 18)
    w = np.exp(0.5 * (u - u.max()))
    return rng.choice(grid, p=w / w.sum())


add(exponential_grid, "selection")


def sparse_vector(scores, *, rng):
    t = 10 + rng.laplace(0.0, 2.0)
    for i, x in enumerate((0.2, 0.4, 0.6, 0.8)):
        if np.count_nonzero(scores <= x) + rng.laplace(0.0, 4.0) >= t:
            return i
    return None


add(sparse_vector, "sparse vector")


def sparse_vector_flags(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    out = []
    for x in (0.2, 0.4, 0.6, 0.8):
        above = (scores <= x).sum() + rng.laplace(scale=4.0) >= t
        out.append(bool(above))
        if above:
            break
    return out


add(sparse_vector_flags, "sparse vector")


def sparse_vector_two(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    out, found, i = [], 0, 0
    while found < 2 and i < 5:
        if np.count_nonzero(scores <= i / 5) + rng.laplace(scale=8.0) >= t:
            out.append(True)
            found += 1
        else:
            out.append(False)
        i += 1
    return out


add(sparse_vector_two, "sparse vector")


def sparse_vector_numeric(scores, *, rng):
    t = 10 + rng.laplace(scale=4.0)
    for x in (0.2, 0.4, 0.6, 0.8):
        if np.count_nonzero(scores <= x) + rng.laplace(scale=8.0) >= t:
            return x, np.count_nonzero(scores <= x) + rng.laplace(scale=2.0)
    return None


add(sparse_vector_numeric, "sparse vector")


def sparse_vector_padded(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    out, found = [], 0
    for x in (0.2, 0.4, 0.6, 0.8):
        if np.count_nonzero(scores <= x) + rng.laplace(scale=8.0) >= t:
            out.append(1.0)
            found += 1
            if found == 2:
                break
        else:
            out.append(0.0)
    return np.array(out + [-1.0] * (4 - len(out)))


add(sparse_vector_padded, "sparse vector")


def partial_sums(scores, *, rng):
    parts = [scores[i : i + 5].sum() + rng.laplace(0.0, 1.0) for i in range(0, 20, 5)]
    return np.cumsum(parts)


add(partial_sums, "tree")


def tree(scores, *, rng):
    leaves = [scores[5 * i : 5 * i + 5].sum() for i in range(4)]
    pairs = [leaves[0] + leaves[1], leaves[2] + leaves[3]]
    return [v + rng.laplace(0.0, 3.0) for v in (*leaves, *pairs, sum(leaves))]


add(tree, "tree")


def randomised_response(scores, *, rng):
    keep = math.e / (1 + math.e)
    return [int(s > 0.5) if rng.random() < keep else 1 - int(s > 0.5) for s in scores]


add(randomised_response, "local")


def local_laplace(scores, *, rng):
    return scores + rng.laplace(0.0, 1.0, size=len(scores))


add(local_laplace, "local")


def gradient_descent(scores, *, rng):
    w, steps = 0.0, 4
    for _ in range(steps):
        gradient = np.clip(w - scores, -1, 1).sum() + rng.normal(0.0, 2.0 * math.sqrt(steps))
        w = w - 0.1 * gradient / len(scores)
    return w


add(gradient_descent, "training", dp.ZCDP(0.5))


def sgd_step(scores, *, rng):
    gradients = np.outer(scores, [1.0, 2.0])
    norms = np.maximum(1.0, np.linalg.norm(gradients, axis=1))
    return (gradients / norms[:, None]).sum(axis=0) + rng.normal(0.0, 2.0, size=2)


add(sgd_step, "training", dp.ZCDP(0.5))


@dataclass
class Budget:
    epsilon: float

    def scale(self, sensitivity):
        return sensitivity / self.epsilon


def with_dataclass(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Budget(1.0).scale(1.0))


add(with_dataclass, "python")


def with_closure(scores, *, rng):
    def release(value, epsilon):
        return value + rng.laplace(0.0, 1 / epsilon)

    return release(scores.sum(), 0.5), release(np.count_nonzero(scores > 0.5), 0.5)


add(with_closure, "python")


def with_lambda(scores, *, rng):
    noisy = lambda v: v + rng.laplace(0.0, 1.0)
    return noisy(scores.sum())


add(with_lambda, "python")


def with_format(scores, *, rng):
    return f"about {scores.sum() + rng.laplace(0.0, 1.0):.1f}"


add(with_format, "python")


def with_dictionary(scores, *, rng):
    return {t: np.count_nonzero(scores > t) + rng.laplace(0.0, 3.0) for t in (0.2, 0.5, 0.8)}


add(with_dictionary, "python")
