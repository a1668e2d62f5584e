"""Thresholds at public and drawn ranks, right ones and wrong ones, for proofs of coverage."""

import math

import numpy as np


def by_sorting(scores, *, alpha=0.1):
    k = math.ceil((len(scores) + 1) * (1 - alpha))
    return np.sort(scores)[k - 1]


def as_a_list(scores, *, alpha=0.1):
    n = len(scores)
    k = math.ceil((n + 1) * (1 - alpha))
    return sorted(scores)[k - 1] if k <= n else math.inf


def by_partition(scores, *, alpha=0.1):
    k = math.ceil((scores.size + 1) * (1 - alpha))
    if k > scores.size:
        return 1.0
    return np.partition(scores, k - 1)[k - 1]


def by_higher_quantile(scores, *, alpha=0.1):
    n = len(scores)
    level = min(1.0, math.ceil((n + 1) * (1 - alpha)) / n)
    return float(np.quantile(scores, level, method="higher"))


def by_linear_quantile(scores, *, alpha=0.1):
    n = len(scores)
    return np.quantile(scores, min(1.0, math.ceil((n + 1) * (1 - alpha)) / n))


def by_percentile(scores):
    return np.percentile(np.asarray(scores, dtype=float), 95, method="inverted_cdf")


def with_infinity(scores, *, alpha=0.1):
    return np.quantile(np.append(scores, np.inf), 1 - alpha, method="inverted_cdf")


def with_infinity_sorted(scores, *, alpha=0.1):
    padded = np.sort(np.concatenate([scores, [np.inf]]))
    return padded[math.ceil((1 - alpha) * len(padded)) - 1]


def clamped(scores, *, alpha=0.1):
    k = min(len(scores), math.ceil((len(scores) + 1) * (1 - alpha)))
    return min(max(np.sort(scores)[k - 1], 0.0), 1.0)


def largest(scores):
    return scores.max()


def of_one_half(scores):
    half = scores[: len(scores) // 2]
    return np.sort(half)[len(half) - 2]


def with_infinity_after_sorting(scores, *, alpha=0.1):
    return np.append(np.sort(scores), np.inf)[math.ceil((1 - alpha) * (len(scores) + 1)) - 1]


def from_the_largest(scores):
    return np.sort(scores)[::-1][len(scores) // 10]


def from_the_largest_of_a_list(scores):
    return sorted(scores, reverse=True)[len(scores) // 10]


def sorted_in_place(scores):
    s = scores.copy()
    s.sort()
    return s[len(s) - 2]


def list_sorted_in_place(scores):
    s = scores.tolist()
    s.sort(reverse=True)
    return s[1]


def by_places(scores):
    return scores[np.argsort(scores)[len(scores) - 2]]


def all_by_places(scores):
    return scores[np.argsort(scores)][-3:][1]


def flipped(scores):
    return np.flip(np.sort(scores))[2]


def at_least_a_half(scores):
    return max(np.sort(scores)[len(scores) // 2], 0.5)


def between_a_half_and_one(scores):
    return np.clip(np.sort(scores)[len(scores) // 2], 0.5, 1.0)


BETWEEN = [by_linear_quantile, at_least_a_half, between_a_half_and_one]
"""Thresholds whose coverage is known up to a bound."""
RIGHT = [
    with_infinity_after_sorting, from_the_largest, from_the_largest_of_a_list, sorted_in_place,
    list_sorted_in_place, by_places, all_by_places, flipped, *BETWEEN,
    by_sorting, as_a_list, by_partition, by_higher_quantile, by_percentile,
    with_infinity, with_infinity_sorted, clamped, largest, of_one_half,
]  # fmt: skip
"""Deterministic thresholds, whose coverage is found on each set of scores by leaving one out."""


def smoothed(scores, *, rng):
    target = (len(scores) + 1) * 0.9
    k = math.floor(target)
    if rng.random() < target - k:
        k += 1
    return np.sort(scores)[k - 1]


def drawn_rank(scores, *, rng):
    return np.sort(scores)[int(rng.integers(len(scores) - 3, len(scores)))]


def chosen_rank(scores, *, rng):
    return np.sort(scores)[rng.choice([-1, -2, -3], p=[0.5, 0.25, 0.25])]


def geometric_rank(scores, *, rng):
    k = math.ceil((len(scores) + 1) * 0.9) + rng.geometric(0.5) - 1
    return np.sort(scores)[min(k, len(scores)) - 1]


def two_draws(scores, *, rng):
    k = len(scores) - 3 + int(rng.random() < 0.5) + int(rng.binomial(2, 0.5))
    return np.sort(scores)[k - 1]


def rounded_laplace(scores, *, rng):
    k = round(0.9 * (len(scores) + 1) + rng.laplace(0, 1.0))
    return np.sort(scores)[min(max(k, 1), len(scores)) - 1]


def floored_normal(scores, *, rng):
    k = math.floor(rng.normal(0.9 * len(scores), 0.5))
    return np.sort(scores)[min(max(k, 1), len(scores)) - 1]


DRAWN = [
    smoothed, drawn_rank, chosen_rank, geometric_rank, two_draws, rounded_laplace, floored_normal,
]  # fmt: skip


def off_by_one(scores):
    return np.sort(scores)[math.ceil(len(scores) * 0.9) - 1]


def plain_quantile(scores):
    return np.quantile(scores, 0.9)


def one_place_before(scores):
    k = math.ceil((len(scores) + 1) * 0.9)
    return np.sort(scores)[k - 2]


def drawn_too_low(scores, *, rng):
    return np.sort(scores)[len(scores) - 1 - int(rng.integers(0, 10))]


REFUTED = [off_by_one, plain_quantile, one_place_before, drawn_too_low]
"""Ranks too low, at n = 20: uniform scores show it exactly."""


def scaled(scores):
    return np.sort(scores)[-1] * 0.5


def of_other_numbers(scores):
    return np.sort(1 - scores)[-1]


def of_squares(scores):
    return np.max(scores**2)


def of_some(scores):
    return np.sort(scores[scores < 0.5])[-1]


def of_clipped(scores):
    return np.sort(np.clip(scores, 0, 0.5))[-1]


def cut_off(scores):
    return min(np.sort(scores)[-1], 0.5)


def cut_off_by_numpy(scores):
    return np.clip(np.max(scores), 0.0, 0.5)


def rounded_down(scores):
    return np.floor(100 * np.sort(scores)[-1]) / 100


def rounded_scores(scores):
    return np.sort(np.round(scores, 1))[-1]


def narrow(scores):
    return np.max(scores.astype(np.float32))


def unsorted(scores):
    return scores[-1]


def another_place(scores):
    return np.partition(scores, 3)[-1]


def with_minus_infinity(scores):
    return np.sort(np.append(scores, -np.inf))[len(scores) - 1]


def with_a_score(scores):
    return np.sort(np.append(scores, 0.5))[-1]


def rank_by_scores(scores):
    return np.sort(scores)[np.count_nonzero(scores < 0.5)]


def branch_on_scores(scores):
    return np.sort(scores)[-1] if scores[0] < 0.5 else 0.0


def returns_the_rank(scores):
    return len(scores)


def returns_true(scores):
    return True


def between_two(scores):
    ordered = np.sort(scores)
    return (ordered[0] + ordered[-1]) / 2


def changed_in_place(scores):
    scores *= 0.5
    return np.sort(scores)[-1]


def changed_under_another_name(scores):
    other = scores
    other[0] = 0.0
    return np.max(scores)


def shifted_by_name(scores):
    ordered = np.sort(scores)
    ordered -= 0.5
    return ordered[-1]


def hidden_by_an_error(scores):
    try:
        return np.sort(scores)[-1]
    except IndexError:
        return 0.0


def fails(scores):
    assert len(scores) < 0
    return np.sort(scores)[-1]


def beyond(scores):
    return np.sort(scores)[len(scores)]


def one_draw_twice(scores, *, rng):
    noise = rng.laplace(0, 3)
    k = len(scores) + round(noise) - round(noise)
    return np.sort(scores)[min(max(k, 1), len(scores)) - 1]


def draws_for_each(scores, *, rng):
    kept = sum(1 for s in scores if rng.random() < 0.5)
    return np.sort(scores)[-1] if kept else 0.0


def chance_by_scores(scores, *, rng):
    return np.sort(scores)[-1] if rng.random() < np.mean(scores) else 0.0


def many_draws(scores, *, rng):
    return np.sort(scores)[-1] if rng.random(3).max() < 0.5 else 0.0


def own_generator(scores):
    rng = np.random.default_rng(1)
    return np.sort(scores)[-1] if rng.random() < 0.99 else 0.0


def by_type(scores, *, rng):
    k = rng.integers(0, 2)
    return np.max(scores) if isinstance(k, int) else 0.0


def by_type_of_a_count(scores, *, rng):
    return 0.0 if isinstance(rng.binomial(2, 0.5), int) else np.max(scores)


def by_type_of_a_choice(scores, *, rng):
    return 0.0 if isinstance(rng.choice(5), int) else np.max(scores)


def by_type_of_an_answer(scores, *, rng):
    below = rng.random() < np.float64(0.5)
    return np.max(scores) if isinstance(below, bool) else 0.0


def of_distinct(scores):
    return sorted(set(scores))[-1]


def of_every_second(scores):
    return np.sort(scores[::2])[-1]


def weighted_quantile(scores):
    return np.quantile(scores, 1.0, weights=scores, method="inverted_cdf")


def into_the_scores(scores):
    np.clip(scores, 0, 0.5, scores)
    return np.max(scores)


def without_end(scores, *, rng):
    k = len(scores)
    while rng.random() < 0.5:
        k -= 1
    return np.sort(scores)[k - 1]


def not_a_number(scores):
    return np.quantile(np.append(scores, np.inf), 1.0)


def not_a_number_beside_infinity(scores):
    return np.quantile(np.append(scores, np.inf), (len(scores) - 1) / len(scores), method="linear")


def choices_of_a_size(scores, *, rng):
    return np.sort(scores)[rng.choice([18, 19], [1, 2])]


def answer_in_an_array(scores, *, rng):
    answer = np.asarray(rng.random() < 0.99)
    other = answer
    other ^= True
    return np.max(scores) if answer else 0.0


def too_large_for_a_double(scores):
    return 10**400


def chances_of_too_little(scores, *, rng):
    return np.sort(scores)[rng.choice([18, 19], p=[0.4, 0.4])]


def noise_that_is_rounded_off(scores, *, rng):
    return np.sort(scores)[math.ceil(17 + rng.laplace(0, 1e-20)) - 1]


def noise_moved_far(scores, *, rng):
    return np.sort(scores)[math.ceil(rng.laplace(0, 0.01) + 2.0**60 - 2.0**60 + 17) - 1]


def capped_just_below(scores):
    top = 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1
    return min(np.sort(scores)[18], top)


def arguments_by_no_name(scores):
    return np.minimum(a=np.sort(scores)[18], b=1.0)


def candidates_by_a_double(scores, *, rng):
    return np.sort(scores)[18 + rng.choice(1.0)]


def slice_before_sorting_in_place(scores):
    first = scores[:10]
    scores.sort()
    return np.max(first)


def slice_after_sorting_in_place(scores):
    s = scores
    s.sort()
    return np.max(scores[:10])


def sorted_in_place_either_way(scores):
    s = list(scores)
    t = s
    s.sort()
    t.sort(reverse=True)
    return s[18]


def arrays_have_no_reverse(scores):
    s = scores.copy()
    s.sort(reverse=True)
    return s[0]


def sorted_with_no_reverse(scores):
    return np.sort(scores, reverse=True)[0]


def places_in_another_array(scores):
    return np.sort(scores)[np.argsort(scores)[18]]


def places_of_a_slice(scores):
    return scores[np.argsort(scores[1:])[17]]


def places_before_sorting(scores):
    places = np.argsort(scores)
    scores.sort()
    return scores[places[18]]


def place_as_a_threshold(scores):
    return np.argsort(scores)[18]


def places_of_places(scores):
    return scores[np.argsort(np.argsort(scores))[18]]


def quantile_of_the_smallest(scores):
    return np.max(np.sort(scores)[:5])


def quantile_of_the_smaller_half(scores):
    return np.quantile(np.sort(scores)[::-1][10:], 1.0, method="higher")


def places_of_a_negative(scores):
    return scores[np.argsort(-scores)[18]]


def at_most_a_half(scores):
    return min(max(np.sort(scores)[18], 0.2), 0.5)


def at_least_no_number(scores):
    return max(np.sort(scores)[18], math.nan)


WRONG = [
    slice_before_sorting_in_place, slice_after_sorting_in_place, sorted_in_place_either_way,
    arrays_have_no_reverse, sorted_with_no_reverse, places_in_another_array, places_of_a_slice,
    places_before_sorting, place_as_a_threshold, places_of_places, quantile_of_the_smallest,
    quantile_of_the_smaller_half, places_of_a_negative, at_most_a_half, at_least_no_number,
    noise_that_is_rounded_off, noise_moved_far, capped_just_below, arguments_by_no_name,
    candidates_by_a_double,
    chances_of_too_little, choices_of_a_size, answer_in_an_array, too_large_for_a_double,
    not_a_number, not_a_number_beside_infinity,
    scaled, of_other_numbers, of_squares, of_some, of_clipped, cut_off, cut_off_by_numpy,
    rounded_down, rounded_scores, narrow, unsorted, another_place, with_minus_infinity,
    with_a_score, rank_by_scores, branch_on_scores, returns_true, between_two,
    changed_in_place, changed_under_another_name, shifted_by_name, hidden_by_an_error, fails,
    beyond, one_draw_twice, draws_for_each, chance_by_scores, many_draws, own_generator, by_type,
    by_type_of_a_count, by_type_of_a_choice, by_type_of_an_answer,
    of_distinct, of_every_second, weighted_quantile, into_the_scores, without_end,
]  # fmt: skip
"""What is no order statistic of the scores at a public rank; none is proved to cover anything."""
