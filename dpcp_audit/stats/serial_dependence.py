"""Serial dependence: an exact test of whether outputs in a row are exchangeable.

A mark divides the outputs in two, by their values alone: those above the median, or those whose
value comes up more than once. Are the outputs exchangeable, as independent ones of one law are,
then given how many are marked every arrangement of the marks is equally likely. Read n outputs
around a circle in steps of k, n a prime: the marks that another one follows k later number m − R,
with m marks in R runs, and R is hypergeometric,

    P(R = r) = C(m−1, r−1)·C(n−m, r) / C(n−1, m),

whatever the lag k. No law of the outputs is assumed, ties among them included, and nothing is
estimated: the false-alarm probability is exact, but for Bonferroni's inequality over lags.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.stats.rates import average_ranks, hypergeometric_tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray

_MOST = 4099
"""Outputs that are looked at, at most: more of them would take long and tell little."""
_FEWEST = 7
_TESTS = 2 * 2
"""Two marks, and too many or too few of them in a row."""
_FIRST_LAG = 0.5
"""The share of the significance that the lag 1 has, where a draw that is reused shows first."""


class SerialMark(StrEnum):
    """The properties of an output that the test looks at."""

    LARGE = "large outputs"
    REPEATED = "values that come up more than once"


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialDependence:
    """A dependence between successive outputs.

    Parameters
    ----------
    lag : int
        The distance of the outputs that depend on each other.
    mark : SerialMark
        The mark that the two have in common too often, or too seldom.
    observed : int
        Marked outputs that another marked one follows at this distance, ...
    expected : float
        ... and how many there are on average among exchangeable outputs.
    outputs : int
        The number of outputs that were compared.
    p_value : float
        Adjusted for all lags and marks that were looked at.
    """

    lag: int
    mark: SerialMark
    observed: int
    expected: float
    outputs: int
    p_value: float

    def __str__(self) -> str:
        return (
            f"at lag {self.lag}, {self.mark} follow each other {self.observed} times in "
            f"{self.outputs}, where independent outputs do {self.expected:.4g} times on average "
            f"(p = {self.p_value:.2g})"
        )


def serial_dependence(outputs: ArrayLike) -> SerialDependence | None:
    """Return the strongest sign of serial dependence; None where the outputs are all alike.

    Outputs that are exchangeable have a ``p_value`` of at most s with probability at most s.

    Parameters
    ----------
    outputs : array_like, shape (size,) or (size, d)
        Outputs in the order in which they came; at most 4,099 of them are used.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=200)
    >>> found = serial_dependence(np.repeat(draws, 2))
    >>> found.lag, found.p_value < 1e-6
    (1, True)
    >>> serial_dependence(np.ones(400)) is None
    True
    """
    given = np.asarray(outputs, dtype=np.float64)
    if given.ndim not in (1, 2) or np.isnan(given).any():
        raise ValueError(
            f"outputs must be numbers of shape (size,) or (size, d), got shape {given.shape}"
        )
    if len(given) < _FEWEST:
        return None
    shown = given[: _prime(min(len(given), _MOST))]
    found = [one for mark, marked in _marks(shown) for one in _signs(mark, marked)]
    return min(found, key=lambda one: one.p_value, default=None)


def _marks(outputs: FloatArray) -> Iterator[tuple[SerialMark, BoolArray]]:
    """Yield the marks that some of the outputs have and some have not."""
    values, inverse, counts = np.unique(outputs, axis=0, return_inverse=True, return_counts=True)
    repeated = counts[inverse.reshape(-1)] > 1
    if len(values) > 1:
        for mark, marked in ((SerialMark.LARGE, _large(outputs)), (SerialMark.REPEATED, repeated)):
            if marked.any() and not marked.all():
                yield mark, marked


def _large(outputs: FloatArray) -> BoolArray:
    """Mark the outputs above the value that divides them most evenly; of vectors, by rank sums."""
    ranks = average_ranks(outputs if outputs.ndim == 1 else average_ranks(outputs).sum(axis=1))
    levels = np.unique(ranks)
    above = ranks.size - np.searchsorted(np.sort(ranks), levels, side="right")
    return np.asarray(ranks > levels[np.argmin(np.abs(2 * above - ranks.size))])


def _signs(mark: SerialMark, marked: BoolArray) -> Iterator[SerialDependence]:
    """Yield the extreme lags, too many and too few marks in a row, of the lag 1 and the others."""
    ones, followed = int(marked.sum()), _followed(marked)
    shares = {1: _FIRST_LAG, 2: (1 - _FIRST_LAG) / (followed.size - 1)}
    for first, lags in ((1, followed[:1]), (2, followed[1:])):
        for place, many in ((int(np.argmax(lags)), True), (int(np.argmin(lags)), False)):
            observed = int(lags[place])
            tail = _tail(observed, ones, marked.size, many=many)
            yield SerialDependence(
                lag=first + place,
                mark=mark,
                observed=observed,
                expected=ones * (ones - 1) / (marked.size - 1),
                outputs=marked.size,
                p_value=min(1.0, tail * _TESTS / shares[first]),
            )


def _tail(observed: int, ones: int, size: int, *, many: bool) -> float:
    """Return the probability of so many marks in a row or more; or of so few."""
    # of ones that are drawn among the size - 1 places after another, those that follow none
    runs, zeros = ones - observed, size - ones
    if many:  # few runs are many ones among the places that are no zero's
        return hypergeometric_tail(observed, marked=ones - 1, drawn=ones, total=size - 1)
    return hypergeometric_tail(runs, marked=zeros, drawn=ones, total=size - 1)


def _followed(marked: BoolArray) -> IntArray:
    """Return how many marks another one follows k later, around the circle; k = 1, …, (n−1)/2."""
    spectrum = np.fft.rfft(marked.astype(np.float64))
    counts = np.fft.irfft(np.abs(spectrum) ** 2, n=marked.size)
    return np.rint(counts[1 : (marked.size - 1) // 2 + 1]).astype(np.int64)


@lru_cache(maxsize=64)
def _prime(most: int) -> int:
    """Return the largest prime up to ``most``."""
    return next(n for n in range(most, 1, -1) if all(n % k for k in range(2, math.isqrt(n) + 1)))
