"""Rejection regions {x ≥ c(y)} of two binomial counts, and upper bounds of their probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import bdtrc, gammaln, logit, xlog1py, xlogy

from dpcp_audit import _validate

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

_TAIL = 36.0
_SLACK = 2 * math.exp(-_TAIL)


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
        """Return upper bounds, tight to 1e-15, of the region's probability at pairs of rates."""
        first, last = self.window(p_prime) - region.counts[0]
        total = np.empty(p.shape)
        for i, (rate, rate_prime) in enumerate(zip(p, p_prime, strict=True)):
            window = slice(max(0, int(first[i])), int(last[i]) + 1)
            mass = _binomial_mass(region.counts[window], self.n_prime, float(rate_prime))
            total[i] = mass @ _upper_tail(region.critical[window], self.n, float(rate))
        return total + _SLACK

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


def _binomial_mass(counts: FloatArray, trials: int, rate: float) -> FloatArray:
    log_choices = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    log_mass = log_choices + xlogy(counts, rate) + xlog1py(trials - counts, -rate)
    return np.asarray(np.exp(log_mass))


def _upper_tail(least: FloatArray, trials: int, rate: float) -> FloatArray:
    """Return P(Binomial(trials, rate) >= least), for least in 0..trials+1."""
    tail = np.zeros(least.shape)
    inside = least <= trials
    tail[inside] = bdtrc(least[inside] - 1, trials, rate)
    return tail
