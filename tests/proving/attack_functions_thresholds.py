"""Attempts to get past the rule of noisy thresholds."""

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

ATTACKS = Table("thresholds")
add = ATTACKS.add
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
up = (np.zeros(20), np.r_[np.zeros(19), 1.0])


def counts(scores):
    return [np.count_nonzero(scores <= level) for level in LEVELS]


def threshold_half_noise(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if q + rng.laplace(scale=2.0) >= t:
            return i
    return None


add(threshold_half_noise, "Δ/b in place of 2Δ/b for the answer above", loss=1.5)


def threshold_two_for_one(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=2.0), 0, []
    for q in counts(scores):
        above = q + rng.laplace(scale=4.0) >= t
        out.append(above)
        found += above
        if found == 2:
            break
    return out


add(threshold_two_for_one, "two answers above at the price of one", loss=1.5)


def threshold_never_stops(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    return [bool(q + rng.laplace(scale=4.0) >= t) for q in counts(scores)]


add(threshold_never_stops, "no answer above stops it", loss=1.5)


def threshold_bare_queries(scores, *, rng):
    t = 10 + rng.laplace(scale=1.0)
    return [bool(q >= t) for q in counts(scores)]


add(threshold_bare_queries, "queries without noise")


def threshold_value(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            return noisy
    return None


add(threshold_value, "the noisy value is returned", loss=1.2)


def threshold_value_below(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    out = []
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            break
        out.append(noisy)
    return out


add(threshold_value_below, "noisy values below are returned", loss=1.5)


def threshold_gap_below(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    out = []
    for q in counts(scores):
        gap = q + rng.laplace(scale=4.0) - t
        out.append(gap)
        if gap >= 0:
            break
    return out


add(threshold_gap_below, "gaps below are returned", loss=1.5)


def threshold_gap_of_below(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        gap = q + rng.laplace(scale=4.0) - t
        if gap < 0:
            return gap
    return None


add(threshold_gap_of_below, "the gap of an answer below", dp.PureDP(0.9))


def threshold_returned(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if q + rng.laplace(scale=4.0) >= t:
            return i, t
    return None, t


add(threshold_returned, "the threshold is returned", loss=1.2)


def threshold_printed(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    print(t)
    for i, q in enumerate(counts(scores)):
        if q + rng.laplace(scale=4.0) >= t:
            return i
    return None


add(threshold_printed, "the threshold is printed", loss=1.2)


def threshold_twice_value(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            return 2 * noisy - t
    return None


add(threshold_twice_value, "not the gap: twice the value less the threshold")


def threshold_half_value(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy - t >= 0:
            return noisy - t / 2
    return None


add(threshold_half_value, "not the gap: the value less half the threshold")


def threshold_sum(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            return noisy + t
    return None


add(threshold_sum, "not the gap: the sum")


def threshold_negated(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            return noisy - (-t)
    return None


add(threshold_negated, "not the gap: less the negated threshold")


def threshold_subtracted(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            return noisy - (20 - t)
    return None


add(threshold_subtracted, "not the gap: less a number less the threshold")


def threshold_value_negated(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            return (5 - noisy) - t
    return None


add(threshold_value_negated, "not the gap: the negated value less the threshold")


def threshold_both_ways(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    out = []
    for i, q in enumerate(counts(scores)):
        side = t if i % 2 else 20 - t
        above = q + rng.laplace(scale=4.0) >= side
        out.append(above)
        if above:
            break
    return out


add(threshold_both_ways, "the threshold's noise is added to some, and taken from others")


def threshold_scaled(scores, *, rng):
    t = rng.laplace(scale=2.0)
    out = []
    for i, q in enumerate(counts(scores)):
        above = q + rng.laplace(scale=4.0) >= (i + 1) * t
        out.append(above)
        if above:
            break
    return out


add(threshold_scaled, "the threshold's noise is multiplied")


def threshold_shrunk(scores, *, rng):
    t = rng.laplace(scale=2.0)
    out = []
    for i, q in enumerate(counts(scores)):
        above = q + rng.laplace(scale=4.0) >= 10 + t / (1 + 100 * i)
        out.append(above)
        if above:
            break
    return out


add(threshold_shrunk, "the threshold's noise nearly vanishes")


def threshold_zero_noise(scores, *, rng):
    t = rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if q + rng.laplace(scale=4.0) >= 10 + 0 * t:
            return i
    return None


add(threshold_zero_noise, "the threshold's noise is multiplied away", dp.PureDP(0.9))


def threshold_wider_later(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if 10**i * q + rng.laplace(scale=4.0) >= t:
            return i
    return None


add(threshold_wider_later, "later queries are more sensitive", pair=up, loss=5.0)


def threshold_wide_last(scores, *, rng):
    t = 30 + rng.laplace(scale=2.0)
    if np.mean(scores) + rng.laplace(scale=4.0) >= t:
        return 0
    if 100 * scores.sum() + rng.laplace(scale=4.0) < t:
        return 1
    return 2


add(threshold_wide_last, "a wide query after a narrow one", pair=up, event=lambda v: v == 2)


def threshold_one_query_draw(scores, *, rng):
    t, noise = 10 + rng.laplace(scale=2.0), rng.laplace(scale=4.0)
    for i, q in enumerate(counts(scores)):
        if q + noise >= t:
            return i
    return None


add(threshold_one_query_draw, "one draw for all queries", dp.PureDP(0.9))


def threshold_own_draw(scores, *, rng):
    noise = rng.laplace(scale=2.0)
    t = 10 + noise
    for i, q in enumerate(counts(scores)):
        if q + noise >= t:
            return i
    return None


halves = (np.r_[np.zeros(10), np.ones(10)], np.r_[np.zeros(9), np.ones(11)])
add(threshold_own_draw, "one draw for both cancels", pair=halves, event=lambda v: v == 0)


def threshold_draw_reused(scores, *, rng):
    noise = rng.laplace(scale=2.0)
    t = 10 + noise
    for i, q in enumerate(counts(scores)):
        if q + rng.laplace(scale=4.0) >= t:
            return i, q + noise
    return None


add(threshold_draw_reused, "the threshold's draw hides a value, too", loss=1.2)


def threshold_query_draw_reused(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noise = rng.laplace(scale=4.0)
        if q + noise >= t:
            return scores.sum() + noise
    return None


add(threshold_query_draw_reused, "a query's draw hides a value, too", loss=1.2)


def threshold_draw_shown(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noise = rng.laplace(scale=4.0)
        if q + noise >= t:
            return noise
    return None


add(threshold_draw_shown, "the query's draw is returned", loss=1.2)


def threshold_looked_at_again(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            return i
        if noisy >= t - 1e-9:
            return -1
    return None


add(threshold_looked_at_again, "a value below is compared again", dp.PureDP(0.9))


def threshold_of_data(scores, *, rng):
    t = 20 * scores.max() + rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if q + rng.laplace(scale=4.0) >= t:
            return i
    return None


add(threshold_of_data, "the threshold is data with little noise", loss=5.0)


def threshold_until_data(scores, *, rng):
    t, out = 10 + rng.laplace(scale=2.0), []
    for q in counts(scores):
        if q > 19:
            break
        above = q + rng.laplace(scale=4.0) >= t
        out.append(above)
        if above:
            break
    return out


add(threshold_until_data, "a bare count stops it")


def threshold_in_unknown_loop(scores, *, rng):
    t, i = 10 + rng.laplace(scale=2.0), 0
    while rng.random() < 0.99:
        if np.count_nonzero(scores <= i / 1000) + rng.laplace(scale=4.0) >= t:
            i += 1
    return i


add(threshold_in_unknown_loop, "answers above are counted without a limit")


def threshold_restarts(scores, *, rng):
    out = []
    for q in counts(scores):
        t = 10 + rng.laplace(scale=2.0)
        above = q + rng.laplace(scale=4.0) >= t
        out.append(above)
    return out


add(threshold_restarts, "a threshold for each, at the price of one", loss=2.0)


def threshold_gaussian(scores, *, rng):
    t = 10 + rng.normal(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if q + rng.normal(scale=4.0) >= t:
            return i
    return None


add(threshold_gaussian, "Gaussian noise", dp.PureDP(1.0))


def threshold_exponential(scores, *, rng):
    t = 10 + rng.exponential(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if q + rng.exponential(scale=4.0) >= t:
            return i
    return None


add(threshold_exponential, "one-sided noise", dp.PureDP(0.9))


def threshold_vector_draw(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0, size=1)
    return [bool((q + rng.laplace(scale=4.0, size=1) >= t)[0]) for q in counts(scores)]


add(threshold_vector_draw, "no answer above stops it, as vectors", loss=1.5)


def threshold_as_array(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    return np.array(counts(scores)) + rng.laplace(scale=4.0, size=5) >= t


add(threshold_as_array, "all answers at once", dp.PureDP(0.9))


def threshold_counter_reset(scores, *, rng):
    t, left, out = 10 + rng.laplace(scale=2.0), 1, []
    for q in counts(scores):
        if left == 0:
            left = 1
            continue
        if q + rng.laplace(scale=4.0) >= t:
            left -= 1
            out.append(q)
        else:
            out.append(False)
    return len(out)


add(threshold_counter_reset, "the counter of answers above is reset", loss=1.2)


def threshold_below_and_above(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    out = []
    for q in counts(scores):
        above = q + rng.laplace(scale=4.0) >= t
        if above and out and not out[-1]:
            break
        out.append(above)
    return out


add(threshold_below_and_above, "answers above are free until one is below", loss=1.2)


def threshold_concentrated(scores, *, rng):
    t = 10 + rng.laplace(scale=1.0)
    for i, q in enumerate(counts(scores)):
        if q + rng.laplace(scale=2.0) >= t:
            return i, scores.sum() + rng.normal()
    return None, 0.0


add(threshold_concentrated, "ε = 2 beside Gaussian noise", dp.ZCDP(0.9))


def twenty(scores):
    return [np.count_nonzero(scores <= level) for level in np.linspace(0.0, 1.0, 20)]


def threshold_same_for_three(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=2.0), 0, []
    for q in twenty(scores):
        if q + rng.laplace(scale=6.0) >= t:
            out.append(True)
            found += 1
            if found == 3:
                break
        else:
            out.append(False)
    return out


add(threshold_same_for_three, "Lap(2c), of counts that go both ways, for three answers", loss=1.5)


def threshold_fourth_algorithm(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=4.0), 0, []
    for q in twenty(scores):
        if q + rng.laplace(scale=4.0 / 3.0) >= t:
            out.append(True)
            found += 1
            if found == 3:
                break
        else:
            out.append(False)
    return out


add(threshold_fourth_algorithm, "the queries' noise does not grow (Lyu, Su, Li 2017, algorithm 4)")


def threshold_third_algorithm(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=2.0), 0, []
    for q in twenty(scores):
        noisy = q + rng.laplace(scale=12.0)
        if noisy >= t:
            out.append(noisy)
            found += 1
            if found == 3:
                break
        else:
            out.append(0.0)
    return out


add(threshold_third_algorithm, "the compared values are returned (algorithm 3), of twenty queries")


def threshold_fifth_algorithm(scores, *, rng):
    t = 10 + rng.laplace(scale=2.0)
    return [bool(q >= t) for q in twenty(scores)]


add(threshold_fifth_algorithm, "no noise on twenty queries (algorithm 5)")


def threshold_sixth_algorithm(scores, *, rng):
    t, out = 10 + rng.laplace(scale=2.0), []
    for q in twenty(scores):
        if q + rng.laplace(scale=4.0) >= t:
            out.append(True)
        else:
            out.append(False)
    return out


add(threshold_sixth_algorithm, "no limit of answers (algorithm 6), of twenty queries", loss=1.5)


def threshold_one_draw_of_twenty(scores, *, rng):
    t, noise, found = 10 + rng.laplace(scale=2.0), rng.laplace(scale=12.0), 0
    for i, q in enumerate(twenty(scores)):
        if q + noise >= t:
            found += 1
            if found == 3:
                return i
    return None


add(threshold_one_draw_of_twenty, "one query draw for twenty queries", dp.PureDP(0.9))


def threshold_kept_after_numbers(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=6.0), 0, []
    for q in twenty(scores):
        if found == 3:
            break
        if q + rng.laplace(scale=6.0) >= t:
            found += 1
            out.append(True)
        else:
            out.append(False)
    return out


add(threshold_kept_after_numbers, "the threshold is not drawn anew for each answer")


def threshold_not_counted(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=2.0), 0, []
    for i, q in enumerate(twenty(scores)):
        if q + rng.laplace(scale=12.0) >= t:
            out.append(i)
            if i % 2:
                found += 1
            if found == 3:
                break
    return out


add(threshold_not_counted, "each second answer is not counted", loss=1.1)


def threshold_counted_back(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=2.0), 0, []
    for q in twenty(scores):
        if q + rng.laplace(scale=12.0) >= t:
            out.append(True)
            found += 1
            if found == 3:
                break
        else:
            out.append(False)
            found = max(found - 1, 0)
    return out


add(threshold_counted_back, "an answer below takes one back", loss=1.1)


def threshold_noise_by_count(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=2.0), 0, []
    for q in twenty(scores):
        if q + rng.laplace(scale=12.0 / (1 + found)) >= t:
            out.append(True)
            found += 1
            if found == 3:
                break
        else:
            out.append(False)
    return out


add(threshold_noise_by_count, "the noise falls with the count", loss=1.2)


def threshold_anew_at_less(scores, *, rng):
    t, found, out = 10 + rng.laplace(scale=4.0), 0, []
    for q in twenty(scores):
        if q + rng.laplace(scale=12.0) >= t:
            out.append(True)
            found += 1
            t = 10 + rng.laplace(scale=2.0)
            if found == 3:
                break
        else:
            out.append(False)
    return out


add(threshold_anew_at_less, "new thresholds are not paid for", loss=1.2)
