"""Attempts by what Python does first, or not at all, and by what its own types are."""
# ruff: noqa

import math

import numpy as np
from proving.specimen_tables import Table

from dpcp_audit import PureDP

ATTACKS = Table("order")
attack = ATTACKS.attack
TWO, THREE = np.repeat([1.0, 0.0], [1, 7]), np.repeat([1.0, 0.0], [2, 6])


@attack("a dictionary is looked through by its keys", n=8, event=lambda v: v > 0.5)
def dict_in_keys(scores, *, rng):
    b = 100.0
    if "a" in {"a": 5.0}:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a dictionary's values are not looked through", n=8, event=lambda v: v > 0.5)
def dict_not_in_values(scores, *, rng):
    b = 100.0
    if 2 not in {1: 2}:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a list is not one of its entries", n=8, event=lambda v: v > 0.5)
def in_list_of_list(scores, *, rng):
    b = 0.01
    if [1] in [1, 2]:
        b = 100.0
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a tuple is no list", n=8, event=lambda v: v > 0.5)
def in_nested_list(scores, *, rng):
    b = 0.01
    if (1,) in [[1]]:
        b = 100.0
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("an array of one entry is compared entry by entry", n=8, event=lambda v: v > 0.5)
def in_list_of_array(scores, *, rng):
    b = 100.0
    if 1.0 in [np.ones(1)]:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("NaN is another object each time it is taken out", n=8, event=lambda v: v > 0.5)
def in_nan(scores, *, rng):
    b = 0.01
    x = np.full(2, math.nan)
    if x[0] in [x[0]]:
        b = 100.0
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a list that is chosen is that list", n=8, event=lambda v: v > 0.5)
def choice_alias(scores, *, rng):
    one, two = [100.0], [100.0]
    taken = one if rng.random() > 0.0 else two
    taken[0] = 0.01
    return float(np.sum(scores) + rng.laplace(0, one[0]))


@attack("a list that is returned in a branch is that list", n=8, event=lambda v: v > 0.5)
def returned_alias(scores, *, rng):
    one, two = [100.0], [100.0]

    def pick(v):
        if v > 0.0:
            return one
        return two

    pick(rng.random())[0] = 0.01
    return float(np.sum(scores) + rng.laplace(0, one[0]))


@attack("an array that is chosen is that array", n=8, event=lambda v: v > 0.5)
def array_alias(scores, *, rng):
    one, two = np.full(1, 100.0), np.full(1, 100.0)
    taken = one if rng.random() > 0.0 else two
    taken -= 99.99
    return float(np.sum(scores) + rng.laplace(0, one[0]))


class Scale:
    def __init__(self, value):
        self.value = value


@attack("an object that is chosen is that object", n=8, event=lambda v: v > 0.5)
def object_choice_alias(scores, *, rng):
    one, two = Scale(100.0), Scale(100.0)
    taken = one if rng.random() > 0.0 else two
    taken.value = 0.01
    return float(np.sum(scores) + rng.laplace(0, one.value))


@attack("a list grows while a loop goes through it", n=8, event=lambda v: v > 0.5)
def list_that_grows_in_its_loop(scores, *, rng):
    one, two, b = [100.0], [100.0], 1.0
    for b in one:
        taken = one if rng.random() > 0.0 else two
        if len(taken) < 2:
            taken.append(0.01)
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("what follows a condition that fails is not read", n=8, event=lambda v: v > 0.5)
def second_condition(scores, *, rng):
    b = [0.01]
    [0 for i in range(3) if i > 5 if b.append(100.0) is None]
    return float(np.sum(scores) + rng.laplace(0, b[-1]))


@attack("a dictionary's values are read between its keys", n=8, event=lambda v: v > 0.5)
def keys_after_values(scores, *, rng):
    b = [0.01]

    def widened():
        b[0] = 100.0
        return "b"

    d = {"a": b[0], widened(): 1.0}
    return float(np.sum(scores) + rng.laplace(0, d["a"]))


@attack("the text of an assertion that holds is not read", n=8, event=lambda v: v > 0.5)
def assertion_text(scores, *, rng):
    b = [0.01]
    assert True, b.append(100.0)
    return float(np.sum(scores) + rng.laplace(0, b[-1]))


@attack("the least of a list is a number of Python", n=8, event=lambda v: v > 0.5)
def min_of_list(scores, *, rng):
    b = 100.0
    if (min([1.0, 2.0]) > 0) is True:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("the sum of a list is a number of Python", n=8, event=lambda v: v > 0.5)
def sum_of_list(scores, *, rng):
    b = 100.0
    if (sum([1.0, 2.0]) > 0) is True:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a sum is a number of Python", n=8, event=lambda v: v > 0.5)
def sum_of_generator(scores, *, rng):
    b = 100.0
    if (sum(x for x in [1.0, 2.0]) > 0) is True:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a product is a number of Python", n=8, event=lambda v: v > 0.5)
def product_of_list(scores, *, rng):
    b = 100.0
    if (math.prod([1.0, 2.0]) > 0) is True:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("whole numbers of Python do not wrap around", n=8, event=lambda v: v > 0.5)
def sum_beyond(scores, *, rng):
    b = 100.0
    if sum([2**62, 2**62]) > 0:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a list keeps its entries' types", n=8, event=lambda v: v > 0.5)
def largest_of_mixed(scores, *, rng):
    b = 100.0
    if isinstance(max([3, 2.5]), int):
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a number of Python is written without its type", n=8, event=lambda v: v > 0.5)
def written_sum(scores, *, rng):
    b = 100.0
    if len(repr(sum([1.0, 2.0]))) < 5:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a list with an entry is true", n=8, event=lambda v: v > 0.5)
def all_of_lists(scores, *, rng):
    b = 100.0
    if all(x for x in [[0.0], [0.0]]):
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("a list with an entry is true", n=8, event=lambda v: v > 0.5)
def sorted_lists(scores, *, rng):
    b = 100.0
    if sorted([[1.0], [0.0]])[0]:
        b = 0.01
    return float(np.sum(scores) + rng.laplace(0, b))


@attack("entries left out hold what was in memory before", n=8)
def negative_where(scores, *, rng):
    np.sum(scores * 1.0)
    return np.negative(np.ones(8), where=np.zeros(8, dtype=bool))


@attack("entries left out hold what was in memory before", n=8)
def root_where(scores, *, rng):
    np.sum(scores * 1.0)
    return np.sqrt(np.linspace(0, 1, 8), where=np.linspace(0, 1, 8) > 2)


@attack("entries left out hold what was in memory before", n=8)
def clip_where(scores, *, rng):
    np.sum(scores * 1.0)
    return np.linspace(0, 1, 8).clip(0, 1, where=np.linspace(0, 1, 8) > 2)


@attack("a public number on Gumbel noise is a weight", n=8)
def gumbel_with_numbers(scores, *, rng):
    edges = np.concatenate(([0.0], np.sort(scores), [1.0]))
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges))
    i = np.argmax(logs + (rng.gumbel(size=9) + 1000.0 * np.arange(9)))
    return rng.uniform(edges[i], edges[i + 1])


@attack("a public number on Gumbel noise is a weight", n=8)
def gumbel_around_numbers(scores, *, rng):
    edges = np.concatenate(([0.0], np.sort(scores), [1.0]))
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges))
    i = np.argmax(logs + rng.gumbel(1000.0 * np.arange(9), 1.0))
    return rng.uniform(edges[i], edges[i + 1])


@attack("a public number on Gumbel noise is a weight", n=8)
def gumbel_of_numbers(scores, *, rng):
    edges = np.concatenate(([0.0], np.sort(scores), [1.0]))
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges))
    i = np.argmax(logs + np.array([rng.gumbel() + 1000.0 * k for k in range(9)]))
    return rng.uniform(edges[i], edges[i + 1])


@attack("a maximum of a half and a whole number", n=8)
def half_counts_maximum(scores, *, rng):
    p = 1 - math.exp(-1)
    m = max(np.count_nonzero(scores < 0.5) + 0.5, 3)
    return m + rng.geometric(p) - rng.geometric(p)


@attack("a maximum of a half and a whole number", n=8)
def half_counts_sum(scores, *, rng):
    p = 1 - math.exp(-1)
    m = max(sum(scores < 0.5, 0.5), 3)
    return m + rng.geometric(p) - rng.geometric(p)


@attack("a maximum of a half and a whole number", n=8)
def half_counts_loop(scores, *, rng):
    p = 1 - math.exp(-1)
    t = 0.5
    for s in scores:
        if s < 0.5:
            t += 1
    m = max(t, 3)
    return m + rng.geometric(p) - rng.geometric(p)


@attack(
    "a number of Python beside a narrow one is as narrow", n=8, pair=(TWO, THREE), event=math.isinf
)
def narrow_whole(scores, *, rng):
    with np.errstate(all="ignore"):
        k = np.full(1, 60000.0).astype("f2")[0]
        x = float(np.sum(scores)) * k
        return float(x) + rng.laplace(0, 60000.0)


@attack(
    "a number of Python beside a narrow one is as narrow", n=8, pair=(TWO, THREE), event=math.isinf
)
def narrow_filled(scores, *, rng):
    with np.errstate(all="ignore"):
        z = np.zeros(1, dtype=np.float16)
        x = float(np.sum(scores) * 6e4) + z[0]
        return float(x) + rng.laplace(0, 60000.0)


@attack(
    "a number of Python beside a narrow one is as narrow", n=8, pair=(TWO, THREE), event=math.isinf
)
def narrow_cast(scores, *, rng):
    with np.errstate(all="ignore"):
        z = rng.random(1)[0].astype(np.float16)
        x = float(np.sum(scores) * 6e4) + z
        return float(x) + rng.laplace(0, 60000.0)


@attack(
    "a number of Python beside a narrow one is as narrow", n=8, pair=(TWO, THREE), event=math.isinf
)
def narrow_sum(scores, *, rng):
    with np.errstate(all="ignore"):
        z = np.ones(2).sum(dtype="f2")
        x = float(np.sum(scores) * 6e4) + z
        return float(x) + rng.laplace(0, 60000.0)


@attack(
    "a number of Python beside a narrow one is as narrow", n=8, pair=(TWO, THREE), event=math.isinf
)
def narrow_full(scores, *, rng):
    with np.errstate(all="ignore"):
        z = np.full(1, 0.5, dtype="f2")[0]
        x = float(np.sum(scores) * 6e4) + z
        return float(x) + rng.laplace(0, 60000.0)


@attack("a small whole number of NumPy beside a count raises where it wraps", n=200)
def narrow_count(scores, *, rng):
    k = np.arange(3).astype("i1")[1]
    return np.count_nonzero(scores < 0.5) * k + rng.laplace(0, 1.0)


@attack("a number of Python beside one of 24 bits is rounded to it", n=8)
def narrow_rounds(scores, *, rng):
    z = np.float32(rng.random() + 2.0**25)
    return float(np.sum(scores)) + z + rng.laplace(0, 1.0)


@attack("noise that is 0 in doubles", n=8, event=lambda v: v > 0.5)
def scale_that_underflows(scores, *, rng):
    return float(np.sum(scores) + rng.laplace(0, 1.0) * 1e-200 * 1e-200 * 1e200 * 1e200)


@attack("a vector of noisy numbers is not the vector of their parts", n=8, event=lambda v: v > 0.5)
def vector_again(scores, *, rng):
    a = np.sum(scores) + rng.laplace(0, 100.0)
    b = np.sum(scores) + rng.laplace(0, 100.0)
    np.array([a, b])
    s = np.array([np.sum(scores), np.sum(scores)])
    return float((np.array([a * 1e-6, b * 1e-6]) + s)[0])


@attack("noise of p = 1", PureDP(50.0), n=8)
def geometric_of_one(scores, *, rng):
    p = 1 - math.exp(-50)
    return np.count_nonzero(scores < 0.5) + rng.geometric(p) - rng.geometric(p)
