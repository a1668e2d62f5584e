"""Attempts by what is the same memory: aliases, views, entries, defaults, methods, slices."""
# ruff: noqa

import math
import random
import sys
from dataclasses import dataclass, field

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

from dpcp_audit import ZCDP, PureDP

ATTACKS = Table("memory")
attack = ATTACKS.attack
EMPTY = []


class Holder:
    def __init__(self, v):
        self.v = v


class Counter:
    total = 0.0

    def __init__(self, v):
        self.v = v

    def add(self, x):
        self.v = self.v + x
        return self


@dataclass
class Box:
    v: float
    w: list = field(default_factory=list)


@attack("a list of the module is no tuple, whatever it holds", n=8, event=lambda v: v > 0.5)
def list_is_no_tuple(scores, *, rng):
    if EMPTY == ():
        return float(np.sum(scores) + rng.laplace(0, 1.0))
    return float(np.sum(scores) + rng.laplace(0, 0.01))


@attack("a list of the module is no tuple, by isinstance", n=8, event=lambda v: v > 0.5)
def list_isinstance(scores, *, rng):
    scale = 1.0 if isinstance(EMPTY, tuple) else 0.01
    return float(np.sum(scores) + rng.laplace(0, scale))


@attack(
    "an array that was chosen at random is another name of a known one",
    n=8,
    event=lambda v: v > 0.5,
)
def public_alias_of_known(scores, *, rng):
    k = np.linspace(1.0, 1.0, 1)
    j = np.linspace(2.0, 2.0, 1)
    p = k if rng.random() < 0.5 else j
    p *= 0.001
    return float(np.sum(scores) + rng.laplace(0, k[0]))


@attack(
    "an array that was chosen at random is another name of a statistic",
    n=8,
    event=lambda v: v[1] > 50,
)
def joined_alias_of_statistic(scores, *, rng):
    counts = np.histogram(scores, bins=2, range=(0.0, 1.0))[0] * 1.0
    other = np.histogram(scores, bins=2, range=(0.0, 1.0))[0] * 0.5
    p = counts if rng.random() < 0.99 else other
    p *= 100.0
    return counts + rng.laplace(0, 2.0, size=2)


@attack("two histograms of equal sensitivity are two, and cost twice", n=8)
def joined_two_vectors_bad(scores, *, rng):
    a = np.histogram(scores, bins=4, range=(0.0, 1.0))[0]
    b = np.histogram(scores, bins=np.array([0.5, 0.6, 0.7, 0.8, 1.0]))[0]
    z = a if rng.random() < 0.001 else b
    s = 2.0
    return [
        z[0] + rng.laplace(0, s),
        z[1] + rng.laplace(0, s),
        a[2] + rng.laplace(0, s),
        a[3] + rng.laplace(0, s),
    ]


@attack("the fourth argument of np.clip is written into", n=8, event=lambda v: v > 0.5)
def out_positional(scores, *, rng):
    k = np.linspace(1.0, 1.0, 1)
    np.clip(np.array([rng.random()]), 0.0, 0.001, k)
    return float(np.sum(scores) + rng.laplace(0, k[0]))


@attack("the third argument of np.round is written into", n=8, event=lambda v: v > 0.5)
def out_round(scores, *, rng):
    k = np.linspace(1.0, 1.0, 1) * 1.0
    np.round(np.array([rng.random() * 1e-6]), 9, k)
    return float(np.sum(scores) + rng.laplace(0, k[0]))


@attack(
    "the fourth argument of np.clip is written into, in one branch", n=8, event=lambda v: v > 0.5
)
def out_branch(scores, *, rng):
    k = np.linspace(1.0, 1.0, 1)
    k2 = k * 0.01
    if rng.random() < 0.01:
        np.clip(k, 5.0, 9.0, k2)
    return float(np.sum(scores) + rng.laplace(0, k2[0]))


@attack(
    "an entry of a list is changed in place, and so is the array itself",
    n=8,
    event=lambda v: v[1] > 50,
)
def list_entry_in_place(scores, *, rng):
    counts = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    rows = [counts]
    rows[0] *= 100
    return counts + rng.laplace(0, 2.0, size=2)


@attack(
    "an entry of a dictionary is changed in place, and so is the array itself",
    n=8,
    event=lambda v: v[1] > 50,
)
def dict_entry_in_place(scores, *, rng):
    counts = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    rows = {"a": counts}
    rows["a"] *= 100
    return counts + rng.laplace(0, 2.0, size=2)


@attack("noise is made small in place by another name, in a list", n=8, event=lambda v: v[1] > 0.5)
def noise_entry_in_place(scores, *, rng):
    z = rng.laplace(0, 2.0, size=2)
    rows = [z]
    rows[0] *= 0.001
    counts = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    return counts + z


@attack(
    "a default is another name of an array that is changed in place", n=8, event=lambda v: v[1] > 50
)
def default_holds(scores, *, rng):
    counts = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]

    def g(v=counts):
        return v

    counts *= 100
    return g() + rng.laplace(0, 2.0, size=2)


@attack("a frozen law holds an array that is changed in place", n=8, event=lambda v: v[1] > 50)
def law_holds(scores, *, rng):
    counts = np.histogram(scores, bins=2, range=(0.0, 1.0))[0] * 1.0
    law = stats.laplace(loc=counts, scale=2.0)
    counts *= 100
    return law.rvs(size=2, random_state=rng)


@attack(
    "a method that was taken before holds noise that is made small in place",
    n=8,
    event=lambda v: v[1] > 0.5,
)
def noise_method_holds(scores, *, rng):
    z = rng.laplace(0, 2.0, size=2)
    m = z.copy
    z *= 0.001
    counts = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    return counts + m()


@attack("abs alias", n=8)
def abs_alias(scores, *, rng):
    x = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    y = +x
    y *= 100
    return x + rng.laplace(0, 2.0, size=2)


@attack("transposed", n=8)
def transposed(scores, *, rng):
    k = np.linspace(1.0, 1.0, 2)
    t = k.T
    t *= 0.001
    return np.sum(scores) + rng.laplace(0, k[0])


@attack("unpack alias", n=8, event=lambda v: v[1] > 50)
def unpack_alias(scores, *, rng):
    counts, _ = np.histogram(scores, bins=2, range=(0.0, 1.0))
    a, b = counts, counts
    a *= 100
    return b + rng.laplace(0, 2.0, size=2)


@attack("object alias", n=8, event=lambda v: v[1] > 50)
def object_alias(scores, *, rng):
    class_ = Holder(np.histogram(scores, bins=2, range=(0.0, 1.0))[0])
    v = class_.v
    v *= 100
    return class_.v + rng.laplace(0, 2.0, size=2)


@attack("once holds", n=8, event=lambda v: v[1] > 50)
def once_holds(scores, *, rng):
    counts = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    for i, c in enumerate([counts]):
        c *= 100
    return counts + rng.laplace(0, 2.0, size=2)


@attack("a list in a list is changed in place", n=8, event=lambda v: v > 0.5)
def inner_list2(scores, *, rng):
    inner = [1.0]
    rows = [inner]
    rows[0] += [0.001]
    return float(np.sum(scores) + rng.laplace(0, inner[-1]))


@attack("rows in place", n=8)
def rows_in_place(scores, *, rng):
    m = np.ones((2, 2))
    for r in m:
        r *= 0.001
    return float(np.sum(scores) + rng.laplace(0, m[0, 0]))


@attack("swap in place", n=8)
def swap_in_place(scores, *, rng):
    z = np.zeros(2)
    z[0] = np.sum(scores)
    z[0], z[1] = z[1], z[0]
    z[0] = 5.0
    return float(z[1] + rng.laplace(0, 0.5))


@attack("neg index", n=8)
def neg_index(scores, *, rng):
    z = np.zeros(2)
    z[-1] = np.sum(scores)
    return float(z[1] + rng.laplace(0, 0.5))


@attack("multiply list", n=8)
def multiply_list(scores, *, rng):
    rows = [[0.0]] * 2
    rows[0].append(np.sum(scores))
    return float(rows[1][1] + rng.laplace(0, 0.5))


@attack("kwargs dict", n=8, event=lambda v: v > 0.5)
def kwargs_dict(scores, *, rng):
    def g(**k):
        k["scale"] = 0.01
        return k["scale"]

    return float(np.sum(scores) + rng.laplace(0, g(scale=1.0)))


@attack("late closure", n=8, event=lambda v: v > 0.5)
def late_closure(scores, *, rng):
    scale = 1.0

    def draw():
        return rng.laplace(0, scale)

    scale = 0.01
    return float(np.sum(scores) + draw())


@attack("comp leak", n=8, event=lambda v: v > 0.5)
def comp_leak(scores, *, rng):
    fs = [lambda: rng.laplace(0, i) for i in (1.0, 0.5, 0.01)]
    return float(np.sum(scores) + fs[0]())


@attack("default frozen", n=8, event=lambda v: v > 0.5)
def default_frozen(scores, *, rng):
    scale = 0.01

    def draw(s=scale):
        return rng.laplace(0, s)

    scale = 1.0
    return float(np.sum(scores) + draw())


@attack("fluent", n=8)
def fluent(scores, *, rng):
    c = Counter(np.sum(scores))
    d = c
    d.add(np.sum(scores)).add(np.sum(scores))
    return c.v + rng.laplace(0, 1.0)


@attack("box shared", n=8)
def box_shared(scores, *, rng):
    a = Box(0.0)
    b = a
    b.w.append(np.sum(scores) * 5)
    return a.w[0] + rng.laplace(0, 1.0)


class Factor(np.float64):
    __module__ = "numpy"

    def __rmul__(self, other):
        return 0.0


class Laws:
    __module__ = "scipy.stats._continuous_distns"

    def __hash__(self):
        return hash(np.sum)

    def __eq__(self, other):
        return other is np.sum

    def __call__(self, scores):
        return 100 * sum(scores)


FACTOR, LAW = Factor(1.0), Laws()


@attack("a class lies about its module", n=8, event=lambda v: v > 0.5)
def factor_of_another_module(scores, *, rng):
    return np.sum(scores) + rng.laplace(0, 1.0) * FACTOR


@attack("a class that is no law says that it is one", n=8)
def law_of_another_module(scores, *, rng):
    return LAW(scores) + rng.laplace(0, 1.0)
