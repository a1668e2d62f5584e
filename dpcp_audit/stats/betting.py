"""Bets on guesses of an input: a test of (ε, δ)-DP that may stop at any time.

**The game.** In each round a fair coin picks one of two neighbouring inputs, the mechanism releases
x, and an observer guesses the coin with the log-odds b > 0 that it believes in, or abstains.

**The bet under ε-DP.** Given x, the coin equals the guess with probability at most
θ = e^ε/(1 + e^ε). A bettor who believes in the log-odds b > ε multiplies its wealth by the
likelihood ratio of its belief against θ,

    σ(b)/θ   if the guess is right,      σ(−b)/(1 − θ)   if it is wrong,      σ(b) = 1/(1 + e^−b),

the mean of which is 1 at θ and less below; where b ≤ ε it bets nothing. No bet grows faster at an
output whose log-odds are b.

**The bet under (ε, δ)-DP.** Written as 1 + λ(x)(1[right] − e^ε·1[wrong]), with the stake
λ(x) = σ(b)/θ − 1 in [0, r], the ratio above has mean at most 1 + r·δ, whatever the rule: for the
outputs A guessed to be of the first law P, ∫_A λ(dP − e^ε dQ) ≤ r·δ, since P − e^ε Q exceeds δ on
no event, and likewise for the other guesses; each has half of the rounds. So every round costs
log(1 + r·δ), where r is the largest stake that the rule could have asked for.

**Any time.** Rules may depend on the whole past. The wealth is a non-negative supermartingale that
starts at 1, as is any mixture of such wealths: it ever reaches 1/significance with probability at
most ``significance`` (Ville 1939).

**The mixture.** Its members cap the believed log-odds at ε + (f − 1)·max(ε, 1/4) for some factors
f; the smallest has the largest weight, as the losses just beyond a claim take the most rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_expit, logsumexp

from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


_FACTORS, _WEIGHTS = (1.1, 1.25, 2.0, 8.0), (0.6, 0.2, 0.1, 0.1)
MEMBERS = len(_FACTORS)
_LEAST_UNIT = 0.25
_STEPS = 100
"""Levels of belief in a unit of log-odds."""
LEVELS = 20 * _STEPS + 1
"""Level 0 is an abstention."""
_GRID = np.concatenate([np.linspace(0.0, 2.0, 201), np.geomspace(2.0, 20.0, 232)[1:]])
"""The claims that a lower bound is looked for among."""
_DETECTION = 0.95
_TILTS = np.geomspace(1e-3, 1e2, 200)


def levels_of(log_odds: FloatArray) -> IntArray:
    """Return the levels of beliefs, whole hundredths of log-odds, from 0 to 20 in size."""
    return np.asarray(np.minimum(np.abs(log_odds) * _STEPS, LEVELS - 1), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessBets:
    """The bets of all members of the mixture against one (ε, δ).

    Parameters
    ----------
    epsilon, delta : float
        The claim; ε >= 0, δ in [0, 1).

    Examples
    --------
    >>> bets = GuessBets(epsilon=1.0)
    >>> counts = np.zeros((LEVELS, 2), dtype=np.int64)
    >>> counts[200] = 20, 230  # wrong and right guesses of log-odds 2
    >>> bool(mixture_wealth(bets.log_wealth(counts)) > math.log(20))
    True
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _validate.non_negative(epsilon=self.epsilon)
        _validate.closed_unit(delta=self.delta)
        if self.delta == 1:
            raise ValueError("delta must be below 1, got 1")

    def log_factors(self) -> FloatArray:
        """Return log-factors of the wealth, shape (members, LEVELS, 2): wrong, then right."""
        return _log_factors(self.epsilon, self.delta)

    def log_wealth(self, counts: IntArray) -> FloatArray:
        """Return the log of each member's wealth.

        Parameters
        ----------
        counts : ndarray, shape (LEVELS, 2)
            Rounds by level, wrong and right; abstentions are of level 0.
        """
        return np.tensordot(self.log_factors(), counts, axes=2)

    def log_paths(self, levels: IntArray, right: BoolArray) -> FloatArray:
        """Return the log of each member's wealth after every round, shape (members, n)."""
        return np.cumsum(self.log_factors()[:, levels, right.astype(np.int64)], axis=1)

    def rounds_needed(
        self, right: float, wrong: float, *, significance: float, detection: float = _DETECTION
    ) -> float:
        """Return after how many rounds the wealth has reached 1/significance.

        With probability at least ``detection`` at one look then, by one rule of fixed rates, of
        the largest belief; earlier looks only add. Infinity where no bet grows.

        Parameters
        ----------
        right, wrong : float
            The shares of the rounds in which the guess is right, and wrong.

        Notes
        -----
        Sufficient: the mixture is at least any one of its members, and with c the log-factor of
        a round, Chernoff's bound on a member's log S is P(S < s) ≤ exp(λs)·(E exp(−λc))ⁿ for every
        λ > 0, here the best of a grid.
        """
        _validate.closed_unit(right=right, wrong=wrong)
        _validate.open_unit(significance=significance, detection=detection)
        law = np.array([wrong, right, max(0.0, 1 - right - wrong)])
        table = self.log_factors()
        factors = np.concatenate([table[:, -1], table[:, 0, :1]], axis=1)
        decay = -logsumexp(-_TILTS[:, None, None] * factors, axis=-1, b=law)
        target = -np.log(_WEIGHTS) - math.log(significance)
        exponent = _TILTS[:, None] * target - math.log1p(-detection)
        rounds = np.full(decay.shape, np.inf)
        np.divide(exponent, decay, out=rounds, where=decay > 0)
        return float(np.ceil(rounds.min()))


def mixture_wealth(log_wealth: FloatArray) -> FloatArray:
    """Return the log of the mixture's wealth from its members', along the first axis."""
    return np.asarray(np.logaddexp.reduce(log_wealth.T + np.log(_WEIGHTS), axis=-1))


def epsilon_bound(counts: IntArray, *, delta: float = 0.0, significance: float) -> float:
    """Return a lower bound of ε(δ) that holds whenever one stops; −∞ where not even 0 is refuted.

    The largest of a grid of claims, up to 20, that is refuted with all smaller ones: a true claim
    of the grid is refuted with probability at most ``significance``, and then no larger one counts.

    Parameters
    ----------
    counts : ndarray of int, shape (LEVELS, 2)
        As in ``GuessBets.log_wealth``.
    """
    _validate.open_unit(significance=significance)
    _validate.closed_unit(delta=delta)
    held = _validate.array(counts, name="counts", ndim=2)
    if held.shape != (LEVELS, 2) or (held < 0).any():
        raise ValueError(f"counts must be >= 0 and of shape ({LEVELS}, 2), got {counts!r}")
    some = np.flatnonzero(held.sum(axis=1))
    best = -math.inf
    for epsilon in _GRID.tolist():
        table = _factors_at(epsilon, delta, some / _STEPS)
        wealth = mixture_wealth(np.tensordot(table, held[some], axes=2))
        if wealth < -math.log(significance):
            return best
        best = epsilon
    return best


@lru_cache(maxsize=64)
def _log_factors(epsilon: float, delta: float) -> FloatArray:
    table = _factors_at(epsilon, delta, np.arange(LEVELS) / _STEPS)
    table.setflags(write=False)
    return table


def _factors_at(epsilon: float, delta: float, beliefs: FloatArray) -> FloatArray:
    """Return log-factors of beliefs of shape (m,), shape (members, m, 2)."""
    caps = epsilon + (np.array(_FACTORS) - 1) * max(epsilon, _LEAST_UNIT)
    stakes = np.expm1(log_expit(caps) - log_expit(epsilon))
    bet = np.clip(beliefs, epsilon, caps[:, None])
    factors = np.stack([log_expit(-bet) - log_expit(-epsilon), log_expit(bet) - log_expit(epsilon)])
    return np.moveaxis(factors, 0, -1) - np.log1p(delta * stakes)[:, None, None]
