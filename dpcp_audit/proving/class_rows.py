"""Class probabilities: a row of numbers for each record, of which its label, or a class, takes one.

``probabilities[np.arange(n), labels]``, ``probabilities[:, k]``, and in a loop over the records
``p[y]``. The labels are records of the same order, whole numbers from 0 to K - 1.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.proving.distances import (
    Hidden,
    Records,
    Statistic,
    Value,
    is_count,
    is_known,
    is_whole,
    tokens,
)
from dpcp_audit.proving.exact_numbers import plain

if TYPE_CHECKING:
    from dpcp_audit.proving.reading import Interpreter

LABEL = "label"
"""The column of the labels."""


@dataclass(frozen=True, slots=True)
class ClassRows(Hidden):
    """A row for each record; ``records`` stands for any of its entries, one for each class."""

    called = "the rows of class probabilities"
    records: Records
    entries: int


@dataclass(frozen=True, slots=True)
class AllPlaces(Hidden):
    """The places of all records, of which there is a number that is not public."""

    called = "the places of all records"


def places(reader: Interpreter, start: Value) -> Value:
    """``np.arange`` of the number of all records."""
    counts = isinstance(start, Statistic) and start.counts
    return AllPlaces() if counts or is_count(start) else NotImplemented


def inputs(classes: int) -> tuple[ClassRows, Records]:
    """Return the probabilities and the labels of all records."""
    order = next(tokens)
    entries = Records(Fraction(0), Fraction(1), order, placed=True)
    labels = Records(
        Fraction(0), Fraction(classes - 1), order,
        placed=True, itself=True, column=LABEL, floats=False, whole=True,
    )  # fmt: skip
    return ClassRows(entries, classes), labels


def element(reader: Interpreter, value: ClassRows, index: Value) -> Records:
    """Return one number of each record: that of its label, or that of one class."""
    records = value.records
    if records.single:
        label = index
    elif isinstance(index, tuple) and len(index) == 2 and _is_all(reader, value, index[0]):
        rows, label = index
        if isinstance(rows, slice) and isinstance(label, Records):
            raise reader.refuse("each row's entries at the labels of all", "[np.arange(n), labels]")
    else:
        raise reader.refuse(
            "rows of class probabilities are taken out in a way that is not followed",
            "probabilities[np.arange(n), labels]",
        )
    if isinstance(label, Records):
        mine = label.goes_with(records) and label.whole and not label.listed
        inside = 0 <= label.low <= label.high < value.entries
    else:
        mine = is_known(label) and is_whole(label)
        inside = mine and -value.entries <= int(plain(label)) < value.entries
    if not mine or not inside:
        raise reader.refuse("the class of a probability is not the record's label, or a known one")
    return records


def _is_all(reader: Interpreter, value: ClassRows, rows: Value) -> bool:
    """Return True if an index takes each row once, in order."""
    if isinstance(rows, slice):
        return rows == slice(None)
    if isinstance(rows, AllPlaces) or reader.n is None:
        return isinstance(rows, AllPlaces)
    known = isinstance(rows, np.ndarray) and rows.dtype.kind == "i"
    return known and np.array_equal(rows, np.arange(reader.n))
