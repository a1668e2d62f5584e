"""Attacks on loops that select: the running noisy maximum, and permute-and-flip."""

import math

import numpy as np
from proving.specimen_tables import Table

from dpcp_audit import PureDP

ATTACKS = Table("selection")
attack = ATTACKS.attack
LEVELS = (0.2, 0.4, 0.6, 0.8)


def counts(scores):  # noqa: ANN201
    return [np.count_nonzero(scores <= level) for level in LEVELS]


@attack("the largest value is shown beside its place")
def largest_and_place(scores, *, rng):
    best, where = -math.inf, 0
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return best, where


@attack("every record of the maximum is counted")
def number_of_records(scores, *, rng):
    best, where, updates = -math.inf, 0, 0
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where, updates = noisy, i, updates + 1
    return where, updates


@attack("every record of the maximum is listed")
def places_of_records(scores, *, rng):
    best, places = -math.inf, []
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best = noisy
            places.append(i)
    return places


@attack("a maximum that begins with a number without noise")
def from_zero(scores, *, rng):
    best, where = 0.0, -1
    for i, answer in enumerate(counts(scores)):
        noisy = answer - 19 + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return where


@attack("a maximum that begins with the second value")
def from_the_second(scores, *, rng):
    best, where = 5.0, 0
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        if i == 1 or noisy > best:
            best, where = noisy, i
    return where


@attack("the place is a value")
def value_as_place(scores, *, rng):
    best, where = -math.inf, 0
    for answer in counts(scores):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, answer
    return where


@attack("one draw is on all values")
def one_draw(scores, *, rng):
    best, where, draw = -math.inf, 0, rng.laplace(scale=2.0)
    for i, answer in enumerate(counts(scores)):
        noisy = answer + draw
        if noisy > best:
            best, where = noisy, i
    return where


@attack("a tenth too little noise")
def too_little_noise(scores, *, rng):
    best, where = -math.inf, 0
    for i, answer in enumerate(counts(scores)):
        noisy = -abs(answer - 10) + rng.laplace(scale=1.8)
        if noisy > best:
            best, where = noisy, i
    return where


@attack("the same draws choose twice")
def same_draws_twice(scores, *, rng):
    draws, found = rng.laplace(scale=2.0, size=4), []
    for side in (1, -1):
        best, where = -math.inf, 0
        for i, answer in enumerate(counts(scores)):
            noisy = side * answer + draws[i]
            if noisy > best:
                best, where = noisy, i
        found.append(where)
    return found


@attack("what was smaller is noted")
def otherwise(scores, *, rng):
    best, where, smaller = -math.inf, 0, 0
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
        else:
            smaller = i
    return where, smaller


@attack("the loop looks at the largest so far")
def looks_at_the_largest(scores, *, rng):
    best, where, peeks = -math.inf, 0, []
    for i, answer in enumerate(counts(scores)):
        peeks.append(best > 10)
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return where, peeks


@attack("a helper looks at the place so far")
def helper_looks(scores, *, rng):
    best, where, seen = -math.inf, 0, []

    def note() -> None:
        seen.append(where)

    for i, answer in enumerate(counts(scores)):
        note()
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return where, seen


@attack("the loop is left early")
def left_early(scores, *, rng):
    best, where = -math.inf, 0
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > 15:
            break
        if noisy > best:
            best, where = noisy, i
    return where


@attack("Gaussian noise has no pure bound")
def gaussian_maximum(scores, *, rng):
    best, where = -math.inf, 0
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.normal(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return where


@attack("all noisy values are kept in a list and shown")
def listed_values(scores, *, rng):
    best, where, values = -math.inf, 0, []
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        values.append(noisy)
        if noisy > best:
            best, where = noisy, i
    return where, values


@attack("the order of the coins is shown")
def order_is_shown(scores, *, rng):
    q = np.array(counts(scores))
    p = np.exp((q - q.max()) / 2)
    order = rng.permutation(4)
    for i in order:
        if rng.random() <= p[i]:
            return order, i
    return None


@attack("coins of twice the slope")
def steep_coins(scores, *, rng):
    q = -np.abs(np.array(counts(scores)) - 10)
    for i in rng.permutation(4):
        if rng.random() <= math.exp(q[i] - q.max()):
            return i
    return None


@attack("coins relative to a fixed number")
def no_largest(scores, *, rng):
    q = np.array(counts(scores))
    for i in rng.permutation(4):
        if rng.random() <= math.exp((q[i] - 20) / 2):
            return i
    return None


@attack("the number of coins is shown")
def number_of_coins(scores, *, rng):
    q, tries = np.array(counts(scores)), 0
    p = np.exp((q - q.max()) / 2)
    for i in rng.permutation(4):
        tries += 1
        if rng.random() <= p[i]:
            return i, tries
    return None


@attack("the order is fixed")
def fixed_order(scores, *, rng):
    q = -np.abs(np.array(counts(scores)) - 10)
    p = np.exp((q - q.max()) / 2)
    for i in range(4):
        if rng.random() <= p[i]:
            return i
    return None


@attack("one coin for all")
def one_coin(scores, *, rng):
    q = np.array(counts(scores))
    p, coin = np.exp((q - q.max()) / 2), rng.random()
    for i in rng.permutation(4):
        if coin <= p[i]:
            return i
    return None


@attack("the bias is shown")
def bias_is_shown(scores, *, rng):
    q = np.array(counts(scores))
    p = np.exp((q - q.max()) / 2)
    for i in rng.permutation(4):
        if rng.random() <= p[i]:
            return i, p[i]
    return None


@attack("the coin is shown")
def coin_is_shown(scores, *, rng):
    q = np.array(counts(scores))
    p = np.exp((q - q.max()) / 2)
    for i in rng.permutation(4):
        coin = rng.random()
        if coin <= p[i]:
            return i, coin
    return None


@attack("some candidates have no coin")
def some_candidates(scores, *, rng):
    q = np.array(counts(scores))
    p = np.exp((q - q.max()) / 2)
    for i in rng.permutation(3):
        if rng.random() <= p[i]:
            return i
    return None


@attack("the largest of others")
def largest_of_others(scores, *, rng):
    q = np.array(counts(scores))
    others = np.array([np.count_nonzero(scores > level) for level in LEVELS])
    p = np.exp((q - others.max()) / 20)
    for i in rng.permutation(4):
        if rng.random() <= p[i]:
            return i
    return None


@attack("biases that add up to 1")
def normalised_biases(scores, *, rng):
    q = np.array(counts(scores))
    p = np.exp((q - q.max()) / 2)
    p = p / p.sum()
    for i in rng.permutation(4):
        if rng.random() <= p[i]:
            return i
    return None


@attack("the place in the order is shown")
def place_in_the_order(scores, *, rng):
    q = np.array(counts(scores))
    p = np.exp((q - q.max()) / 2)
    for place, i in enumerate(rng.permutation(4)):
        if rng.random() <= p[i]:
            return place
    return None


@attack("two candidates by one budget")
def two_candidates(scores, *, rng):
    q, found = -np.abs(np.array(counts(scores)) - 10), []
    p = np.exp((q - q.max()) / 2)
    for _ in range(2):
        for i in rng.permutation(4):
            if rng.random() <= p[i]:
                found.append(i)
                break
    return found


@attack("its utility is shown")
def utility_is_shown(scores, *, rng):
    q = np.array(counts(scores))
    for i in rng.permutation(4):
        if rng.random() <= math.exp((q[i] - q.max()) / 2):
            return i, q[i]
    return None


@attack("one candidate is passed over, and whether any is chosen tells of its value")
def passes_one_over(scores, *, rng):
    q = np.array(counts(scores))
    p = np.exp(0.5 * (q - q.max()))
    for i in rng.permutation(4):
        if rng.random() < p[i]:
            if i == 0:
                continue
            return i
    return -1


class Counter:
    """An object whose property counts."""

    def __init__(self) -> None:
        self.n = 0

    @property
    def up(self) -> int:
        self.n += 1
        return 0


@attack("a property counts the coins")
def counts_coins(scores, *, rng):
    b = Counter()
    q = np.array(counts(scores))
    p = np.exp(0.5 * (q - q.max()))
    for i in rng.permutation(4):
        x = b.up
        if rng.random() < p[i]:
            return i, b.n


@attack("a property counts the maxima on the way")
def counts_maxima(scores, *, rng):
    b = Counter()
    best, where, x = -math.inf, 0, 0
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(0, 2.0)
        if noisy > best:
            best = noisy
            x = b.up
            where = i
    return where, b.n


@attack("each coin is steeper than the one before")
def each_coin_is_steeper(scores, *, rng):
    q = -np.abs(np.array(counts(scores)) - 3)
    q, slope = q - q.max(), 0.25
    for i in rng.permutation(4):
        slope = slope * 2
        if rng.random() < math.exp(slope * q[i]):
            return i


@attack("the candidate is replaced: whether any is chosen tells of its value")
def one_candidate_only(scores, *, rng):
    q = -np.abs(np.array(counts(scores)) - 3)
    p = np.exp(0.5 * (q - q.max()))
    for i in rng.permutation(4):
        i = 0  # noqa: PLW2901
        if rng.random() < p[i]:
            return i


@attack("the number that the maximum begins with is kept where all counts fall", PureDP(1.0))
def begun_below_counts(scores, *, rng):
    best, where = 12.0, None
    for level in np.linspace(0.1, 0.9, 9):
        noisy = np.count_nonzero(scores <= level) + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, level
    return where


@attack("exponential noise is never below the counts: the first number tells of them")
def begun_with_exponential(scores, *, rng):
    best, where = 0.5, None
    for level in LEVELS:
        noisy = np.count_nonzero(scores > level) + rng.exponential(2.0)
        if noisy > best:
            best, where = noisy, level
    return where


@attack("the number that the maximum begins with is the largest score")
def begun_with_data(scores, *, rng):
    best, where = float(np.max(scores)), 0
    for i, answer in enumerate(np.histogram(scores, bins=4, range=(0.0, 1.0))[0]):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return where


@attack("what is kept at first is a score")
def begun_at_data(scores, *, rng):
    best, where = 0.0, float(np.max(scores))
    for i, answer in enumerate(np.histogram(scores, bins=4, range=(0.0, 1.0))[0]):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return where


@attack("a shift of all counts is no shift of the number beside them", PureDP(0.5))
def shifted_beside_a_number(scores, *, rng):
    best, where = 0.0, None
    for i, answer in enumerate(np.searchsorted(np.sort(scores), LEVELS)):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return where
