"""Rejection regions {x ≥ c(y)} of two binomial counts, and upper bounds of their probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import bdtrc, gammaln, logit, xlog1py, xlogy

from dpcp_audit import _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit._types import FloatArray

    Measure = Callable[[FloatArray, FloatArray], FloatArray]
    """Probabilities at rates p and p′ of shape (m,)."""

_TAIL = 36.0
_SLACK = 2 * math.exp(-_TAIL)
_CLOSE = 8
"""Counts between critical ones, on the average, up to which masses are added up."""


class Region(NamedTuple):
    """A set {x ≥ critical(y)} over consecutive counts y; both arrays have shape (m,)."""

    counts: FloatArray
    critical: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoCounts:
    """Two independent binomial counts, x of ``n`` trials and y of ``n_prime``."""

    n: int
    n_prime: int

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, n_prime=self.n_prime, at_least=1)

    def require(self, x: int, y: int) -> None:
        """Raise a ValueError unless x and y can come up."""
        _validate.integer(x=x, y=y, at_least=0)
        if x > self.n or y > self.n_prime:
            raise ValueError(
                f"x and y must be at most n and n_prime, got {x} of {self.n}, {y} of {self.n_prime}"
            )

    def between(self, low: float, high: float) -> FloatArray:
        """Return the consecutive y that matter at some rate in [low, high]."""
        first, last = self.window(np.array([low, high]))
        return np.arange(float(first.min()), float(last.max()) + 1)

    def window(self, rates: FloatArray) -> FloatArray:
        """Return the first and last y that matter at each rate (Bernstein's inequality)."""
        mean = self.n_prime * rates
        spread = _TAIL / 3 + np.sqrt(_TAIL**2 / 9 + 2 * mean * (1 - rates) * _TAIL)
        first = np.maximum(0.0, np.floor(mean - spread))
        return np.stack([first, np.minimum(float(self.n_prime), np.ceil(mean + spread))])

    def probability(self, region: Region, p: FloatArray, p_prime: FloatArray) -> FloatArray:
        """Return upper bounds, tight to 1e-15, of the region's probability at pairs of rates.

        Rounding of log n! adds a relative error of about 1e-16·n·log(n), on either side.
        """
        return self.measure(region)(p, p_prime)

    def measure(self, region: Region) -> Measure:
        """Return ``probability`` of one region, whose counts are looked at once."""
        law, tails = CountMass.at(region.counts, self.n_prime), _tails(region.critical, self.n)

        def probability(p: FloatArray, p_prime: FloatArray) -> FloatArray:
            first, last = self.window(p_prime) - region.counts[0]
            total = np.empty(p.shape)
            for i, (rate, rate_prime) in enumerate(zip(p, p_prime, strict=True)):
                window = slice(max(0, int(first[i])), int(last[i]) + 1)
                total[i] = law.mass(window, float(rate_prime)) @ tails(window, float(rate))
            return total + _SLACK

        return probability

    def dip(self, p: FloatArray, p_prime: FloatArray) -> FloatArray:
        """Bound how far the joint log-partition dips below its chords between neighbours."""
        return self.n * _chord_dip(p) + self.n_prime * _chord_dip(p_prime)


def _chord_dip(rates: FloatArray) -> FloatArray:
    """Return how far A(η) = log(1 + e^η) dips below its chords between neighbouring rates.

    It is furthest below a chord where its derivative, the rate, is the chord's slope.
    """
    eta, partition = logit(rates), -np.log1p(-rates)
    rise = np.diff(eta)
    slope = np.divide(np.diff(partition), rise, out=rates[1:].copy(), where=rise > 1e-9)
    slope = np.clip(slope, rates[:-1], rates[1:])
    dip = partition[:-1] + slope * (logit(slope) - eta[:-1]) + np.log1p(-slope)
    return np.asarray(np.maximum(dip, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CountMass:
    """The probabilities of some counts of ``trials``, at any rate.

    Parameters
    ----------
    counts, log_choices : ndarray, shape (m,)
        The counts, and the logarithms of the numbers of ways in which they come up.
    """

    trials: int
    counts: FloatArray
    log_choices: FloatArray

    @classmethod
    def at(cls, counts: FloatArray, trials: int) -> CountMass:
        """Return the law at some counts in 0..trials."""
        ways = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
        return cls(trials=trials, counts=counts, log_choices=ways)

    def mass(self, window: slice, rate: float) -> FloatArray:
        """Return the probabilities of the counts within a window."""
        counts = self.counts[window]
        powers = xlogy(counts, rate) + xlog1py(self.trials - counts, -rate)
        return np.asarray(np.exp(self.log_choices[window] + powers))


def _tails(critical: FloatArray, trials: int) -> Callable[[slice, float], FloatArray]:
    """Return a function of the tails P(Binomial >= critical) within a window of an order.

    Of critical counts that lie close together the masses between them are added up from above:
    the same to rounding, and many times as fast as as many incomplete beta functions.
    """
    least, most = float(critical.min()), float(critical.max())
    if most - least > _CLOSE * len(critical):
        return lambda window, rate: _upper_tail(critical[window], trials, rate)
    law = CountMass.at(np.arange(least, min(most, trials) + 1), trials)
    places = (critical - least).astype(np.int64)

    def within(window: slice, rate: float) -> FloatArray:
        inside = places[window]
        first, last = int(inside.min()), int(inside.max())
        mass = law.mass(slice(first, last), rate)
        beyond = _upper_tail(np.array([least + last]), trials, rate)
        tails = np.cumsum(np.concatenate([beyond, mass[::-1]]))[::-1]
        return np.asarray(np.minimum(tails[inside - first], 1.0))

    return within


def _upper_tail(least: FloatArray, trials: int, rate: float) -> FloatArray:
    """Return P(Binomial(trials, rate) >= least), for least in 0..trials+1."""
    tail = np.zeros(least.shape)
    inside = least <= trials
    tail[inside] = bdtrc(least[inside] - 1, trials, rate)
    return tail
