"""Betting on the mean of a variable in [0, 1]: a test, limits and a power that need no variance.

Under E[X] ≥ m the capital ∏(1 + f·(m − X)/(1 − m)) of a bet 0 < f < 1 is a non-negative
supermartingale that starts at 1: a factor is at least 1 − f, and its mean at most 1. So is any
mixture of such capitals. By Ville's inequality it ever reaches 1/significance with probability
at most the significance, wherever one stops (Waudby-Smith and Ramdas 2024, Section 4).

The mixture adapts to the variance, which it is never told: it refutes m at about
2·log(k/significance)·σ²/Δ² values that fall short by Δ on average, as long as Δ/σ² stays below
1/(1 − m). An empirical-Bernstein limit takes as many again, and 7·log(4/significance)/(3Δ) more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcp_audit.stats.roots import turn
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import FloatArray, IntArray


_BETS = (0.97, 0.7, *(2.0**-j for j in range(1, 11)))
_GRID = 100_000
_DETECTION = 0.95
_HALVINGS = 40
_TWO_DIGITS = 11
"""Halvings that narrow a factor of 2²⁰ to 1 in 100."""
_LAW = 50
_TILTS = np.geomspace(1e-2, 1e2, 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanBets:
    """A mixture of capitals against E[X] ≥ m, for X in [0, 1] and m in (0, 1).

    For E[X] ≤ m, bet on 1 − X and 1 − m.

    :Null hypothesis: E[X] ≥ m, for X in [0, 1]; for E[X] ≤ m, bet on 1 − X and 1 − m.
    :Statistic: The capital of a mixture of bets against the claim.
    :Level: At most the significance over all times at once, by Ville's inequality.
    :Power: ``smallest_violation``: the shortfall of the mean that n values refute with probability
        0.95, for values that vary as those given.
    :Reference: Waudby-Smith and Ramdas (2024), Section 4; Ville (1939).

    Parameters
    ----------
    bets : ndarray, shape (k,)
        Fractions of the largest bet that cannot lose everything, in (0, 1).
    weights : ndarray, shape (k,)
        Shares of the initial capital, positive; they are made to sum to 1.

    Examples
    --------
    >>> MeanBets().upper_limit(np.full(51, 0.88), significance=1e-4) < 0.9
    False
    >>> MeanBets().upper_limit(np.full(70, 0.88), significance=1e-4) < 0.9
    True
    """

    bets: FloatArray = field(default_factory=lambda: np.array(_BETS))
    weights: FloatArray = field(default_factory=lambda: np.ones(len(_BETS)))

    def __post_init__(self) -> None:
        bets = _validate.array(self.bets, name="bets", ndim=1)
        weights = _validate.array(self.weights, name="weights", ndim=1)
        if not ((bets > 0) & (bets < 1)).all():
            raise ValueError(f"bets must lie in (0, 1), got {bets[:3]}")
        if weights.shape != bets.shape or not (weights > 0).all():
            raise ValueError(f"weights must be {bets.size} numbers > 0, got {weights[:3]}")
        object.__setattr__(self, "bets", bets)
        object.__setattr__(self, "weights", weights / weights.sum())

    def tilted(self, values: ArrayLike, *, at_least: float) -> Self:
        """Return bets with half of the capital on the one that did best on earlier values.

        They are valid on values that are drawn afterwards.
        """
        best = int(self.log_wealth(values, at_least=at_least).argmax())
        extra = np.zeros_like(self.weights)
        extra[best] = 1.0
        return replace(self, weights=self.weights + extra)  # as parts of their sum

    def log_wealth(
        self, values: ArrayLike, *, at_least: float, counts: IntArray | None = None
    ) -> FloatArray:
        """Return the log of each bet's capital, shape (..., k).

        Parameters
        ----------
        values : array_like, shape (..., n)
            Values in [0, 1], along the last axis.
        counts : ndarray of int, shape (n,), optional
            The number of times that each value occurred; once by default.
        """
        gains = self._gains(values, at_least)
        parts: list[FloatArray] = []
        for bet in self.bets:
            factors = np.log1p(bet * gains)
            parts.append(factors.sum(axis=-1) if counts is None else factors @ counts)
        return np.stack(parts, axis=-1)

    def log_capital(self, log_wealth: FloatArray) -> FloatArray:
        """Return the log of the mixture's capital, shape (...), from that of each bet."""
        return np.asarray(np.logaddexp.reduce(log_wealth + np.log(self.weights), axis=-1))

    def log_wealth_path(self, values: ArrayLike, *, at_least: float) -> FloatArray:
        """Return the log of each bet's capital after each value, shape (..., n, k)."""
        gains = self._gains(values, at_least)
        return np.cumsum(np.log1p(self.bets * gains[..., None]), axis=-2)

    def growth(self, values: ArrayLike, *, at_least: float, prior: float = 0.0) -> float:
        """Return the largest mean growth of the log-capital among the bets, per value.

        It is negative where the mean of the values exceeds the claimed one. ``prior`` adds so
        many values on which nothing is won or lost.
        """
        sample = np.asarray(values, dtype=np.float64)
        return float(self.log_wealth(sample, at_least=at_least).max() / (sample.size + prior))

    def upper_limit(self, values: ArrayLike, *, significance: float) -> float:
        """Return the smallest mean that the capital excludes from above, 1 where there is none.

        E[X] exceeds it with probability at most ``significance``, whenever one stops. More
        than 1000 values are rounded up to multiples of 1e-5 first, on the safe side.
        """
        _validate.open_unit(significance=significance)
        levels, counts = _levels(self._valid(values))

        def excluded(mean: float) -> bool:
            wealth = self.log_wealth(levels, at_least=mean, counts=counts)
            return float(self.log_capital(wealth)) + math.log(significance) >= 0

        mean = float(np.average(levels, weights=counts))
        return turn(excluded, mean, 1.0, steps=_HALVINGS).holds

    def lower_limit(self, values: ArrayLike, *, significance: float) -> float:
        """Return the largest mean that the capital excludes from below, 0 where there is none."""
        return 1 - self.upper_limit(1 - self._valid(values), significance=significance)

    def draws_needed(
        self,
        values: ArrayLike,
        *,
        at_least: float,
        significance: float,
    ) -> float:
        """Return the number of values to refute E[X] ≥ ``at_least`` with probability 0.95.

        Parameters
        ----------
        values : array_like, shape (n,)
            The law of X: each of them equally likely; of more than 50, the means of 50
            groups of neighbours.

        Returns
        -------
        float
            Whole; infinity where no bet grows.

        Notes
        -----
        A sufficient number: the mixture is at least w times any one of its capitals, w that
        bet's weight, and with c the log-factor of a value, Chernoff's bound on its log S is
        P(S < s) ≤ exp(λs)·(E exp(−λc))ⁿ for every λ > 0, here the best of a grid.
        """
        _validate.open_unit(significance=significance)
        ordered = np.sort(self._valid(values), axis=None)
        groups = np.array_split(ordered, min(_LAW, ordered.size))
        law = np.array([group.mean() for group in groups])
        shares = np.array([group.size for group in groups]) / ordered.size
        factors = np.log1p(self.bets * self._gains(law, at_least)[:, None])
        tilted = -_TILTS[:, None, None] * factors
        largest = tilted.max(axis=1)
        decay = -largest - np.log(shares @ np.exp(tilted - largest[:, None]))
        target = -math.log(significance) - np.log(self.weights)
        exponent = _TILTS[:, None] * target - math.log1p(-_DETECTION)
        grows = decay > 0
        return float(np.ceil((exponent[grows] / decay[grows]).min(initial=math.inf)))

    def smallest_violation(
        self,
        values: ArrayLike,
        *,
        at_least: float,
        n_values: int,
        significance: float,
    ) -> float:
        """Return a shortfall of the mean that ``n_values`` refute with probability 0.95.

        For a law of the shape of ``values``, shifted until its mean is ``at_least`` minus the
        shortfall, and held in [0, 1]. To two digits, and a sufficient one (``draws_needed``);
        infinity where no shift is enough.
        """
        _validate.integer(n_values=n_values, at_least=1)
        sample = self._valid(values).ravel()
        centred = sample - sample.mean() + at_least

        def enough(log_shortfall: float) -> bool:
            shifted = np.clip(centred - math.exp(log_shortfall), 0.0, 1.0)
            needed = self.draws_needed(shifted, at_least=at_least, significance=significance)
            return needed <= n_values

        largest = math.log(at_least)
        if not enough(largest):
            return math.inf
        least = largest - 20 * math.log(2)
        return math.exp(turn(enough, least, largest, steps=_TWO_DIGITS).holds)

    def _gains(self, values: ArrayLike, at_least: float) -> FloatArray:
        _validate.open_unit(at_least=at_least)
        return np.asarray((at_least - self._valid(values)) / (1 - at_least))

    @staticmethod
    def _valid(values: ArrayLike) -> FloatArray:
        sample = np.asarray(values, dtype=np.float64)
        outside = sample[~((sample >= 0) & (sample <= 1))]  # NaN is outside too
        if outside.size:
            raise ValueError(f"values must lie in [0, 1], got {outside[:3]}")
        if sample.ndim == 0 or sample.shape[-1] == 0:
            raise ValueError(f"values must not be empty, got shape {sample.shape}")
        return sample


def _levels(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct values and how often they occur; many are rounded up to a grid."""
    sample = values.ravel()
    if sample.size > 1000:
        sample = np.minimum(1.0, np.ceil(sample * _GRID) / _GRID)
    levels, counts = np.unique(sample, return_counts=True)
    return levels, counts.astype(np.int64)
