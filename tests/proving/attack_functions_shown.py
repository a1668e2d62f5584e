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


@attack("the exact count is kept")
def exact_kept(scores, *, rng):
    out = {}
    for i, c in enumerate(bins(scores)):
        if c > 0:
            v = c + rng.laplace(0.0, 1.0)
            if v > T:
                out[i] = c
    return out


@attack("the last noisy count has a value only where there is a record")
def last_noisy(scores, *, rng):
    out, v = {}, 0.0
    for i, c in enumerate(bins(scores)):
        if c > 0:
            v = c + rng.laplace(0.0, 1.0)
            if v > T:
                out[i] = v
    return out, v


@attack("bins with a record are kept before the threshold")
def kept_before(scores, *, rng):
    out = {}
    for i, c in enumerate(bins(scores)):
        if c > 0:
            out[i] = 0.0
            v = c + rng.laplace(0.0, 1.0)
            if v > T:
                out[i] = v
    return out


@attack("bins without a record are kept")
def kept_otherwise(scores, *, rng):
    out = {}
    for i, c in enumerate(bins(scores)):
        if c > 0:
            v = c + rng.laplace(0.0, 1.0)
            if v > T:
                out[i] = v
        else:
            out[i] = 0.0
    return out


@attack("bins whose noise is small are kept")
def kept_below(scores, *, rng):
    out = {}
    for i, c in enumerate(bins(scores)):
        if c > 0:
            v = c + rng.laplace(0.0, 1.0)
            if v > T:
                out[i] = v
            else:
                out[i] = 0.0
    return out


@attack("something is printed where there is a record")
def printed(scores, *, rng):
    for c in bins(scores):
        if c > 0:
            v = c + rng.laplace(0.0, print("a record") or 1.0)
            if v > T:
                print(v)


@attack("a list grows where there is a record")
def grows(scores, *, rng):
    seen, out = [], []

    def law(scale):
        seen.append(scale)
        return scale

    for c in bins(scores):
        if c > 0:
            v = c + rng.laplace(0.0, law(1.0))
            if v > T:
                out.append(v)
    return out, seen


@attack("the threshold is another one where there is a record")
def moving_threshold(scores, *, rng):
    out, level = [], T
    for c in bins(scores):
        if c > 0:
            level = c + rng.laplace(0.0, 1.0)
            if level > T:
                out.append(level)
    return out, level


@attack("the same draw for each bin")
def same_draw(scores, *, rng):
    out, draw = {}, rng.laplace(0.0, 1.0)
    for i, c in enumerate(bins(scores)):
        if c > 0:
            v = c + draw
            if v > T:
                out[i] = v
    return out


@attack("counts that overlap each begin with one record")
def overlapping(scores, *, rng):
    out = {}
    for i in range(5):
        c = np.count_nonzero(scores >= i / 5)
        if c > 0:
            v = c + rng.laplace(0.0, 1.0)
            if v > T:
                out[i] = v
    return out


@attack("a list that a public branch has changed takes up data")
def takes_up_data(scores, *, rng):
    out = []
    if rng.random() < 0.5:
        out.append(1)
    out.append(np.sum(scores))
    return out


@attack("the length of a list that a public branch has changed is not known")
def length_of_changed(scores, *, rng):
    out = []
    alias = out
    if rng.random() < 0.5:
        out.append(1)
    return np.sum(scores) if len(alias) == 0 else 0.0


@attack("a list that a public branch has changed is not empty")
def changed_is_empty(scores, *, rng):
    out = {}
    alias = out
    if rng.random() < 0.5:
        out["a"] = 1
    return 0.0 if alias else np.sum(scores)


@attack("a list that a public branch has changed holds a score")
def holds_a_score(scores, *, rng):
    out = [np.max(scores)]
    if rng.random() < 0.5:
        out.append(1)
    return out


@attack("a noisy value in a list is used again after a branch", dp.PureDP(1.0))
def used_after_branch(scores, *, rng):
    noise = rng.laplace(0.0, 1.0)
    out = [np.sum(scores) + noise]
    if rng.random() < 0.5:
        out.append(1)
    return out, np.count_nonzero(scores > 0.5) + noise


@attack("counts above another number are shown for the price of those above 0")
def another_cut(scores, *, rng):
    h = bins(scores)
    v = h + rng.laplace(0.0, 1.0, size=5)
    return (h > 0) & (v > T) & (h > 6)


@attack("a value that is shown above another number, for the price of those above 0")
def another_cut_shown(scores, *, rng):
    h = bins(scores)
    noise = h + rng.laplace(0.0, 1.0, size=5)
    v = np.where(h > 6, noise, 0.0)
    return np.where((h > 0) & (noise > T), noise, 0.0), v > T


@attack("what a shown dictionary takes up is filled afterwards")
def filled_after_it_is_shown(scores, *, rng):
    out = {}
    if rng.random() < 0.5:
        out[1] = 1
    inner = {}
    out[5] = inner
    inner[0] = np.sum(scores)
    return out


@attack("what a shown list takes up is filled afterwards, in a pair")
def pair_filled_after_it_is_shown(scores, *, rng):
    out = []
    if rng.random() < 0.5:
        out.append(1)
    inner = [0.0]
    out.append((1, inner))
    inner[0] = np.sum(scores)
    return out


@attack("a name is bound where a count is above 0 alone")
def bound_in_a_threshold(scores, *, rng):
    count, level, out = np.count_nonzero(scores > 0.5), 0.0, 0
    if count > 0:
        v = count + rng.laplace(0.0, 1.0)
        if v > (level := 1 + math.log(500)):
            out = 1
    return level, out


@attack("an error may be raised where a count is above 0 alone")
def raised_in_a_threshold(scores, *, rng):
    count, out = np.count_nonzero(scores > 0.5), 0
    if count > 0:
        v = count + rng.laplace(0.0, 1.0)
        if v > (T, 1 / int(rng.integers(2)))[0]:
            out = 1
    return out


@attack("sides of unequal lengths raise an error where a count is above 0 alone")
def unequal_sides(scores, *, rng):
    count, out = np.count_nonzero(scores > 0.5), 0
    if count > 0:
        (v,) = count + rng.laplace(0.0, 1.0), 5
        if v > T:
            out = 1
    return out
