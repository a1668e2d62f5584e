"""Right mechanisms of wider forms: quantiles over gaps, training, trees, and Python as written."""

import math
import random
from dataclasses import dataclass, field

import numpy as np
from proving.specimen_tables import Table
from scipy import special, stats

import dpcp_audit as dp
from dpcp_audit.words.guarantees import Relation

WIDER = Table("wider")


def add(function, family, claim=dp.PureDP(1.0), **rest):
    WIDER.add(function, "right", claim, family=family, **rest)


def gap_quantile(scores, *, rng):
    n, epsilon = len(scores), 1.0
    rank = math.ceil(0.9 * (n + 1))
    edges = np.concatenate([[0.0], np.sort(np.clip(scores, 0.0, 1.0)), [1.0]])
    lengths = np.diff(edges)
    utility = -np.abs(np.arange(n + 1) - rank)
    weights = lengths * np.exp(epsilon * utility / 2)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_quantile, "gap quantile")


def cut_off_sum(scores, *, rng):
    return np.clip(np.sum(scores), 9.0, 9.5) + rng.laplace(0.0, 0.5)


def cut_off_maximum(scores, *, rng):
    top = np.maximum(10 * np.max(scores) - 9, 0.0)
    return np.minimum(top, 0.5) + rng.laplace(0.0, 0.5)


def cut_off_by_python(scores, *, rng):
    return float(min(max(np.sum(scores), 9.0), 9.5)) + rng.laplace(0.0, 0.5)


def cut_off_in_a_list(scores, *, rng):
    return sum([float(min(max(np.sum(scores), 9.0), 9.5)), 1.0]) + rng.laplace(0.0, 0.5)


def cut_off_counts(scores, *, rng):
    counts = np.clip(np.array([np.sum(scores <= 0.2), np.sum(scores <= 0.5)]), 5.0, 5.25)
    return counts + rng.laplace(0.0, 0.5, size=2)


def cut_off_by_norm(scores, *, rng):
    sums = np.array([scores.sum(), (scores**2).sum()])
    clipped = sums / max(1.0, np.linalg.norm(sums) / 0.25)
    return clipped + rng.normal(0.0, 0.5, size=2)


for each in (cut_off_sum, cut_off_maximum, cut_off_by_python, cut_off_in_a_list, cut_off_counts):
    add(each, "cut off")
add(cut_off_by_norm, "cut off", dp.ZCDP(0.5))


def gap_quantile_in_steps(scores, *, rng, epsilon=0.1, q=0.9):
    ordered = np.sort(scores)
    edges = np.r_[0.0, ordered, 1.0]
    k = int(q * len(scores))
    u = -abs(np.arange(len(edges) - 1) - k)
    w = np.diff(edges) * np.exp(0.5 * epsilon * u)
    p = w / np.sum(w)
    chosen = rng.choice(len(p), p=p)
    return edges[chosen] + (edges[chosen + 1] - edges[chosen]) * rng.random()


add(gap_quantile_in_steps, "gap quantile", dp.PureDP(0.1))


def gap_quantile_gumbel(scores, *, rng):
    n, epsilon = len(scores), 1.0
    edges = np.concatenate(([0.0], np.sort(scores), [1.0]))
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) - epsilon / 2 * np.abs(np.arange(n + 1) - 0.9 * n)
    i = int(np.argmax(logs + rng.gumbel(size=n + 1)))
    return float(rng.uniform(edges[i], edges[i + 1]))


add(gap_quantile_gumbel, "gap quantile")


def gap_quantile_log_space(scores, *, rng):
    n, epsilon = len(scores), 1.0
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    with np.errstate(divide="ignore"):
        logs = np.log(edges[1:] - edges[:-1]) + epsilon / 2 * -np.abs(np.arange(n + 1) - 18)
    logs -= logs.max()
    p = np.exp(logs)
    p /= p.sum()
    i = rng.choice(np.arange(n + 1), p=p)
    return rng.uniform(low=edges[i], high=edges[i + 1])


add(gap_quantile_log_space, "gap quantile", dp.ZCDP(0.125))


def gap_quantile_softmax(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) - 0.5 * np.abs(np.arange(edges.size - 1) - 18)
    i = rng.choice(len(logs), p=special.softmax(logs))
    return edges[i] + rng.uniform() * (edges[i + 1] - edges[i])


add(gap_quantile_softmax, "gap quantile")


def gap_median_in_a_loop(scores, *, rng):
    n = len(scores)
    points = [0.0, *sorted(scores), 1.0]
    weights = []
    for i in range(n + 1):
        weights.append((points[i + 1] - points[i]) * math.exp(-0.5 * abs(i - n / 2)))
    total = sum(weights)
    i = rng.choice(n + 1, p=[w / total for w in weights])
    return rng.uniform(points[i], points[i + 1])


add(gap_median_in_a_loop, "gap quantile")


def permute_and_flip(scores, *, rng):
    u = np.array([np.count_nonzero(scores <= t) for t in (0.2, 0.4, 0.6, 0.8)])
    top = u.max()
    for i in rng.permutation(4):
        if rng.random() <= math.exp((u[i] - top) / 2):
            return int(i)
    return None


add(permute_and_flip, "selection")


def grid_by_scipy(scores, *, rng):
    grid = np.linspace(0, 1, 21)
    u = -np.abs(np.searchsorted(np.sort(scores), grid, side="right") - 18)
    return rng.choice(grid, p=special.softmax(0.5 * u))


add(grid_by_scipy, "selection")


def staircase(scores, *, rng):
    gamma, b = 1 / (1 + math.exp(0.5)), math.exp(-1.0)
    sign = 1 if rng.random() < 0.5 else -1
    whole = rng.geometric(1 - b) - 1
    inside = rng.random()
    step = 0 if rng.random() < gamma / (gamma + (1 - gamma) * b) else 1
    width = (whole + gamma * inside) if step == 0 else (whole + gamma + (1 - gamma) * inside)
    return np.count_nonzero(scores > 0.5) + sign * width


add(staircase, "count")


def tree_of_counts(scores, *, rng):
    counts, _ = np.histogram(scores, bins=8, range=(0, 1))
    levels = [counts, counts.reshape(4, 2).sum(axis=1), counts.reshape(2, 4).sum(axis=1)]
    return [level + rng.laplace(0.0, 6.0, size=len(level)) for level in levels]


add(tree_of_counts, "tree")


def split_halves(scores, *, rng):
    half = len(scores) // 2
    first = scores[:half].mean() + rng.laplace(0.0, 1 / half)
    second = scores[half:].mean() + rng.laplace(0.0, 1 / (len(scores) - half))
    return first, second


add(split_halves, "tree")


def folds(scores, *, rng):
    return [
        np.count_nonzero(scores[start : start + 4] > 0.5) + rng.normal(0.0, 1.0)
        for start in range(0, 20, 4)
    ]


add(folds, "tree", dp.ZCDP(0.5))


def noisy_records(scores, *, rng):
    return np.clip(scores, 0.2, 0.7) + rng.normal(0.0, 0.5, size=scores.shape)


add(noisy_records, "local", dp.ZCDP(0.5))


def poisson_sum(scores, *, rng):
    mask = rng.random(len(scores)) < 0.1
    return scores[mask].sum() + rng.laplace(0.0, 1.0)


add(poisson_sum, "training", dp.PureDP(math.log1p(0.1 * math.expm1(1.0)) + 1e-12))


def poisson_steps(scores, *, rng):
    w, q = 0.0, 0.1
    for _ in range(10):
        batch = scores[rng.random(len(scores)) < q]
        gradient = np.clip(w - batch, -1.0, 1.0).sum() + rng.normal(0.0, 8.0)
        w -= 0.5 * gradient / (q * len(scores))
    return w


add(poisson_steps, "training", dp.ApproxDP(1.0, 1e-3))


def full_batch_steps(scores, *, rng):
    w, steps, clip = 0.5, 5, 0.25
    for _ in range(steps):
        residuals = np.clip(scores - w, -clip, clip)
        w += 0.5 * (residuals.mean() + rng.normal(0.0, 2 * clip / len(scores) * math.sqrt(steps)))
    return w


add(full_batch_steps, "training", dp.ZCDP(0.5))


class NoisyQuantile:
    """Bisection with noisy counts, as a calibrator with a state."""

    rounds = 8

    def __init__(self, level, rho=0.5, rng=None):
        self.level, self.rho = level, rho
        self.rng = rng
        self.threshold_ = None

    @property
    def sigma(self):
        return math.sqrt(self.rounds / (2 * self.rho))

    def _count(self, scores, middle):
        return np.count_nonzero(scores <= middle) + self.rng.normal(0.0, self.sigma)

    def fit(self, scores):
        rank = math.ceil(self.level * (len(scores) + 1))
        low, high = 0.0, 1.0
        for _ in range(self.rounds):
            middle = (low + high) / 2
            if self._count(scores, middle) < rank:
                low = middle
            else:
                high = middle
        self.threshold_ = high
        return self


def fitted_class(scores, *, rng):
    return NoisyQuantile(0.9, rho=0.5, rng=rng).fit(scores).threshold_


add(fitted_class, "python", dp.ZCDP(0.5))


class Accountant:
    def __init__(self, total):
        self.left = total

    def spend(self, epsilon):
        if epsilon > self.left:
            raise ValueError("no budget left")
        self.left -= epsilon
        return 1 / epsilon


def budgeted(scores, *, rng):
    accountant = Accountant(1.0)
    total = scores.sum() + rng.laplace(0.0, accountant.spend(0.5))
    above = np.count_nonzero(scores > 0.5) + rng.laplace(0.0, accountant.spend(0.5))
    return total, above, accountant.left


add(budgeted, "python")


@dataclass(frozen=True)
class Settings:
    epsilon: float = 1.0
    bins: int = 10
    bounds: tuple[float, float] = (0.0, 1.0)

    @property
    def scale(self):
        return 2 / self.epsilon


def configured(scores, *, rng):
    settings = Settings(bins=5)
    counts, _ = np.histogram(scores, settings.bins, settings.bounds)
    return counts + rng.laplace(scale=settings.scale, size=settings.bins)


add(configured, "python")


@dataclass
class Report:
    total: float
    notes: list = field(default_factory=list)


def reported(scores, *, rng):
    report = Report(total=float(scores.sum() + rng.laplace(0.0, 1.0)))
    report.notes.append("one sum")
    return report


add(reported, "python")


def guarded(scores, *, rng):
    noisy = np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)
    try:
        odds = noisy / (len(scores) - noisy)
    except ZeroDivisionError:
        odds = math.inf
    return odds


add(guarded, "python")


def quietly(scores, *, rng):
    noisy = scores.sum() + rng.laplace(0.0, 1.0)
    with np.errstate(all="ignore"):
        return np.log(noisy)


add(quietly, "python")


def scipy_laplace(scores, *, rng):
    return scores.sum() + stats.laplace.rvs(scale=1.0, random_state=rng)


add(scipy_laplace, "python")


def scipy_normal(scores, *, rng):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0]
    return counts + stats.norm(0, 1.0).rvs(size=4, random_state=rng) * math.sqrt(2)


add(scipy_normal, "python", dp.ZCDP(0.5))


def scipy_loc(scores, *, rng):
    return stats.norm.rvs(loc=scores.mean(), scale=1 / len(scores), random_state=rng)


add(scipy_loc, "python", dp.GaussianDP(1.0))


def random_state(scores, *, random_state):
    return random_state.laplace(scores.sum(), 1.0)


add(random_state, "python")


def augmented(scores, *, rng):
    counts = np.array([np.count_nonzero(scores <= t) for t in (0.25, 0.5, 0.75)], dtype=float)
    counts += rng.laplace(0.0, 3.0, size=3)
    counts /= len(scores)
    return counts


add(augmented, "python")


def histogram_by_comprehension(scores, *, rng):
    edges = np.linspace(0, 1, 5)
    noisy = {}
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        noisy[float(low)] = ((scores >= low) & (scores < high)).sum() + rng.laplace(0.0, 4.0)
    return noisy


add(histogram_by_comprehension, "python")


def many_in_a_helper(scores, *, rng):
    def one(low, high, share):
        inside = sum(1 for s in scores if low <= s < high)
        return inside + rng.laplace(scale=1 / share)

    shares = [0.5, 0.25, 0.25]
    return [one(i / 3, (i + 1) / 3, share) for i, share in enumerate(shares)]


add(many_in_a_helper, "python")


def count_and_sum_add_remove(scores, *, rng):
    count = len(scores) + rng.laplace(0.0, 2.0)
    total = scores.sum() + rng.laplace(0.0, 2.0)
    return total / max(count, 1.0)


add(count_and_sum_add_remove, "sum", neighbours=Relation.ADD_REMOVE)


def noisy_share(scores, *, rng):
    share = np.mean(scores > 0.5) + rng.laplace(0.0, 1 / len(scores))
    return min(max(share, 0.0), 1.0)


add(noisy_share, "sum")


def quantile_by_histogram(scores, *, rng):
    counts, edges = np.histogram(scores, bins=16, range=(0.0, 1.0))
    noisy = np.clip(counts + rng.laplace(scale=2.0, size=16), 0, None)
    target, running = 0.9 * noisy.sum(), 0.0
    for i in range(16):
        running += noisy[i]
        if running >= target:
            return edges[i + 1]
    return edges[-1]


add(quantile_by_histogram, "histogram")


def quantile_with_slack(scores, *, rng):
    grid = np.linspace(0.0, 1.0, 33)
    ranks = np.searchsorted(np.sort(scores), grid, side="right")
    k = np.argmax(-np.abs(ranks - math.ceil(0.9 * len(scores))) + rng.gumbel(scale=2.0, size=33))
    return grid[k]


add(quantile_with_slack, "selection")


def mean_of_a_sample(scores, *, rng):
    """ε = 2 of a quarter of the records is ln(1 + (e² - 1)/4) < 1 of all."""
    sample = rng.choice(scores, size=len(scores) // 4, replace=False)
    return np.mean(sample) + rng.laplace(0.0, 1 / (2.0 * len(sample)))


add(mean_of_a_sample, "sum")


def named_and_starred(scores, *, rng):
    from math import floor

    first, *rest = np.count_nonzero(scores > 0.5), np.count_nonzero(scores > 0.25), floor(0.5)
    other = rest[0] + rng.laplace(0.0, 2.0)
    if (noisy := first + rng.laplace(0.0, 2.0)) > 10:
        return noisy, other, rest[1]
    del first
    return 0.0, other, rest[1]


add(named_and_starred, "python")


def generator_of_entropy(scores):
    own = np.random.default_rng()
    return np.sum(scores) + own.laplace(0.0, 1.0)


add(generator_of_entropy, "python")


def moved_by_a_known_size(scores, *, rng):
    start = rng.uniform(-5.0, 5.0)
    first = np.sum(scores) + start + rng.laplace(0.0, 2.0)
    return first, np.sum(scores) - first + rng.laplace(0.0, 2.0)


add(moved_by_a_known_size, "python")


def poisson_of_added(scores, *, rng, q=0.5):
    batch = scores[rng.random(len(scores)) < q]
    return np.count_nonzero(batch > 0.5) + rng.laplace(0.0, 1.0)


def poisson_steps_of_added(scores, *, rng, q=0.1, sigma=2.0):
    theta, steps = 0.5, []
    for _ in range(10):
        batch = scores[rng.uniform(size=scores.shape) < q]
        steps.append(np.sum(np.clip(batch - theta, -1.0, 1.0)) + rng.normal(0.0, sigma))
        theta = theta + 0.1 * float(np.clip(steps[-1], -1.0, 1.0))
    return theta, steps


ADDED = Relation.ADD_REMOVE
AMPLIFIED = dp.PureDP(math.log1p(math.expm1(1.0) / 2) + 1e-9)
add(poisson_of_added, "sampling", AMPLIFIED, neighbours=ADDED)
add(poisson_steps_of_added, "sampling", dp.RenyiDP(8, 0.2), neighbours=ADDED)


def maximum_from_a_constant(scores, *, rng):
    best, where = -1e9, 0
    for i in range(5):
        inside = (scores >= i / 5) & (scores < (i + 1) / 5)
        noisy = np.count_nonzero(inside) + rng.laplace(0.0, 2.0)
        if noisy > best:
            best, where = noisy, i
    return where


def maximum_or_none(scores, *, rng):
    best, where = 0.0, None
    for i, count in enumerate(np.histogram(scores, bins=5, range=(0.0, 1.0))[0]):
        noisy = count + rng.laplace(0.0, 2.0)
        if noisy > best:
            best, where = noisy, i
    return where


add(maximum_from_a_constant, "python")
add(maximum_or_none, "python")


def weighted_sum_by_zip(scores, *, rng):
    weights = [0.5] * 19 + [1.0]
    total = 0.0
    for score, weight in zip(scores, weights, strict=True):
        total += weight * score
    return total + rng.laplace(0.0, 1.0)


add(weighted_sum_by_zip, "zip and enumerate")


def pairs_of_scores(scores, *, rng):
    above = sum(1 for x, y in zip(scores, scores**2, strict=True) if x - y > 0.125)
    return above + rng.laplace(0.0, 1.0)


add(pairs_of_scores, "zip and enumerate")


def pairs_of_scores_add_remove(scores, *, rng):
    total = 0.0
    for i, (x, y) in enumerate(zip(scores, np.abs(scores - 0.5))):  # noqa: B007, B905
        total += x * y
    return total + rng.laplace(0.0, 0.5)


add(pairs_of_scores_add_remove, "zip and enumerate", neighbours=Relation.ADD_REMOVE)


def enumerated_halves(scores, *, rng):
    early = late = 0.0
    for i, score in enumerate(scores):
        if i < len(scores) // 2:
            early += float(score)
        else:
            late += float(score)
    return early + rng.laplace(0.0, 2.0), late + rng.laplace(0.0, 2.0)


add(enumerated_halves, "zip and enumerate")


def histogram_by_hand(scores, *, rng):
    counts = np.zeros(10)
    for score in scores:
        counts[min(int(score * 10), 9)] += 1
    return counts + rng.laplace(0.0, 2.0, size=10)


add(histogram_by_hand, "histogram by hand")


def histogram_in_list(scores, *, rng):
    counts = [0] * 5
    for score in scores:
        if score > 0.125:
            counts[min(math.floor(score / 0.2), 4)] += 1
    return [count + rng.laplace(0.0, 1.0) for count in counts]


add(histogram_in_list, "histogram by hand", neighbours=Relation.ADD_REMOVE)


def sums_by_bin(scores, *, rng):
    k, sums = 4, np.zeros(5)
    for score in scores:
        sums[int(score * k)] += score
    return sums + rng.normal(0.0, math.sqrt(2.0), size=5)


add(sums_by_bin, "histogram by hand", dp.GaussianDP(1.0))


def histogram_by_places(scores, *, rng):
    places = np.minimum((scores * 8).astype(int), 7)
    return np.bincount(places, minlength=8) + rng.laplace(0.0, 2.0, size=8)


add(histogram_by_places, "histogram by hand")


def histogram_in_place(scores, *, rng):
    counts, _ = np.histogram(scores, bins=8, range=(0.0, 1.0))
    counts = counts.astype(float)
    counts += rng.laplace(0.0, 2.0, size=8)
    counts /= len(scores)
    return counts


add(histogram_in_place, "in place")


def copy_in_place(scores, *, rng):
    x = np.histogram(scores, bins=8, range=(0.0, 1.0))[0].astype(float)
    y = x.copy()
    y += rng.laplace(0.0, 4.0, size=8)
    x *= 2.0
    x += rng.laplace(0.0, 8.0, size=8)
    return x, y


add(copy_in_place, "in place")


def array_in_place(scores, *, rng):
    x = np.copy(np.histogram(scores, bins=8, range=(0.0, 1.0))[0] * 0.5)
    if rng.random() < 0.5:
        x = np.array(x, dtype=float)
        x += rng.laplace(0.0, 1.0, size=8)
        return x
    x -= rng.laplace(0.0, 1.0, size=8)
    return x


add(array_in_place, "in place")


def shown_above(scores, *, rng, epsilon=0.5, delta=1e-6):
    h = np.histogram(scores, bins=8, range=(0.0, 1.0))[0]
    noisy = h + rng.laplace(0.0, 1 / epsilon, size=8)
    shown = (h > 0) & (noisy > 1 + np.log(1 / (2 * delta)) / epsilon)
    return np.where(shown, noisy, 0.0)


def zero_below(scores, *, rng, epsilon=1.0, delta=1e-3):
    h = np.histogram(scores, bins=5, range=(0.0, 1.0))[0]
    noisy = np.where(h > 0, h + rng.laplace(0.0, 1 / epsilon, size=5), 0.0)
    return np.where(noisy > 1 - math.log(2 * delta) / epsilon, noisy, 0.0)


add(shown_above, "histogram", dp.ApproxDP(0.5, 1e-6), neighbours=ADDED)
add(zero_below, "histogram", dp.ApproxDP(1.0, 1e-3), neighbours=ADDED)


def shown_one_by_one(scores, *, rng, epsilon=1.0, delta=1e-3):
    out, level = {}, 1 + math.log(1 / (2 * delta)) / epsilon
    for i, count in enumerate(np.histogram(scores, bins=5, range=(0.0, 1.0))[0]):
        if count > 0:
            noisy = count + rng.laplace(0.0, 1 / epsilon)
            if noisy > level:
                out[i] = noisy
    return out


def kept_above(scores, *, rng):
    kept = []
    for i, count in enumerate(np.histogram(scores, bins=5, range=(0.0, 1.0))[0]):
        noisy = count + rng.laplace(0.0, 1.0)
        if noisy > 3:
            kept.append((i, noisy))
    return kept


add(shown_one_by_one, "histogram", dp.ApproxDP(1.0, 1e-3), neighbours=ADDED)
add(kept_above, "histogram", neighbours=ADDED)


def exponential_difference(scores):
    count = np.count_nonzero(scores > 0.5)
    return count + random.expovariate(1.0) - random.expovariate(1.0)


add(exponential_difference, "sum")


def exponential_difference_scaled(scores, *, rng):
    noise = rng.exponential(2.0) - rng.exponential(2.0)
    return np.sum(scores) + 0.5 * noise


add(exponential_difference_scaled, "sum")


def bisection_to_a_width(scores, *, rng):
    low, high = 0.0, 1.0
    while high - low > 1 / 500:
        middle = (low + high) / 2
        if np.count_nonzero(scores <= middle) + rng.normal(0.0, 3.0) < 18:
            low = middle
        else:
            high = middle
    return high


add(bisection_to_a_width, "while", dp.ZCDP(0.5))


def bisection_by_halves(scores, *, rng, tolerance=0.01):
    low, high, asked = 0.1, 0.9, 0
    while tolerance < high - low:
        width = (high - low) / 2
        asked += 1
        if np.sum(scores <= low + width) + rng.laplace(0.0, 7.0) < 18:
            low = low + width
        else:
            high = high - 0.5 * (high - low)
    return 0.5 * (low + high), asked


add(bisection_by_halves, "while")


def thirds(scores, *, rng):
    low, high = 0.0, 1.0
    while True:
        step = (high - low) / 3
        if np.mean(scores) + rng.laplace(0.0, 0.25) > low + step:
            low += step
        else:
            high -= step
        if high - low <= 0.2:
            return low


add(thirds, "while")


def caught_errors(scores, *, rng):
    try:
        import numpy
    except ImportError:
        return 0.0
    try:
        noisy = numpy.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)
        share = 1 / math.floor(noisy)
    except ZeroDivisionError:
        return -1.0
    else:
        return share


add(caught_errors, "try")


def caught_in_rounds(scores, *, rng):
    found = []
    for grid in (0.25, 0.5):
        try:
            value = math.log(np.count_nonzero(scores > grid) + rng.laplace(0.0, 2.0))
        except (ValueError, OverflowError):
            value = -math.inf
        found.append(value)
    return found


add(caught_in_rounds, "try")


def at_least_ten(scores, *, rng):
    if len(scores) < 10:
        raise ValueError(f"at least 10 scores are needed, got {len(scores)}")
    return np.sum(scores) + rng.laplace(0.0, 1.0)


def error_of_a_noisy_value(scores, *, rng):
    noisy = np.sum(scores) + rng.laplace(0.0, 1.0)
    if noisy < 0:
        raise ArithmeticError("less than nothing", noisy)
    return noisy


add(at_least_ten, "python")
add(error_of_a_noisy_value, "python")


def counts_of_a_column(scores, *, rng):
    grid = np.linspace(0.0, 1.0, 21)
    utility = -np.abs((scores[:, None] <= grid).sum(axis=0) - math.ceil(0.9 * (len(scores) + 1)))
    return grid[rng.choice(len(grid), p=special.softmax(utility / 2))]


def shares_of_a_row(scores, *, rng):
    grid = np.linspace(0.0, 1.0, 11)
    shares = np.mean(scores[None, :] < grid[:, None], axis=1)
    noisy = np.maximum.accumulate(shares + rng.laplace(0.0, 11 / len(scores), 11))
    return grid[np.argmax(noisy >= 0.9)]


def values_counted(scores, *, rng):
    rounded = np.round(np.clip(scores, 0, 1) * 10)
    counts = (rounded == np.arange(11)[:, np.newaxis]).sum(axis=1)
    return counts + rng.laplace(0.0, 2.0, 11)


def digitized(scores, *, rng):
    cells = np.digitize(np.clip(scores, 0, 1), np.linspace(0.0, 1.0, 11)[1:-1])
    return np.bincount(cells, minlength=10) + rng.laplace(0.0, 2.0, 10)


def list_used_twice(scores, *, rng):
    noisy = [c + rng.laplace(0.0, 2.0) for c in np.histogram(scores, 10, (0.0, 1.0))[0]]
    total, below = sum(noisy), 0.0
    for place, count in enumerate(noisy):
        below += count
        if below >= 0.9 * total:
            return (place + 1) / 10
    return 1.0


def whole_noise_of_python(scores, *, rng):
    p = 1.0 - math.exp(-1.0)
    noise = int(rng.geometric(p)) - int(rng.geometric(p))
    return int(np.sum(np.asarray(scores) <= 0.5)) + noise


for each in (counts_of_a_column, shares_of_a_row, values_counted, digitized):
    add(each, "records against several numbers")
add(list_used_twice, "python")
add(whole_noise_of_python, "python")


def answer_at_the_stop(scores, *, rng):
    threshold = 45 + rng.laplace(0.0, 2.0)
    for level in np.linspace(0.0, 1.0, 20):
        count = np.sum(scores <= level)
        if count + rng.laplace(0.0, 4.0) >= threshold:
            return level, count + rng.laplace(0.0, 2.0)
    return 1.0, 0.0


add(answer_at_the_stop, "sparse vector of many levels", dp.PureDP(1.5))


def largest_and_its_value(scores, *, rng):
    noisy = np.histogram(scores, 10, (0.0, 1.0))[0] + rng.laplace(0.0, 2.0, 10)
    place = int(np.argmax(noisy))
    return place, noisy[place], [*noisy]


add(largest_and_its_value, "python")
