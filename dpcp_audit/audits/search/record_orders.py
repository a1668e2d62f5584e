"""The order of a score array: where the score that moves stands among the others.

A private function of a data set should not depend on the order of its records. Code that does,
such as one that weighs the first record or works in batches, leaks at some places only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import IntArray


_EARLY = 17


class RecordOrder(StrEnum):
    """The position of the changed score, and the order of the others."""

    LAST = "last"
    """After the others, which increase."""
    FIRST = "first"
    """Before the others, which increase."""
    EARLY = "at index 17"
    """After 17 others, or last; all increase."""
    MIDDLE = "in the middle"
    """At index n // 2; the others increase."""
    FALLING = "before decreasing ones"
    """Before the others, which decrease."""
    SHUFFLED = "among shuffled ones"
    """All in an arbitrary order, the same for every array of a size."""

    def permutation(self, n: int) -> IntArray:
        """Return the order of the n−1 increasing scores and, as number n−1, the one that moves.

        Examples
        --------
        >>> RecordOrder.MIDDLE.permutation(5).tolist()
        [0, 1, 4, 2, 3]
        """
        others = np.arange(n - 1)
        match self:
            case RecordOrder.FALLING:
                return np.arange(n)[::-1]
            case RecordOrder.SHUFFLED:
                return np.random.default_rng(n).permutation(n)
            case RecordOrder.FIRST:
                place = 0
            case RecordOrder.EARLY:
                place = min(_EARLY, n - 1)
            case RecordOrder.MIDDLE:
                place = n // 2
            case RecordOrder.LAST:
                place = n - 1
        return np.insert(others, place, n - 1)

    def place(self, n: int) -> int:
        """Return the index of the score that moves, of n scores."""
        return int(np.flatnonzero(self.permutation(n) == n - 1)[0])
