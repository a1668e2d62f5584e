"""What is known of trials of the noisy search side by side: places, and counts of scores."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


@dataclass(slots=True, kw_only=True, eq=False)
class Trials:
    """Trials that are still followed; arrays of shape (trials,).

    In terms of U = F(S): ``low_u`` and ``high_u`` are the nearest points judged below and not below
    the rank, with the number of scores at or below ``low_u`` and of those short of ``high_u`` or,
    where it was counted, at it; ``next_u`` is the nearest such point above ``high_u``.
    """

    index: IntArray
    left: FloatArray
    right: FloatArray
    low_u: FloatArray
    low_count: FloatArray
    high_u: FloatArray
    high_count: FloatArray
    next_u: FloatArray
    next_count: FloatArray
    strayed: BoolArray
    """True if a midpoint has ever been right of ``right``."""

    def take(self, which: IntArray) -> Trials:
        """Return some of the trials."""
        return Trials(**{each.name: getattr(self, each.name)[which] for each in fields(self)})

    def put(self, which: IntArray, some: Trials) -> None:
        """Take over the counts that some of the trials know, in new arrays."""
        for name in ("low_u", "low_count", "high_u", "high_count", "next_u", "next_count"):
            setattr(self, name, replaced(getattr(self, name), which, getattr(some, name)))


def replaced(column: FloatArray, which: IntArray, values: FloatArray) -> FloatArray:
    """Return a copy of the column in which some values are others."""
    changed = column.copy()
    changed[which] = values
    return changed


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts that are known of trials: of the scores below a point, and at or below it."""

    trials: IntArray
    u: FloatArray
    below: FloatArray
    upto: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class SettledTrials:
    """Trials in whose intervals there is no score, with the rounds that are to come."""

    index: IntArray
    left: FloatArray
    right: FloatArray
    count: FloatArray
    to_come: int


class Bracket(NamedTuple):
    """Known points about another, with the counts at the lower and short of the higher."""

    low_u: FloatArray
    low_count: FloatArray
    high_u: FloatArray
    high_count: FloatArray

    def take(self, which: IntArray) -> Bracket:
        """Return some of the brackets."""
        return Bracket(*(column[which] for column in self))

    def split(self, u: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the members and the fraction of the binomial count between the lower and u."""
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = (u - self.low_u) / (self.high_u - self.low_u)
        fraction = np.fmin(np.fmax(fraction, 0.0), 1.0)  # 0/0, between equal points, becomes 0
        return (self.high_count - self.low_count).astype(np.int64), fraction
