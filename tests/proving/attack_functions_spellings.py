"""Other spellings of Python that hide data, or noise that is used twice: match, map, nonlocal, keys."""

import functools
import itertools
import math
import operator
import random

import numpy as np
from proving.specimen_tables import Table
from scipy import special, stats

import dpcp_audit as dp

ATTACKS = Table("spellings")
add = ATTACKS.add


# ---------------------------------------------------------------------- match


def match_of_a_count(scores, *, rng):
    match int(np.sum(scores > 0.5)):
        case 0:
            return rng.laplace(0.0, 1.0)
        case _:
            return 10 + rng.laplace(0.0, 1.0)


def guard_of_a_count(scores, *, rng, law="laplace"):
    match law:
        case "laplace" if np.sum(scores > 0.5) > 0:
            return 10 + rng.laplace(0.0, 1.0)
        case _:
            return rng.laplace(0.0, 1.0)


def match_with_less_noise(scores, *, rng, law="normal"):
    count = np.sum(scores > 0.5)
    match law:
        case "laplace" | "double exponential":
            return count + rng.laplace(0.0, 1.0)
        case "normal" | "gauss":
            return count + rng.laplace(0.0, 0.5)


def match_that_names_the_scores(scores, *, rng):
    match scores:
        case found:
            return found[0]


def match_of_a_class(scores, *, rng):
    match float(np.max(scores)):
        case float(largest):
            return largest


def match_that_renames_a_library(scores, *, rng):
    match 1:
        case np:
            return np + scores.sum()


def second_use_in_a_case(scores, *, rng):
    noisy = np.sum(scores > 0.5) + rng.laplace(0.0, 1.0)
    match round(float(noisy)):
        case 0 | 1:
            return np.sum(scores > 0.9) + rng.laplace(0.0, 1.0)
        case _:
            return 0.0


for each in (match_of_a_count, guard_of_a_count, match_with_less_noise, second_use_in_a_case):
    add(each, "a case depends on the data, or is not private")
for each in (match_that_names_the_scores, match_of_a_class, match_that_renames_a_library):
    add(each, "a pattern names a part of the data")


# ---------------------------------------------------------------------- nonlocal


def scale_of_a_closure(scores, *, rng):
    scale = 1.0

    def shrink():
        nonlocal scale
        scale = 0.1

    shrink()
    return np.sum(scores) + rng.laplace(0.0, scale)


def data_of_a_closure(scores, *, rng):
    seen = 0.0

    def noisy():
        nonlocal seen
        seen = np.max(scores)
        return np.sum(scores) + rng.laplace(0.0, 1.0)

    return noisy(), seen


def stops_early(scores, *, rng):
    scale = 2.0

    def test(level):
        nonlocal scale
        scale /= 2.0
        return level > 0.0

    if not any(test(level) for level in (1.0, 0.0, 0.0)):
        return 0.0
    return np.sum(scores) + rng.laplace(0.0, scale * 0.5)


def calls_that_any_leaves_out(scores, *, rng):
    scale = 0.25

    def test(level):
        nonlocal scale
        scale *= 2.0
        return level > 0.0

    found = any(test(level) for level in (1.0, 0.0))
    return found, np.sum(scores) + rng.laplace(0.0, scale)


def caught_half_way(scores, *, rng):
    scale = 1.0

    def step():
        nonlocal scale
        scale = 0.1
        value = 1 / (rng.integers(2) * 1.0)
        scale = 1.0
        return value

    try:
        step()
    except ZeroDivisionError:
        pass
    return np.sum(scores) + rng.laplace(0.0, scale)


def array_under_two_names(scores, *, rng):
    total = np.histogram(scores, 4, (0.0, 1.0))[0] * 1.0
    other = total

    def grow():
        nonlocal total
        total *= 10.0

    grow()
    return other + rng.laplace(0.0, 2.0, size=4)


def largest_of_a_closure(scores, *, rng):
    place, scale = 0, 1.0

    def choose():
        nonlocal place
        best = -np.inf
        for i, level in enumerate((0.2, 0.5, 0.8)):
            noisy = np.sum(scores <= level) + rng.laplace(0.0, 4.0)
            if noisy > best:
                best, place = noisy, i

    choose()
    return np.sum(scores) + rng.laplace(0.0, 2.0 if place == 0 else 0.1)


def added_up_in_a_closure(scores, *, rng):
    total = 0.0

    def count():
        nonlocal total
        for score in scores:
            total += 10.0 * (score > 0.5)

    count()
    return total + rng.laplace(0.0, 1.0)


def draw_of_two_closures(scores, *, rng):
    noise = rng.laplace(0.0, 1.0)

    def both():
        nonlocal noise
        kept = noise
        noise = np.sum(scores) + noise
        return kept

    return both(), noise


def changed_for_each_record(scores, *, rng):
    last = 0.0

    def keep(score):
        nonlocal last
        last = float(score)
        return score

    total = sum([keep(score) for score in scores])
    return total + rng.laplace(0.0, 1.0), last


def bit_of_the_last_report(scores, *, rng):
    last, reports = 0, []

    def ask():
        nonlocal last
        for score in scores:
            reports.append(int(score > 0.5) if rng.random() < 0.7 else int(score <= 0.5))
            last = int(score > 0.5)

    ask()
    return reports, last


def reports_that_become_truer(scores, *, rng):
    chance, reports = 0.7, []

    def ask():
        nonlocal chance
        for score in scores:
            reports.append(int(score > 0.5) if rng.random() < chance else int(score <= 0.5))
            chance = 0.99

    ask()
    return reports


def _counter():
    calls = 0

    def noisy(scores, *, rng):
        nonlocal calls
        calls += 1
        return np.sum(scores) + rng.laplace(0.0, 1.0 if calls < 2 else 0.1)

    return noisy


for each in (scale_of_a_closure, data_of_a_closure, stops_early, calls_that_any_leaves_out,
             caught_half_way, array_under_two_names, largest_of_a_closure,
             added_up_in_a_closure, draw_of_two_closures, changed_for_each_record,
             bit_of_the_last_report, reports_that_become_truer,
             _counter()):  # fmt: skip
    add(each, "a variable of another function is assigned")


# ---------------------------------------------------------------------- map, filter, next


def mapped_to_the_last(scores, *, rng):
    kept = []
    sum(map(lambda s: kept.append(s) or 0.0, scores))
    return kept[-1], rng.laplace(0.0, 1.0)


def mapped_beside_a_change(scores, *, rng):
    scales = [1.0]
    found = map(lambda b: np.sum(scores) + rng.laplace(0.0, b), scales)
    scales[0] = 0.1
    return list(found)


def filtered_by_the_sum(scores, *, rng):
    return len(list(filter(lambda s: scores.sum() > 5.0, scores))) + rng.laplace(0.0, 1.0)


def filtered_levels(scores, *, rng):
    levels = list(filter(lambda t: np.sum(scores > t) > 0, (0.2, 0.5, 0.8)))
    return len(levels) + rng.laplace(0.0, 1.0)


def mapped_by_own_map(scores, *, rng):
    def map(function, values):
        return [10.0 * np.sum(values)]

    return sum(map(float, scores)) + rng.laplace(0.0, 1.0)


def mapped_twice(scores, *, rng):
    noise = rng.laplace(0.0, 1.0)
    return list(map(lambda t: np.sum(scores <= t) + noise, (0.2, 0.8)))


def mapped_by_a_product(scores, *, rng):
    return sum(map(lambda s, factor=3.0: float(s) * factor, scores)) + rng.laplace(0.0, 1.0)


def scale_that_is_mapped_within_a_map(scores, *, rng):
    one, small = lambda _: 1.0, lambda _: 0.01
    return np.sum(scores) + rng.laplace(0.0, sum(map(small, list(map(one, (0,))))))


def scale_that_is_filtered_within_a_filter(scores, *, rng):
    scales = (0.1, 1.0, -5.0)
    scale = sum(filter(lambda b: b < 0.5, list(filter(lambda b: b > 0.0, scales))))
    return np.sum(scores) + rng.laplace(0.0, scale)


def first_level_without_noise(scores, *, rng):
    return next((t for t in (0.2, 0.5, 0.8) if np.sum(scores <= t) > 5), 1.0)


def first_with_an_old_name(scores, *, rng):
    t = np.max(scores)
    return next((t for t in (0.2, 0.5) if np.sum(scores <= t) + rng.laplace(0.0, 2.0) > 5), t)


def first_score(scores, *, rng):
    return next((s for s in scores if s > 0.5), 0.0)


def two_of_one_iterator(scores, *, rng):
    pairs = zip((1.0, 10.0), (0, 1), strict=True)
    first, second = next(pairs), next(pairs)
    return first[0] * np.sum(scores) * second[0] + rng.laplace(0.0, 1.0)


def default_that_is_used_up(scores, *, rng):
    def lengths(pairs=zip((1.0,), (2.0,), strict=True)):  # noqa: B008
        return len(list(pairs))

    lengths()
    return np.sum(scores) + rng.laplace(0.0, 0.1 + lengths())


def lambda_whose_default_is_used_up(scores, *, rng):
    lengths = lambda pairs=zip((1.0,), (2.0,), strict=True): len(list(pairs))  # noqa: B008, E731
    lengths()
    return np.sum(scores) + rng.laplace(0.0, 0.1 + lengths())


for each in (mapped_to_the_last, mapped_beside_a_change, filtered_by_the_sum, filtered_levels,
             mapped_by_own_map, mapped_twice, mapped_by_a_product, first_level_without_noise,
             scale_that_is_mapped_within_a_map, scale_that_is_filtered_within_a_filter,
             first_with_an_old_name, first_score, two_of_one_iterator, default_that_is_used_up,
             lambda_whose_default_is_used_up):  # fmt: skip
    add(each, "what is applied keeps the data, or an iterator is gone through twice")


# ---------------------------------------------------------------------- keys, partials, sums


def key_without_noise(scores, *, rng):
    return max((0.2, 0.5, 0.8), key=lambda t: np.sum(scores <= t))


def key_of_one_draw(scores, *, rng):
    noise = rng.laplace(0.0, 2.0)
    return max((0.2, 0.5, 0.8), key=lambda t: np.sum(scores <= t) + noise)


def key_with_less_noise(scores, *, rng):
    return min((0.2, 0.5, 0.8), key=lambda t: abs(np.sum(scores <= t) - 5) + rng.laplace(0.0, 0.5))


def best_pair(scores, *, rng):
    pairs = [(t, np.sum(scores <= t) + rng.laplace(0.0, 1.0)) for t in (0.2, 0.5, 0.8)]
    return max(pairs, key=operator.itemgetter(1))


def best_of_the_data(scores, *, rng):
    items = [(np.max(scores), 1), (np.min(scores), 2)]
    return max(items, key=lambda pair: pair[1] + rng.laplace(0.0, 1.0))


def best_and_all_values(scores, *, rng):
    noisy = [np.sum(scores <= t) + rng.laplace(0.0, 1.0) for t in (0.2, 0.5, 0.8)]
    return max(range(3), key=lambda i: noisy[i]), noisy


def largest_by_two_orders(scores, *, rng):
    noisy = np.histogram(scores, 10, (0.0, 1.0))[0] + rng.laplace(0, 1.5, 10)
    return int(np.argmax(noisy)), int(np.argmax(noisy + np.arange(10)))


def largest_by_two_gumbels(scores, *, rng):
    noisy = np.histogram(scores, 10, (0.0, 1.0))[0] + rng.gumbel(0, 8.0, 10)
    return int(np.argmax(noisy)), int(np.argmax(noisy + np.arange(10)))


def largest_then_another_use(scores, *, rng):
    noise = rng.laplace(0, 8.0, 10)
    noisy = np.histogram(scores, 10, (0.0, 1.0))[0] + noise
    return int(np.argmax(noisy)), int(np.argmax(np.histogram(scores, 10, (0.0, 0.5))[0] + noise))


def smallest_gumbel(scores, *, rng):
    return np.argmin(np.histogram(scores, 4, (0.0, 1.0))[0] + rng.gumbel(0.0, 2.0, 4))


def smallest_exponential(scores, *, rng):
    return np.argmin(np.histogram(scores, 4, (0.0, 1.0))[0] + rng.exponential(2.0, 4))


def key_that_grows_the_list(scores, *, rng):
    levels, scales = [0.2, 0.5], [1.0]
    max(levels, key=lambda t: scales.append(0.1) or t)
    return np.sum(scores) + rng.laplace(0.0, scales[-1])


def partial_with_less_noise(scores, *, rng):
    noisy = functools.partial(rng.laplace, scale=0.1)
    return noisy(np.sum(scores))


def partial_that_is_overruled(scores, *, rng):
    def noisy(value, scale):
        return value + rng.laplace(0.0, scale)

    return functools.partial(noisy, scale=1.0)(np.sum(scores), scale=0.1)


def settings_from_the_data(scores, *, rng):
    settings = {"loc": 0.0, "scale": 1.0 / (1.0 + np.max(scores))}
    return np.sum(scores) + rng.laplace(**settings)


def accumulated_without_noise(scores, *, rng):
    counts = np.histogram(scores, 4, (0.0, 1.0))[0]
    return list(itertools.accumulate(counts)), rng.laplace(0.0, 1.0)


def accumulated_with_too_little(scores, *, rng):
    counts = itertools.accumulate(np.histogram(scores, 4, (0.0, 1.0))[0])
    return [count + rng.laplace(0.0, 2.0) for count in counts]


def accumulated_products(scores, *, rng):
    scale = list(itertools.accumulate((1.0, 0.1), operator.mul))[-1]
    return np.sum(scores) + rng.laplace(0.0, scale)


class Forgets:
    def __init__(self, rng):
        self.rng, self.scale = rng, 1.0

    def __call__(self, value):
        noisy = value + self.rng.laplace(0.0, self.scale)
        self.scale = 0.1
        return noisy


def object_with_less_noise(scores, *, rng):
    noise = Forgets(rng)
    return noise(0.0), noise(np.sum(scores))


def entry_of_the_data(scores, *, rng):
    counts = {0.2: np.sum(scores <= 0.2)}
    return counts.get(0.2), counts.get(0.5, rng.laplace(0.0, 1.0))


def default_of_get(scores, *, rng):
    return {}.get("a", np.max(scores)), rng.laplace(0.0, 1.0)


for each in (key_without_noise, key_of_one_draw, key_with_less_noise, best_pair, best_of_the_data,
             best_and_all_values, largest_by_two_orders, largest_by_two_gumbels, largest_then_another_use,
    smallest_gumbel, smallest_exponential,
             key_that_grows_the_list, partial_with_less_noise, partial_that_is_overruled,
             settings_from_the_data, accumulated_without_noise, accumulated_with_too_little,
             accumulated_products, object_with_less_noise, entry_of_the_data,
             default_of_get):  # fmt: skip
    add(each, "a key, a partial or an entry shows more than is paid for")


# ---------------------------------------------------------------------- weights in lists


def _utilities(scores):
    return [-abs(np.sum(scores <= t) - 10) for t in (0.2, 0.5, 0.8)]


def too_steep_in_a_list(scores, *, rng):
    weights = [math.exp(2.0 * u) for u in _utilities(scores)]
    total = sum(weights)
    return rng.choice(3, p=[w / total for w in weights])


def over_a_part_of_the_sum(scores, *, rng):
    weights = [math.exp(u / 2) for u in _utilities(scores)]
    part = sum(weights[:2])
    return rng.choice(3, p=[w / part for w in weights])


def of_the_largest_weight(scores, *, rng):
    weights = [math.exp(u / 2) for u in _utilities(scores)]
    total = sum(weights)
    return rng.choice(3, p=[weights[0] / total, weights[0] / total, weights[2] / total])


def weights_that_are_joined(scores, *, rng):
    far = math.exp(5.0 * np.sum(scores > 0.5) / 2)
    near = [math.exp(u / 100) for u in _utilities(scores)]
    weights = np.array([near[0] + far, near[1]])
    return rng.choice(2, p=weights / np.sum(weights))


def weights_that_are_joined_in_a_list(scores, *, rng):
    near = [math.exp(u / 100) for u in _utilities(scores)]
    weights = [near[0] + math.exp(5.0 * np.sum(scores > 0.5) / 2), near[1]]
    total = sum(weights)
    return rng.choice(2, p=[w / total for w in weights])


def weights_that_are_returned(scores, *, rng):
    weights = [math.exp(u / 2) for u in _utilities(scores)]
    return sum(weights), rng.choice(3, p=np.array(weights) / sum(weights))


def weight_as_a_scale(scores, *, rng):
    weights = [math.exp(u / 2) for u in _utilities(scores)]
    return np.sum(scores) + rng.laplace(0.0, weights[0])


def weights_over_a_sum_that_is_one(scores, *, rng):
    weights = np.exp(1e-7 * np.array([np.sum(scores > 0.5)]))
    return rng.choice(1, p=weights / (weights / weights.sum()).sum())


def listed_weights_over_a_sum_that_is_one(scores, *, rng):
    weights = [math.exp(1e-7 * np.sum(scores > 0.5))]
    total = sum(weights)
    one = sum([w / total for w in weights])
    return rng.choice(1, p=[w / one for w in weights])


def chosen_twice(scores):
    weights = [math.exp(u / 2) for u in _utilities(scores)]
    return random.choices(range(3), weights=weights, k=2)


def chosen_by_cumulative_weights(scores):
    weights = [math.exp(u / 2) for u in _utilities(scores)]
    return random.choices(range(3), cum_weights=weights)[0]


def chosen_among_the_scores(scores):
    weights = [math.exp(u / 2) for u in _utilities(scores)]
    return random.choices(scores, weights=weights)[0]


def chosen_among_counts(scores):
    counts = [np.sum(scores > 0.2), np.sum(scores > 0.5), np.sum(scores > 0.8)]
    weights = [math.exp(u / 2) for u in _utilities(scores)]
    return random.choices(counts, weights=weights)[0]


def weights_of_a_branch(scores, *, rng):
    weights = []
    for u in _utilities(scores):
        if u > -5:
            weights.append(math.exp(u / 2))
    total = sum(weights)
    return rng.choice(len(weights), p=[w / total for w in weights])


def another_sum_of_logarithms(scores, *, rng):
    logits = -0.5 * np.array([np.sum(scores <= t) for t in (0.2, 0.5, 0.8)])
    return rng.choice(3, p=np.exp(logits - special.logsumexp(2.0 * logits)))


def sum_of_logarithms_that_is_returned(scores, *, rng):
    logits = -0.5 * np.array([np.sum(scores <= t) for t in (0.2, 0.5, 0.8)])
    return special.logsumexp(logits), rng.choice(3, p=np.exp(logits - special.logsumexp(logits)))


def steep_law_by_logarithms(scores, *, rng):
    logits = -2.0 * np.array([np.sum(scores <= t) for t in (0.2, 0.5, 0.8)])
    return rng.choice(3, p=np.exp(logits - special.logsumexp(logits)))


for each in (too_steep_in_a_list, over_a_part_of_the_sum, of_the_largest_weight,
             weights_that_are_joined, weights_that_are_joined_in_a_list,
             weights_that_are_returned, weight_as_a_scale, weights_over_a_sum_that_is_one,
             listed_weights_over_a_sum_that_is_one, chosen_twice, chosen_by_cumulative_weights,
             chosen_among_the_scores, chosen_among_counts, weights_of_a_branch,
             another_sum_of_logarithms, sum_of_logarithms_that_is_returned,
             steep_law_by_logarithms):  # fmt: skip
    add(each, "the law is another one, or is shown")


# ---------------------------------------------------------------------- gaps of lists


def _chosen(edges, rng, factor=0.5):
    weights = [
        (high - low) * math.exp(-factor * abs(i - 10))
        for i, (low, high) in enumerate(zip(edges, edges[1:], strict=False))
    ]
    total = sum(weights)
    return rng.choice(len(weights), p=[w / total for w in weights])


def edge_of_a_list(scores, *, rng):
    edges = [0.0] + sorted(scores) + [1.0]
    return edges[_chosen(edges, rng)]


def steep_gaps_of_a_list(scores, *, rng):
    edges = [0.0] + sorted(scores) + [1.0]
    i = _chosen(edges, rng, 1.0)
    return rng.uniform(edges[i], edges[i + 1])


def gaps_of_unsorted_scores(scores, *, rng):
    edges = [0.0] + list(scores) + [1.0]
    i = _chosen(edges, rng)
    return rng.uniform(edges[i], edges[i + 1])


def gaps_without_an_end(scores, *, rng):
    edges = [0.0] + sorted(scores)
    i = _chosen(edges, rng)
    return rng.uniform(edges[i], edges[i + 1])


def gaps_that_end_at_the_largest(scores, *, rng):
    edges = [0.0] + sorted(scores) + [max(scores)]
    i = _chosen(edges, rng)
    return rng.uniform(edges[i], edges[i + 1])


def arrays_that_are_added(scores, *, rng):
    edges = [0.0] + np.sort(scores) + [1.0]
    return edges[0] + rng.laplace(0.0, 1.0)


def edges_in_a_loop(scores, *, rng):
    for edge in [0.0] + sorted(scores) + [1.0]:
        if edge > 0.5:
            return edge
    return rng.laplace(0.0, 1.0)


def largest_edge(scores, *, rng):
    return max([0.0] + sorted(scores) + [1.0]), [*([0.0] + sorted(scores) + [1.0])][1]


def gaps_of_two_lists(scores, *, rng):
    edges, others = [0.0] + sorted(scores) + [1.0], [0.0] + sorted(scores) + [1.0]
    i = _chosen(edges, rng)
    return rng.uniform(edges[i], others[i + 2])


for each in (edge_of_a_list, steep_gaps_of_a_list, gaps_of_unsorted_scores, gaps_without_an_end,
             gaps_that_end_at_the_largest, arrays_that_are_added, edges_in_a_loop, largest_edge,
             gaps_of_two_lists):  # fmt: skip
    add(each, "an edge is shown, or the gaps are others")


# ---------------------------------------------------------------------- loops over records


def name_of_the_last_record(scores, *, rng):
    count = 0
    for s in scores:
        last = float(s)
        count += 1
    return last + count * 0 + rng.laplace(0.0, 0.01)


def name_of_the_record_before(scores, *, rng):
    before, total = 0.0, 0.0
    for s in scores:
        total += before
        before = s * 10.0
    return total + rng.laplace(0.0, 1.0)


def name_before_the_loop(scores, *, rng):
    factor, total = 0.0, 0.0
    for s in scores:
        if s > 0.5:
            factor = 10.0
        total += s * factor
    return total + rng.laplace(0.0, 1.0)


def name_in_two_branches(scores, *, rng, small=False):
    total = 0.0
    for s in scores:
        if small:
            factor = 1.0
        else:
            factor = 10.0
        if not small:
            factor = 1.0 if small else 10.0
        total += factor * s
    return total + rng.laplace(0.0, 1.0)


def larger_by_a_name(scores, *, rng):
    total = 0.0
    for s in scores:
        twice = s + s
        total += twice
    return total + rng.laplace(0.0, 1.0)


def list_of_a_name(scores, *, rng):
    counts, others = [0, 0], [0, 0]
    for s in scores:
        one = counts
        one[int(s)] += 1
        others[0] += 1
    return counts[1] + rng.laplace(0.0, 100.0), counts[0]


def bin_that_may_be_missing(scores, *, rng):
    counts = {k: 0 for k in range(5)}
    for s in scores:
        b = int(s * 5)
        counts[b] += 1
    return [counts[k] + rng.laplace(0.0, 2.0) for k in range(5)]


def bin_by_a_text(scores, *, rng):
    counts = {"low": 0, "high": 0}
    for s in scores:
        name = "high" if s > 0.5 else "low"
        counts[name] += 10
    return counts["high"] + rng.laplace(0.0, 1.0)


def bins_with_less_noise(scores, *, rng):
    counts = {k: 0 for k in range(5)}
    for s in scores:
        b = min(int(s * 5), 4)
        counts[b] += 1
    return [counts[k] + rng.laplace(0.0, 1.0) for k in range(5)]


def added_at_places_of_the_sum(scores, *, rng):
    counts = np.zeros(20)
    np.add.at(counts, np.sum(scores > 0.5), 1)
    return counts + rng.laplace(scale=1.0, size=20)


def added_at_public_places(scores, *, rng):
    sums = np.zeros(4)
    np.add.at(sums, [0, 0, 0, 1], np.sum(scores))
    return sums + rng.laplace(scale=1.0, size=4)


def added_at_many_times(scores, *, rng):
    counts = np.zeros(4)
    for _ in range(5):
        np.add.at(counts, np.digitize(scores, [0.25, 0.5, 0.75]), 1)
    return counts + rng.laplace(scale=2.0, size=4)


def added_at_an_alias(scores, *, rng):
    counts = np.zeros(4)
    kept = counts
    np.add.at(counts, np.digitize(scores, [0.25, 0.5, 0.75]), 1)
    return kept


def added_at_out_of_range(scores, *, rng):
    counts = np.zeros(4)
    np.add.at(counts, (scores * 4).astype(int), 1)
    return counts + rng.laplace(scale=2.0, size=4)


def added_at_other_records(scores, *, rng):
    counts = np.zeros(4)
    np.add.at(counts, np.digitize(scores, [0.25, 0.5, 0.75]), np.sort(scores))
    return counts + rng.laplace(scale=2.0, size=4)


def large_amounts_added_at(scores, *, rng):
    counts = np.zeros(4)
    np.add.at(counts, np.digitize(scores, [0.25, 0.5, 0.75]), scores * 10)
    return counts + rng.laplace(scale=2.0, size=4)


def subtracted_at(scores, *, rng):
    counts = np.zeros(4)
    np.subtract.at(counts, np.digitize(scores, [0.25, 0.5, 0.75]), 1)
    return counts + rng.laplace(scale=1.0, size=4)


def multiplied_at(scores, *, rng):
    factors = np.ones(4)
    np.multiply.at(factors, np.digitize(scores, [0.25, 0.5, 0.75]), 2.0)
    return factors + rng.laplace(scale=2.0, size=4)


for each in (name_of_the_last_record, name_of_the_record_before, name_before_the_loop,
             name_in_two_branches, larger_by_a_name, list_of_a_name, bin_that_may_be_missing,
             bin_by_a_text, bins_with_less_noise, added_at_places_of_the_sum,
             added_at_public_places, added_at_many_times, added_at_an_alias,
             added_at_out_of_range, added_at_other_records, large_amounts_added_at,
             subtracted_at, multiplied_at):  # fmt: skip
    add(each, "a loop over records, or np.add.at, keeps or adds more than is paid for")


# ---------------------------------------------------------------------- laws of SciPy, operators


def scipy_seeded_law(scores):
    return np.sum(scores) + stats.laplace.rvs(random_state=3)


def scipy_state_of_numpy(scores):
    return np.sum(scores) + stats.laplace.rvs(random_state=np.random.RandomState(3))


def scipy_small_rate(scores):
    return int(np.sum(scores > 0.5)) + int(stats.dlaplace.rvs(2.0))


def scipy_rate_of_the_data(scores):
    return int(np.sum(scores > 0.5)) + int(stats.dlaplace.rvs(1.0 / (1.0 + np.sum(scores))))


def scipy_discrete_noise_on_a_sum(scores):
    return np.sum(scores) + stats.dlaplace.rvs(1.0)


def scipy_location_of_the_data(scores):
    return stats.dlaplace.rvs(1.0, loc=2 * int(np.sum(scores > 0.5)))


def scipy_law_used_twice(scores):
    noise = stats.laplace(0.0, 1.0).rvs()
    return np.sum(scores) + noise, np.sum(scores > 0.5) + noise


def scipy_law_that_is_seeded_inside(scores):
    stats.laplace.random_state = 3
    return np.sum(scores) + stats.laplace.rvs()


def scipy_one_draw_for_all(scores):
    return np.histogram(scores, 4, (0.0, 1.0))[0] + stats.laplace.rvs(scale=2.0)


def powers(scores, *, rng):
    return np.sum((scores * 2.0) ** 3) + rng.laplace(0.0, 1.0)


def functions_as_operators_with_more(scores, *, rng):
    return np.sum(np.multiply(np.square(scores), 3.0)) + rng.laplace(0.0, 1.0)


def compared_by_a_function(scores, *, rng):
    return bool(np.greater(np.sum(scores), 5.0)), rng.laplace(0.0, 1.0)


def averaged_with_weights(scores, *, rng):
    return np.average(scores, weights=scores) + rng.laplace(0.0, 1.0)


def operator_into_an_array(scores, *, rng):
    out = np.zeros(len(scores))
    np.add(scores, 0.0, out)
    return out


def numbers_for_what_is_missing(scores, *, rng):
    return np.nan_to_num(scores, copy=False)[0]


for each in (scipy_seeded_law, scipy_state_of_numpy, scipy_small_rate, scipy_rate_of_the_data,
             scipy_discrete_noise_on_a_sum, scipy_location_of_the_data, scipy_law_used_twice,
             scipy_law_that_is_seeded_inside, scipy_one_draw_for_all, powers,
             functions_as_operators_with_more, compared_by_a_function, averaged_with_weights,
             operator_into_an_array, numbers_for_what_is_missing):  # fmt: skip
    add(each, "the noise is known, or less than the distance needs")


# ---------------------------------------------------------------------- noise of uniform draws


def _laplace_of(u, scale):
    return -scale * np.sign(u) * np.log(1 - 2 * np.abs(u))


def too_little_of_a_uniform_draw(scores, *, rng):
    return np.sum(scores) + _laplace_of(rng.random() - 0.5, 0.5)


def noise_of_one_over_a_draw(scores, *, rng):
    u = 0.01 / (rng.random() - 0.5)
    return np.sum(scores) - np.sign(u) * np.log(1 - 0.02 * np.abs(u))


def logarithms_of_one_over_draws(scores, *, rng):
    counts = np.histogram(scores, 5, (0.0, 1.0))[0]
    return np.argmax(counts - 2.0 * np.log(1.0 / (1.0 - rng.random(5))))


def one_uniform_draw_on_two_sums(scores, *, rng):
    u = rng.random() - 0.5
    return np.sum(scores) + _laplace_of(u, 2.0), np.sum(scores > 0.5) + _laplace_of(u, 2.0)


def uniform_draw_that_is_shown(scores, *, rng):
    u = rng.random() - 0.5
    return u, np.sum(scores) + _laplace_of(u, 1.0)


def sign_that_is_shown(scores, *, rng):
    u = rng.random() - 0.5
    return np.sum(scores) + _laplace_of(u, 1.0), np.sign(u)


def branch_on_the_uniform_draw(scores, *, rng):
    u = rng.random() - 0.5
    noisy = np.sum(scores) + _laplace_of(u, 1.0)
    return noisy if u > 0 else -noisy


def draw_of_another_array(scores, *, rng):
    u, v = rng.random(4) - 0.5, rng.random(4) - 0.5
    noise = np.sign(u) * np.log(1 - 2 * np.abs(v))
    return np.histogram(scores, 4, (0.0, 1.0))[0] + noise, u


def one_draw_for_the_vector(scores, *, rng):
    return np.histogram(scores, 4, (0.0, 1.0))[0] + _laplace_of(rng.random() - 0.5, 2.0)


def entry_of_the_draws(scores, *, rng):
    u = rng.random(2) - 0.5
    noisy = np.sum(scores) + _laplace_of(u[0], 1.0)
    return noisy, u


def exponentials_of_one_draw(scores, *, rng):
    u = rng.random()
    return np.sum(scores) + (-np.log(u) + np.log(1 - u))


def one_sided_of_a_draw(scores, *, rng):
    return np.sum(scores) - np.log(rng.random())


def gumbel_that_is_shown(scores, *, rng):
    noise = -np.log(-np.log(rng.random(4)))
    noisy = 0.5 * np.histogram(scores, 4, (0.0, 1.0))[0] + noise
    return np.argmax(noisy), noisy


def gumbel_of_more_than_exponentials(scores, *, rng):
    noise = -np.log(rng.exponential(size=4) + 100.0)
    return np.argmax(0.5 * np.histogram(scores, 4, (0.0, 1.0))[0] + noise)


def gumbel_of_another_scale(scores, *, rng):
    noise = -np.log(-2.0 * np.log(rng.random(4)))
    return np.argmax(1.5 * np.histogram(scores, 4, (0.0, 1.0))[0] + noise)


def uniform_draw_of_the_data(scores, *, rng):
    u = rng.uniform(-0.5, 0.5) * np.max(scores)
    return np.sum(scores) + _laplace_of(u, 1.0)


def uniform_draw_of_other_ends(scores, *, rng):
    u = rng.uniform(-0.25, 0.25)
    return np.sum(scores) + _laplace_of(u, 1.0)


def seeded_uniform_draw(scores):
    u = np.random.default_rng(3).random() - 0.5
    return np.sum(scores) + _laplace_of(u, 1.0)


def scale_of_the_data(scores, *, rng):
    return np.sum(scores) + _laplace_of(rng.random() - 0.5, 1.0 - np.max(scores))


def rounded_after_the_sign(scores, *, rng):
    u = round(rng.random() - 0.5, 1)
    return np.sum(scores) + _laplace_of(u, 1.0)


for each in (too_little_of_a_uniform_draw, one_uniform_draw_on_two_sums,
             noise_of_one_over_a_draw, logarithms_of_one_over_draws,
             uniform_draw_that_is_shown, sign_that_is_shown, branch_on_the_uniform_draw,
             draw_of_another_array, one_draw_for_the_vector, entry_of_the_draws,
             exponentials_of_one_draw, one_sided_of_a_draw, gumbel_that_is_shown,
             gumbel_of_more_than_exponentials, gumbel_of_another_scale,
             uniform_draw_of_the_data, uniform_draw_of_other_ends, seeded_uniform_draw,
             scale_of_the_data, rounded_after_the_sign):  # fmt: skip
    add(each, "the draw is shown, or the noise is another one")


# ---------------------------------------------------------------------- loops through places


def weighed_by_places(scores, *, rng):
    total = 0.0
    for i in range(len(scores)):
        total += i * scores[i]
    return total + rng.laplace(0.0, 1.0)


def changed_between_places(scores, *, rng):
    total = 0.0
    for i in range(len(scores)):
        scores = scores * 2
        total += scores[i]
    return total + rng.laplace(0.0, 1.0)


def place_after_the_loop(scores, *, rng):
    i, total = 0, 0.0
    for i in range(len(scores)):
        total += scores[i]
    return total + rng.laplace(0.0, 1.0 if i == 0 else 0.1)


def place_of_another_function(scores, *, rng):
    i = 0

    def added():
        nonlocal i
        total = 0.0
        for i in range(len(scores)):
            total += scores[i]
        return total

    return added() + rng.laplace(0.0, 1.0 if i == 0 else 0.1)


def place_that_a_function_reads(scores, *, rng):
    i, total = 0, 0.0

    def last():
        return i

    for i in range(len(scores)):
        total += scores[i]
    return total + rng.laplace(0.0, 1.0 if last() == 0 else 0.1)


def own_range(scores, *, rng):
    def range(number):
        return [0] * number

    total = 0.0
    for i in range(len(scores)):
        total += scores[i]
    return total + rng.laplace(0.0, 1.0)


def own_place_of_a_lambda(scores, *, rng):
    total = 0.0
    for i in range(len(scores)):
        total += (lambda i: scores[i])(0)
    return total + rng.laplace(0.0, 1.0)


def inner_place(scores, *, rng):
    return sum([sum([scores[i] for i in (0, 0)]) for i in range(len(scores))]) + rng.laplace()


def sorted_by_places(scores, *, rng):
    ordered = np.sort(scores)
    return [ordered[i] for i in range(len(scores))][0], rng.laplace(0.0, 1.0)


def twice_by_places(scores, *, rng):
    return sum(scores[i] + scores[i] for i in range(len(scores))) + rng.laplace(0.0, 1.0)


def weights_of_other_factors(scores, *, rng):
    u = np.array([np.sum(scores <= t) for t in (0.2, 0.5)])
    return rng.choice(2, p=np.exp(u / 2) / np.sum(np.exp(u)))


def weights_over_n(scores, *, rng):
    u = np.array([np.sum(scores <= t) for t in (0.2, 0.5)])
    return rng.choice(2, p=np.exp(u * 1.0) / np.sum(np.exp(u / len(scores))))


for each in (weighed_by_places, changed_between_places, place_after_the_loop,
             place_of_another_function, place_that_a_function_reads, own_range,
             own_place_of_a_lambda, inner_place, sorted_by_places, twice_by_places,
             weights_of_other_factors, weights_over_n):  # fmt: skip
    add(each, "the loop is another one, or the weights are")
