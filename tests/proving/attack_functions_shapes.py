"""Attempts by shapes and sizes: draws for many cells, axes, numbers that wrap around."""
# ruff: noqa

import math
import random
import sys
from dataclasses import dataclass, field

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

from dpcp_audit import ZCDP, PureDP

ATTACKS = Table("shapes")
attack = ATTACKS.attack
EMPTY = []


@attack("the square of a bool array is of int8, which wraps around at 128", n=8)
def mask_square_wraps(scores, *, rng):
    return float(np.sum((scores > 0.5) ** 2 * 100 + 100) + rng.laplace(0, 100.0))


@attack("an int64 times 2**62 wraps around", n=8)
def int64_wraps_by_factor(scores, *, rng):
    return float(np.sum(scores > 0.5) * 2**62 + rng.laplace(0, 2.0**62))


@attack("an int64 plus 2**63 - 1 wraps around, and shows its sign", n=8)
def int64_wraps_by_shift(scores, *, rng):
    return float(np.sum(scores > 0.5) + (2**63 - 1) + rng.laplace(0, 1.0))


@attack("a sum of int64 wraps around", n=8)
def int64_records_wrap(scores, *, rng):
    return float(np.sum((scores > 0.5).astype(int) * 2**62) + rng.laplace(0, 2.0**62))


@attack("the number of bins comes from the data", n=8)
def auto_bins(scores, *, rng):
    counts = np.histogram(scores, bins="auto", range=(0.0, 1.0))[0]
    return counts + rng.laplace(0, 2.0, size=counts.shape)


@attack("the number of bins comes from the data, and is returned", n=8)
def auto_bins_len(scores, *, rng):
    return len(np.histogram(scores, bins="auto", range=(0.0, 1.0))[0])


@attack("the second argument of np.min is an axis, and no number", n=8, event=lambda v: v > 0.5)
def min_axis(scores, *, rng):
    return float(np.sum([np.min(s, 0) for s in scores]) + rng.laplace(0, 0.01))


@attack("the second argument of np.max is an axis, and no number", n=8, event=lambda v: v > 0.5)
def max_axis(scores, *, rng):
    return float(np.sum([np.max(s, -1) for s in scores]) + rng.laplace(0, 0.01))


@attack("an int64 wraps around beside a public number that is chosen at random", n=8)
def whole_public_shift(scores, *, rng):
    k = 2**63 - 1 if rng.random() < 0.5 else 2**63 - 2
    return float(np.sum(scores > 0.5) + k + rng.laplace(0, 1.0))


@attack("int64 records wrap around beside a public number that is chosen at random", n=8)
def shifted_int_records(scores, *, rng):
    k = 2**62 if rng.random() < 0.5 else 2**62 - 2
    return float(np.sum((scores > 0.5).astype(int) + k) + rng.laplace(0, 1.0))


@attack("an int64 wraps around beside geometric noise", n=8)
def geometric_wrap(scores, *, rng):
    p = 1 - math.exp(-1.0)
    return np.count_nonzero(scores > 0.5) + (rng.geometric(p) + (2**63 - 4)) - rng.geometric(p)


@attack("one draw many", n=8, event=lambda v: v[3] - v[2] > 0.5)
def one_draw_many(scores, *, rng):
    c = np.histogram(scores, bins=4, range=(0.0, 1.0))[0]
    return c + rng.laplace(0, 2.0)


@attack("one draw many3", n=8, event=lambda v: v[3] - v[2] > 0.5)
def one_draw_many3(scores, *, rng):
    c = np.histogram(scores, bins=4, range=(0.0, 1.0))[0]
    return c + np.full(4, rng.laplace(0, 2.0))


@attack("one draw many4", n=8, event=lambda v: v[3] - v[2] > 0.5)
def one_draw_many4(scores, *, rng):
    c = np.histogram(scores, bins=4, range=(0.0, 1.0))[0]
    z = rng.laplace(0, 2.0)
    return [c[i] + z for i in range(4)]


@attack("one draw many5", n=8, event=lambda v: v[3] - v[2] > 0.5)
def one_draw_many5(scores, *, rng):
    c = np.histogram(scores, bins=4, range=(0.0, 1.0))[0]
    return c + [rng.laplace(0, 2.0)] * 4


@attack("loc vector", n=8)
def loc_vector(scores, *, rng):
    m = np.array([rng.random(), rng.random(), rng.random()])
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector2", n=8)
def loc_vector2(scores, *, rng):
    m = np.array([rng.random(), rng.random(), rng.random()]) if rng.random() < 0.5 else rng.random()
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector3", n=8)
def loc_vector3(scores, *, rng):
    m = np.round(rng.laplace(0, 1.0, size=3).tolist(), 2)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector4", n=8)
def loc_vector4(scores, *, rng):
    m = np.median(rng.laplace(0, 1.0, size=(3, 3)), 0)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector5", n=8)
def loc_vector5(scores, *, rng):
    m = max(rng.laplace(0, 1.0, size=(3, 3)).tolist())
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector6", n=8)
def loc_vector6(scores, *, rng):
    m = np.quantile(rng.laplace(0, 1.0, size=(9)), [0.1, 0.2, 0.3])
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector7", n=8)
def loc_vector7(scores, *, rng):
    m = np.sum(rng.laplace(0, 1.0, size=(9, 4)), 0)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector8", n=8)
def loc_vector8(scores, *, rng):
    i = np.array([0, 1, 2]) if rng.random() < 0.5 else np.array([1, 2, 0])
    m = rng.laplace(0, 1.0, size=9)[i]
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector9", n=8)
def loc_vector9(scores, *, rng):
    m = rng.choice([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector10", n=8)
def loc_vector10(scores, *, rng):
    m = np.argmax(rng.laplace(0, 1.0, size=(3, 3)), 0)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector11", n=8)
def loc_vector11(scores, *, rng):
    m = np.int64(rng.laplace(0, 1.0, size=3))
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector12", n=8)
def loc_vector12(scores, *, rng):
    m = abs(rng.laplace(0, 1.0, size=3))
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector13", n=8)
def loc_vector13(scores, *, rng):
    m = pow(rng.laplace(0, 1.0, size=3), 2)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector15", n=8)
def loc_vector15(scores, *, rng):
    a, m = divmod(rng.laplace(0, 1.0, size=3), 2.0)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector16", n=8)
def loc_vector16(scores, *, rng):
    m = rng.uniform(np.zeros(3), 1.0)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector17", n=8)
def loc_vector17(scores, *, rng):
    m = rng.integers([2, 3, 4])
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector18", n=8)
def loc_vector18(scores, *, rng):
    m = 2.0 < rng.laplace(0, 1.0, size=3)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector19", n=8)
def loc_vector19(scores, *, rng):
    m = rng.permutation(3)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector20", n=8)
def loc_vector20(scores, *, rng):
    m = ~(rng.laplace(0, 1.0, size=3) > 0)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector21", n=8)
def loc_vector21(scores, *, rng):
    m = rng.laplace(0, 1.0, size=3) @ np.ones((3, 3))
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector22", n=8)
def loc_vector22(scores, *, rng):
    m = rng.laplace(0, 1.0, size=3)[None]
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector23", n=8)
def loc_vector23(scores, *, rng):
    m = rng.laplace(0, 1.0, size=3)[True]
    return np.sum(scores) + rng.laplace(m[0], 1.0)


@attack("loc vector25", n=8)
def loc_vector25(scores, *, rng):
    m = rng.binomial(np.array([3, 4, 5]), 0.5)
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("loc vector26", n=8)
def loc_vector26(scores, *, rng):
    m = rng.poisson([3.0, 2.0])
    return np.sum(scores) + rng.laplace(m, 1.0)


@attack("scale row", n=8)
def scale_row(scores, *, rng):
    return np.sum(scores) + rng.laplace(0, np.ones(5))


@attack("scale row2", n=8)
def scale_row2(scores, *, rng):
    return np.sum(scores) + rng.laplace(0, np.array([1.0, 0.01]))


@attack("gumbel unequal", n=8)
def gumbel_unequal(scores, *, rng):
    c = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    return int(np.argmax(c + rng.gumbel(0, np.array([2.0, 0.001]))))


@attack("gumbel unequal2", n=8)
def gumbel_unequal2(scores, *, rng):
    c = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    return int(np.argmax([c[0] + rng.gumbel(0, 2.0), c[1] + rng.gumbel(0, 0.001)]))


@attack("gumbel halves", n=8)
def gumbel_halves(scores, *, rng):
    c = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    g = rng.gumbel(0, 2.0, size=2)
    return int(np.argmax([c[0] + g[0], c[1] + g[1] * 0.001]))


@attack("stats law shape", n=8)
def stats_law_shape(scores, *, rng):
    return stats.laplace.rvs(np.sum(scores), 1.0, (3,), rng)


@attack("stats law freeze", n=8)
def stats_law_freeze(scores, *, rng):
    law = stats.laplace(np.sum(scores), 1.0)
    return [law.rvs(random_state=rng), law.rvs(random_state=rng)]


@attack("a sample counts as one only without replacement", PureDP(0.63), n=8)
def sample_with_replacement(scores, *, rng):
    return np.sum(rng.choice(scores, 4)) + rng.laplace(0, 1.0)


@attack("two statistics of one sample are no two samples", PureDP(1.25), n=8)
def one_sample_twice(scores, *, rng):
    sub = rng.choice(scores, 4, replace=False)
    return np.sum(sub) + rng.laplace(0, 1.0), np.sum(sub > 0.5) + rng.laplace(0, 1.0)


@attack("a statistic of a sample and of all records is none of the sample", PureDP(0.63), n=8)
def sample_and_all(scores, *, rng):
    sub = rng.choice(scores, 4, replace=False)
    return np.sum(sub) + np.sum(scores) + rng.laplace(0, 2.0)


@attack("a sample that is shown", n=8)
def sample_shown(scores, *, rng):
    return np.sort(rng.choice(scores, 4, replace=False))


@attack("a sample of a private number of records", PureDP(0.63), n=8, neighbours="add-remove")
def sample_of_a_private_number(scores, *, rng):
    return np.sum(rng.choice(scores, 4, replace=False)) + rng.laplace(0, 1.0)


@attack("a sample does not lower ρ as it lowers ε", ZCDP(0.0625), n=8)
def sample_of_gaussian(scores, *, rng):
    return np.sum(rng.choice(scores, 4, replace=False)) + rng.normal(0, 1.0)


@attack("one record moves all eleven counts, not ten", n=8)
def column_counts_at_ten_elevenths(scores, *, rng):
    return (scores[:, None] <= np.linspace(0, 1, 11)).sum(axis=0) + rng.laplace(0, 10.0, 11)


@attack("the numbers are equal as doubles: one record is counted twice", n=8)
def column_equal_doubles(scores, *, rng):
    counts = (scores[:, None] == np.array([2**53, 2**53 + 1, 1])).sum(axis=0)
    return counts + rng.laplace(0, 2.0, 3)


@attack("a number is there twice: one record is counted twice", n=8)
def column_equal_twice(scores, *, rng):
    return (scores[:, None] == np.array([0.5, 0.5])).sum(axis=0) + rng.laplace(0, 2.0, 2)


@attack("the sum over the numbers is one entry for each record", n=8)
def column_summed_over_the_numbers(scores, *, rng):
    return (scores[:, None] <= np.linspace(0, 1, 4)).sum(axis=1) + rng.laplace(0, 1.0, 8)


@attack("the sum over all moves by every number", n=8)
def column_summed_over_all(scores, *, rng):
    return (scores[:, None] <= np.linspace(0, 1, 4)).sum() + rng.laplace(0, 1.0)


@attack("records against records", n=8)
def column_of_records(scores, *, rng):
    return (scores[:, None] <= scores[None, :]).sum(axis=0) + rng.laplace(0, 8.0, 8)


@attack("the numbers come from the data", n=8)
def column_of_sorted(scores, *, rng):
    return (scores[:, None] <= np.sort(scores)[::2]).sum(axis=0) + rng.laplace(0, 8.0, 4)


@attack("unlike numbers count a record in many cells", n=8)
def column_unequal(scores, *, rng):
    return (scores[:, None] != np.arange(4)).sum(axis=0) + rng.laplace(0, 2.0, 4)


@attack("as many numbers as records are compared one by one, and each shows one record", n=8)
def vector_against_vector(scores, *, rng):
    return (scores <= np.linspace(0, 1, 8)).sum() * 8 + rng.laplace(0, 1.0)


@attack("a table of two rows of numbers", n=8)
def column_against_a_table(scores, *, rng):
    return (scores[None, :] <= np.ones((2, 8)) * 0.5).sum(axis=0) + rng.laplace(0, 2.0, 8)


@attack("a record at the upper end is in a bin of its own, which the length shows", n=8)
def digitized_with_an_open_end(scores, *, rng):
    cells = np.digitize(scores, np.linspace(0.0, 1.0, 11)) - 1
    return np.bincount(cells, minlength=10) + rng.laplace(0.0, 2.0, 10)


@attack("edges that fall: the places fall with the records", n=8)
def digitized_downwards(scores, *, rng):
    cells = np.digitize(scores, np.linspace(1.0, 0.0, 11))
    return np.bincount(cells, minlength=2) + rng.laplace(0.0, 2.0, 2)


@attack("edges from the data", n=8)
def digitized_by_data(scores, *, rng):
    cells = np.digitize(scores, np.sort(scores))
    return np.bincount(cells, minlength=9) + rng.laplace(0.0, 2.0, 9)


@attack("the same noisy list is released, and its draws hide other counts", n=8)
def list_of_noise_used_for_others(scores, *, rng):
    draws = [rng.laplace(0.0, 2.0) for _ in range(4)]
    first = [c + d for c, d in zip(np.histogram(scores, 4, (0.0, 1.0))[0], draws)]
    total = sum(first)
    second = [c + d for c, d in zip(np.histogram(scores > 0.5, 4, (0.0, 1.0))[0], draws)]
    return total, second


@attack("the largest of the noisy list is released for one argmax, and the list, too", n=8)
def list_after_its_argmax(scores, *, rng):
    noisy = [c + rng.laplace(0.0, 2.0) for c in (scores[:, None] <= np.linspace(0, 1, 9)).sum(0)]
    return int(np.argmax(noisy)), noisy


@attack("a list of noisy counts is summed in one branch alone", n=8)
def list_summed_in_one_branch(scores, *, rng):
    noisy = [np.sum(scores <= t) + rng.laplace(0.0, 2.0) for t in (0.2, 0.4, 0.6)]
    coin = rng.random()
    total = sum(noisy) if coin < 0.5 else 0.0
    return total, noisy[0]


@attack("partial maxima of the counts without noise", n=8)
def accumulated_without_noise(scores, *, rng):
    return np.maximum.accumulate(np.histogram(scores, 4, (0.0, 1.0))[0])


@attack("whole noise times a number is on a coarser grid", n=8)
def whole_noise_of_python_tripled(scores, *, rng):
    p = 1.0 - math.exp(-1.0)
    noise = int(rng.geometric(p)) - int(rng.geometric(p))
    return int(np.sum(scores <= 0.5)) + 3 * noise
