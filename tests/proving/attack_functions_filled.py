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


@attack("a cast that copies nothing", n=8)
def cast_is_no_copy(scores, *, rng):
    a = np.zeros(3)
    shown = a.astype(float, copy=False)
    a[0] = np.sum(scores)
    return shown


@attack("np.float64 of an array is the array", n=8)
def double_of_an_array(scores, *, rng):
    a = np.zeros(3)
    shown = np.float64(a)
    a[0] = np.sum(scores)
    return shown


@attack("a histogram returns the edges that it is given", n=8)
def edges_of_a_histogram(scores, *, rng):
    a = np.zeros(3)
    shown = np.histogram([0.5], bins=a)[1]
    a[0] = np.sum(scores)
    return shown


@attack("an argument by its name is an argument", n=8)
def array_by_its_keyword(scores, *, rng):
    a = np.zeros(3)
    shown = np.asarray(a=a)
    a[0] = np.sum(scores)
    return shown


@attack("a view of an argument by its name", n=8)
def flipped_by_its_keyword(scores, *, rng):
    a = np.zeros(3)
    shown = np.flip(m=a)
    a[0] = np.sum(scores)
    return shown


@attack("a part of an argument by its name", n=8)
def split_by_its_keyword(scores, *, rng):
    a = np.zeros(3)
    shown = np.split(ary=a, indices_or_sections=1)[0]
    a[0] = np.sum(scores)
    return shown


@attack("a sum of nothing is its start", n=8)
def start_of_a_sum(scores, *, rng):
    a = np.zeros(3)
    shown = sum([], a)
    a[0] = np.sum(scores)
    return shown


@attack("no difference of an array is the array", n=8)
def no_difference(scores, *, rng):
    a = np.zeros(3)
    shown = np.diff(a, 0)
    a[0] = np.sum(scores)
    return shown


@attack("an array that is not copied", n=8)
def array_without_a_copy(scores, *, rng):
    a = np.zeros(3)
    shown = np.array(a, copy=False)
    a[0] = np.sum(scores)
    return shown


@attack("the larger of an array of one entry and of a number is the array", n=8)
def larger_of_one_entry(scores, *, rng):
    a = np.ones(1)
    shown = max(a, 0)
    a[0] = np.sum(scores)
    return shown


@attack("the largest of a list of one array is the array", n=8)
def largest_of_one(scores, *, rng):
    a = np.zeros(3)
    shown = max([a])
    a[0] = np.sum(scores)
    return shown


@attack("a sorted list holds the same arrays", n=8)
def sorted_list_of_arrays(scores, *, rng):
    a = np.zeros(3)
    shown = sorted([a], key=len)[0]
    a[0] = np.sum(scores)
    return shown


@attack("an array of objects holds the same arrays", n=8)
def array_of_objects(scores, *, rng):
    a = np.zeros(3)
    shown = np.array((a, 0), dtype=object)
    a[0] = np.sum(scores)
    return shown[0]
