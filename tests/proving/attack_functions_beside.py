"""Attempts by loops over records: what is beside a record, its place, and the bins of a histogram."""
# ruff: noqa

import math
import random

import numpy as np
from proving.specimen_tables import Table

from dpcp_audit import PureDP
from dpcp_audit.words.guarantees import Relation

ATTACKS = Table("beside")
attack = ATTACKS.attack
ADD_REMOVE = Relation.ADD_REMOVE
WEIGHTS = [1.0] * 20


# ---------------------------------------------------------------------- zip and enumerate


@attack("zip: a weight of 3 on one record", n=5)
def weight_of_three(scores, *, rng):
    total = 0.0
    for x, w in zip(scores, [1.0, 1.0, 1.0, 1.0, 3.0]):
        total += x * w
    return total + rng.laplace(0, 1.0)


@attack("zip: a negative weight is as large", n=4)
def weight_below_zero(scores, *, rng):
    return sum(x * w for x, w in zip(scores, (1.0, 1.0, 1.0, -2.0))) + rng.laplace(0, 1.0)


@attack("zip: a record that is removed moves the weights of all after it", neighbours=ADD_REMOVE)
def weights_shift(scores, *, rng):
    total = 0.0
    for x, w in zip(scores, WEIGHTS):
        total += x * (1.0 - w) + x
    return total + rng.laplace(0, 1.0)


@attack("enumerate: the places tell how many records there are", neighbours=ADD_REMOVE)
def places_tell_the_number(scores, *, rng):
    total = 0
    for i, x in enumerate(scores):
        total += i
    return total


@attack("enumerate: a record that is removed moves all after it", neighbours=ADD_REMOVE)
def places_shift(scores, *, rng):
    total = 0.0
    for i, x in enumerate(scores):
        if i == 3:
            total += x
    return total + rng.laplace(0, 1.0)


@attack("sorted scores lie at other places if one of them changes", n=4)
def sorted_places(scores, *, rng):
    total = 0.0
    for i, x in enumerate(np.sort(scores)):
        if x > 0.125 + i * 0.25:
            total += 1
    return total + rng.laplace(0, 1.0)


@attack("sorted scores beside numbers", n=4)
def sorted_beside(scores, *, rng):
    steps = [0.125, 0.375, 0.625, 0.875]
    return sum(1 for x, t in zip(sorted(scores), steps) if x > t) + rng.laplace(0, 1.0)


@attack("selected scores lie at other places", n=4)
def chosen_places(scores, *, rng):
    total = 0
    for i, x in enumerate(scores[scores > 0.5]):
        total += i
    return total + rng.laplace(0, 3.0)


@attack("zip of scores and sorted scores: a pair holds two persons' records")
def pairs_of_two_persons(scores, *, rng):
    total = 0.0
    for x, y in zip(scores, np.sort(scores)):
        total += 1 if x > y else 0
    return total + rng.laplace(0, 1.0)


@attack("zip of neighbouring scores")
def neighbouring_scores(scores, *, rng):
    return sum(abs(y - x) for x, y in zip(scores[:-1], scores[1:])) + rng.laplace(0, 1.0)


@attack("zip: fewer numbers than records leave records out, longer ones do not")
def too_few_numbers(scores, *, rng):
    total = 0.0
    for x, w in zip(scores, [1.0, 1.0]):
        total += x
    return total + rng.laplace(0, 0.5)


@attack("zip: a list is changed while the iterator waits", n=3)
def changed_while_waiting(scores, *, rng):
    w = [1.0, 1.0, 1.0]

    def change():
        w[0] = 100.0
        return (1.0, 1.0, 1.0)

    total = 0.0
    for (x, v), _ in zip(zip(scores, w), change()):
        total += x * v
    return total + rng.laplace(0, 1.0)


@attack("zip is kept, and gone through twice: the second time it is empty")
def kept_pairs(scores, *, rng):
    pairs = zip(scores, scores)
    a = sum(x for x, _ in pairs)
    b = sum(x for x, _ in pairs)
    return np.sum(scores) if b == 0 else a + rng.laplace(0, 1.0)


@attack("the truth of an iterator", event=lambda v: v > 0.5)
def truth_of_pairs(scores, *, rng):
    if not zip(scores, scores):
        return rng.laplace(0, 1.0)
    return float(np.sum(scores))


@attack("a list of pairs is returned")
def listed_pairs(scores, *, rng):
    return list(zip(scores, WEIGHTS))


@attack("the smallest pair")
def smallest_pair(scores, *, rng):
    return min(enumerate(scores))


@attack("pairs in order")
def pairs_in_order(scores, *, rng):
    return sorted(zip(scores, WEIGHTS))[0][1]


@attack("a pair is looked for")
def looked_for(scores, *, rng):
    return 1.0 if (0.5, 1.0) in zip(scores, WEIGHTS) else 0.0


@attack("the place as an index of what has no noise", n=3)
def place_as_index(scores, *, rng):
    w = [1.0, 1.0, 1.0]
    for i, x in enumerate(scores):
        w[i] += x
    return w


@attack("the place as an index of numbers", n=3)
def place_of_numbers(scores, *, rng):
    w, total = np.array([1.0, 1.0, 5.0]), 0.0
    for i, x in enumerate(scores):
        total += w[i] * x
    return total + rng.laplace(0, 1.0)


@attack("numbers of two types: the data decide the type of the result")
def types_beside(scores, *, rng):
    total = 0
    for x, w in zip(scores, [1] * 19 + [1.0]):
        if x > 0.5:
            total += w
    return total + rng.geometric(0.63) - rng.geometric(0.63)


@attack("unpacked stars", n=3)
def starred_pairs(scores, *, rng):
    total = 0.0
    for x, *rest in zip(scores, scores, scores):
        total += rest[0] + rest[1]
    return total + rng.laplace(0, 1.0)


@attack("noise of its own for each record")
def noise_beside(scores, *, rng):
    total = 0.0
    for x, z in zip(scores, rng.laplace(0, 1.0, size=20)):
        total += x + z
    return total


# ---------------------------------------------------------------------- histograms by hand


@attack("a histogram by hand with noise for one count alone", n=6)
def half_the_noise(scores, *, rng):
    h = np.zeros(4)
    for x in scores:
        h[min(int(x * 4), 3)] += 1
    return h + rng.laplace(0, 1.0, size=4)


@attack("two counts for each record", n=6)
def two_counts(scores, *, rng):
    h = np.zeros(4)
    for x in scores:
        h[min(int(x * 4), 3)] += 1
        h[0] += 1 if x > 0.5 else 0
    return h + rng.laplace(0, 2.0, size=4)


@attack("a count that adds two")
def adds_two(scores, *, rng):
    h = [0] * 4
    for x in scores:
        h[min(int(x * 4), 3)] += 2
    return np.array(h) + rng.laplace(0, 2.0, size=4)


@attack("the bin of the largest score has no place", pair=None)
def out_of_range(scores, *, rng):
    h = np.zeros(4)
    for x in scores:
        h[int(x * 4)] += 1
    return h + rng.laplace(0, 2.0, size=4)


@attack("1 / 0.1 is 10 as doubles, and 9.99... as 0.1 is written")
def rounded_into_no_place(scores, *, rng):
    h = np.zeros(10)
    for x in scores:
        h[int(x / 0.1)] += 1
    return h + rng.laplace(0, 2.0, size=10)


@attack("doubles of large numbers round to a bin that has no place", bounds=(0.0, 0.9))
def large_numbers_round(scores, *, rng):
    h = np.zeros(1)
    for x in scores:
        h[int((x + 2.0**52) - 2.0**52)] += 1
    return h + rng.laplace(0, 2.0, size=1)


@attack("a table of whole numbers cuts off what is added")
def cut_off(scores, *, rng):
    h = np.zeros(4, dtype=int)
    for x in scores:
        h[min(int(x * 4), 3)] += 0.5
    return h + rng.laplace(0, 1.0, size=4)


@attack("a list of whole numbers holds a double where a record was")
def type_of_entries(scores, *, rng):
    h = [0] * 4
    for x in scores:
        h[min(int(x * 4), 3)] += 1.0
    return isinstance(h[0], int), h[0] + rng.laplace(0, 2.0)


@attack("a list of Python's numbers holds one of NumPy's where a record was")
def numpy_in_a_list(scores, *, rng):
    h = [0.0] * 4
    for x in scores:
        h[min(int(x * 4), 3)] += x
    return h[0] / (rng.random() * 0.0)


@attack("the counts are read while they are added up")
def read_while_added(scores, *, rng):
    h, total = np.zeros(4), 0.0
    for x in scores:
        h[min(int(x * 4), 3)] += 1
        total += h[0]
    return total + rng.laplace(0, 1.0)


@attack("the counts are read under another name")
def read_by_another_name(scores, *, rng):
    h = [0] * 4
    g, total = h, 0.0
    for x in scores:
        h[min(int(x * 4), 3)] += 1
        if g[0] > 2:
            total += 1
    return total


@attack("another name shows the counts without noise")
def another_name(scores, *, rng):
    h = [0] * 4
    g = h
    for x in scores:
        h[min(int(x * 4), 3)] += 1
    noisy = np.array(h) + rng.laplace(0, 2.0, size=4)
    return noisy, g


@attack("a dictionary has keys, not places")
def dictionary(scores, *, rng):
    h = {1: 0, 0: 0, 5: 0}
    for x in scores:
        h[min(int(x * 2), 1)] += 1
    return h[5] + rng.laplace(0, 1.0), h[0], h[1]


@attack("all places of all records at once, for each record")
def all_places(scores, *, rng):
    h, places = np.zeros(4), np.minimum((scores * 4).astype(int), 3)
    for x in scores:
        h[places] += 1
    return h + rng.laplace(0, 2.0, size=4)


@attack("a truth value as an index adds an axis")
def truth_as_index(scores, *, rng):
    h = np.zeros(4)
    for x in scores:
        h[x > 0.5] += 1
    return h + rng.laplace(0, 2.0, size=4)


@attack("a list that a loop goes through grows with it")
def while_it_is_gone_through(scores, *, rng):
    h = [0, 0]
    for v in h:
        for x in scores:
            h[int(x > 0.5)] += 1
    return np.array(h) + rng.laplace(0, 2.0, size=2)


@attack("the bins are subtracted from: a difference of counts moves by two")
def minus_one(scores, *, rng):
    h = np.zeros(2)
    for x in scores:
        h[int(x > 0.5)] += 1
        h[int(x <= 0.5)] += -1
    return h + rng.laplace(0, 2.0, size=2)


@attack("how many bins there are depends on the largest score")
def bins_of_the_largest(scores, *, rng):
    counts = np.bincount((scores * 4).astype(int))
    return counts[:1] + rng.laplace(0, 2.0, size=1), len(counts)


@attack("minlength is no limit")
def more_bins(scores, *, rng):
    counts = np.bincount((scores * 4).astype(int), minlength=4)
    return counts + rng.laplace(0, 2.0, size=4)


@attack("weights of a bin count")
def weighted_bins(scores, *, rng):
    counts = np.bincount(np.minimum((scores * 4).astype(int), 3), scores * 9.0, minlength=4)
    return counts + rng.laplace(0, 2.0, size=4)


@attack("a bin below 0 raises an error", bounds=(-1.0, 1.0))
def bins_below_zero(scores, *, rng):
    counts = np.bincount((scores * 3).astype(int), minlength=4)
    return counts + rng.laplace(0, 2.0, size=4)


@attack("half the noise on bin counts")
def bins_with_half_the_noise(scores, *, rng):
    return np.bincount((scores * 3).astype(int), minlength=4) + rng.laplace(0, 1.0, size=4)


@attack("whole numbers of scores are no counts: a cast moves by more than one", bounds=(0.0, 9.0))
def casts_move(scores, *, rng):
    return np.sum(scores.astype(int)) + rng.laplace(0, 1.0)


@attack("a cast back to doubles is not a whole number")
def cast_twice(scores, *, rng):
    h = np.zeros(2)
    for x in scores:
        h[float(int(x))] += 1
    return h + rng.laplace(0, 2.0, size=2)


# ---------------------------------------------------------------------- copies in place


def bins(scores):
    return np.histogram(scores, bins=2, range=(0.0, 1.0))[0]


@attack("astype that makes no copy")
def astype_without_copy(scores, *, rng):
    y = bins(scores) * 1.0
    z = y + 0.0
    x = z.astype(float, copy=False)
    x += rng.laplace(0, 2.0, size=2)
    return x, z - x + y


@attack("a function hands the copy on before")
def copy_in_a_closure(scores, *, rng):
    def name():
        return x

    x = (rng.laplace(0, 2.0, size=2) + 0.0).copy()
    y = name()
    x += 1e6 * bins(scores)
    return y


@attack("a view of the copy")
def view_of_a_copy(scores, *, rng):
    x = (rng.laplace(0, 2.0, size=2) + 0.0).copy()
    y = x[:]
    x += 1e6 * bins(scores)
    return y


@attack("one of two branches makes a copy")
def copy_in_a_branch(scores, *, rng):
    x = rng.laplace(0, 2.0, size=2) + 0.0
    y = x
    if rng.random() < 0.5:
        x = x.copy()
    x += 1e6 * bins(scores)
    return y


@attack("the copy is made in the other branch")
def copy_in_the_other_branch(scores, *, rng):
    x = rng.laplace(0, 2.0, size=2) + 0.0
    y = x
    if rng.random() < 0.5:
        x = x.copy()
    else:
        x += 1e6 * bins(scores)
    return y


class Kept:
    def __init__(self, v):
        self.v = v

    def copy(self):
        return self.v


@attack("copy() of a class of the program's own hands out its array")
def copy_of_an_object(scores, *, rng):
    kept = Kept(rng.laplace(0, 2.0, size=2) + 0.0)
    x = kept.copy()
    x += 1e6 * bins(scores)
    return kept.v


@attack("a loop comes back to the name")
def copy_in_a_loop(scores, *, rng):
    out = []
    x = (rng.laplace(0, 2.0, size=2) + 0.0).copy()
    for _ in range(2):
        out.append(x)
        x += 1e6 * bins(scores)
    return out[0]


@attack("a whole-number array keeps whole numbers")
def whole_copy(scores, *, rng):
    x = bins(scores).copy()
    x += rng.laplace(0, 2.0, size=2)
    return x


@attack("half the noise, in place")
def half_the_noise_in_place(scores, *, rng):
    x = bins(scores).astype(float)
    x += rng.laplace(0, 1.0, size=2)
    return x


# ---------------------------------------------------------------------- exponential differences


@attack("the rate is twice as large: half the noise", n=6)
def rate_of_two(scores, *, rng):
    return np.sum(scores) + random.expovariate(2.0) - random.expovariate(2.0)


@attack("draws of unlike scales", n=6)
def unlike_scales(scores, *, rng):
    return np.sum(scores) + rng.exponential(1.0) - rng.exponential(0.1)


@attack("a sum of exponential draws hides on one side alone", n=6)
def sum_of_draws(scores, *, rng):
    return np.sum(scores) + (rng.exponential(1.0) + rng.exponential(1.0))


@attack("the second draw is shown", n=6)
def shown_draw(scores, *, rng):
    a, b = rng.exponential(1.0), rng.exponential(1.0)
    return np.sum(scores) + (a - b), b


@attack("the first draw is on another sum as well", n=6)
def draw_on_two(scores, *, rng):
    a, b, c = rng.exponential(4.0), rng.exponential(4.0), rng.exponential(4.0)
    return np.sum(scores) + (a - b), np.sum(scores) + (a - c)


@attack("arrays whose scales are the same at their smallest alone", n=6)
def arrays_of_scales(scores, *, rng):
    noise = rng.exponential([1.0, 1.0]) - rng.exponential([1.0, 0.5])
    return np.sum(scores) + noise[1]


@attack("one exponential draw alone", n=6)
def one_draw(scores, *, rng):
    return np.sum(scores) + random.expovariate(1.0)


@attack("exponential draws subtracted twice", n=6)
def subtracted_twice(scores, *, rng):
    return np.sum(scores) - rng.exponential(1.0) - rng.exponential(1.0)


@attack("a rate of the data", n=6)
def rate_of_the_data(scores, *, rng):
    rate = 1.0 + np.sum(scores)
    return random.expovariate(rate) - random.expovariate(rate)


# ---------------------------------------------------------------------- while a width is left


@attack("nine rounds of bisection, paid for as one", claim=PureDP(1.0))
def nine_rounds(scores, *, rng):
    low, high = 0.0, 1.0
    while high - low > 1 / 500:
        middle = (low + high) / 2
        if np.count_nonzero(scores <= middle) + rng.laplace(0, 8.9) < 18:
            low = middle
        else:
            high = middle
    return high


@attack("one of two answers leaves more of the width", claim=PureDP(1.0))
def unequal_parts(scores, *, rng):
    low, high = 0.0, 1.0
    while high - low > 1 / 8:
        middle = low + (high - low) / 4
        if np.count_nonzero(scores <= middle) + rng.laplace(0, 3.0) < 18:
            low = middle
        else:
            high = middle
    return high


@attack("the width comes from the data")
def width_of_the_data(scores, *, rng):
    low, high = 0.0, float(np.max(scores))
    while high - low > 1 / 8:
        middle = (low + high) / 2
        if np.count_nonzero(scores <= middle) + rng.laplace(0, 4.0) < 18:
            low = middle
        else:
            high = middle
    return high


@attack("one end is negated: the width is another one", claim=PureDP(1.0))
def negated_end(scores, *, rng):
    low, high = 0.0, 1.0
    for _ in range(2):
        middle = (low + high) / 2
        if np.count_nonzero(scores <= middle) + rng.laplace(0, 2.0) < 18:
            low = middle
        else:
            high = middle
    if -low - high < -1.0:
        return np.sum(scores)
    return high


@attack("widths too close for doubles to tell", claim=PureDP(2.0))
def widths_too_close(scores, *, rng):
    low, high, big = 0.1, 0.4, 2.0**40
    if rng.random() < 0.5:
        low, high = 0.2, 0.5
    if (high + big) - (low + big) > 0.3:
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 0.5)


@attack("both ends are changed in one branch alone", claim=PureDP(1.0))
def one_branch_alone(scores, *, rng):
    low, high = 0.0, 1.0
    if rng.random() < 0.5:
        low = 0.5
    while high - low > 0.3:
        middle = (low + high) / 2
        if np.count_nonzero(scores <= middle) + rng.laplace(0, 1.0) < 18:
            low = middle
        else:
            high = middle
    return high


@attack("a width that stays: the loop does not end")
def width_that_stays(scores, *, rng):
    low, high = 0.0, 1.0
    while high - low > 0.5:
        if np.count_nonzero(scores <= low) + rng.laplace(0, 1.0) < 18:
            low, high = low + 0.25, high + 0.25
        else:
            low, high = low - 0.25, high - 0.25
    return high


# ---------------------------------------------------------------------- errors that are caught


@attack("the handler returns the sum")
def handler_leaks(scores, *, rng):
    try:
        x = np.sum(scores) + rng.laplace(0, 1.0)
        1 / int(rng.integers(2))
    except ZeroDivisionError:
        x = np.sum(scores)
    return x


@attack("a name holds the sum for a moment, in which an error comes")
def for_a_moment(scores, *, rng):
    x = 0.0
    try:
        x = np.sum(scores)
        1 / int(rng.integers(2))
        x = 0.0
    except ZeroDivisionError:
        pass
    return x


@attack("a list holds the sum for a moment, in which an error comes")
def list_for_a_moment(scores, *, rng):
    x = [0.0]
    try:
        x[0] = np.sum(scores)
        1 / int(rng.integers(2))
        x[0] = 0.0
    except ZeroDivisionError:
        pass
    return x[0]


class Slot:
    def __init__(self):
        self.v = 0.0


@attack("an attribute holds the sum for a moment, in which an error comes")
def attribute_for_a_moment(scores, *, rng):
    slot = Slot()
    try:
        slot.v = np.sum(scores)
        1 / int(rng.integers(2))
        slot.v = 0.0
    except ZeroDivisionError:
        pass
    return slot.v


@attack("a draw is shown in the body, and again beside the sum")
def draw_shown_before(scores, *, rng):
    z = rng.laplace(0, 1.0)
    try:
        print(z)
        1 / int(rng.integers(2))
    except ZeroDivisionError:
        return np.sum(scores) + z
    return 0.0


@attack("the body spends, and the handler spends again", n=6)
def spent_twice(scores, *, rng):
    try:
        print(np.sum(scores) + rng.laplace(0, 1.0))
        1 / int(rng.integers(2))
    except ZeroDivisionError:
        return np.sum(scores) + rng.laplace(0, 1.0)
    return 0.0


@attack("an array that is too large is an error on all data")
def always_an_error(scores, *, rng):
    try:
        noise = rng.laplace(0, 1.0, size=2**62)
    except ValueError:
        return np.sum(scores)
    return np.sum(scores) + noise[0]


@attack("the text of an error shows the data")
def text_of_an_error(scores, *, rng):
    try:
        {}[float(np.sum(scores))]
    except KeyError as error:
        return str(error)
    return 0.0


@attack("an error of some data alone")
def error_of_some(scores, *, rng):
    try:
        [0.0] * 3
        sum(1 / x for x in scores)
    except ZeroDivisionError:
        return 1.0
    return 0.0


@attack("an index out of range on some data")
def index_of_some(scores, *, rng):
    h = [0] * 4
    try:
        for x in scores:
            h[int(x * 4)] += 1
    except IndexError:
        return 1.0
    return h[0] + rng.laplace(0, 2.0)


@attack("finally goes on with what an error left")
def finally_leaks(scores, *, rng):
    x = 0.0
    try:
        x = np.sum(scores)
        1 / int(rng.integers(2))
        x = 0.0
    finally:
        return x


@attack("a loop goes on after an error")
def loop_after_an_error(scores, *, rng):
    x, out = 0.0, 0.0
    for _ in range(3):
        try:
            x = np.sum(scores)
            1 / int(rng.integers(2))
            x = 0.0
        except ZeroDivisionError:
            continue
        out = x
    return out + x


@attack("the type of an error that is caught acts")
def type_that_acts(scores, *, rng):
    x = [0.0]
    try:
        1 / int(rng.integers(2))
    except (x.append(float(np.sum(scores))), ZeroDivisionError)[1]:
        pass
    return x


@attack("a threshold is compared in the body", n=6)
def threshold_in_the_body(scores, *, rng):
    t = 10 + rng.laplace(0, 2.0)
    try:
        for q in (0.1, 0.5, 0.9):
            if np.count_nonzero(scores > q) + rng.laplace(0, 2.0) > t:
                return q
        1 / int(rng.integers(2))
    except ZeroDivisionError:
        if np.count_nonzero(scores > 0.5) + rng.laplace(0, 2.0) > t:
            return 2.0
    return 0.0


@attack("zip reads a list that the loop fills")
def zip_of_what_is_filled(scores, *, rng):
    h, total = [0] * 20, 0
    for x, seen in zip(scores, h):  # noqa: B905
        if x > 0.5:
            h[19] += 1
        if x > 0.2:
            total += seen
    return total + rng.laplace(0, 1e-6)


@attack("zip in a zip reads an array that the loop fills")
def zip_of_zips_that_are_filled(scores, *, rng):
    h, total = np.zeros(20), 0.0
    for x, (_, seen) in zip(scores, zip(scores, h, strict=True), strict=True):
        h[min(int(x * 20), 19)] += 1
        total += seen
    return total + rng.laplace(0, 1e-6)


@attack("the text of an error tells the sum")
def error_that_tells(scores, *, rng):
    raise ValueError(np.sum(scores))


@attack("an error is caught, and the sum returned")
def raised_to_be_caught(scores, *, rng):
    try:
        raise ValueError("none")
    except ValueError:
        return np.sum(scores)


@attack("the cause of an error tells the sum")
def error_with_a_cause(scores, *, rng):
    raise ValueError("none") from KeyError(np.sum(scores))


@attack("an error is raised by a comparison without noise")
def raised_by_the_sum(scores, *, rng):
    if np.sum(scores) > 3:
        raise ValueError("too large")
    return rng.laplace(0.0, 1.0)


@attack("a record beyond 2^63 is cast to int: NumPy's is another", bounds=(0.0, 1e19))
def cast_beyond_64_bits(scores, *, rng):
    places = np.minimum(scores.astype(int), 5)
    return np.bincount(places, minlength=6) + rng.laplace(0.0, 2.0, size=6)


@attack("whole numbers beyond 2^63 make an array of objects", bounds=(-1e20, 1e20))
def listed_beyond_64_bits(scores, *, rng):
    places = np.clip(np.array([math.floor(x) for x in scores]), 0, 1)
    return np.bincount(places, minlength=2) + rng.laplace(0.0, 2.0, size=2)
