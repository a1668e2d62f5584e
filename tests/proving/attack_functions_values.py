"""Attempts by what numbers are: types, sums, choices, what is used twice."""
# ruff: noqa

import math
import random
import sys
from dataclasses import dataclass, field

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

from dpcp_audit import ZCDP, GaussianDP, PureDP

ATTACKS = Table("values")
attack = ATTACKS.attack
EMPTY = []


class Loud(Exception):
    def __init__(self, *a):
        super().__init__(sys._getframe(1).f_locals["scores"].sum())


@attack("one record's condition chooses a whole array", n=8)
def where_single_cond_array(scores, *, rng):
    return float(np.sum([np.where(s > 0.5, scores, 0.0) for s in scores]) + rng.laplace(0, 1.0))


@attack("one record's condition chooses a whole array, by if and else", n=8)
def ifexp_single_cond_array(scores, *, rng):
    return float(np.sum([scores if s > 0.5 else 0.0 for s in scores]) + rng.laplace(0, 1.0))


@attack("NumPy's True is not Python's", n=8, event=lambda v: v > 0.5)
def numpy_true_is_true(scores, *, rng):
    scale = 1.0 if (np.sqrt(4.0) > 1.0) is True else 0.01
    return float(np.sum(scores) + rng.laplace(0, scale))


@attack("a square root of NumPy's is an np.floating", n=8, event=lambda v: v > 0.5)
def numpy_float_type(scores, *, rng):
    scale = 0.01 if isinstance(np.sqrt(4.0), np.floating) else 1.0
    return float(np.sum(scores) + rng.laplace(0, scale))


@attack("NumPy's double has another text than Python's", n=8, event=lambda v: v > 0.5)
def numpy_float_repr(scores, *, rng):
    scale = 1.0 if repr(np.sqrt(4.0)) == "2.0" else 0.01
    return float(np.sum(scores) + rng.laplace(0, scale))


@attack("np.exp is infinite beyond 709, and the error that follows is caught", n=2000)
def exp_overflow(scores, *, rng):
    u = np.histogram(scores, bins=2, range=(0.0, 1.0))[0] * 0.5
    w = np.exp(u)
    try:
        return int(rng.choice(2, p=w / w.sum()))
    except ValueError:
        return -1


@attack("np.exp is infinite beyond 709, and an error follows", n=2000)
def exp_overflow_raises(scores, *, rng):
    u = np.histogram(scores, bins=2, range=(0.0, 1.0))[0] * 0.5
    w = np.exp(u)
    return int(rng.choice(2, p=w / w.sum()))


@attack("doubles round whole numbers beyond 2**53", n=8)
def absorbed(scores, *, rng):
    return float((np.sum(scores) + 2.0**53) + rng.laplace(0, 1.0))


@attack("an exception looks at the variables of its caller", n=8)
def loud(scores, *, rng):
    if rng.random() < 0.5:
        raise Loud
    return 0.0


@attack("tree leaf", n=8)
def tree_leaf(scores, *, rng):
    a = np.count_nonzero(scores < 0.5)
    b = np.count_nonzero(scores >= 0.5)
    return [a + rng.laplace(0, 1.0), b + rng.laplace(0, 1.0)]


@attack("noisy mean private n", n=8, neighbours="add-remove")
def noisy_mean_private_n(scores, *, rng):
    return (np.sum(scores) + rng.laplace(0, 2.0)) / (len(scores) + rng.laplace(0, 1.9))


@attack("sum negative", n=8, neighbours="add-remove")
def sum_negative(scores, *, rng):
    return np.sum(scores - 5.0) + rng.laplace(0, 1.0)


@attack("sum of constant", n=8, neighbours="add-remove")
def sum_of_constant(scores, *, rng):
    return np.sum(scores * 0.0 + 5.0) + rng.laplace(0, 1.0)


@attack("count of all", n=8, neighbours="add-remove")
def count_of_all(scores, *, rng):
    return sum(1 for s in scores) + rng.laplace(0, 0.5)


@attack("clip shift", n=8, neighbours="add-remove")
def clip_shift(scores, *, rng):
    m = rng.random() + 3.0
    return np.sum(scores + m) + rng.laplace(0, 1.0)


@attack("ternary record", n=8)
def ternary_record(scores, *, rng):
    t = np.sum([(s if s > 0.5 else -s) for s in scores])
    return t + rng.laplace(0, 1.0)


@attack("nested cond", n=8)
def nested_cond(scores, *, rng):
    t = sum((2 if s > 0.7 else 1) if s > 0.3 else 0 for s in scores)
    return t + rng.laplace(0, 1.0)


@attack("loop else", n=8)
def loop_else(scores, *, rng):
    for i in range(3):
        if rng.random() < 0.1:
            break
    else:
        return np.sum(scores)
    return 0.0


@attack("mean twice", n=8)
def mean_twice(scores, *, rng):
    return [np.mean(scores) + rng.laplace(0, 1 / 8)] * 1 + [
        np.mean(scores**2) + rng.laplace(0, 1 / 8)
    ]


@attack("short circuit", n=8)
def short_circuit(scores, *, rng):
    return bool(rng.random() < 0.5 or np.sum(scores) > 3)


@attack("pub or stat", n=8)
def pub_or_stat(scores, *, rng):
    x = rng.random() < 0.5 and np.sum(scores)
    return x


@attack("sorted reverse", n=8, event=lambda v: v > 0.5)
def sorted_reverse(scores, *, rng):
    return sorted(scores, reverse=True)[0] + rng.laplace(0, 0.01)


@attack("sort key", n=8, event=lambda v: v > 0.5)
def sort_key(scores, *, rng):
    s = sorted(scores, key=lambda v: -v)
    return s[0] + rng.laplace(0, 0.01)


@attack("sort axis none", n=8)
def sort_axis_none(scores, *, rng):
    return np.sort(scores, axis=None)[0] + rng.laplace(0, 0.9)


@attack("gauss pure", n=8)
def gauss_pure(scores, *, rng):
    return random.gauss(np.sum(scores), 100.0)


@attack("gauss reused", ZCDP(0.5), n=8, event=lambda v: v[0] + v[1] > 1)
def gauss_reused(scores, *, rng):
    z = rng.normal(0, 1.0)
    a = np.sum(scores) + z
    b = np.sum(scores) - z
    return [a, b]


@attack("gauss neg", ZCDP(0.5), n=8, event=lambda v: v[0] + v[1] > 0.5)
def gauss_neg(scores, *, rng):
    z = rng.normal(0, 1.0)
    return [np.sum(scores) + z, -z]


@attack("gauss twice", ZCDP(0.5), n=8, event=lambda v: v[1] - v[0] > 0.5)
def gauss_twice(scores, *, rng):
    a = np.sum(scores) + rng.normal(0, 1.0)
    b = a + np.sum(scores)
    return [a, b]


@attack("median of three", n=8)
def median_of_three(scores, *, rng):
    return sorted([np.sum(scores) + rng.laplace(0, 1.0) for _ in range(3)])[1]


@attack("max noisy value", n=8)
def max_noisy_value(scores, *, rng):
    c = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    return max(c[0] + rng.laplace(0, 2.0), c[1])


@attack("public index of counts", n=8)
def public_index_of_counts(scores, *, rng):
    c = np.histogram(scores, bins=4, range=(0.0, 1.0))[0]
    i = rng.integers(4)
    return [c[i] + rng.laplace(0, 1.0), c[i] + rng.laplace(0, 1.0)]


@attack("NaN beside some", event=np.isnan)
def nan_beside_some(scores, *, rng):
    w = rng.integers(1, 2) * np.nan
    return np.clip(w - scores[scores > 0.5], -1, 1).sum() + rng.laplace(0, 10)


@attack("NaN, then some", event=np.isnan)
def nan_then_some(scores, *, rng):
    w = rng.integers(1, 2) * np.nan
    return np.clip(w - scores, -1, 1)[scores > 0.5].sum() + rng.laplace(0, 10)


@attack("NaN where it holds", event=np.isnan)
def nan_where_it_holds(scores, *, rng):
    w = rng.integers(1, 2) * np.nan
    return np.where(scores > 0.5, np.clip(w - scores, -1, 1), 0.0).sum() + rng.laplace(0, 10)


@attack("infinity less itself", GaussianDP(10.0))
def infinity_less_itself(scores, *, rng):
    w = np.mean(scores) + rng.normal(0, 10.0) + np.inf - np.inf
    return np.clip(w - scores, -1, 1)[scores > 0.5].sum() + rng.laplace(0, 10)


@attack("overflow less itself", GaussianDP(10.0))
def overflow_less_itself(scores, *, rng):
    w = np.mean(scores) + rng.normal(0, 10.0)
    for _ in range(12):
        w = w * 1e30
    return np.clip((w - w) - scores, -1, 1)[scores > 0.5].sum() + rng.laplace(0, 10)


@attack("scale of another entry", GaussianDP(10.0))
def scale_of_another_entry(scores, *, rng):
    w = np.mean(scores) + rng.normal(0, np.array([1.0, 1e308]))[1]
    return np.clip((w * 9 - w * 9) - scores, -1, 1)[scores > 0.5].sum() + rng.laplace(0, 10)


@attack("NaN shows a sample", PureDP(0.05), n=1)
def nan_shows_a_sample(scores, *, rng):
    w = rng.integers(1, 2) * np.nan
    batch = scores[rng.random(len(scores)) < 0.01]
    first = np.clip(w - batch, -1, 1).sum() + rng.laplace(0, 1000)
    return first, np.sum(batch) + rng.laplace(0, 1.0)


@attack("moved so often that doubles round it off")
def moved_so_often(scores, *, rng):
    z = rng.laplace(0, 1.0)
    for _ in range(9000):
        z = z + 1e12
    return np.count_nonzero(scores > 0.5) + z


TINY_SCALES = np.array([[1e-6, 1.0], [1e-6, 1e-6]])


@attack("a list as an index selects rows, where a tuple selects one entry", n=8)
def scales_by_a_list(scores, *, rng):
    return np.sum(scores) + rng.laplace(0, TINY_SCALES[[0, 1]])


@attack("an array of one entry that a list has selected has another name")
def entry_by_a_list(scores, *, rng):
    v = np.array([1.0, 2.0]) * 1.0
    x = v[[0]]
    y = x
    x += np.sum(scores)
    return y


@attack("a type differs between branches that are joined", n=8, event=lambda v: v == 1.0)
def joined_types(scores, *, rng):
    x = np.float64(0.1) + 0.2 if rng.random() < 0.5 else 0.1 + 0.2
    if isinstance(x, np.float64):
        return np.sum(scores) + rng.laplace(0, 1.0)
    return np.sum(scores)


@attack("the sign of 0 differs between branches", n=8)
def joined_signs(scores, *, rng):
    x = +0.0 if rng.random() < 0.5 else -0.0
    if str(x) == "-0.0":
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("keys of a dictionary differ in their type between branches", n=8)
def joined_keys(scores, *, rng):
    d = {1: 0.0} if rng.random() < 0.5 else {True: 0.0}
    for key in d:
        if str(key) == "True":
            return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("NaN among the edges of bins")
def edges_that_are_no_numbers(scores, *, rng):
    counts, _ = np.histogram(scores, bins=[0.0, np.nan, 0.3, np.nan, 0.6, np.nan, 1.0])
    return counts + rng.laplace(0, 2.0, size=6)


@attack("an array of another type than it is filled as", n=8)
def filled_as_whole_numbers(scores, *, rng):
    w = np.full((1, 2), 0.9, dtype=int)
    if w[0, 0] == 0:
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("an array of a narrow type of two dimensions", n=8)
def filled_as_bytes(scores, *, rng):
    w = np.full((1, 2), 200.0, dtype=np.uint8)
    if (w + w)[0, 0] == 144:
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("an iterator without entries is true", n=8)
def iterators_are_true(scores, *, rng):
    if zip((), ()):
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("iterators are compared as objects", n=8)
def iterators_compared(scores, *, rng):
    if reversed((1,)) == reversed((1,)):
        return np.sum(scores) + rng.laplace(0, 1.0)
    return np.sum(scores)


@attack("a factor that is 1 but for rounding, beside noise of whole numbers", PureDP(2.0))
def almost_whole(scores, *, rng):
    factor = 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1
    p = 1 - math.exp(-1)
    return np.count_nonzero(scores > 0.5) * factor + rng.geometric(p) - rng.geometric(p)


@attack("a list of truth values that is made an array of doubles")
def truths_as_doubles(scores, *, rng):
    w = np.array([True, True], dtype=float)
    s = w + w
    return np.sum(scores) * s[0] + rng.laplace(0, 1.0)


@attack("the type of an array that a list is made into", n=8)
def type_of_an_array(scores, *, rng):
    if np.array([1, 2], float).dtype == float:
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("a filled array as an index selects rows", n=8)
def rows_by_a_filled_array(scores, *, rng):
    x = np.array([[1.0, 2.0], [3.0, 4.0]])[np.zeros(2, dtype=int)]
    if np.ndim(x) == 2:
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("rows of a list are lists, which are repeated by a factor", n=8)
def rows_of_a_list(scores, *, rng):
    rows = rng.random((2, 2)).tolist()
    if len(rows[0] * 2) == 4:
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("whole noise on a whole number plus a fraction, whose last bits differ")
def fraction_under_whole_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + 0.1 + round(rng.laplace(0, 1))


@attack("whole noise plus a fraction, on a whole number")
def fraction_on_whole_noise(scores, *, rng):
    return round(rng.laplace(0, 1)) + 0.1 + np.count_nonzero(scores > 0.5)


@attack("a count that begins with a fraction, under whole noise")
def count_from_a_fraction(scores, *, rng):
    return sum(scores > 0.5, 0.1) + round(rng.laplace(0, 1))
