"""Attacks on vectors for each record that are clipped by their norm."""

import math

import numpy as np
from proving.specimen_tables import Table

from dpcp_audit import ZCDP
from dpcp_audit.words.guarantees import Relation

ATTACKS = Table("clipping")
HALF = ZCDP(0.5)


def attack(reason, **rest):  # noqa: ANN201
    return ATTACKS.attack(reason, HALF, **rest)


def noise(rng, scale=2.0):  # noqa: ANN201
    return rng.normal(0.0, scale, size=2)


@attack("1 / 0 warns")
def inverse_norm_warns(scores, *, rng):
    g = np.outer(scores, [1.0, 2.0])
    norms = np.linalg.norm(g, axis=1, keepdims=True)
    return (g * np.minimum(1.0, 1.0 / norms)).sum(axis=0) + noise(rng)


@attack("0 times infinity is NaN")
def zero_times_infinity(scores, *, rng):
    g = np.outer(scores, [1.0, 2.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = 1.0 / np.linalg.norm(g, axis=1, keepdims=True)
    return (g * factors).sum(axis=0) + noise(rng)


@attack("not clipped at all")
def unclipped(scores, *, rng):
    return np.outer(scores, [3.0, 4.0]).sum(axis=0) + noise(rng)


@attack("the norm is that of the columns")
def wrong_axis(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    norms = np.maximum(1.0, np.linalg.norm(g, axis=0))
    return (g / norms).sum(axis=0) + noise(rng)


@attack("the largest entry is no Euclidean norm")
def largest_entry(scores, *, rng):
    g = np.outer(scores, [30.0, 30.0])
    norms = np.maximum(1.0, np.linalg.norm(g, np.inf, axis=1))
    return (g / norms[:, None]).sum(axis=0) + noise(rng, 2.0)


@attack("the norm of the whole matrix")
def norm_of_all(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    norms = np.maximum(1.0, np.linalg.norm(g, 1, keepdims=True))
    return (g / norms).sum(axis=0) + noise(rng, 0.5)


@attack("clipped to 1.2")
def clipped_too_late(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    norms = np.maximum(1.0, np.linalg.norm(g, axis=1) / 1.2)
    return (g / norms[:, None]).sum(axis=0) + noise(rng)


@attack("a tenth too little noise")
def too_little_noise(scores, *, rng):
    g = np.outer(scores - 0.5, [30.0, 40.0])
    norms = np.maximum(1.0, np.linalg.norm(g, axis=1))
    return (g / norms[:, None]).sum(axis=0) + noise(rng, 1.8)


@attack("np.minimum makes small numbers of norms")
def minimum_of_norms(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    norms = np.minimum(1.0, np.linalg.norm(g, axis=1))
    return (g / norms[:, None]).sum(axis=0) + noise(rng)


@attack("small gradients are stretched to the norm 1")
def stretched(scores, *, rng):
    g = np.outer(scores, [0.1, 0.1])
    norms = np.maximum(1e-12, np.linalg.norm(g, axis=1))
    return (g / norms[:, None]).sum(axis=0) + noise(rng, 0.2)


@attack("small gradients are stretched by a factor")
def stretched_by_factors(scores, *, rng):
    g = np.outer(scores, [0.1, 0.1])
    factors = 1.0 / np.maximum(1e-12, np.linalg.norm(g, axis=1))
    return (g * factors[:, None]).sum(axis=0) + noise(rng, 0.2)


@attack("the norms of other gradients")
def other_norms(scores, *, rng):
    g, h = np.outer(scores, [30.0, 40.0]), np.outer(scores, [1.0, 1.0])
    norms = np.maximum(1.0, np.linalg.norm(h, axis=1))
    return (g / norms[:, None]).sum(axis=0) + noise(rng)


@attack("clipped, and scaled up after it")
def scaled_after(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    norms = np.maximum(1.0, np.linalg.norm(g, axis=1))
    return 3.0 * (g / norms[:, None]).sum(axis=0) + noise(rng)


@attack("the norms are shown")
def norms_are_shown(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    return np.linalg.norm(g, axis=1).sum() + noise(rng)


@attack("one draw for all entries")
def one_draw(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    norms = np.maximum(1.0, np.linalg.norm(g, axis=1))
    return (g / norms[:, None]).sum(axis=0) + rng.normal(0.0, 2.0)


@attack("an infinite factor: NaN for records at 0")
def infinite_factor(scores, *, rng):
    g = np.outer(scores, [math.inf, 1.0])
    norms = np.maximum(1.0, np.linalg.norm(g, axis=1))
    return (g / norms[:, None]).sum(axis=0) + noise(rng)


@attack("an average over a number that is private", neighbours=Relation.ADD_REMOVE)
def private_average(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    norms = np.maximum(1.0, np.linalg.norm(g, axis=1))
    return (g / norms[:, None]).mean(axis=0) + noise(rng, 1.0)


@attack("the steps are not split")
def steps_at_full_price(scores, *, rng):
    w = 0.0
    for _ in range(4):
        g = np.outer(w - scores, [3.0, 4.0])
        norms = np.maximum(1.0, np.linalg.norm(g, axis=1))
        total = (g / norms[:, None]).sum(axis=0) + noise(rng)
        w = w - 0.1 * total[0] / len(scores)
    return w


@attack("an array of n numbers divides along the wrong axis", n=2)
def along_the_other_axis(scores, *, rng):
    g = np.outer(scores, [30.0, 40.0])
    norms = np.maximum(1.0, np.linalg.norm(g, axis=1))
    return (g / norms).sum(axis=0) + noise(rng)


@attack("one row is shown")
def one_row(scores, *, rng):
    g = np.outer(scores, [0.3, 0.4])
    return g[0] + noise(rng)


@attack("rows of infinite numbers: inf / inf is NaN")
def infinite_rows(scores, *, rng):
    g = (10 * scores)[:, None] * np.array([1e308, 1e308])
    g = g / np.maximum(1.0, np.linalg.norm(g, axis=1, keepdims=True))
    return g.sum(axis=0) + rng.normal(0, 2.0, size=2)


@attack("a norm underflows to 0, and its bound does not")
def underflowing_norms(scores, *, rng):
    g = scores[:, None] * np.array([1e-200, 1e-200])
    g = g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-300)
    return g.sum(axis=0) + rng.normal(0, 2.0, size=2)


@attack("it is cut off at one end alone")
def cut_off_below(scores, *, rng):
    return np.maximum(5 * scores.sum(), 0.0) + rng.normal(0.0, 1.0)


@attack("each end is that of another value")
def cut_off_at_either_end(scores, *, rng):
    total = 5 * scores.sum()
    return np.maximum(total, 1.0) - np.minimum(total, 0.0) + rng.normal(0.0, 1.0)


@attack("it is shifted between the two ends")
def shifted_after_one_end(scores, *, rng):
    total = np.maximum(5 * scores.sum(), 0.0) - 2.0
    return np.minimum(total, 1.0) + rng.normal(0.0, 1.0)


@attack("it is doubled afterwards")
def doubled_after_the_clip(scores, *, rng):
    return 2 * np.clip(5 * scores.sum(), 0.0, 1.0) + rng.normal(0.0, 1.0)


@attack("what cut off values add up to is in a larger range")
def sum_of_cut_off_values(scores, *, rng):
    total = 5 * scores.sum()
    both = np.clip(total, 0.0, 1.0) + np.clip(total - 1.0, 0.0, 1.0)
    return both + rng.normal(0.0, 1.0)


@attack("its type tells whether it was cut off")
def type_of_the_end(scores, *, rng):
    return min(max(scores.sum(), 0.0), 1.0) + rng.normal(0.0, 1.0)


@attack("the type of a sum tells whether any of its numbers was not cut off")
def type_of_a_sum_of_ends(scores, *, rng):
    return sum([min(max(scores.sum(), 0.0), 0.5) for _ in range(2)]) + rng.normal(0.0, 1.0)


@attack("an end that is NaN cuts off nothing")
def end_that_is_nan(scores, *, rng):
    return float(max(min(5 * scores.sum(), math.nan), 0.0)) + rng.normal(0.0, 1.0)


@attack("the norm is one of another vector")
def norm_of_another_vector(scores, *, rng):
    sums = np.array([scores.sum(), 5 * scores.sum()])
    less = np.array([scores.sum(), scores.sum()])
    return sums / max(1.0, np.linalg.norm(less)) + noise(rng)


@attack("the norm is one of a vector that is 2**61 times smaller, as 2**122 is 1 modulo 2**61 - 1")
def norm_of_a_multiple(scores, *, rng):
    sums = np.array([scores.sum(), scores.sum()])
    return 3.0 * sums / max(1.0, np.linalg.norm(3.0 * 2.0**-61 * sums)) + noise(rng)


@attack("the vector is scaled after its norm is taken")
def scaled_after_the_norm(scores, *, rng):
    sums = np.array([scores.sum(), scores.sum()])
    clip = max(1.0, np.linalg.norm(sums))
    return 5 * sums / clip + noise(rng)


@attack("one entry of the vector alone is clipped: the rest is not")
def norm_of_one_entry(scores, *, rng):
    sums = np.array([scores.sum(), 5 * scores.sum()])
    return sums / max(1.0, abs(sums[0])) + noise(rng)


@attack("of the two vectors in a ball one is opposite to the other")
def moved_by_the_diameter(scores, *, rng):
    sums = np.array([scores.sum() - 10.0, 5 * scores.sum() - 50.0])
    return sums / max(1.0, np.linalg.norm(sums)) + noise(rng, 1.0)
