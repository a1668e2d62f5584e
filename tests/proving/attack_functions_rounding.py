"""Noise that is rounded, tables of counts, and places in lists that are not known beforehand."""

import math

import numpy as np
from proving.specimen_tables import Table

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


@attack("a count is stored at a public place, and shown")
def stored_count(scores, *, rng):
    kept = [0.0, 0.0]
    kept[int(rng.random() < 0.5)] = np.count_nonzero(scores > 0.5)
    return kept


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
