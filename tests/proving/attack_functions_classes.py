"""Calibrators that read other records' rows, or of which a record is in several classes."""

import math

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

CLASSES = Table("classes")


def attack(reason, claim=None, **rest):
    """Add an attack under add-remove, where a record has one label."""
    claim = dp.PureDP(1.0) if claim is None else claim
    return CLASSES.attack(reason, claim, **{"neighbours": "add-remove"} | rest)


def own(probabilities, labels):
    return 1 - probabilities[np.arange(len(labels)), labels]


@attack("every class counts all records")
def all_in_each(probabilities, labels, *, rng):
    scores = own(probabilities, labels)
    return [np.count_nonzero(scores <= 0.5) + rng.laplace() for k in range(3)]


@attack("a replaced record leaves one class for another", neighbours="substitution")
def one_of_two_classes(probabilities, labels, *, rng):
    return [np.count_nonzero(labels == k) + rng.laplace() for k in range(3)]


@attack("labels in two sets")
def overlapping_labels(probabilities, labels, *, rng):
    return [np.count_nonzero(each) + rng.laplace() for each in (labels <= 1, labels >= 1)]


@attack("of a class, or of high score")
def class_or_score(probabilities, labels, *, rng):
    high = own(probabilities, labels) > 0.9
    return [np.count_nonzero((labels == k) | high) + rng.laplace() for k in range(3)]


@attack("not of a class")
def other_classes(probabilities, labels, *, rng):
    return [np.count_nonzero(labels != k) + rng.laplace() for k in range(3)]


@attack("not of a class, in a comprehension")
def none_of_a_class(probabilities, labels, *, rng):
    return [sum(1 for y in labels if not y == k) + rng.laplace() for k in range(3)]


@attack("each class twice")
def twice(probabilities, labels, *, rng):
    classes = [0, 1, 2, 0]
    return [np.count_nonzero(labels == k) + rng.laplace() for k in classes]


@attack("the columns of one row")
def columns(probabilities, labels, *, rng):
    return [probabilities[:, k].sum() + rng.laplace() for k in range(3)]


@attack("half of the labels' number")
def halved_labels(probabilities, labels, *, rng):
    return [np.count_nonzero(labels // 2 == k) + rng.laplace() for k in (0, 0, 1)]


@attack("a label is shown", dp.PureDP(100.0))
def label_shown(probabilities, labels, *, rng):
    return labels[0]


@attack("the number of a class's records is shown", dp.PureDP(100.0))
def size_shown(probabilities, labels, *, rng):
    return [len(labels[labels == k]) for k in range(3)]


@attack("the number of records is shown", dp.PureDP(100.0))
def places_shown(probabilities, labels, *, rng):
    return np.arange(len(labels))


@attack("the number of classes is read from the labels", dp.PureDP(100.0))
def classes_from_labels(probabilities, labels, *, rng):
    return [np.count_nonzero(labels == k) + rng.laplace() for k in range(labels.max() + 1)]


@attack("the labels that there are", dp.PureDP(100.0))
def present_labels(probabilities, labels, *, rng):
    return [np.count_nonzero(labels == k) + rng.laplace() for k in np.unique(labels)]


@attack("as many bins as there are labels", dp.PureDP(100.0))
def bins_from_labels(probabilities, labels, *, rng):
    return np.bincount(labels) + rng.laplace()


@attack("another record's row", neighbours="substitution")
def reversed_rows(probabilities, labels, *, rng):
    return probabilities[np.arange(20)[::-1], labels].sum() + rng.laplace()


@attack("one row for all", neighbours="substitution")
def first_row(probabilities, labels, *, rng):
    return probabilities[np.zeros(20, dtype=int), labels].sum() + rng.laplace()


@attack("rows at the places of labels")
def rows_by_label(probabilities, labels, *, rng):
    return probabilities[labels].sum() + rng.laplace()


@attack("every row at every label")
def rows_and_labels(probabilities, labels, *, rng):
    return probabilities[:, labels].sum() + rng.laplace()


@attack("sorted labels beside rows", neighbours="substitution")
def sorted_labels(probabilities, labels, *, rng):
    return probabilities[np.arange(20), np.sort(labels)].sum() + rng.laplace()


@attack("selected labels beside all rows", neighbours="substitution")
def selected_labels(probabilities, labels, *, rng):
    return probabilities[np.arange(20), labels[labels < 3]].sum() + rng.laplace()


@attack("a class that there is not: some labels raise IndexError", dp.PureDP(100.0))
def out_of_range(probabilities, labels, *, rng):
    return probabilities[np.arange(len(labels)), labels + 1].sum() + rng.laplace()


@attack("a table at the labels", dp.PureDP(100.0))
def public_table(probabilities, labels, *, rng):
    return np.array([1.0, 2.0, 3.0])[labels]


@attack("a list at the labels", dp.PureDP(100.0))
def public_list(probabilities, labels, *, rng):
    return [1.0, 2.0, 3.0][labels[0]]


@attack("a dictionary with the labels as keys", dp.PureDP(100.0))
def keyed(probabilities, labels, *, rng):
    return {y: 1.0 for y in labels}


@attack("the largest probability of all", dp.PureDP(100.0))
def largest(probabilities, labels, *, rng):
    return np.max(probabilities)


@attack("rows are compared with a number", dp.PureDP(100.0))
def compared(probabilities, labels, *, rng):
    return np.count_nonzero(probabilities > 0.5) + rng.laplace()


@attack("a label is changed in place")
def changed(probabilities, labels, *, rng):
    labels[labels == 1] = 0
    return [np.count_nonzero(labels == k) + rng.laplace() for k in range(3)]


@attack("reports of labels, of which whole numbers may wrap around", neighbours="substitution")
def reports(probabilities, labels, *, rng):
    return [int(y) if rng.random() < 0.9 else 0 for y in labels]


@attack("the places of a class are shown", dp.PureDP(100.0))
def places_of_a_class(probabilities, labels, *, rng):
    return np.flatnonzero(labels == 1)


@attack("the number of places is shown", dp.PureDP(100.0))
def number_of_places(probabilities, labels, *, rng):
    return len(np.where(labels == 1)[0])


@attack("a public array at the places of a class", dp.PureDP(100.0), neighbours="substitution")
def public_at_places(probabilities, labels, *, rng):
    return np.arange(20)[np.flatnonzero(labels == 1)]


@attack("a public list at the places of a class", dp.PureDP(100.0), neighbours="substitution")
def list_at_places(probabilities, labels, *, rng):
    return [1.0, 2.0][np.flatnonzero(labels == 1)[0]]


@attack("places of sorted labels in the labels' order")
def places_of_sorted(probabilities, labels, *, rng):
    scores, places = own(probabilities, labels), np.flatnonzero(np.sort(labels) == 1)
    return scores[places].sum() + rng.laplace(), np.sum(scores[labels == 0]) + rng.laplace()


@attack("the places that are not of a class")
def other_places(probabilities, labels, *, rng):
    scores = own(probabilities, labels)
    return [scores[np.flatnonzero(labels != k)].sum() + rng.laplace() for k in range(3)]


@attack("whether there are such records decides", dp.PureDP(100.0))
def any_place(probabilities, labels, *, rng):
    return 1 if np.flatnonzero(labels == 1).size else 0


@attack("a loop that counts the others, too")
def counted_otherwise(probabilities, labels, *, rng):
    found = []
    for k in range(3):
        count = 0
        for y in labels:
            if y == k:
                count += 0.5
            else:
                count += 1
        found.append(count + rng.laplace())
    return found


@attack("a loop that counts in two branches")
def counted_in_branches(probabilities, labels, *, rng):
    found = []
    for k in range(3):
        count = 0
        for y in labels:
            if y == k:
                count += 0
            if y != k:
                count += 1
        found.append(count + rng.laplace())
    return found


@attack("a loop with either of two conditions")
def counted_by_either(probabilities, labels, *, rng):
    found = []
    for k in range(3):
        count = 0
        for y in labels:
            if y == k or y == 0:
                count += 1
        found.append(count + rng.laplace())
    return found


@attack("an empty dictionary's items are false", dp.PureDP(100.0))
def empty_items(probabilities, labels, *, rng):
    found = {}
    return 0.0 if found.items() else float(labels.sum())


@attack("a rounded number moves by a whole step", dp.PureDP(1.0))
def rounded_half(probabilities, labels, *, rng):
    return round(0.5 + np.count_nonzero(labels == 1)) + rng.laplace(0.0, 1.0)


@attack("a rounded share moves by a whole step", dp.PureDP(0.1))
def rounded_share(probabilities, labels, *, rng):
    return math.floor(0.05 * np.count_nonzero(labels == 1)) + rng.laplace(0.0, 1.0)


@attack("0.1 · 3 is a little more than 0.3: two steps at once", dp.PureDP(1.0))
def rounded_whole(probabilities, labels, *, rng):
    return math.floor(10 * (0.1 * np.count_nonzero(labels == 1))) + rng.laplace(0.0, 1.0)
