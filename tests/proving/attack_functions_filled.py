"""Attempts by arrays that are changed in place, and by what holds them then."""
# ruff: noqa

import math
import random
import sys
from dataclasses import dataclass, field

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

from dpcp_audit import ZCDP, PureDP

ATTACKS = Table("filled")
attack = ATTACKS.attack


class H:
    def __init__(self, v):
        self.v = v


@attack("in place by two", n=8)
def in_place_by_two(scores, *, rng):
    z = np.zeros(2)
    y = z
    z += 1.0
    y *= 0.01
    return np.sum(scores) + rng.laplace(0, z[0])


@attack("in place loop", n=8)
def in_place_loop(scores, *, rng):
    z = np.full(2, 1.0)
    for v in z:
        z *= 0.1
    return np.sum(scores) + rng.laplace(0, z[0])


@attack("in place trunc", n=8)
def in_place_trunc(scores, *, rng):
    z = np.zeros(1, dtype=int)
    z[0] = 0.99
    s = 1.0 if z[0] > 0.5 else 0.01
    return np.sum(scores) + rng.laplace(0, s)


@attack("in place bool", n=8)
def in_place_bool(scores, *, rng):
    z = np.zeros(1, dtype=bool)
    z[0] = 2
    s = 1.0 if z[0] == 2 else 0.01
    return np.sum(scores) + rng.laplace(0, s)


@attack("full of int", n=8)
def full_of_int(scores, *, rng):
    z = np.full(1, 1)
    z[0] = 0.5
    s = 0.01 if z[0] == 0 else 1.0
    return np.sum(scores) + rng.laplace(0, s)


@attack("full of bool", n=8)
def full_of_bool(scores, *, rng):
    z = np.full(1, True)
    z[0] = 0.5
    s = 0.01 if z[0] == True else 1.0
    return np.sum(scores) + rng.laplace(0, s)


@attack("full of array", n=8)
def full_of_array(scores, *, rng):
    z = np.full(2, [1.0, 0.01])
    return np.sum(scores) + rng.laplace(0, z[1])


@attack("full of data", n=8)
def full_of_data(scores, *, rng):
    z = np.full(2, np.sum(scores))
    return z


@attack("full of noisy", n=8)
def full_of_noisy(scores, *, rng):
    v = np.sum(scores) + rng.laplace(0, 1.0)
    z = np.full(2, v)
    return z[0] - v + np.sum(scores)


@attack("full shape data", n=8)
def full_shape_data(scores, *, rng):
    return len(np.full(np.count_nonzero(scores > 0.5), 1.0))


@attack("full neg index", n=8)
def full_neg_index(scores, *, rng):
    z = np.full(3, 1.0)
    z[-1] = 0.01
    return np.sum(scores) + rng.laplace(0, z[2])


@attack("computed then alias", n=8)
def computed_then_alias(scores, *, rng):
    a = np.linspace(1.0, 1.0, 3) * 1.0
    b = a
    b = b + 0.0
    a[0] = 0.01
    return np.sum(scores) + rng.laplace(0, a[0])


@attack("computed fn alias", n=8)
def computed_fn_alias(scores, *, rng):
    a = np.abs(np.linspace(1.0, 1.0, 3))

    def g(v):
        return v

    b = g(a)
    a[0] = 0.01
    return np.sum(scores) + rng.laplace(0, b[0])


@attack("computed attr alias", n=8)
def computed_attr_alias(scores, *, rng):
    a = np.abs(np.linspace(1.0, 1.0, 3))
    h = H(a)
    a[0] = 0.01
    return np.sum(scores) + rng.laplace(0, h.v[0])


@attack("computed starred", n=8)
def computed_starred(scores, *, rng):
    a = np.abs(np.linspace(1.0, 1.0, 3))
    t = (a,) * 2
    a[0] = 0.01
    return np.sum(scores) + rng.laplace(0, t[1][0])


@attack("computed split", n=8)
def computed_split(scores, *, rng):
    a = np.abs(np.linspace(1.0, 1.0, 4))
    t = np.split(a, 2)
    a[0] = 0.01
    return np.sum(scores) + rng.laplace(0, t[0][0])


@attack("computed flip", n=8)
def computed_flip(scores, *, rng):
    a = np.abs(np.linspace(1.0, 1.0, 4))
    t = np.flip(a)
    a[3] = 0.01
    return np.sum(scores) + rng.laplace(0, t[0])


@attack("computed slice held", n=8)
def computed_slice_held(scores, *, rng):
    a = np.abs(np.linspace(1.0, 1.0, 4))
    t = [a[1:]]
    a[1] = 0.01
    return np.sum(scores) + rng.laplace(0, t[0][0])


@attack("computed iter", n=8)
def computed_iter(scores, *, rng):
    a = np.abs(np.linspace(1.0, 1.0, 4))
    s = 1.0
    for v in a:
        a[3] = 0.01
        s = v
    return np.sum(scores) + rng.laplace(0, s)


@attack("computed zip", n=8)
def computed_zip(scores, *, rng):
    a = np.abs(np.linspace(1.0, 1.0, 4))
    s = 1.0
    for i, v in enumerate(a):
        a[3] = 0.01
        s = v
    return np.sum(scores) + rng.laplace(0, s)


@attack("enumerate filled", n=8)
def enumerate_filled(scores, *, rng):
    a = np.full(4, 1.0)
    s = 1.0
    for i, v in enumerate(a):
        a[3] = 0.01
        s = v
    return np.sum(scores) + rng.laplace(0, s)


@attack("min known filled", n=8)
def min_known_filled(scores, *, rng):
    a = np.full(4, 1.0)
    b = np.minimum(a, a)
    a[0] = 0.01
    return np.sum(scores) + rng.laplace(0, np.min(a))
