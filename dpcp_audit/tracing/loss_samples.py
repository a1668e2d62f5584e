"""The privacy-loss law of a pair, from paths: δ(ε) with certified intervals, and divergences.

With L the loss of a path on the input, δ(ε) = E[(1 − e^(ε − L))₊]: a mean of values in [0, 1]. A
path whose replay departs counts as 1 in the upper limit and as 0 in the lower one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.tracing.path_losses import PathLoss
    from dpcp_audit.words.arrays import BoolArray, FloatArray


ROUNDING = 1e-9
"""Relative error of a path's loss, by rounding and quadrature."""

RHO_ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
"""Orders of the divergences that ρ is estimated by: small ones, which are stable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate:
    """A mean with its two limits, each wrong with half of the stated probability."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossSample:
    """Losses of independent paths of one direction.

    Parameters
    ----------
    losses : ndarray, shape (paths,)
        log of the probability of a path on the input, over that on the neighbour.
    departed : ndarray of bool, shape (paths,)
        Where the replay departs, so that the loss may be anything: it is put at infinity.
    errors : ndarray, shape (paths,), optional
        How far each loss may be off, besides a relative ``ROUNDING``.

    Examples
    --------
    >>> sample = LossSample(losses=np.full(1000, 1.0), departed=np.zeros(1000, bool))
    >>> found = sample.delta(0.5, significance=0.01)
    >>> round(found.value, 3), found.lower <= found.value <= found.upper
    (0.393, True)
    """

    losses: FloatArray
    departed: BoolArray
    errors: FloatArray | None = None

    @classmethod
    def of(cls, paths: list[PathLoss]) -> LossSample:
        """Return the losses of paths."""
        return cls(
            losses=np.array([path.loss for path in paths]),
            departed=np.array(
                [path.divergence is not None and not path.certain for path in paths], dtype=bool
            ),
            errors=np.array([path.error for path in paths]),
        )

    @property
    def size(self) -> int:
        """The number of paths."""
        return self.losses.size

    @property
    def mean(self) -> float:
        """The mean loss: an estimate of the Kullback–Leibler divergence."""
        return float(np.mean(self.losses))

    def with_departures(self) -> LossSample:
        """Return the losses of all that is seen: to depart shows the other input."""
        return replace(self, departed=np.zeros_like(self.departed))

    @property
    def largest(self) -> float:
        """The largest loss of a path that does not depart, less its rounding: it is reached."""
        losses = self._moved(-1.0)[~self.departed]
        return float(losses.max()) if losses.size else 0.0

    def _moved(self, sign: float) -> FloatArray:
        """Return the losses less their errors, or with them added, shape (paths,)."""
        finite = np.where(np.isinf(self.losses), 0.0, self.losses)
        room = ROUNDING * np.maximum(1.0, np.abs(finite))
        if self.errors is not None:
            room = room + self.errors
        return np.where(np.isinf(self.losses), self.losses, finite + sign * room)

    def part(self, which: slice) -> LossSample:
        """Return some of the paths."""
        return LossSample(
            losses=self.losses[which],
            departed=self.departed[which],
            errors=None if self.errors is None else self.errors[which],
        )

    def exceedances(self, epsilon: float, *, upper: bool) -> FloatArray:
        """Return (1 − e^(ε − L))₊ of each path, rounded to the safe side, shape (paths,)."""
        return np.asarray(-np.expm1(np.minimum(0.0, epsilon - self.moved(upper=upper))))

    def moved(self, *, upper: bool) -> FloatArray:
        """Return the losses, rounded to the safe side, shape (paths,)."""
        if upper:
            return self._moved(1.0)
        return np.where(self.departed, -np.inf, self._moved(-1.0))

    def delta(self, epsilon: float, *, significance: float) -> MeanEstimate:
        """Return δ(ε) of the transcript with limits, each wrong with half of ``significance``."""
        _validate.non_negative(epsilon=epsilon)
        _validate.open_unit(significance=significance)
        bets = MeanBets()
        low, high = (self.exceedances(epsilon, upper=upper) for upper in (False, True))
        value = float(np.mean(high))
        return MeanEstimate(
            value=value,
            lower=min(value, bets.lower_limit(low, significance=significance / 2)),
            upper=max(value, bets.upper_limit(high, significance=significance / 2)),
        )

    def epsilon(self, delta: float) -> float:
        """Return the ε at which the estimated δ(ε) falls to ``delta``; the largest loss at 0."""
        _validate.closed_unit(delta=delta)
        ordered = np.sort(self.losses)
        if delta == 0 or math.isinf(ordered[-1]):
            return max(0.0, float(ordered[-1]))
        low, high = 0.0, max(0.0, float(ordered[-1]))
        for _ in range(60):
            middle = (low + high) / 2
            above = float(np.mean(self.exceedances(middle, upper=True))) > delta
            low, high = (middle, high) if above else (low, middle)
        return float(high)

    def renyi(self, alpha: float) -> float:
        """Return an estimate of D_α, for ``alpha`` >= 1 (1 is the mean loss); not certified."""
        _validate.order(alpha=alpha)
        if alpha == 1:
            return self.mean
        return float(logsumexp((alpha - 1) * self.losses) - math.log(self.size)) / (alpha - 1)

    def renyi_error(self, alpha: float) -> float:
        """Return the standard error of ``renyi``, by the delta method."""
        if alpha == 1:
            return float(np.std(self.losses)) / math.sqrt(self.size)
        terms = (alpha - 1) * (self.losses - np.max(self.losses))
        weights = np.exp(terms)
        relative = float(np.std(weights) / np.mean(weights)) / math.sqrt(self.size)
        return relative / (alpha - 1)

    def rho(self, orders: ArrayLike = RHO_ORDERS) -> float:
        """Return the largest estimated D_α/α over a few orders."""
        return max(self.renyi(float(alpha)) / float(alpha) for alpha in np.ravel(orders))
