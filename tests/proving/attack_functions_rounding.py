"""Noise that is rounded, tables of counts, and places in lists that are not known beforehand."""

import math

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

ROUNDING = Table("rounding")
ATTACKS = ROUNDING
attack = ROUNDING.attack


@attack("rounded noise hides no fraction", event=lambda x: x % 1 > 0.4)
def rounded_on_a_sum(scores, *, rng):
    return 0.5 * np.count_nonzero(scores > 0.5) + round(rng.laplace(0.0, 1.0))


@attack("rounded noise on a mean")
def rounded_on_a_mean(scores, *, rng):
    return scores.mean() + round(rng.laplace(0.0, 1.0))


@attack("truncation towards 0 makes 0 twice as likely as the rest")
def truncated(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + int(rng.laplace(0.0, 1.0))


@attack("rounded noise a tenth too small")
def rounded_too_small(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + round(rng.laplace(0.0, 0.9))


@attack("the noise is shown beside what was rounded", event=lambda x: round(x[0] - x[1]) == 1)
def rounded_and_shown(scores, *, rng):
    noise = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores > 0.5) + round(noise), round(noise)


@attack("one draw, rounded both ways, on two counts")
def rounded_twice(scores, *, rng):
    noise = rng.laplace(0.0, 2.0)
    one = np.count_nonzero(scores > 0.5) + math.floor(noise)
    return one, np.count_nonzero(scores > 0.25) + math.ceil(noise)


@attack("noise that is rounded to hundreds hides no unit")
def rounded_to_hundreds(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + round(rng.laplace(0.0, 1.0), -2)


@attack("rounded noise, halved")
def half_rounded(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + round(rng.laplace(0.0, 1.0)) / 2


@attack("rounded noise, doubled, shows whether the count is even")
def twice_rounded(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + 2 * round(rng.laplace(0.0, 1.0))


@attack("rounded noise of another sign than its negative's")
def taken_away(scores, *, rng):
    noise = math.floor(rng.laplace(0.0, 1.0))
    return np.count_nonzero(scores > 0.5) + noise - noise


@attack("exponential noise, rounded")
def rounded_exponential(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + math.floor(rng.exponential(1.0))


@attack("one rounded draw for all counts")
def rounded_for_all(scores, *, rng):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0]
    return counts + round(rng.laplace(0.0, 2.0))


@attack("rows and columns of one table are two releases")
def rows_and_columns(scores, *, rng):
    table = np.histogram(scores, bins=4, range=(0, 1))[0].reshape(2, 2)
    rows = table.sum(axis=1) + rng.laplace(0.0, 2.0, size=2)
    return rows, table.sum(axis=0) + rng.laplace(0.0, 2.0, size=2)


@attack("sums of rows of cumulated counts move by more than one record")
def rows_of_cumulated(scores, *, rng):
    counts = np.cumsum(np.histogram(scores, bins=4, range=(0, 1))[0])
    return counts.reshape(2, 2).sum(axis=1) + rng.laplace(0.0, 2.0, size=2)


@attack("one draw for each row of a table")
def one_draw_a_row(scores, *, rng):
    table = np.histogram(scores, bins=4, range=(0, 1))[0].reshape(2, 2)
    return table + rng.laplace(0.0, 2.0, size=2)


@attack("a table's entry without noise")
def entry_of_a_table(scores, *, rng):
    table = np.histogram(scores, bins=4, range=(0, 1))[0].reshape(2, 2)
    return table[0], table.sum(axis=1) + rng.laplace(0.0, 2.0, size=2)


@attack("a view is changed in place")
def changed_table(scores, *, rng):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0]
    table = counts.reshape(2, 2)
    counts *= 100
    return table.sum(axis=1) + rng.laplace(0.0, 2.0, size=2)


@attack("the records as a table")
def records_as_a_table(scores, *, rng):
    return scores.reshape(5, 4).sum(axis=1) + rng.laplace(0.0, 0.5, size=5)


@attack("a list of counts, one of which is overwritten", event=lambda x: max(x) > 0)
def counts_left(scores, *, rng):
    kept = [np.count_nonzero(scores > 0.5), np.count_nonzero(scores > 0.5)]
    kept[int(rng.random() < 0.5)] = 0
    return kept


@attack("the place depends on the data")
def place_of_data(scores, *, rng):
    kept = [0.0, 0.0]
    kept[int(np.count_nonzero(scores > 0.5) > 0)] = 1.0
    return kept


@attack("noise is stored at a public place, and used on a count")
def noise_in_a_list(scores, *, rng):
    kept = [0.0, 0.0]
    kept[int(rng.random() < 0.5)] = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores > 0.5) + kept[0] + kept[1]


@attack("a list inside of a list is changed at a public place")
def nested(scores, *, rng):
    inner = [np.count_nonzero(scores > 0.5)]
    kept = [[0.0], [0.0]]
    kept[int(rng.random() < 0.5)] = inner
    return kept[0][0], kept[1][0]


@attack("a public number of unknown size rounds the sum to a multiple of 256", n=300)
def rounded_by_a_public_number(scores, *, rng):
    b = rng.uniform(2.0**60, 2.0**61)
    return np.sum(scores) + b - b + rng.laplace(0.0, 1.0)


@attack("a public number of unknown size rounds a sum with whole-number noise", dp.PureDP(2.0))
def rounded_by_a_whole_number(scores, *, rng):
    b = rng.integers(2**60, 2**61)
    noise = rng.geometric(0.6) - rng.geometric(0.6)
    return float(np.count_nonzero(scores > 0.5)) + b - b + noise


@attack("a public number that may be of any size")
def rounded_by_a_tail(scores, *, rng):
    b = rng.logistic(0.0, 2.0**60)
    return np.sum(scores) + b - b + rng.laplace(0.0, 1.0)


@attack("the places of largest counts, rounded to multiples of 256")
def rounded_place(scores, *, rng):
    b = rng.uniform(2.0**60, 2.0**61)
    counts = np.histogram(scores, bins=4, range=(0.0, 1.0))[0] + b - b
    return int(np.argmax(counts + rng.gumbel(0.0, 2.0, size=4)))


@attack("weights of counts that were rounded")
def rounded_weights(scores, *, rng):
    b = rng.uniform(2.0**60, 2.0**61)
    counts = np.histogram(scores, bins=4, range=(0.0, 1.0))[0] + b - b
    weights = np.exp((counts - counts.max()) / 2)
    return int(rng.choice(4, p=weights / weights.sum()))


@attack("each score is rounded to a whole number", dp.PureDP(1.0), n=8, bounds=(0.4, 0.6))
def rounded_scores(scores, *, rng):
    return np.sum(scores + 2.0**52 - 2.0**52) + rng.laplace(0.0, 0.2)
