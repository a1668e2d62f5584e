"""Rates of an attack on many targets of each model, certified from independent models.

The guesses about one model are dependent, since all see the same model. So a model is one
observation, a mean over its targets; models are independent, and the mean of a bounded
variable needs no more than that (``bounded_mean``).

Of n targets let c_i be the fair coin that puts target i in, g_i the guess, K the number of ins,
and v(j) = 1/max(j+1, n−j). A model's shares of guesses "in" among the ins and the outs are

    v(K−1)·Σ g_i·c_i  and  v(K)·Σ g_i·(1−c_i),  both in [0, 1].

Where j of the other targets are in, either weighs target i by v(j). So their means are
N = n/2·E[v(J)], J ~ Bin(n−1, 1/2), times a TPR and an FPR: averages over the targets and the
same others. Means with fixed weights 2/n would range over [0, 2].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.estimates.attack_loss import Rate
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Power
from dpcp_audit.stats.bounded_mean import MeanBets

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.guarantees import PrivacyGuarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLine:
    """TPR − e^ε·FPR of an attack, which a guarantee holds at or below δ(ε).

    Given the other targets' coins, the two laws of a model, with the target and without, are
    those of neighbours: P("in" | in) − e^ε·P("in" | out) is at most δ(ε), of every target.

    Parameters
    ----------
    epsilon : float
        ε of the slope e^ε; at 0 the line is the membership advantage.
    allowed : float
        δ(ε).
    targets : int
        The number of targets of a model, n.
    """

    epsilon: float
    allowed: float
    targets: int

    @classmethod
    def of(cls, guarantee: PrivacyGuarantee, epsilon: float, *, targets: int) -> RateLine:
        """Return a guarantee's line."""
        return cls(epsilon=epsilon, allowed=guarantee.delta_at(epsilon), targets=targets)

    @property
    def quantity(self) -> Quantity:
        """The membership advantage, or a δ(ε) that the attack attains."""
        return Quantity.ADVANTAGE if self.epsilon == 0 else Quantity.DELTA

    @property
    def at(self) -> dict[str, float]:
        """The ε of the δ(ε)."""
        return {} if self.epsilon == 0 else {"epsilon": self.epsilon}

    @property
    def detail(self) -> str:
        """TPR − e^ε·FPR in words."""
        slope = "FPR" if self.epsilon == 0 else f"{self._slope:.4g}·FPR"
        return f"TPR − {slope} of the attack, mean over the targets"

    def gains(self, said: BoolArray, coins: BoolArray) -> FloatArray:
        """Return every model's unbiased TPR − e^ε·FPR, shape (models,).

        Parameters
        ----------
        said, coins : ndarray of bool, shape (models, targets)
            Whether "in" was said, and whether the target was in.
        """
        return shares(said, coins) - self._slope * shares(said, ~coins)

    def growth(self, gains: FloatArray) -> float:
        """Return the largest mean growth of a bet against the line, per model."""
        return MeanBets().growth(self._losses(gains), at_least=self._least_loss)

    def limits(
        self, gains: FloatArray, *, significance: float, pilot: FloatArray
    ) -> tuple[float, float]:
        """Return limits of the mean gain, each wrong with probability ``significance``/2.

        Parameters
        ----------
        gains, pilot : ndarray, shape (models,)
            Of fresh models, and of others that choose the bet against the line.
        """
        _validate.open_unit(significance=significance)
        losses = self._losses(gains)
        lower = self._bets(pilot).upper_limit(losses, significance=significance / 2)
        upper = MeanBets().lower_limit(losses, significance=significance / 2)
        return self._gain(lower), self._gain(upper)

    def smallest_violation(
        self, gains: FloatArray, *, significance: float, pilot: FloatArray
    ) -> Power:
        """Return a mean gain that would have been refuted with probability 0.95, at this spread.

        Infinity where there is none.
        """
        shortfall = self._bets(pilot).smallest_violation(
            self._losses(gains),
            at_least=self._least_loss,
            n_values=len(gains),
            significance=significance / 2,
        )
        return Power(
            quantity=self.quantity,
            smallest=self.allowed + shortfall * self._width,
            claimed=self.allowed,
            at=self.at,
            detail="at this spread of the gains",
        )

    def draws_needed(self, gains: FloatArray, *, significance: float, pilot: FloatArray) -> float:
        """Return how many models of such gains are refuted with probability 0.95.

        Infinity where no number is enough.
        """
        return self._bets(pilot).draws_needed(
            self._losses(gains), at_least=self._least_loss, significance=significance / 2
        )

    def _bets(self, pilot: FloatArray) -> MeanBets:
        return MeanBets().tilted(self._losses(pilot), at_least=self._least_loss)

    @property
    def _slope(self) -> float:
        return math.exp(self.epsilon)

    @property
    def _width(self) -> float:
        return (1 + self._slope) * _largest_share(self.targets)

    @property
    def _least_loss(self) -> float:
        return (_largest_share(self.targets) - self.allowed) / self._width

    def _losses(self, gains: FloatArray) -> FloatArray:
        """Return gains as losses in [0, 1], whose mean the claim holds above a bound."""
        losses = (_largest_share(self.targets) - gains) / self._width
        return np.clip(losses, 0.0, 1.0)  # nothing but rounding lies beyond

    def _gain(self, loss: float) -> float:
        return _largest_share(self.targets) - loss * self._width


def shares(said: BoolArray, chosen: BoolArray) -> FloatArray:
    """Return every model's unbiased rate of "in" among the chosen targets, shape (models,).

    Parameters
    ----------
    said, chosen : ndarray of bool, shape (models, targets)
        Whether "in" was said, and whether the target was in (or out): a fair coin each.

    Returns
    -------
    ndarray, shape (models,)
        From 0 to 1/N, which lies between 1 and 2.
    """
    n, counts = chosen.shape[1], chosen.sum(axis=1)
    weights = 1 / np.maximum(counts, n + 1 - counts)
    return np.asarray(weights * (said & chosen).sum(axis=1) * _largest_share(n), dtype=np.float64)


def rate(said: BoolArray, chosen: BoolArray, *, significance: float) -> Rate:
    """Return the mean of ``shares`` with limits that err with probability ``significance``."""
    values, largest = shares(said, chosen), _largest_share(chosen.shape[1])
    scaled = np.clip(values / largest, 0.0, 1.0)
    bets = MeanBets()
    lower, upper = (
        min(1.0, largest * limit(scaled, significance=significance / 2))
        for limit in (bets.lower_limit, bets.upper_limit)
    )
    return Rate(float(values.mean()), lower, upper)


@lru_cache(maxsize=16)
def _largest_share(n: int) -> float:
    """Return 1/N of n targets."""
    ways = 2 ** (n - 1)
    mean = sum(math.comb(n - 1, j) / (max(j + 1, n - j) * ways) for j in range(n))
    return float(2 / (n * mean))
