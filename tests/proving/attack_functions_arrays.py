"""Attempts by arrays that are filled: their other names, types and sizes."""
# ruff: noqa

import math
import random
import sys
from dataclasses import dataclass, field

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

from dpcp_audit import ZCDP, PureDP

ATTACKS = Table("arrays")
attack = ATTACKS.attack

T = np.array([1.0, 1.0])


@attack("fill alias", n=8, event=lambda v: v > 0.5)
def fill_alias(scores, *, rng):
    s = np.full(2, 1.0)
    t = s
    t *= 0.01
    return np.sum(scores) + rng.laplace(0, s[0])


@attack("computed view2", n=8, event=lambda v: v > 0.5)
def computed_view2(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0
    t = s[:]
    s[0] = 0.01
    return np.sum(scores) + rng.laplace(0, t[0])


@attack("computed view3", n=8, event=lambda v: v > 0.5)
def computed_view3(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0
    t = np.asarray(s)
    s[0] = 0.01
    return np.sum(scores) + rng.laplace(0, t[0])


@attack("computed view4", n=8, event=lambda v: v > 0.5)
def computed_view4(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0
    t = s.ravel()
    s[0] = 0.01
    return np.sum(scores) + rng.laplace(0, t[0])


@attack("computed view5", n=8, event=lambda v: v > 0.5)
def computed_view5(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0
    t = [s]
    s[0] = 0.01
    return np.sum(scores) + rng.laplace(0, t[0][0])


@attack("computed view6", n=8)
def computed_view6(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0
    t = s if rng.random() < 0.5 else np.linspace(2.0, 2.0, 2)
    s[0] = 0.01
    return np.sum(scores) + rng.laplace(0, t[0])


@attack("computed closure", n=8, event=lambda v: v > 0.5)
def computed_closure(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0

    def spoil():
        s[0] = 0.01

    spoil()
    return np.sum(scores) + rng.laplace(0, s[0])


@attack("computed arg", n=8, event=lambda v: v > 0.5)
def computed_arg(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0

    def spoil(v):
        v[0] = 0.01

    spoil(s)
    return np.sum(scores) + rng.laplace(0, s[0])


@attack("computed method", n=8, event=lambda v: v > 0.5)
def computed_method(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0
    m = s.max
    s[0] = s[1] = 0.01
    return np.sum(scores) + rng.laplace(0, m())


@attack("computed abs", n=8, event=lambda v: v > 0.5)
def computed_abs(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0
    t = np.abs(s)
    t = +s
    return np.sum(scores) + rng.laplace(0, t[0] * 0.01)


@attack("outside array", n=8)
def outside_array(scores, *, rng):
    t = T
    t[0] = 0.01
    return np.sum(scores) + rng.laplace(0, T[0])


@attack("outside array2", n=8)
def outside_array2(scores, *, rng):
    t = T * 1.0
    u = T
    u *= 0.01
    return np.sum(scores) + rng.laplace(0, T[0])


@attack("zeros type", n=8, event=lambda v: v > 0.5)
def zeros_type(scores, *, rng):
    z = np.zeros(2, dtype=int)
    return np.sum(scores) + rng.laplace(0, 1.0 if isinstance(z[0], float) else 0.01)


@attack("zeros type2", n=8, event=lambda v: v > 0.5)
def zeros_type2(scores, *, rng):
    z = np.zeros(2)
    return np.sum(scores) + rng.laplace(0, 0.01 if isinstance(z[0], np.floating) else 1.0)


@attack("zeros type3", n=8, event=lambda v: v > 0.5)
def zeros_type3(scores, *, rng):
    z = np.zeros(2)
    z[0] = 1
    return np.sum(scores) + rng.laplace(0, 1.0 if isinstance(z[0], int) else 0.01)


@attack("zeros type4", n=8, event=lambda v: v > 0.5)
def zeros_type4(scores, *, rng):
    z = np.zeros(2)
    z[0] = True
    return np.sum(scores) + rng.laplace(0, 1.0 if isinstance(z[0], bool) else 0.01)


@attack("narrow wraps", n=8)
def narrow_wraps(scores, *, rng):
    k = np.uint8(rng.integers(255, 256))
    return np.count_nonzero(scores > 0.5) + k + rng.laplace(0, 1.0)


@attack("row of list", n=8, event=lambda v: v > 0.5)
def row_of_list(scores, *, rng):
    rows = [np.full(2, 1.0)]
    r = rows[0]
    r += -0.99
    return np.sum(scores) + rng.laplace(0, rows[0][0])


@attack("array in place stat", n=8, event=lambda v: v[1] > 5)
def array_in_place_stat(scores, *, rng):
    z = np.zeros(2)
    z += np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    y = z
    y *= 10
    return z + rng.laplace(0, 2.0, size=2)


@attack("method object", n=8, event=lambda v: v > 0.5)
def method_object(scores, *, rng):
    z = np.zeros(1)
    z[0] = 5.0
    w = z.copy()
    w[0] = 0.01
    return np.sum(scores) + rng.laplace(0, w[0])


def counts_of(scores):
    return np.histogram(scores, bins=3, range=(0, 1))[0].astype(float)


class Bumped:
    def __init__(self, v):
        self.v = v

    def bump(self, more):
        self.v += more
        return 0


NO_DIMENSION = np.array(0.0)


@attack("a loop adds to an array of no dimension, under both names", n=8, event=lambda v: v > 0.5)
def loop_adds_to_no_dimension(scores, *, rng):
    total = np.array(0.0)
    shown = total
    for s in scores:
        total += s
    return float(shown) + 1e-9 * rng.random()


@attack("a loop adds to an array of the module", n=8)
def loop_adds_to_a_global(scores, *, rng):
    total = NO_DIMENSION
    for s in scores:
        total += s
    return NO_DIMENSION


@attack("a loop adds to a default argument", n=8)
def loop_adds_to_a_default(scores, *, rng, total=np.array(0.0)):
    shown = float(total)
    for s in scores:
        total += s
    return shown


@attack("np.where of one condition is an array", n=8, event=lambda v: v > 2.5)
def where_has_no_dimension(scores, *, rng):
    x = np.where(rng.random() < 0.5, 1.0, 2.0)
    y = x
    x += np.sum(scores)
    return y


@attack("a released number as an array", PureDP(1.0), n=8)
def released_has_no_dimension(scores, *, rng):
    x = np.asarray(np.count_nonzero(scores > 0.5) + rng.laplace(0, 1.0) + 0.5)
    y = x
    x += np.sum(scores)
    return y


@attack("one of two arrays of no dimension", n=8, event=lambda v: v > 1.5 or v == 1)
def one_of_two_without_dimension(scores, *, rng):
    z = np.array(0.0) if rng.random() < 0.5 else np.array(1.0)
    w = z
    z += np.sum(scores)
    return w


@attack("an entry by an ellipsis is an array", n=8)
def entry_by_ellipsis(scores, *, rng):
    x = np.linspace(0, 1, 3)[0, ...]
    y = x
    for s in scores:
        x += s
    return y


@attack("a view of a noisy array, which is changed after it", PureDP(2.0), n=8)
def view_of_noisy(scores, *, rng):
    noisy = counts_of(scores) + rng.laplace(0, 1, size=3)
    shown = noisy[:]
    noisy += 1000 * counts_of(scores)
    return shown


@attack("noise in another form, which is changed after it", n=8)
def form_of_noise(scores, *, rng):
    x = rng.laplace(0, 1, size=3)
    y = x.reshape(3, 1)
    x += 1000 * counts_of(scores)
    return y


@attack("an argument is changed before the call", n=8)
def argument_is_changed(scores, *, rng):
    box = Bumped(rng.laplace(0, 1, size=3))
    pair = (box.v, box.bump(1000 * counts_of(scores)))
    return pair[0]


@attack("a loop through a tuple goes on to what it changed", n=8)
def loop_changes_what_follows(scores, *, rng):
    x = 0 + rng.laplace(0, 1, size=3)
    for k, y in ((0, 0), (1, x)):
        if k == 0:
            x += 1000 * counts_of(scores)
    return y


@attack("an array is given away by what is added to it", n=8)
def given_away_by_its_own_sum(scores, *, rng):
    kept = []

    def keep(x):
        kept.append(x)
        return 1000 * counts_of(scores)

    x = 0 + rng.laplace(0, 1, size=3)
    x += keep(x)
    return kept[0]


@attack("an array of another name is no copy", n=8)
def one_array_of_two_names(scores, *, rng):
    x = y = 0 + rng.laplace(0, 1, size=3)
    x += 1000 * counts_of(scores)
    return y


class Copies:
    @staticmethod
    def array(x):
        return x


@attack("a function of another module under NumPy's name", n=8)
def array_of_another_module(scores, *, rng):
    lib = Copies
    y = 0 + rng.laplace(0, 1, size=3)
    x = lib.array(y)
    lib = np
    x += 1000 * counts_of(scores)
    return y


@attack("a function of the function's own has kept the array", n=8)
def kept_by_a_closure(scores, *, rng):
    x = 0 + rng.laplace(0, 1, size=3)
    shown = lambda: x
    y = shown()
    x += 1000 * counts_of(scores)
    return y
