"""The rank that a noisy binary search must aim at, so that its upper end keeps a coverage.

The search releases the upper end of its bracket, min(b, q̂ + Δ), which is post-processing. That end
is b, or a midpoint whose noisy count reached the rank r, so that at least r − M scores lie at or
below it, M the largest noise of the N rounds, which does not depend on the scores. With
j = ⌈r − M⌉ the end is at least the j-th smallest score, or b: a new exchangeable score is covered
with probability at least j/(n+1), whatever the ties and Δ are, and the mean of that over M, of law
P(M ≤ t) = Φ(t/σ)^N, is promised. Of i.i.d. scores of law F, F at the j-th smallest score is at
least a Beta(j, n+1−j) variable. Corollary 1 of P-COQS needs M(Δ), and more ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, log_ndtr

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.mechanisms.pcoqs.release import PCOQS
    from dpcp_audit.words.arrays import FloatArray, IntArray


_BELOW, _ABOVE = 10.0, 40.0
"""Between these, in noise scales, the largest noise lies but for 1e-20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpperEnd:
    """The ranks that promise a coverage for the upper end of P-COQS's bracket.

    A search for rank r ends at the j-th smallest score or above it, j = ⌈r − M⌉, for the largest
    noise M of its N rounds.

    Parameters
    ----------
    search : PCOQS
        Its ρ, bounds and Δ; not its α.
    n : int
        Number of scores.
    alpha : float
        The miscoverage that is asked for, in (0, 1).
    confidence : float
        1 for coverage on average over exchangeable scores, below 1 for coverage in this share of
        calibrations on i.i.d. scores.

    Notes
    -----
    P(j > r − i) = P(M < i) = Φ(i/σ)^N. Where σ is large, whole numbers i are taken ``step`` at a
    time, each for the least favourable of its step.
    """

    search: PCOQS
    n: int
    alpha: float
    confidence: float = 1.0

    @property
    def least_rank(self) -> int:
        """The lowest rank that promises the coverage; n + 1 where none up to n does."""
        low, high = 0, self.n + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keeps(middle) else (middle, high)
        return high

    @property
    def _step(self) -> int:
        return max(1, min(self.n, math.floor(self.search.noise_scale / 1000)))

    def keeps(self, rank: int) -> bool:
        """Tell whether the coverage asked for is proved at a rank."""
        mean = self.confidence == 1
        return self._mean(rank) if mean else self._sure(rank)

    def _mean(self, rank: int) -> bool:
        """Σ_j P(j ≥ k), k = 1 … n+1, is to be at least (1−α)(n+1)."""
        n, start = self.n, rank - self.n
        first, last = self._reach(start, rank)
        lost = self._step * np.sum(
            -self._log_less(np.arange(first, last + 1, self._step), np.expm1)
        )
        return float(lost) + (first - start) <= self.alpha * (n + 1) * (1 - 1e-12)

    def _sure(self, rank: int) -> bool:
        """Σ_k P(j = k)·P(Beta(k, n+1−k) < 1−α) is to be at most the failure asked for."""
        n, start = self.n, rank - self.n + 1
        first, last = self._reach(start, rank)
        ends = np.append(np.arange(first, last + 1, self._step) - 1, last)
        less = self._log_less(ends, np.exp)
        places = np.clip(rank - ends[1:] + 1.0, 1, n)
        failing = np.sum(np.diff(less) * betainc(places, n + 1 - places, 1 - self.alpha))
        left_out = float(1 - less[-1]) + (float(less[0]) if first > start else 0.0)
        return float(failing) + left_out <= (1 - self.confidence) * (1 - 1e-12)

    def _reach(self, start: int, end: int) -> tuple[int, int]:
        """Return the numbers between which M may lie, but for 1e-20, within the two given."""
        return (
            max(start, -math.ceil(_BELOW * self.search.noise_scale)),
            min(end, math.ceil(_ABOVE * self.search.noise_scale)),
        )

    def _log_less(self, than: IntArray, of: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return a function of log P(M < i)."""
        return of(self.search.rounds * log_ndtr(than / self.search.noise_scale))
