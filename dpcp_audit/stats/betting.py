"""Betting against p ≤ e^ε·p′ + δ: a test that may stop at any time.

Each step draws one output of both inputs. With R = e^ε, Z = 1{X ∈ E} − R·1{Y ∈ E} − δ has mean
p − R·p′ − δ <= 0 under the claim, and Z >= −(R + δ), so that for a bet 0 <= f < 1 the capital
∏(1 + f·Z/(R + δ)) is a non-negative supermartingale that starts at 1, and so is any mixture of
such capitals. By Ville's inequality it ever reaches 1/significance with at most the probability
``significance`` (Waudby-Smith and Ramdas 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.special import logsumexp

from dpcp_audit import _validate
from dpcp_audit.stats.bisection import turn

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray

_BETS = (0.5, 0.25, 0.125, 0.0625, 0.03125)
_HALVINGS = 19
"""They narrow a range of 50 to 1e-4."""
_LARGEST_EPSILON = 50.0
_DETECTION = 0.95
_TILTS = np.geomspace(1e-3, 1e2, 200)


@dataclass(frozen=True, slots=True, kw_only=True)
class BettingTest:
    """A mixture of capitals against p ≤ e^ε·p′ + δ.

    Parameters
    ----------
    epsilon, delta : float
        The claim, ε >= 0 and δ in [0, 1).
    bets : ndarray, shape (k,)
        Fractions of the largest bet that cannot lose everything, in (0, 1), mixed evenly.
    """

    epsilon: float
    delta: float = 0.0
    bets: FloatArray = field(default_factory=lambda: np.array(_BETS))

    def __post_init__(self) -> None:
        _validate.non_negative(epsilon=self.epsilon)
        _validate.closed_unit(delta=self.delta)
        bets = _validate.array(self.bets, name="bets", ndim=1)
        if not ((bets > 0) & (bets < 1)).all():
            raise ValueError(f"bets must lie in (0, 1), got {bets[:3]}")

    def log_factors(self) -> FloatArray:
        """Return log(1 + f·z/(R + δ)), shape (k, 4), for the outcomes (X, Y) = 00, 01, 10, 11."""
        ratio = math.exp(self.epsilon)
        z = np.array([0.0, -ratio, 1.0, 1 - ratio]) - self.delta
        return np.asarray(np.log1p(self.bets[:, None] * z / (ratio + self.delta)))

    def log_capital(self, counts: IntArray) -> FloatArray:
        """Return the log of the mixture's capital.

        Parameters
        ----------
        counts : ndarray, shape (..., 4)
            How often each outcome (X, Y) = 00, 01, 10, 11 has occurred.
        """
        capitals = np.asarray(counts, dtype=np.float64) @ self.log_factors().T
        return np.asarray(logsumexp(capitals, axis=-1)) - math.log(self.bets.size)

    def stopping_time(
        self, inside: BoolArray, neighbour_inside: BoolArray, *, significance: float
    ) -> IntArray:
        """Return after how many pairs the capital first reaches 1/significance.

        Parameters
        ----------
        inside, neighbour_inside : ndarray of bool, shape (..., n)
            Whether each output lies in the event; runs along the last axis.

        Returns
        -------
        ndarray of int, shape (...)
            n + 1 where it never does.
        """
        _validate.open_unit(significance=significance)
        paths = np.cumsum(pair_outcomes(inside, neighbour_inside), axis=-2)
        reached = self.log_capital(paths) >= -math.log(significance)
        never = ~reached.any(axis=-1)
        return cast("IntArray", np.where(never, reached.shape[-1] + 1, reached.argmax(axis=-1) + 1))

    def draws_needed(
        self, p: float, p_prime: float, *, significance: float, detection: float = _DETECTION
    ) -> float:
        """Return after how many pairs the capital has reached 1/significance.

        With probability at least ``detection`` at one look then; earlier looks only add.
        Infinity where no bet grows.

        Parameters
        ----------
        p, p_prime : float
            The event's true probabilities.

        Notes
        -----
        A sufficient number: the mixture is at least any one of its k capitals over k, and
        with c the log-factor of a pair, Chernoff's bound on that capital's log S is
        P(S < s) ≤ exp(λs)·(E exp(−λc))ⁿ for every λ > 0, here the best of a grid.
        Where it was measured, about 0.8 times as many sufficed.
        """
        _validate.closed_unit(p=p, p_prime=p_prime)
        _validate.open_unit(significance=significance, detection=detection)
        law = np.outer([1 - p, p], [1 - p_prime, p_prime]).ravel()
        decay = -np.log(np.exp(-_TILTS[:, None, None] * self.log_factors()) @ law)
        target = math.log(self.bets.size / significance)
        exponent = _TILTS * target - math.log1p(-detection)
        best = decay.max(axis=1)  # the best bet at each tilt
        pairs = exponent[best > 0] / best[best > 0]
        return float(np.ceil(pairs.min(initial=math.inf)))


def betting_lower_bound(counts: IntArray, *, delta: float = 0.0, significance: float) -> float:
    """Return a lower bound of ε = log((p − δ)/p′) that holds whenever one stops.

    The largest ε whose capital has reached 1/significance, by bisection to 1e-4; the capital
    falls as ε grows where δ = 0. −∞ where not even ε = 0 is refuted.

    Parameters
    ----------
    counts : ndarray of int, shape (4,)
        How often (X, Y) = 00, 01, 10, 11 has occurred.
    """
    _validate.open_unit(significance=significance)
    held = _validate.array(counts, name="counts", ndim=1)
    if held.shape != (4,) or (held < 0).any() or (held != np.floor(held)).any():
        raise ValueError(f"counts must be four integers >= 0, got {counts!r}")

    def refuted(epsilon: float) -> bool:
        test = BettingTest(epsilon=epsilon, delta=delta)
        return float(test.log_capital(counts)) >= -math.log(significance)

    if not refuted(0.0):
        return -math.inf
    return turn(refuted, _LARGEST_EPSILON, 0.0, steps=_HALVINGS).holds


def pair_outcomes(inside: BoolArray, neighbour_inside: BoolArray) -> IntArray:
    """Return one-hot outcomes, shape (..., n, 4)."""
    index = 2 * np.asarray(inside, dtype=np.int64) + np.asarray(neighbour_inside, dtype=np.int64)
    return np.eye(4, dtype=np.int64)[index]
