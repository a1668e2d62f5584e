"""Statistics of records in several cells that are not disjoint, or that are read of other records."""

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

CELLS = Table("cells")
ATTACKS = CELLS
ADDED = {"neighbours": "add-remove"}


def attack(reason, claim=None, **rest):
    """Add an attack under add-remove, where a record lies in one cell of a partition."""
    return CELLS.attack(reason, dp.PureDP(1.0) if claim is None else claim, **ADDED | rest)


def noisy_counts(masks, rng):
    return [np.count_nonzero(mask) + rng.laplace(0.0, 1.0) for mask in masks]


@attack("two cells that overlap", loss=2.0)
def overlapping(scores, *, rng):
    return noisy_counts([scores < 0.6, scores >= 0.4], rng)


@attack("two cells with a common end", loss=2.0)
def common_end(scores, *, rng):
    return noisy_counts([scores <= 0.5, scores >= 0.5], rng)


@attack("one cell within the other", loss=2.0)
def nested(scores, *, rng):
    return noisy_counts([scores < 0.3, scores < 0.6], rng)


@attack("either of two conditions", loss=2.0)
def either(scores, *, rng):
    return noisy_counts([(scores < 0.3) | (scores > 0.6), scores > 0.6], rng)


@attack("one of two conditions", loss=2.0)
def exclusive(scores, *, rng):
    return noisy_counts([(scores < 0.9) ^ (scores < 0.6), scores > 0.6], rng)


@attack("the complement of a cell", loss=2.0)
def complement(scores, *, rng):
    return noisy_counts([~(scores < 0.5), scores >= 0.5], rng)


@attack("a condition on 1 - s is that on s", loss=2.0)
def reflected(scores, *, rng):
    return noisy_counts([scores < 0.5, 1 - scores > 0.5], rng)


@attack("0.1 + 0.2 is a little more than 0.3", loss=2.0)
def rounded_end(scores, *, rng):
    return noisy_counts([scores < 0.1 + 0.2, scores >= 0.3], rng)


@attack("the complement in a comprehension", loss=2.0)
def negated(scores, *, rng):
    first = sum(1 for s in scores if not s < 0.5)
    return first + rng.laplace(), sum(1 for s in scores if s >= 0.5) + rng.laplace()


@attack("either of two conditions in a comprehension", loss=2.0)
def either_in_comprehension(scores, *, rng):
    first = sum(1 for s in scores if s < 0.3 or s > 0.6)
    return first + rng.laplace(), sum(1 for s in scores if s > 0.6) + rng.laplace()


@attack("a condition that always holds beside one that is tested", loss=2.0)
def or_true(scores, *, rng):
    first = sum(1 for s in scores if s < 0.3 or True)
    return first + rng.laplace(), sum(1 for s in scores if s > 0.6) + rng.laplace()


@attack("a condition compared with a truth value", loss=2.0)
def compared_with_false(scores, *, rng):
    return noisy_counts([(scores < 0.5) == False, scores >= 0.5], rng)  # noqa: E712


@attack("the other choice counts, too", loss=2.0)
def other_choice(scores, *, rng):
    first = sum(1.0 if s < 0.5 else 0.5 for s in scores)
    return first + rng.laplace(), np.sum(scores[scores >= 0.5]) + rng.laplace()


@attack("np.where counts all", loss=2.0)
def where_of_all(scores, *, rng):
    first = np.where(scores < 0.5, 1.0, 0.9).sum()
    return first + rng.laplace(), scores[scores >= 0.5].sum() + rng.laplace()


@attack("the length of a mask is that of all", loss=2.0)
def length_of_masks(scores, *, rng):
    low, high = scores < 0.5, scores >= 0.5
    return len(low) + rng.laplace(0.0, 1.0), len(high) + rng.laplace(0.0, 1.0)


@attack("a histogram of a mask counts all", loss=2.0)
def histograms_of_masks(scores, *, rng):
    low, _ = np.histogram((scores < 0.5).astype(float), bins=2, range=(0, 1))
    high, _ = np.histogram((scores >= 0.5).astype(float), bins=2, range=(0, 1))
    return low + rng.laplace(size=2), high + rng.laplace(size=2)


@attack("one is added to a mask", loss=2.0)
def shifted_masks(scores, *, rng):
    masks = [(scores < 0.5).astype(float) + 1.0, (scores >= 0.5).astype(float) + 1.0]
    return [np.sum(each) / 2 + rng.laplace(0.0, 1.0) for each in masks]


@attack("two statistics of one cell", loss=2.0)
def twice_in_one(scores, *, rng):
    low = scores[scores < 0.5]
    return len(low) + rng.laplace(0.0, 1.0), low.sum() + rng.laplace(0.0, 1.0)


@attack("a cell within a selection, and the selection", loss=2.0)
def within_a_selection(scores, *, rng):
    low = scores[scores < 0.5]
    return noisy_counts([low < 0.2, low < 0.4], rng)


@attack("a sum of two cells, and one of them", loss=2.0)
def sum_of_two(scores, *, rng):
    low, high = np.count_nonzero(scores < 0.5), np.count_nonzero(scores >= 0.5)
    return low + high + rng.laplace(0.0, 1.0), high + rng.laplace(0.0, 1.0)


@attack("one draw on two cells", loss=float("inf"))
def one_draw(scores, *, rng):
    noise = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores < 0.5) + noise, np.count_nonzero(scores >= 0.5) + noise


@attack("a replaced record leaves one cell for another", loss=2.0, neighbours="substitution")
def replaced(scores, *, rng):
    return noisy_counts([scores < 0.5, scores >= 0.5], rng)


@attack("a replaced record is in two cells, and then in two others", dp.PureDP(3.9),
        loss=4.0, neighbours="substitution")  # fmt: skip
def closed_bins(scores, *, rng):
    ends = [0.0, 0.25, 0.5, 0.75]
    return noisy_counts([(scores >= a) & (scores <= a + 0.25) for a in ends], rng)


@attack("the vector of counts of cells that overlap", loss=2.0)
def vector_of_overlapping(scores, *, rng):
    counts = np.array([np.count_nonzero(scores < t) for t in (0.4, 0.8)])
    return counts + rng.laplace(0.0, 1.0, size=2)


@attack("a count of a cell, and one of all", loss=1.5)
def cell_and_all(scores, *, rng):
    most = np.maximum(np.count_nonzero(scores < 0.5), 3)
    return most + rng.laplace(0.0, 1.0), np.count_nonzero(scores > -1) + rng.laplace(0.0, 2.0)


@attack("half of a sum of two cells, and one of them", loss=1.5)
def half_a_sum(scores, *, rng):
    low, high = np.count_nonzero(scores < 0.5), np.count_nonzero(scores >= 0.5)
    return (low + high) / 2 + rng.laplace(0.0, 1.0), high + rng.laplace(0.0, 1.0)
