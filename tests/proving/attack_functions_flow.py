"""Attempts by the way a program takes: exceptions, loops, slices, gaps, thresholds."""
# ruff: noqa

import math
import random
import sys
from dataclasses import dataclass, field

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

from dpcp_audit import ZCDP, PureDP

ATTACKS = Table("flow")
attack = ATTACKS.attack
EMPTY = []


class Base:
    scale = 0.01


class Child(Base):
    def __init__(self):
        self.other = 1.0


class Prop:
    def __init__(self):
        self.n = 0

    @property
    def scale(self):
        self.n += 1
        return 1.0 if self.n == 1 else 0.01


@dataclass
class Box:
    v: float
    w: list = field(default_factory=list)


@attack("class attr", n=8, event=lambda v: v > 0.5)
def class_attr(scores, *, rng):
    return float(np.sum(scores) + rng.laplace(0, Child().scale))


@attack("prop side", n=8, event=lambda v: v > 0.5)
def prop_side(scores, *, rng):
    p = Prop()
    p.scale
    return float(np.sum(scores) + rng.laplace(0, p.scale))


@attack("chain side", n=8, event=lambda v: v > 0.5)
def chain_side(scores, *, rng):
    p = Prop()
    if 0.0 < p.scale < 2.0:
        pass
    return float(np.sum(scores) + rng.laplace(0, p.scale))


@attack("svt shared query noise", PureDP(2.0), n=8)
def svt_shared_query_noise(scores, *, rng):
    T = 3.0 + rng.laplace(0, 1.0)
    z = rng.laplace(0, 2.0)
    for t in (0.1, 0.2, 0.3, 0.4):
        if np.count_nonzero(scores > t) + z > T:
            return t
    return -1.0


@attack("gap unscaled", n=8)
def gap_unscaled(scores, *, rng):
    s = np.concatenate(([0.0], np.sort(scores), [1.0]))
    w = np.diff(s) * np.exp(-1.0 * np.abs(np.arange(9) - 4))
    i = rng.choice(9, p=w / w.sum())
    return rng.uniform(s[i], s[i + 1])


@attack("gap endpoint", n=8)
def gap_endpoint(scores, *, rng):
    s = np.concatenate(([0.0], np.sort(scores), [1.0]))
    w = np.diff(s) * np.exp(-0.5 * np.abs(np.arange(9) - 4))
    i = rng.choice(9, p=w / w.sum())
    return s[i + 1]


@attack("gap midpoint", n=8)
def gap_midpoint(scores, *, rng):
    s = np.concatenate(([0.0], np.sort(scores), [1.0]))
    w = np.diff(s) * np.exp(-0.5 * np.abs(np.arange(9) - 4))
    i = rng.choice(9, p=w / w.sum())
    return (s[i] + s[i + 1]) / 2


@attack("gap index too", n=8)
def gap_index_too(scores, *, rng):
    s = np.concatenate(([0.0], np.sort(scores), [1.0]))
    w = np.diff(s) * np.exp(-0.5 * np.abs(np.arange(9) - 4))
    i = rng.choice(9, p=w / w.sum())
    return rng.uniform(s[i], s[i + 1]), int(i)


@attack("gap twice", n=8)
def gap_twice(scores, *, rng):
    s = np.concatenate(([0.0], np.sort(scores), [1.0]))
    w = np.diff(s) * np.exp(-0.5 * np.abs(np.arange(9) - 4))
    i = rng.choice(9, p=w / w.sum())
    return rng.uniform(s[i], s[i + 1]), rng.uniform(s[i], s[i + 1])


@attack("gap wide uniform", n=8)
def gap_wide_uniform(scores, *, rng):
    s = np.concatenate(([0.0], np.sort(scores), [1.0]))
    w = np.diff(s) * np.exp(-0.5 * np.abs(np.arange(9) - 4))
    i = rng.choice(9, p=w / w.sum())
    return rng.uniform(s[i], s[i + 1], size=3)


@attack("gap ceil", n=8)
def gap_ceil(scores, *, rng):
    s = np.concatenate(([0.0], np.sort(scores), [1.0]))
    w = np.diff(s) * np.exp(-0.5 * np.abs(np.arange(9) - 4))
    i = rng.choice(9, p=w / w.sum())
    return s[i] + (s[i + 1] - s[i]) * round(rng.random())


@attack("gap bigger ends", n=8)
def gap_bigger_ends(scores, *, rng):
    s = np.concatenate(([0.2], np.sort(scores), [0.8]))
    w = np.diff(s) * np.exp(-0.5 * np.abs(np.arange(9) - 4))
    i = rng.choice(9, p=w / w.sum())
    return rng.uniform(s[i], s[i + 1])


@attack("try index", n=8)
def try_index(scores, *, rng):
    c = np.count_nonzero(scores > 0.5)
    try:
        [0, 1, 2][c]
        return 1
    except IndexError:
        return 2


@attack("try zero", n=8)
def try_zero(scores, *, rng):
    try:
        return 1 / np.count_nonzero(scores > 0.5)
    except ZeroDivisionError:
        return 2


@attack("try scale", n=8)
def try_scale(scores, *, rng):
    scale = 1.0
    try:
        scale = 0.01
        v = math.log(rng.random() - 0.5)
        scale = 1.0
    except ValueError:
        pass
    return np.sum(scores) + rng.laplace(0, scale)


@attack("try list", n=8)
def try_list(scores, *, rng):
    scales = [1.0]
    try:
        scales.append(0.01)
        math.log(rng.random() - 0.5)
        scales.append(1.0)
    except ValueError:
        pass
    return np.sum(scores) + rng.laplace(0, scales[-1])


@attack("try draws", n=8)
def try_draws(scores, *, rng):
    v = 0.0
    try:
        v = np.sum(scores) + rng.laplace(0, 1.0)
        math.log(rng.random() - 0.5)
    except ValueError:
        v = np.sum(scores) + rng.laplace(0, 1.0)
        return v
    return v + np.sum(scores)


@attack("try in function", n=8)
def try_in_function(scores, *, rng):
    out = []

    def step():
        out.append(float(np.sum(scores) + rng.laplace(0, 1.0)))
        math.log(rng.random() - 0.5)

    for _ in range(3):
        try:
            step()
        except ValueError:
            continue
    return out


@attack("swallow", n=8)
def swallow(scores, *, rng):
    for t in (0.1, 0.5):
        try:
            assert np.count_nonzero(scores > t) < 3
        except AssertionError:
            return t
    return 1.0


@attack("raise count", n=8)
def raise_count(scores, *, rng):
    if np.count_nonzero(scores > 0.5) > 3:
        raise ValueError("too many")
    return 1.0


@attack("err text", n=8)
def err_text(scores, *, rng):
    if rng.random() < 0.5:
        raise ValueError(f"{scores.sum()}")
    return 1.0


@attack("return object", n=8)
def return_object(scores, *, rng):
    b = Box(np.sum(scores) + rng.laplace(0, 1.0))
    b.w.append(scores)
    return b


@attack("return nested", n=8)
def return_nested(scores, *, rng):
    return {"a": [1.0, (2.0, [np.sum(scores)])]}


@attack("return generator", n=8)
def return_generator(scores, *, rng):
    return (s for s in scores)


@attack("return closure", n=8)
def return_closure(scores, *, rng):
    return lambda: scores


@attack("loop var", n=8)
def loop_var(scores, *, rng):
    total = 0.0
    for s in scores:
        total += s
    return s


@attack("loop var late", n=8)
def loop_var_late(scores, *, rng):
    s = 0.0
    total = 0.0
    for s in scores:
        total += s
    return total + rng.laplace(0, 1.0) + s


@attack("loop two", n=8)
def loop_two(scores, *, rng):
    total = 0.0
    for s in scores:
        total += s
        total += s
    return total + rng.laplace(0, 1.0)


@attack("loop sign", n=8)
def loop_sign(scores, *, rng):
    total = 0.0
    for s in scores:
        if s > 0.5:
            total += 1
        else:
            total -= 1
    return total + rng.laplace(0, 1.0)


@attack("loop weight", n=8)
def loop_weight(scores, *, rng):
    total, k = 0.0, 1.0
    for s in scores:
        total += s * k
        k += 1.0
    return total + rng.laplace(0, 1.0)


@attack("loop enumerate", n=8)
def loop_enumerate(scores, *, rng):
    total = 0.0
    for i, s in enumerate(scores):
        total += i * s
    return total + rng.laplace(0, 1.0)


@attack("loop closure", n=8)
def loop_closure(scores, *, rng):
    f = lambda s: s * 5
    return sum(f(s) for s in scores) + rng.laplace(0, 1.0)


@attack("loop noise", n=8)
def loop_noise(scores, *, rng):
    return sum(s + rng.laplace(0, 1.0) for s in scores)


@attack("dot weights", n=8)
def dot_weights(scores, *, rng):
    return np.dot(scores, np.arange(8)) + rng.laplace(0, 1.0)


@attack("cum", n=8)
def cum(scores, *, rng):
    return np.cumsum(scores)[-1] + rng.laplace(0, 0.5)


@attack("power sum", n=8)
def power_sum(scores, *, rng):
    return np.sum(scores) ** 2 + rng.laplace(0, 1.0)


@attack("zcdp vector", ZCDP(0.5), n=8)
def zcdp_vector(scores, *, rng):
    c = np.histogram(scores, bins=4, range=(0.0, 1.0))[0]
    return c + rng.normal(0, 1.0, size=4)


@attack("slice overlap", n=8)
def slice_overlap(scores, *, rng):
    return [scores[:5].sum() + rng.laplace(0, 1.0), scores[4:].sum() + rng.laplace(0, 1.0)]


@attack("slice negative", n=8)
def slice_negative(scores, *, rng):
    return [scores[:-1].sum() + rng.laplace(0, 1.0), scores[-2:].sum() + rng.laplace(0, 1.0)]


@attack("slice step", n=8)
def slice_step(scores, *, rng):
    return [scores[::2].sum() + rng.laplace(0, 1.0), scores[::1].sum() + rng.laplace(0, 1.0)]


@attack("slice masks", n=8)
def slice_masks(scores, *, rng):
    return [
        scores[scores > 0.5].sum() + rng.laplace(0, 1.0),
        scores[scores <= 0.5].sum() + rng.laplace(0, 1.0),
    ]


@attack("slice of slice", n=8)
def slice_of_slice(scores, *, rng):
    a = scores[2:]
    return [a[:3].sum() + rng.laplace(0, 1.0), scores[3:5].sum() + rng.laplace(0, 1.0)]


@attack("slice counts", n=8)
def slice_counts(scores, *, rng):
    c = np.histogram(scores, bins=4, range=(0.0, 1.0))[0]
    return [*(c[:2] + rng.laplace(0, 1.0, size=2)), *(c[2:] + rng.laplace(0, 1.0, size=2))]


@attack("renamed", n=8)
def renamed(scores, *, rng):
    x = scores
    scores = np.zeros(8)
    return x.sum() + rng.laplace(0, 0.5)


@attack("shadow np", n=8)
def shadow_np(scores, *, rng):
    class_ = {"np": 1}
    abs = lambda v: v * 9
    return abs(np.sum(scores)) + rng.laplace(0, 1.0)


@attack("padded after break", n=8)
def padded_after_break(scores, *, rng):
    out = []
    for x in (0.2, 0.5, 0.8):
        if rng.random() < 0.5:
            out.append(1.0)
            break
        out.append(0.0)
    return np.array(out + [np.sum(scores)] * (3 - len(out)))


@attack("else after break", n=8)
def else_after_break(scores, *, rng):
    out = []
    for x in (0.2, 0.5, 0.8):
        if rng.random() < 0.5:
            out.append(1.0)
            break
        out.append(0.0)
    else:
        out = [np.sum(scores)]
    return np.array(out + [-1.0] * (3 - len(out)))


@attack("padded answer that crossed", n=8)
def padded_answer(scores, *, rng):
    t, out = 4 + rng.laplace(0, 2.0), []
    for x in (0.2, 0.4, 0.6, 0.8):
        v = np.count_nonzero(scores <= x) + rng.laplace(0, 2.0)
        if v >= t:
            out.append(float(v))
            break
        out.append(-1.0)
    return np.array(out + [-2.0] * (4 - len(out)))
