"""Attempts by the order of records, by what is done for some of them only, and by shapes."""
# ruff: noqa

import math
import random

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

ATTACKS = Table("records")
attack = ATTACKS.attack
ROUND = np.array([0.05, 0.15, 0.25, 0.35, 0.45])
ROUND_MOVED = np.array([0.15, 0.25, 0.35, 0.45, 0.55])
CODE = np.array([-1.0, 1.0, -1.0, 1.0, 0.0])
"""Sorted records, a neighbour that shifts them all, and what tells the two apart."""


def counts(scores):
    return np.histogram(scores, bins=4, range=(0.0, 1.0))[0]


@attack(
    "one record shifts sorted ones, and moves many entries of what does not rise with them",
    loss=2.0,
)
def sorted_abs_vector(scores, *, rng):
    return np.abs(np.sort(scores) - 0.5) + rng.laplace(0, 0.5, size=len(scores))


@attack(
    "one record shifts sorted ones, and moves many entries of what does not rise with them",
    n=5,
    loss=4.0,
    pair=(ROUND, ROUND_MOVED),
    event=lambda x: CODE @ x > 1.0,
)
def sorted_xor_vector(scores, *, rng):
    t = np.sort(scores)
    return ((t > 0.1) ^ (t > 0.2) ^ (t > 0.3) ^ (t > 0.4)) * 1.0 + rng.laplace(
        0, 1.0, size=len(scores)
    )


@attack(
    "one record shifts sorted ones, and moves many entries of what does not rise with them",
    loss=2.0,
)
def sorted_where_vector(scores, *, rng):
    t = np.sort(scores)
    v = np.where((t > 0.1) & (t < 0.2), 1.0, 0.0)
    return v + rng.laplace(0, 1.0, size=len(scores))


@attack(
    "one record shifts sorted ones, and moves many entries of what does not rise with them",
    loss=2.0,
)
def sorted_list_vector(scores, *, rng):
    v = np.array([1.0 if 0.3 < s < 0.6 else 0.0 for s in np.sort(scores)])
    return v + rng.laplace(0, 1.0, size=len(scores))


@attack("one record shifts sorted ones, and moves many entries of what does not rise with them")
def sorted_argmax_vector(scores, *, rng):
    v = np.abs(np.sort(scores) - 0.5)
    return np.argmax(v + rng.gumbel(0, 0.5, size=len(scores)))


@attack(
    "one record shifts sorted ones, and moves many entries of what does not rise with them",
    dp.ZCDP(0.5),
    loss=2.0,
)
def sorted_gauss_vector(scores, *, rng):
    t = np.sort(scores)
    v = ((t > 0.1) ^ (t > 0.2) ^ (t > 0.3) ^ (t > 0.4)) * 1.0
    return v + rng.normal(0, 1.0, size=len(scores))


@attack("several entries, or a slice, at places that are not known beforehand")
def fancy_filled(scores, *, rng):
    a = np.zeros(3)
    a[0] = np.count_nonzero(scores > 0.5)
    a[1] = np.count_nonzero(scores > 0.6)
    a[2] = np.count_nonzero(scores > 0.7)
    idx = rng.integers(0, 3, size=3)
    return a[idx] + rng.laplace(0, 1.0)


@attack("several entries, or a slice, at places that are not known beforehand")
def fancy_filled2(scores, *, rng):
    a = np.zeros(3)
    for j in range(3):
        a[j] = np.count_nonzero(scores > 0.3 * j)
    idx = np.argsort(rng.random(3))
    return a[idx] + rng.laplace(0, 1.0)


@attack("several entries, or a slice, at places that are not known beforehand")
def fancy_filled_slice(scores, *, rng):
    a = np.zeros(3)
    for j in range(3):
        a[j] = np.count_nonzero(scores > 0.3 * j)
    k = int(rng.integers(2, 4))
    return a[:k] + rng.laplace(0, 1.0)


@attack("several entries, or a slice, at places that are not known beforehand")
def fancy_filled_mask(scores, *, rng):
    a = np.zeros(3)
    for j in range(3):
        a[j] = np.count_nonzero(scores > 0.3 * j)
    m = rng.random(3) < 0.9
    return a[m] + rng.laplace(0, 1.0)


@attack("several entries, or a slice, at places that are not known beforehand", loss=3.0)
def fancy_loc(scores, *, rng):
    a = np.zeros(3)
    idx = rng.integers(0, 3, size=3)
    z = rng.laplace(a[idx], 1.0)
    return np.count_nonzero(scores > 0.5) + z


@attack("several entries, or a slice, at places that are not known beforehand", loss=3.0)
def list_slice_loc(scores, *, rng):
    a = [0.0, 0.0, 0.0]
    k = int(rng.integers(2, 4))
    z = rng.laplace(a[:k], 1.0)
    return np.count_nonzero(scores > 0.5) + z


@attack("a number is no array to be permuted: an error for some records only")
def permute_single(scores, *, rng):
    return sum(rng.permutation(s) if s > 0.5 else 0.0 for s in scores) + rng.laplace(0, 1.0)


@attack("a number is no array to be permuted: an error for some records only")
def permute_single2(scores, *, rng):
    return sum((rng.permutation(s), 1)[1] for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("an attribute may be missing, for some records only")
def attr_known(scores, *, rng):
    x = 0.5
    return sum((x.foo, 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("an attribute may be missing, for some records only")
def attr_stat(scores, *, rng):
    c = np.count_nonzero(scores > 0.2)
    return sum((c.foo, 1)[1] for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("an attribute may be missing, for some records only")
def attr_rng(scores, *, rng):
    return sum((rng.foo, 1)[1] for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("an attribute may be missing, for some records only")
def attr_loop(scores, *, rng):
    c = 0
    for s in scores:
        if s > 0.5:
            c += (s.foo, 1)[1]
    return c + rng.laplace(0, 1.0)


@attack("an array of no dimension changes in place, and its type shows")
def zero_d(scores, *, rng):
    x = max([np.where(s > 0.5, s, 0.2) if s > 0.3 else s for s in scores])
    x += rng.laplace(0, 1.0)
    return x


@attack("an array of no dimension changes in place, and its type shows")
def zero_d2(scores, *, rng):
    x = max([np.array(s) if s > 0.3 else s for s in scores])
    x += rng.laplace(0, 1.0)
    return x


@attack("an array of no dimension changes in place, and its type shows")
def zero_d3(scores, *, rng):
    x = sorted([np.array(s) if s > 0.3 else s for s in scores])[3]
    x += rng.laplace(0, 1.0)
    return x


@attack("a far larger public number rounds the noise off")
def rounding_noise_unknown(scores, *, rng):
    u = 2.0**60 * (1 + rng.random())
    z = (rng.laplace(0, 1.0) + u) - u
    return np.count_nonzero(scores > 0.5) + z


@attack("the truth of an array raises an error, for some records only")
def truth_some(scores, *, rng):
    v = rng.integers(0, 2, size=2)
    return sum((1 if v else 1) for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("the truth of an array raises an error, for some records only")
def truth_loop(scores, *, rng):
    v = rng.integers(0, 2, size=2)
    c = 0
    for s in scores:
        if s > 0.5:
            if v:
                c += 1
    return c + rng.laplace(0, 1.0)


@attack("the exponential may be infinite: the error shows")
def shifted_exp(scores, *, rng):
    u = 35.0 + 1e-9 * rng.random()
    x = np.sum(scores + u)
    w = np.exp(np.array([x, 0.0]))
    return rng.choice(2, p=w / w.sum())


@attack("the exponential may be infinite: the error shows")
def shifted_exp_mean(scores, *, rng):
    u = 709.78 + 1e-9 * rng.random()
    x = np.mean(scores + u)
    w = np.exp(np.array([x, 0.0]))
    return rng.choice(2, p=w / w.sum())


@attack("the largest of each row is a row of numbers")
def table_argmax(scores, *, rng):
    h = np.histogram(scores, bins=4, range=(0.0, 1.0))[0].reshape(2, 2)
    k = np.argmax(h * 0.0 + rng.laplace(0, 1.0, size=(2, 2)), axis=-1)
    z = rng.laplace(k, 1.0)
    return np.count_nonzero(scores > 0.5) + z


@attack("the data decide between whole numbers and doubles")
def type_const(scores, *, rng):
    p = 1 - math.exp(-1.0)
    return np.sum([1 if s > 0.5 else 1.0 for s in scores]) + (rng.geometric(p) - rng.geometric(p))


@attack("the data decide between whole numbers and doubles")
def type_const2(scores, *, rng):
    p = 1 - math.exp(-1.0)
    return sum(1 if s > 0.5 else 1.0 for s in scores) + (rng.geometric(p) - rng.geometric(p))


@attack("the data decide between whole numbers and doubles")
def type_const3(scores, *, rng):
    p = 1 - math.exp(-1.0)
    return sum((float(s) if s > 0.5 else 0) * 0 for s in scores) + (
        rng.geometric(p) - rng.geometric(p)
    )


@attack("the data decide how is chosen")
def choice_replace(scores, *, rng):
    w = np.exp(np.array([np.mean(scores), 0.0]))
    return rng.choice(2, p=w / w.sum(), replace=np.sum(scores))


@attack("one draw of Python's for a whole array", dp.ZCDP(1.0))
def py_gauss_vec(scores):
    return random.gauss(counts(scores), 1.0)


@attack("one draw of Python's for a whole array", dp.ZCDP(1.0))
def py_normalvariate(scores):
    return random.normalvariate(
        np.array([np.count_nonzero(scores > 0.5), np.count_nonzero(scores > 0.2)]), 1.0
    )


@attack("one draw of Python's for a whole array", dp.ZCDP(1.0))
def py_gauss_scale(scores):
    z = random.gauss(0, np.ones(4))
    a = np.count_nonzero(scores > 0.5)
    return a + z[0], np.count_nonzero(scores > 0.2) + z[1]


@attack("one draw of Python's for a whole array", dp.ZCDP(1.0))
def py_gauss_loc(scores):
    z = random.gauss(np.zeros(2), 1.0)
    return np.array([np.count_nonzero(scores > 0.5), np.count_nonzero(scores > 0.2)]) + z


@attack("a list of one array is sorted without a comparison")
def sorted_one(scores, *, rng):
    u = rng.random(3)
    z = rng.laplace(sorted([u * 0.0])[0], 1.0)
    return np.count_nonzero(scores > 0.5) + z


@attack("a statistic that may raise an error is computed for some records only")
def some_quantile(scores, *, rng):
    q = rng.integers(0, 3) * 1.0
    return sum((np.quantile(scores, q), 1)[1] for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("a statistic that may raise an error is computed for some records only")
def some_loop_quantile(scores, *, rng):
    q = rng.integers(0, 3) * 1.0
    c = 0
    for s in scores:
        if s > 0.5:
            c += (np.quantile(scores, q), 1)[1]
    return c + rng.laplace(0, 1.0)


@attack("a statistic that may raise an error is computed for some records only")
def some_index(scores, *, rng):
    c = [np.mean(scores), np.mean(scores)]
    k = int(rng.integers(0, 4))
    return sum((c[k], 1)[1] for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("a statistic that may raise an error is computed for some records only")
def some_add_big(scores, *, rng):
    u = 10**400 + rng.integers(0, 4).bit_length()
    return sum((np.mean(scores) + u, 1)[1] for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_store(scores, *, rng):
    c = sum(float(s) for s in scores if s > 0.5)
    a = np.array([c, 0])
    a[1] = 0.7
    return a[1]


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_add(scores, *, rng):
    c = sum(float(s) for s in scores if s > 0.5)
    a = np.array([c, 0])
    a += 0.5
    return a + rng.laplace(0, 1.0, size=2)


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_loop(scores, *, rng):
    c = 0
    for s in scores:
        if s > 0.5:
            c += 0.5
    a = np.array([c, 0])
    a[1] = 0.7
    return a[1]


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_bool(scores, *, rng):
    c = True
    for s in scores:
        if s > 0.5:
            c += 1
    a = np.array([c, False])
    a[1] = 5
    return a[1]


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_mixed(scores, *, rng):
    c = np.sum([1 if s > 0.5 else 0.5 for s in scores])
    a = np.array([c, 0])
    a[1] = 0.7
    return a[1]


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_min(scores, *, rng):
    c = np.sum([min(2 * float(s), 1) for s in scores])
    a = np.array([c, 0])
    a[1] = 0.7
    return a[1]


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_mean(scores, *, rng):
    c = sum([1 if s > 0.5 else 0.5 for s in scores])
    a = np.array([c, 0])
    a *= 0.5
    return a + rng.laplace(0, 1.0, size=2)


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_start(scores, *, rng):
    c = sum((s > 0.5 and s < 0.9 for s in scores if s > 0.2), True)
    a = np.array([c, False])
    a[1] = 5
    return a[1]


@attack("an array of whole numbers cuts off what is stored: the data decide its type")
def dtype_of_large_entries(scores, *, rng):
    x = np.array([2**63 if s > 0.5 else -1 for s in scores]) * 0
    a = np.array([np.sum(x), 0])
    a[1] = 0.7
    return a[1]
