"""Counts that are shown above a threshold: where other counts, other noise or no noise decides."""

import math

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp
from dpcp_audit.words.guarantees import Relation

SHOWN = Table("shown")
ATTACKS = SHOWN
CLAIM = dp.ApproxDP(1.0, 1e-3)
T = 1 + math.log(500)


def attack(reason, claim=CLAIM, **rest):
    return SHOWN.attack(reason, claim, neighbours=Relation.ADD_REMOVE, **rest)


def bins(scores):
    return np.histogram(scores, bins=5, range=(0.0, 1.0))[0]


@attack("the threshold is half a scale too low")
def too_low(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return np.where((h > 0) & (v > T - 0.5), v, 0.0)


def replaced(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return np.where((h > 0) & (v > T), v, 0.0)


SHOWN.add(replaced, "a record that is replaced is alone in two bins", dp.ApproxDP(2.0, 1e-3))


@attack("where counts are above 0 is shown")
def presence(scores, *, rng):
    return bins(scores) > 0


@attack("how many counts are above 0 is shown")
def how_many(scores, *, rng):
    return np.sum(bins(scores) > 0)


@attack("a chain of comparisons of one count")
def chained(scores, *, rng):
    c = np.count_nonzero(scores > 0.5)
    return 0 < c > 1


@attack("a chain that ends in an inequality")
def chained_unequal(scores, *, rng):
    c = np.count_nonzero(scores > 0.5)
    return 1.0 if 0 < c != 0 else 0.0


@attack("all counts are shown where they are above 0, whatever the noise")
def without_threshold(scores, *, rng):
    h = bins(scores)
    return np.where(h > 0, h + rng.laplace(0.0, 1.0, size=5), 0.0)


@attack("the threshold is below the number that stands for no count")
def below_other(scores, *, rng):
    h = bins(scores)
    v = np.where(h > 0, h + rng.laplace(0.0, 1.0, size=5), 99.0)
    return v > T


@attack("counts that are not there are shown as below the threshold")
def shown_below(scores, *, rng):
    h = bins(scores)
    v = np.where(h > 0, h + rng.laplace(0.0, 1.0, size=5), 99.0)
    return v < T


@attack("noise of other counts is above the threshold")
def of_other_counts(scores, *, rng):
    h, other = bins(scores), bins(1.0 - scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return np.where((other > 0) & (v > T), v, 0.0)


@attack("counts are moved before noise is added")
def moved_counts(scores, *, rng):
    h = bins(scores)
    v = (h + 9) + rng.laplace(0.0, 1.0, size=5)
    return np.where((h > 0) & (v > T), v, 0.0)


@attack("counts are moved in opposite directions")
def moved_apart(scores, *, rng):
    h = bins(scores)
    v = (h + 5) + rng.laplace(0.0, 1.0, size=5)
    return np.where(((h - 5) > 0) & (v > T), v, 0.0)


@attack("the noise is moved towards the threshold")
def moved_noise(scores, *, rng):
    h = bins(scores)
    v = h + (rng.laplace(0.0, 1.0, size=5) + 9)
    return np.where((h > 0) & (v > T), v, 0.0)


@attack("the noise is moved after it is added")
def moved_noisy(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5) + 9
    return np.where((h > 0) & (v > T), v, 0.0)


@attack("one entry's noise has a larger scale")
def unequal_scales(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, np.array([1.0, 1.0, 1.0, 1.0, 9.0]))
    return np.where((h > 0) & (v > T), v, 0.0)


@attack("one entry's answer shows all counts")
def first_answer(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return (h > 0) & (v > T)[0]


@attack("one row's answers show all rows")
def first_row(scores, *, rng):
    table = np.histogram(scores, bins=6, range=(0.0, 1.0))[0].reshape(2, 3)
    v = np.where(table > 0, table + rng.laplace(0.0, 1.0, size=(2, 3)), 0.0)
    return np.where((v > T)[0], v, 0.0)


@attack("the other side of the threshold is shown")
def other_side(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return (h > 0) & (v < T)


@attack("either is enough")
def either(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return (h > 0) | (v > T)


@attack("the counts that are shown have no noise")
def exact_counts(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return np.where((h > 0) & (v > T), h, 0)


@attack("counts of nested levels all begin with one record")
def nested_levels(scores, *, rng):
    h = np.searchsorted(np.sort(scores), np.linspace(0.1, 0.9, 9))
    v = h + rng.laplace(0.0, 9.0, size=9)
    return np.where((h > 0) & (v > 1 + 9 * math.log(500)), v, 0.0)


@attack("sums of scores are no counts")
def of_sums(scores, *, rng):
    total = np.cumsum(bins(scores)) * 0.001
    v = total + rng.laplace(0.0, 1.0, size=5)
    return np.where((total > 0) & (v > T), v, 0.0)


@attack("geometric noise has another tail")
def geometric_tail(scores, *, rng):
    h = bins(scores)
    v = h + rng.geometric(0.3, size=5) - rng.geometric(0.3, size=5)
    return np.where((h > 0) & (v > T), v, 0)


@attack("a rare event has no pure ε", dp.PureDP(1.0))
def pure(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return np.where((h > 0) & (v > 40), v, 0.0)


@attack("a rare event has no ρ", dp.ZCDP(0.5))
def concentrated(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return np.where((h > 0) & (v > 40), v, 0.0)


@attack("two tables have twice the chance", dp.ApproxDP(2.0, 1e-3))
def two_tables(scores, *, rng):
    shown = []
    for _ in range(2):
        h = bins(scores)
        v = h + rng.laplace(0.0, 1.0, size=5)
        shown.append(np.where((h > 0) & (v > T), v, 0.0))
    return shown


@attack("the number of draws for the counts above 0 is shown")
def draws_of_present(scores, *, rng):
    h = bins(scores)
    kept = h[h > 0]
    return len(kept), kept + rng.laplace(0.0, 1.0, size=len(kept))


@attack("a branch on one count")
def branch(scores, *, rng):
    c = np.count_nonzero(scores > 0.5)
    if c > 0:
        return c + rng.laplace()
    return 0.0
