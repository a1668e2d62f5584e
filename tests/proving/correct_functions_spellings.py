"""Right mechanisms in other spellings of Python: match, map, nonlocal, keys, generators, partials."""

import functools
import itertools
import math
import operator
import random

import numpy as np
from proving.specimen_tables import Table
from scipy import special, stats

import dpcp_audit as dp

SPELLINGS = Table("spellings")


def add(function, claim=dp.PureDP(1.0), family="spellings", **rest):
    SPELLINGS.add(function, "right", claim, family=family, **rest)


def by_match(scores, *, rng, law="laplace"):
    count = np.sum(scores > 0.5)
    match law:
        case "laplace" | "double exponential":
            return count + rng.laplace(0.0, 1.0)
        case "normal":
            return count + rng.normal(0.0, 1.0)
        case _:
            raise ValueError(law)


def match_of_a_noisy_count(scores, *, rng):
    match round(float(np.sum(scores > 0.5) + rng.laplace(0.0, 1.0))):
        case 0 | 1:
            return "few"
        case 10:
            return "ten"
        case _:
            return "others"


def budget_of_a_closure(scores, *, rng):
    left = 1.0

    def ask(question, epsilon):
        nonlocal left
        if epsilon > left:
            raise ValueError("the budget is spent")
        left -= epsilon
        return np.sum(question(scores)) + rng.laplace(0.0, 1.0 / epsilon)

    return ask(lambda s: s > 0.5, 0.5), ask(lambda s: s > 0.9, 0.25), left


def counted_calls(scores, *, rng):
    calls = 0

    def noisy(level):
        nonlocal calls
        calls += 1
        return np.sum(scores <= level) + rng.laplace(0.0, 3.0)

    low, high = 0.0, 1.0
    for _ in range(3):
        middle = (low + high) / 2
        if noisy(middle) < 0.9 * len(scores):
            low = middle
        else:
            high = middle
    return high, calls


def reports_of_a_closure(scores, *, rng):
    asked, reports = 0, []

    def ask():
        nonlocal asked
        asked += 1
        for score in scores:
            bit = int(score > 0.5)
            reports.append(bit if rng.random() < 0.7 else 1 - bit)

    ask()
    return reports, asked


def mapped_and_filtered(scores, *, rng):
    above = len(list(filter(lambda s: s > 0.5, scores)))
    total = sum(map(lambda s: float(s) / 2, scores))
    return above + rng.laplace(0.0, 2.0), total + rng.laplace(0.0, 1.0)


def mapped_within_a_map(scores, *, rng):
    scale = sum(map(lambda b: 2.0 * b, list(map(float, (0.25, 0.25)))))
    return np.sum(scores) + rng.laplace(0.0, scale)


def mapped_levels(scores, *, rng):
    noisy = list(map(lambda t: np.sum(scores <= t) + rng.laplace(0.0, 3.0), (0.2, 0.5, 0.8)))
    return max(noisy), list(map(float, noisy))


def first_above(scores, *, rng):
    threshold = 15 + rng.laplace(0.0, 2.0)
    levels = [i / 20 for i in range(21)]
    return next(
        (t for t in levels if sum(s <= t for s in scores) + rng.laplace(0.0, 4.0) >= threshold), 1.0
    )


def default_of_a_lambda(scores, *, rng, scale=1.0):
    noisy = lambda x, b=scale: x + rng.laplace(0.0, b)  # noqa: E731
    return noisy(np.sum(scores))


class Noise:
    def __init__(self, rng, epsilon):
        self.rng, self.epsilon, self.used = rng, epsilon, 0

    def __call__(self, value, sensitivity=1.0):
        self.used += 1
        return value + self.rng.laplace(scale=sensitivity / self.epsilon)


def object_that_is_called(scores, *, rng):
    noise = Noise(rng, 0.5)
    return noise(np.sum(scores <= 0.2)), noise(np.sum(scores <= 0.4)), noise.used


def _noisy(rng, value, *, scale):
    return value + rng.laplace(0.0, scale)


def partials(scores, *, rng):
    noisy = functools.partial(_noisy, rng, scale=2.0)
    settings = {"scale": 2.0}
    return noisy(np.sum(scores)), _noisy(rng, np.sum(scores > 0.5), **settings)


def key_of_pairs(scores, *, rng):
    pairs = [(t, -abs(sum(1 for s in scores if s <= t) - 0.5 * len(scores)) + rng.laplace(0.0, 2.0))
             for t in (0.1, 0.3, 0.5, 0.7, 0.9)]  # fmt: skip
    return max(pairs, key=operator.itemgetter(1))[0]


def key_that_draws(scores, *, rng):
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    return min(levels, key=lambda t: abs(np.sum(scores <= t) - 10) + rng.laplace(0.0, 2.0))


def key_of_places(scores, *, rng):
    counts = np.histogram(scores, bins=8, range=(0.0, 1.0))[0]
    noisy = counts + rng.laplace(0.0, 2.0, size=8)
    return max(range(8), key=lambda i: noisy[i])


def smallest_of_noisy(scores, *, rng):
    levels = np.linspace(0.0, 1.0, 21)
    apart = np.abs(np.searchsorted(np.sort(scores), levels) - 0.9 * len(scores))
    return levels[np.argmin(apart + rng.laplace(0.0, 2.0, size=21))]


def smallest_and_its_value(scores, *, rng):
    noisy = np.histogram(scores, 10, (0.0, 1.0))[0] + rng.laplace(0.0, 2.0, 10)
    return int(np.argmin(noisy)), noisy.min(), int(np.argmax(noisy))


def largest_by_two_orders(scores, *, rng):
    noisy = np.histogram(scores, 10, (0.0, 1.0))[0] + rng.laplace(0, 2.0, 10)
    return int(np.argmax(noisy)), int(np.argmax(noisy + np.arange(10)))


def accumulated(scores, *, rng):
    noisy = np.histogram(scores, bins=10, range=(0.0, 1.0))[0] + rng.laplace(0.0, 2.0, 10)
    below = list(itertools.accumulate(noisy))
    for place, count in enumerate(below):
        if count >= 0.9 * below[-1]:
            return (place + 1) / 10
    return 1.0


def entry_by_get(scores, *, rng):
    noisy = {t: np.sum(scores <= t) + rng.laplace(0.0, 2.0) for t in (0.2, 0.6)}
    return noisy.get(0.2), noisy.get(0.6, 0.0), noisy.get(0.9)


# ---------------------------------------------------------------------- lists


def grid_in_lists(scores, *, rng):
    levels = [i / 20 for i in range(21)]
    utilities = []
    for level in levels:
        below = sum(1 for s in scores if s <= level)
        utilities.append(-abs(below - 0.9 * len(scores)))
    weights = [math.exp(1.0 * u / 2) for u in utilities]
    total = sum(weights)
    return float(rng.choice(levels, p=[w / total for w in weights]))


def grid_with_a_running_total(scores, *, rng):
    levels, weights, total = [0.1, 0.5, 0.9], [], 0.0
    for level in levels:
        weight = np.exp(-abs(np.sum(scores <= level) - 10) / 2)
        weights.append(weight)
        total += weight
    return levels[int(rng.choice(3, p=np.array(weights) / total))]


def grid_by_choices(scores):
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    weights = [math.exp(-abs(np.sum(scores <= t) - 10) / 2) for t in levels]
    return random.choices(levels, weights=weights, k=1)[0]


def grid_by_logarithms(scores, *, rng):
    levels = np.linspace(0.0, 1.0, 11)
    counts = np.array([np.sum(scores <= t) for t in levels])
    logits = -0.5 * np.abs(counts - 0.5 * len(scores))
    return rng.choice(levels, p=np.exp(logits - special.logsumexp(logits)))


def gaps_of_joined_lists(scores, *, rng):
    edges = [0.0] + sorted(scores) + [1.0]
    rank = math.ceil(0.9 * len(scores))
    weights = [
        (edges[i + 1] - edges[i]) * math.exp(-abs(i - rank) / 2) for i in range(len(edges) - 1)
    ]
    total = sum(weights)
    i = rng.choice(len(weights), p=[w / total for w in weights])
    return rng.uniform(edges[i], edges[i + 1])


def gaps_by_choices(scores):
    edges = [0.0] + (sorted(scores) + [1.0])
    weights = [
        (high - low) * math.exp(-abs(i - 10) / 2)
        for i, (low, high) in enumerate(zip(edges, edges[1:], strict=False))
    ]
    i = random.choices(range(len(weights)), weights)[0]
    return random.uniform(edges[i], edges[i + 1])


def gaps_by_logarithms(scores, *, rng):
    edges = np.hstack([[0.0], np.sort(scores), [1.0]])
    with np.errstate(divide="ignore"):
        logits = np.log(np.diff(edges)) - 0.5 * np.abs(np.arange(len(scores) + 1) - 10)
    i = rng.choice(len(scores) + 1, p=np.exp(logits - special.logsumexp(logits)))
    return edges[i] + rng.random() * (edges[i + 1] - edges[i])


def bins_of_a_dictionary(scores, *, rng):
    counts = {k: 0 for k in range(5)}
    for s in scores:
        b = min(int(s * 5), 4)
        counts[b] += 1
    return [counts[k] + rng.laplace(0.0, 2.0) for k in range(5)]


def named_in_a_loop(scores, *, rng):
    above, total = 0, 0.0
    for s in scores:
        low, high = s - 0.5, s + 0.5
        squared = low * high
        if high > 1.0:
            above += 1
        total += squared
    return above + rng.laplace(0.0, 2.0), total + rng.laplace(0.0, 3.0)


def bins_added_at(scores, *, rng):
    counts = np.zeros(20)
    np.add.at(counts, np.clip((scores * 20).astype(int), 0, 19), 1)
    return counts + rng.laplace(scale=2.0, size=20)


def sums_added_at(scores, *, rng):
    sums = np.zeros(4)
    np.add.at(sums, np.digitize(scores, [0.25, 0.5, 0.75]), scores)
    return sums + rng.laplace(scale=2.0, size=4)


def counted_by_places(scores, *, rng):
    above, total = 0, 0.0
    for i in range(len(scores)):
        if scores[i] > 0.5:
            above += 1
        total += float(scores[i])
    below = sum(1 for i in range(len(scores)) if scores[i] <= 0.3)
    return [each + rng.laplace(0.0, 3.0) for each in (above, total, below)]


def bins_by_places(scores, *, rng):
    counts = [0] * 4
    for i in range(len(scores)):
        b = min(int(scores[i] * 4), 3)
        counts[b] += 1
    return [count + rng.laplace(0.0, 2.0) for count in counts]


def grid_whose_weights_are_written_twice(scores, *, rng):
    u = np.array([-abs(np.sum(scores <= t) - 10) for t in np.linspace(0.0, 1.0, 11)])
    return rng.choice(11, p=np.exp(u / 2) / np.sum(np.exp(u / 2)))


def bins_of_pairs(scores, *, rng):
    edges = (0.0, 0.25, 0.5, 1.1)
    counts = [np.sum((scores >= a) & (scores < b)) for a, b in itertools.pairwise(edges)]
    return [count + rng.laplace(0.0, 2.0) for count in counts]


for each in (counted_by_places, bins_by_places, grid_whose_weights_are_written_twice,
             bins_of_pairs):  # fmt: skip
    add(each)


# ---------------------------------------------------------------------- laws and functions


def scipy_law_of_the_global_generator(scores):
    return np.mean(scores) + stats.laplace.rvs(loc=0.0, scale=1.0 / len(scores))


def scipy_frozen_law(scores):
    noise = stats.laplace(0.0, 2.0)
    return np.histogram(scores, 10, (0.0, 1.0))[0] + noise.rvs(size=10)


def scipy_discrete_laplace(scores, *, rng):
    both = stats.dlaplace.rvs(0.5, random_state=rng)
    return int(np.sum(scores > 0.5)) + both, np.sum(scores > 0.9) + int(stats.dlaplace(0.5).rvs())


def moments(scores, *, rng):
    sums = np.array([np.sum(scores**k) for k in range(1, 5)])
    return sums + rng.laplace(0.0, 4.0, size=4)


def functions_as_operators(scores, *, rng):
    finite = np.nan_to_num(scores)
    above = np.count_nonzero(np.greater(np.multiply(finite, 2.0), 1.0))
    squares = np.average(np.square(np.subtract(scores, 0.5)))
    return above + rng.laplace(0.0, 2.0), np.add(squares, rng.laplace(0.0, 0.5 / len(scores)))


def laplace_of_one_uniform_draw(scores):
    u = random.random() - 0.5
    noise = -1.0 * math.copysign(1.0, u) * math.log(1 - 2 * abs(u))
    return sum(s > 0.5 for s in scores) + noise


def _laplace(scale, rng):
    u = rng.uniform(-0.5, 0.5)
    return -scale * np.sign(u) * np.log(1 - 2 * np.abs(u))


def laplace_by_a_function(scores, *, rng):
    counts = np.histogram(scores, 4, (0.0, 1.0))[0]
    return [count + _laplace(4.0, rng) for count in counts], np.mean(scores) + _laplace(0.1, rng)


def laplace_of_two_exponentials(scores, *, rng):
    first, second = -math.log(1 - rng.random()), -math.log(rng.random())
    return np.sum(scores > 0.5) + (first - second)


def gumbel_of_uniform_draws(scores, *, rng):
    levels = np.linspace(0.0, 1.0, 11)
    utilities = np.array([-abs(np.sum(scores <= t) - 10) for t in levels])
    return levels[np.argmax(0.5 * utilities - np.log(-np.log(rng.random(11))))]


for each in (laplace_of_one_uniform_draw, laplace_by_a_function, laplace_of_two_exponentials,
             gumbel_of_uniform_draws):  # fmt: skip
    add(each)
for each in (grid_in_lists, grid_with_a_running_total, grid_by_choices, grid_by_logarithms,
             gaps_of_joined_lists, gaps_by_choices, gaps_by_logarithms, bins_of_a_dictionary,
             named_in_a_loop, bins_added_at, sums_added_at, scipy_law_of_the_global_generator,
             scipy_frozen_law, scipy_discrete_laplace, moments, functions_as_operators):  # fmt: skip
    add(each)
for each in (by_match, match_of_a_noisy_count, budget_of_a_closure, counted_calls,
             mapped_levels, default_of_a_lambda, object_that_is_called,
             partials, key_of_pairs, key_that_draws, key_of_places, smallest_of_noisy,
             smallest_and_its_value, largest_by_two_orders, accumulated, entry_by_get, first_above,
             mapped_and_filtered, mapped_within_a_map, reports_of_a_closure):  # fmt: skip
    add(each)
