"""Rates of an attack on many targets of each model, certified from independent models.

The guesses about one model are dependent, since all see the same model. So a model is one
observation, the mean over its targets; models are independent, and a bounded mean needs no
more than that (``bounded_mean``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.bounded_mean import MeanBets
from dpcp_audit.audits.membership import Rate

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.mechanisms.guarantees import PrivacyGuarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """TPR − e^ε·FPR of an attack, which a guarantee holds at or below δ(ε).

    Let a fair coin put each target into a model's data, whatever the other coins say. Given
    these, the two laws of the model are those of neighbours, so P("in" | in) − e^ε·P("in" | out)
    is at most δ(ε) of every target. With g = 1 for "in" and c the coin, E[2g(c − e^ε(1−c))] is
    just that; ``gains`` is its mean over a model's targets, in [−2e^ε, 2].

    Parameters
    ----------
    epsilon : float
        ε of the slope e^ε; at 0 the line is the membership advantage.
    allowed : float
        δ(ε).
    """

    epsilon: float
    allowed: float

    @classmethod
    def of(cls, guarantee: PrivacyGuarantee, epsilon: float) -> Line:
        """Return a guarantee's line."""
        return cls(epsilon=epsilon, allowed=guarantee.delta_at(epsilon))

    @property
    def quantity(self) -> str:
        """TPR − e^ε·FPR in words."""
        slope = "FPR" if self.epsilon == 0 else f"{math.exp(self.epsilon):.4g}·FPR"
        return f"TPR − {slope} of the attack, mean over the targets"

    def gains(self, said: BoolArray, coins: BoolArray) -> FloatArray:
        """Return every model's mean gain, shape (models,), from arrays (models, targets)."""
        right, wrong = (said & coins).mean(axis=1), (said & ~coins).mean(axis=1)
        return np.asarray(2 * (right - math.exp(self.epsilon) * wrong), dtype=np.float64)

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
        lower = self._bets(pilot).upper_limit(self._losses(gains), significance=significance / 2)
        upper = MeanBets().lower_limit(self._losses(gains), significance=significance / 2)
        return self._gain(lower), self._gain(upper)

    def detectable(self, gains: FloatArray, *, significance: float, pilot: FloatArray) -> float:
        """Return a mean gain that would have been refuted with probability 0.95, at this spread.

        Infinity where there is none.
        """
        shortfall = self._bets(pilot).detectable_shortfall(
            self._losses(gains),
            at_least=self._least_loss,
            n_values=len(gains),
            significance=significance / 2,
        )
        return self.allowed + shortfall * self._width

    def _bets(self, pilot: FloatArray) -> MeanBets:
        return MeanBets().tilted(self._losses(pilot), at_least=self._least_loss)

    @property
    def _width(self) -> float:
        return 2 + 2 * math.exp(self.epsilon)

    @property
    def _least_loss(self) -> float:
        return (2 - self.allowed) / self._width

    def _losses(self, gains: FloatArray) -> FloatArray:
        """Return gains as losses in [0, 1], whose mean the claim holds above a bound."""
        return np.clip((2 - gains) / self._width, 0.0, 1.0)  # rounding alone goes beyond

    def _gain(self, loss: float) -> float:
        return 2 - loss * self._width


def rate(said: BoolArray, chosen: BoolArray, *, significance: float) -> Rate:
    """Return how often "in" was said where chosen, over independent models.

    Parameters
    ----------
    said, chosen : ndarray of bool, shape (models, targets)
        Whether "in" was said, and whether the target was in (or out), of a fair coin each.
    significance : float
        The limits err with this probability.
    """
    means = (said & chosen).mean(axis=1)
    bets = MeanBets()
    lower, upper = (
        limit(means, significance=significance / 2)
        for limit in (bets.lower_limit, bets.upper_limit)
    )
    value = (said & chosen).sum() / max(1, chosen.sum())
    return Rate(float(value), min(1.0, 2 * lower), min(1.0, 2 * upper))
