"""Attempts by the size of numbers: exponentials that overflow, whole numbers that wrap around."""
# ruff: noqa

import math
import random
import sys
from dataclasses import dataclass, field

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

from dpcp_audit import ZCDP, PureDP

ATTACKS = Table("sizes")
attack = ATTACKS.attack

T = ([],)


@attack("nested list is no tuple", n=8)
def nested_list_is_no_tuple(scores, *, rng):
    return np.sum(scores) + rng.laplace(0, 1.0 if T == ((),) else 0.01)


@attack("exp of minus topped", n=2000)
def exp_of_minus_topped(scores, *, rng):
    u = np.histogram(scores, bins=2, range=(0.0, 1.0))[0] * 0.5
    w = np.exp(-(u - u.max()))
    return int(rng.choice(2, p=w / w.sum()))


@attack("exp of slice peak", n=2000)
def exp_of_slice_peak(scores, *, rng):
    u = np.histogram(scores, bins=4, range=(0.0, 1.0))[0] * 0.5
    w = np.exp(u - u[1:].max())
    return int(rng.choice(4, p=w / w.sum()))


@attack("exp of min", n=2000)
def exp_of_min(scores, *, rng):
    u = np.histogram(scores, bins=4, range=(0.0, 1.0))[0] * 0.5
    w = np.exp(u - u.min())
    return int(rng.choice(4, p=w / w.sum()))


@attack("exp of steep", n=2000)
def exp_of_steep(scores, *, rng):
    u = np.histogram(scores, bins=4, range=(0.0, 1.0))[0] * 0.5
    v = u - u.max()
    v = v * -1.0
    w = np.exp(v)
    return int(rng.choice(4, p=w / w.sum()))


@attack("exp of in place", n=2000)
def exp_of_in_place(scores, *, rng):
    u = np.histogram(scores, bins=4, range=(0.0, 1.0))[0] * 0.5
    m = u.max()
    u += 1000.0
    w = np.exp(u - m)
    return int(rng.choice(4, p=w / w.sum()))


@attack("exp of sum", n=2000)
def exp_of_sum(scores, *, rng):
    u = np.histogram(scores, bins=4, range=(0.0, 1.0))[0] * 0.5
    w = np.exp(u - u.max() + np.count_nonzero(scores > 0.5))
    return int(rng.choice(4, p=w / w.sum()))


@attack("int sums", n=2000)
def int_sums(scores, *, rng):
    c = np.sum(scores > 0.5) * 2**40
    d = c * 2**10
    e = d * 2**10
    return float(e * 2**3 + rng.laplace(0, 2.0**63))


@attack("int loop", n=2000)
def int_loop(scores, *, rng):
    c = np.sum(scores > 0.5)
    for _ in range(63):
        c = c + c
    return float(c + rng.laplace(0, 2.0**63))


@attack("cumsum wraps", n=2000)
def cumsum_wraps(scores, *, rng):
    c = np.histogram(scores, bins=4, range=(0.0, 1.0))[0] * 2**42
    return np.cumsum(np.cumsum(c)) + rng.laplace(0, 2.0**48, size=4)


@attack("list of ints", n=8)
def list_of_ints(scores, *, rng):
    c = [np.sum(scores > 0.5), 2**63 - 1]
    return float(np.sum(c) + rng.laplace(0, 1.0))


@attack("vector shift wraps", n=8)
def vector_shift_wraps(scores, *, rng):
    c = np.histogram(scores, bins=2, range=(0.0, 1.0))[0] + np.array([2**63 - 1, 0])
    return c + rng.laplace(0, 2.0, size=2)


@attack("max wraps", n=8)
def max_wraps(scores, *, rng):
    c = max(np.sum(scores > 0.5), 2**63 - 3) + 3
    return float(c + rng.laplace(0, 1.0))


@attack("clip wraps", n=8)
def clip_wraps(scores, *, rng):
    c = np.clip(np.sum(scores > 0.5), 2**63 - 1, None) + np.sum(scores > 0.5)
    return float(c + rng.laplace(0, 2.0))


@attack("entry unknown wraps", n=8)
def entry_unknown_wraps(scores, *, rng):
    c = [np.sum(scores > 0.5), np.sum(scores > 0.2)][rng.integers(2)] + rng.integers(
        2**62, 2**63 - 1
    )
    return float(c + rng.laplace(0, 2.0))


@attack("joined wraps", n=8)
def joined_wraps(scores, *, rng):
    c = np.sum(scores > 0.5) if rng.random() < 0.5 else np.sum(scores) * 1.0
    return float(c + (2**63 - 1) + rng.laplace(0, 2.0))


@attack("mean of ints", n=8)
def mean_of_ints(scores, *, rng):
    c = np.sum(scores > 0.5) * 2**52 * 2**11
    return float(c / 2**63 + rng.laplace(0, 1.0))
