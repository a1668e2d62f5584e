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


@attack("computed view", n=8)
def computed_view(scores, *, rng):
    s = np.linspace(1.0, 1.0, 2) * 1.0
    t = s[:]
    t[0] = 0.01
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
