"""The guessing game's exact test: how many of M guesses may be right under (ε, δ)-DP.

**The game.** In each of N rounds a fair coin picks one of two neighbouring inputs, the mechanism
releases x, an observer guesses the coin or abstains, and is then shown the coin. The first M
guesses count, N and M being fixed beforehand.

**The law under the claim.** An (ε, δ)-DP pair of laws is the post-processing of this one
(Kairouz, Oh and Viswanath 2015, Theorem 3.4): with probability δ the coin itself is shown, else
the coin after randomised response, which keeps it with probability θ = e^ε/(1 + e^ε). Let the
observer see all of that instead of x. Which rounds show the coin does not depend on the coins, and
their number F is Binomial(N, δ). In any other round, whatever is known of the past and of the
other rounds, the coin equals the response with probability θ, so that a guess is right with
probability θ or 1 − θ ≤ θ. Given F, at most min(F, M) guesses are right for certain, and the other
ones are right with probability at most θ each, one after the other. So the number of right guesses
is stochastically at most

    min(F, M) + Binomial(M − min(F, M), θ),    F ~ Binomial(N, δ),

which is Binomial(M, θ) for ε-DP. The p-value is that law's upper tail. No nuisance parameter is
left, and the bound is attained: the observer of the pair above reaches it.

**Learning does no harm.** The argument bounds each guess given everything that was seen before,
so the rule may be chosen in view of all earlier rounds, and of the outputs (not the coins) of the
present batch. A poor rule guesses worse; no rule guesses better than θ.

**Why M is fixed.** Were all guesses counted, an observer who abstains while it is ahead and goes
on while it is behind would stop at its luckiest point: optional stopping. With M fixed, guesses
that are missing at the end are filled with coins of probability θ, which keeps the size exact.

**Other guarantees.** If a guarantee has the privacy profile δ(·), it implies (ε, δ(ε))-DP at every
ε ≥ 0: the tangents of its concave power curve. One that was chosen before the rounds that count
tests the guarantee; where the observer's rates lie at the point of contact, nothing is lost.

**More than two inputs.** Where each round draws one of s inputs uniformly and the observer guesses
which, ε-DP of all pairs bounds the posterior of any by e^ε times that of any other one, so that
θ = e^ε/(e^ε + s − 1) in all of the above, with δ = 0.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtrc, expit, gammaln, xlog1py, xlogy

from dpcp_audit.stats.roots import fewest, turn
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from dpcp_audit.words.validate import FloatArray, IntArray


_TAIL = 36.0
LARGEST_EPSILON = 50.0
_HALVINGS = 26
"""They narrow a range of 50 to 1e-6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessingTest:
    """The null hypothesis (ε, δ)-DP about the number of right guesses.

    Parameters
    ----------
    rounds, guesses : int
        N and M, fixed before the rounds that count; 1 <= M <= N.
    epsilon, delta : float
        The claim; ε in [0, 50], δ in [0, 1).
    inputs : int
        s, of which each round draws one; δ must be 0 where there are more than two.

    Examples
    --------
    >>> test = GuessingTest(rounds=100, guesses=20, epsilon=1.0)
    >>> round(test.p_value(19), 6), test.critical(0.05)
    (0.01589, 19)
    """

    rounds: int
    guesses: int
    epsilon: float
    delta: float = 0.0
    inputs: int = 2

    def __post_init__(self) -> None:
        _validate.integer(rounds=self.rounds, guesses=self.guesses, at_least=1)
        if self.guesses > self.rounds:
            raise ValueError(f"guesses must not exceed rounds = {self.rounds}, got {self.guesses}")
        _validate.non_negative(epsilon=self.epsilon)
        _validate.closed_unit(delta=self.delta)
        if self.epsilon > LARGEST_EPSILON:
            raise ValueError(f"epsilon must be at most {LARGEST_EPSILON:g}, got {self.epsilon!r}")
        _validate.integer(inputs=self.inputs, at_least=2)
        if self.delta and self.inputs > 2:
            raise ValueError(f"delta must be 0 of more than two inputs, got {self.delta!r}")

    @property
    def share(self) -> float:
        """θ: the largest probability that a guess is right where the coin is not shown."""
        return guess_share(self.epsilon, self.inputs)

    def p_value(self, right: int) -> float:
        """Return the largest probability of at least ``right`` right guesses under the claim.

        The mass that the sum over F leaves out, at most 2·e^−36, is added.
        """
        _validate.integer(right=right, at_least=0)
        if right > self.guesses:
            raise ValueError(f"right must not exceed guesses = {self.guesses}, got {right}")
        if right == 0:
            return 1.0
        shown, mass, left_out = self._shown()
        rest, needed = self.guesses - shown, right - shown
        tail = np.ones(shown.shape)
        some = needed > 0
        tail[some] = bdtrc(needed[some] - 1, rest[some], self.share)
        return min(1.0, float(mass @ tail) + left_out)

    def critical(self, significance: float) -> int:
        """Return the least number of right guesses that refutes; M + 1 where none does."""
        _validate.open_unit(significance=significance)
        counts = range(self.guesses + 1)
        return bisect_left(counts, True, key=lambda right: self.p_value(right) <= significance)

    def power(self, right_share: float, *, significance: float) -> float:
        """Return the probability of a refutation where each guess is right so often."""
        _validate.closed_unit(right_share=right_share)
        critical = self.critical(significance)
        if critical > self.guesses:
            return 0.0
        return float(bdtrc(critical - 1, self.guesses, right_share)) if critical else 1.0

    def _shown(self) -> tuple[IntArray, FloatArray, float]:
        """Return the values of min(F, M) that matter, their mass, and the mass left out."""
        mean = self.rounds * self.delta
        spread = _TAIL / 3 + math.sqrt(_TAIL**2 / 9 + 2 * mean * (1 - self.delta) * _TAIL)
        if not self.delta:
            return np.zeros(1, dtype=np.int64), np.ones(1), 0.0
        first = max(0, math.floor(mean - spread))
        last = min(self.rounds, math.ceil(mean + spread))
        if first >= self.guesses:
            return np.array([self.guesses]), np.ones(1), 0.0
        shown = np.arange(first, min(last, self.guesses) + 1)
        mass = _binomial_mass(shown, self.rounds, self.delta)
        if last >= self.guesses:  # all guesses are of shown coins
            mass[-1] = bdtrc(shown[-1] - 1, self.rounds, self.delta) if shown[-1] else 1.0
        return shown, mass, 2 * math.exp(-_TAIL)


def guess_share(epsilon: float, inputs: int = 2) -> float:
    """Return e^ε/(e^ε + s − 1), the largest chance of a right guess of one of s inputs."""
    return float(expit(epsilon - math.log(inputs - 1)))


def epsilon_bound(test: GuessingTest, right: int, *, significance: float) -> float:
    """Return the largest ε that is refuted at the test's δ, to 1e-6; −∞ where not even 0 is.

    A lower confidence bound of ε at the level 1 − ``significance``: the p-value rises with ε.
    """
    _validate.open_unit(significance=significance)

    def refuted(epsilon: float) -> bool:
        return replace(test, epsilon=epsilon).p_value(right) <= significance

    if not refuted(0.0):
        return -math.inf
    return turn(refuted, LARGEST_EPSILON, 0.0, steps=_HALVINGS).holds


def delta_bound(test: GuessingTest, right: int, *, significance: float) -> float:
    """Return the largest δ(ε) that is refuted at the test's ε; −∞ where not even 0 is."""
    _validate.open_unit(significance=significance)

    def refuted(delta: float) -> bool:
        return replace(test, delta=delta).p_value(right) <= significance

    if not refuted(0.0):
        return -math.inf
    return turn(refuted, 1.0, 0.0, steps=_HALVINGS).holds


def guesses_needed(
    epsilon: float, true_epsilon: float, *, significance: float, detection: float = 0.95
) -> int:
    """Return how many guesses refute ε-DP where all are right as often as ``true_epsilon`` lets.

    Up to the ripple of a few guesses that whole counts leave in the power, and to 1 in 500.

    Examples
    --------
    >>> guesses_needed(1.0, 2.0, significance=0.05)
    78
    """
    _validate.non_negative(epsilon=epsilon)
    if not true_epsilon > epsilon:
        raise ValueError(f"true_epsilon must exceed {epsilon!r}, got {true_epsilon!r}")

    def enough(guesses: int) -> bool:
        test = GuessingTest(rounds=guesses, guesses=guesses, epsilon=epsilon)
        return test.power(float(expit(true_epsilon)), significance=significance) >= detection

    needed = fewest(enough, share=500, most=2**40)
    if needed is None:
        raise ValueError(f"true_epsilon is too close to {epsilon!r}, got {true_epsilon!r}")
    return needed


def _binomial_mass(counts: IntArray, trials: int, rate: float) -> FloatArray:
    log_choices = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    return np.asarray(np.exp(log_choices + xlogy(counts, rate) + xlog1py(trials - counts, -rate)))
