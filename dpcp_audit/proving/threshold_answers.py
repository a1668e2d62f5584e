"""The answers of noisy thresholds on the path that is read, and the sequence that comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from dpcp_audit.proving.exact_numbers import Surd


class ThresholdAnswers:
    """The answers that comparisons with noisy thresholds give on the path that is read.

    Parameters
    ----------
    side : int
        1 where "above" is charged for, -1 where "below" is; 0 composes instead.
    """

    def __init__(self, side: int = 0, given: tuple[bool, ...] = ()) -> None:
        self.side, self.met = side, False
        self.given, self.asked = list(given), 0
        self.shifts: dict[tuple[int, ...], tuple[Fraction, Surd, int]] = {}
        self.kept: dict[tuple[object, ...], int] = {}

    def next(self) -> bool:
        """Return the next answer: whether it is the one that is charged for."""
        if self.asked == len(self.given):
            self.given.append(True)
        self.asked += 1
        return self.given[self.asked - 1]

    def following(self) -> tuple[bool, ...] | None:
        """Return how the next sequence of answers begins; None after the last one."""
        given = self.given[: self.asked]
        while given and not given[-1]:
            given.pop()
        return (*given[:-1], False) if given else None
