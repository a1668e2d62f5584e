"""What a noisy search still does in an interval whose scores are evenly spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.mechanisms.pcoqs.count_law import binomial_mass

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.mechanisms.pcoqs.count_law import CountLaw, Interval


class EvenHalving:
    """The mean place of the threshold within an interval, by the counts at its ends.

    The place is 0 at the left end and 1 at the right one. Each round splits the scores inside by
    fair coins; ``back`` goes from the last round to earlier ones.

    Parameters
    ----------
    counted : CountLaw
        The answers of the rounds.
    most : int
        The largest number of scores inside that is held.
    """

    def __init__(self, counted: CountLaw, *, most: int) -> None:
        self._counted, self._most = counted, most
        self._lefts = counted.last - counted.first + most
        cases = counted.answers.shape[1]
        self._place = np.full((cases, self._lefts, most + 1), 0.5)

    @property
    def _counts(self) -> FloatArray:
        """Counts at the left end: from ``most`` before the window to its last."""
        return np.arange(self._lefts, dtype=np.float64) + self._counted.first - self._most

    def back(self, depth: int, *, most: int) -> None:
        """Go one round back: to the places before round ``depth``.

        ``most`` scores inside are all that is likely there; more are left at a place of 1/2.
        """
        below = self._widened(self._counted.answers[depth], before=1.0, after=0.0)
        later, self._place = self._place, np.full_like(self._place, 0.5)
        for inside in range(min(most, self._most) + 1):
            mean = np.zeros(later.shape[:2])
            for low in range(inside + 1):
                chance = float(binomial_mass(np.array(low), inside, 0.5))
                answer = below[:, low : low + self._lefts]
                right = np.zeros_like(mean)
                right[:, : self._lefts - low] = later[:, low:, inside - low]
                mean += chance / 2 * (answer * (1 + right) + (1 - answer) * later[:, :, low])
            self._place[:, :, inside] = mean

    def mean(self, at: Interval) -> tuple[FloatArray, FloatArray]:
        """Return E[F(q); the search gets there] and the probability of that, shape (cases,)."""
        counted, lefts = self._counted, self._lefts
        from_left = (
            np.ones((1, lefts))
            if at.from_left is None
            else self._widened(at.from_left, before=1.0, after=None)
        )
        from_right = (
            np.ones((1, lefts + self._most))
            if at.from_right is None
            else self._widened(at.from_right, before=0.0, after=1.0)
        )
        here = binomial_mass(self._counts, counted.n, at.below) * from_left
        share = min(1.0, at.mass / (1 - at.below))
        reached = np.zeros(counted.answers.shape[1])
        place = np.zeros_like(reached)
        for inside in range(self._most + 1):
            joint = here * from_right[:, inside : inside + lefts]
            joint = joint * binomial_mass(np.array(inside), counted.n - self._counts, share)
            reached += joint.sum(axis=1)
            place += (joint * self._place[:, :, inside]).sum(axis=1)
        return at.below * reached + at.mass * place, reached

    def _widened(self, inner: FloatArray, *, before: float, after: float | None) -> FloatArray:
        """Return a function of the window's counts on all counts, ``most`` more on either side."""
        cases, most = inner.shape[0], self._most
        parts = [np.full((cases, most), before), inner]
        if after is not None:
            parts.append(np.full((cases, most), after))
        return np.concatenate(parts, axis=1)
