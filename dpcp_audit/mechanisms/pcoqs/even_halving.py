"""What a noisy search still does in an interval whose scores are evenly spread."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.mechanisms.pcoqs.count_law import binomial_masses, log_choices

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.mechanisms.pcoqs.count_law import CountLaw, Interval


class Ending(NamedTuple):
    """What is known of the search in an interval; arrays of shape (cases,).

    Attributes
    ----------
    value : ndarray
        E[F(q); the search gets there].
    reached : ndarray
        The probability that it does.
    error : ndarray
        How far the value may be from the truth, for numbers of scores that are not followed.
    """

    value: FloatArray
    reached: FloatArray
    error: FloatArray


class EvenHalving:
    """The mean place of the threshold within an interval, by the counts at its ends.

    The place is 0 at the left end and 1 at the right one. Each round splits the scores inside by
    fair coins; ``back`` goes from the last round to earlier ones.

    Parameters
    ----------
    counted : CountLaw
        The answers of the rounds.
    most : int
        The largest number of scores inside that is followed; with more, the place is taken as 1/2.
    """

    def __init__(self, counted: CountLaw, *, most: int) -> None:
        self._counted, self._most = counted, most
        self._lefts = counted.last - counted.first + most
        cases = counted.answers.shape[1]
        self._place = np.full((most + 1, cases, self._lefts), 0.5)
        # counts at the left end, from ``most`` before the window to its last, and those inside
        self._counts = np.arange(counted.first - most, counted.last, dtype=np.float64)
        self._inside = np.arange(most + 1.0)[:, None]
        self._choices = log_choices(counted.n, self._counts)
        self._choices_inside = log_choices(counted.n - self._counts, self._inside)

    def back(self, depth: int) -> None:
        """Go one round back: to the places before round ``depth``."""
        below = self._widened(self._counted.answers[depth], before=1.0, after=0.0)
        later, self._place = self._place, np.empty_like(self._place)
        lefts = self._lefts
        for inside in range(self._most + 1):
            mean = np.zeros(later.shape[1:])
            for low in range(inside + 1):
                chance = math.comb(inside, low) / 2 ** (inside + 1)
                mean += chance * later[low]
                # to the right, from the score ``low`` on, by half an interval and its place there
                right = np.ones_like(mean)
                right[:, : lefts - low] += later[inside - low][:, low:]
                right -= later[low]
                right *= below[:, low : low + lefts]
                right *= chance
                mean += right
            self._place[inside] = mean

    def mean(self, at: Interval) -> Ending:
        """Return E[F(q); the search gets there], with the probability of that."""
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
        others = counted.n - self._counts
        here = binomial_masses(self._choices, self._counts, others, at.below) * from_left
        share = min(1.0, at.mass / (1 - at.below))
        masses = binomial_masses(self._choices_inside, self._inside, others - self._inside, share)
        followed = np.zeros(counted.answers.shape[1])
        place = np.zeros_like(followed)
        for inside, mass in enumerate(masses):
            joint = here * from_right[:, inside : inside + lefts]
            joint *= mass
            followed += joint.sum(axis=1)
            joint = joint * self._place[inside]
            place += joint.sum(axis=1)
        reached = counted.reach(at)
        more = np.maximum(reached - followed, 0.0)
        value = at.below * reached + at.mass * (place + more / 2)
        return Ending(value, reached, at.mass / 2 * more)

    def _widened(self, inner: FloatArray, *, before: float, after: float | None) -> FloatArray:
        """Return a function of the window's counts on all counts, ``most`` more on either side."""
        cases, most = inner.shape[0], self._most
        parts = [np.full((cases, most), before), inner]
        if after is not None:
            parts.append(np.full((cases, most), after))
        return np.concatenate(parts, axis=1)
