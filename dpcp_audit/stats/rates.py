"""Exact limits, power and tests of rates and of means, at every sample size.

Quantiles and tails of counts are from ``scipy.special`` alone: ``scipy.stats`` is slow to import,
and takes longer than many an audit.

**Power.** A claim says that a rate is at most ``claimed``. It is refuted where the lower limit, one
side at ``significance``/2, lies above.

**A sequence of limits.** The mixture martingale of Robbins (1970): under the true rate p, the
likelihood ratio of a Beta(a, b) mixture against p is a non-negative martingale that starts at 1, so
by Ville's inequality it ever reaches 1/significance with probability at most the significance. The
rates that it has not excluded form an interval, valid whenever one stops.

The guessing game
-----------------
How many of M guesses may be right under (ε, δ)-DP. In each of N rounds a fair coin picks one of two
neighbouring inputs, the mechanism releases x, an observer guesses the coin or abstains, and is then
shown the coin. The first M guesses count, N and M being fixed beforehand.

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
that are missing at the end are filled with coins of probability θ, which keeps the size exact: of
the θ of the ε that is tested, at each ε that a bound asks about.

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
from typing import TYPE_CHECKING, overload

import numpy as np
from scipy.special import (
    bdtrc,
    betainc,
    betainccinv,
    betaincinv,
    betaln,
    expit,
    gammaln,
    ndtri,
    xlog1py,
    xlogy,
)

from dpcp_audit.stats.roots import fewest, turn
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_DETECTION = 0.95


@overload
def clopper_pearson(successes: int, trials: int, *, significance: float) -> tuple[float, float]: ...
@overload
def clopper_pearson(
    successes: IntArray, trials: int, *, significance: float
) -> tuple[FloatArray, FloatArray]: ...
def clopper_pearson(
    successes: int | IntArray, trials: int, *, significance: float
) -> tuple[float, float] | tuple[FloatArray, FloatArray]:
    """Return the exact two-sided interval of a binomial proportion, or of several.

    Each side errs with probability at most ``significance``/2 (Clopper and Pearson 1934).

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100, significance=0.05)
    >>> low, round(high, 12)
    (0.0, 0.036216692645)
    """
    _validate.integer(trials=trials, at_least=1)
    _validate.open_unit(significance=significance)
    if isinstance(successes, np.ndarray):
        if not np.issubdtype(successes.dtype, np.integer):
            raise errors.value_error(
                f"successes must hold integers, got {successes.dtype}", "give counts, not rates"
            )
        if successes.size:
            _check_counts(int(successes.min()), int(successes.max()), trials)
        return binomial_limits(successes, trials, significance / 2)
    _check_counts(successes, successes, trials)
    low, high = binomial_limits(np.asarray(successes), trials, significance / 2)
    return float(low), float(high)


def _check_counts(least: int, most: int, trials: int) -> None:
    _validate.integer(successes=least, at_least=0)
    if most > trials:
        raise ValueError(f"successes must not exceed trials = {trials}, got {most}")


def binomial_limits(successes: IntArray, trials: int, side: float) -> tuple[FloatArray, FloatArray]:
    """Return Clopper–Pearson limits that are each wrong with probability at most ``side``.

    The quantiles of Beta(k, n−k+1) and Beta(k+1, n−k) that leave out ``side``.
    """
    return lower_limits(successes, trials, side), upper_limits(successes, trials, side)


def lower_limits(successes: IntArray, trials: int, side: float) -> FloatArray:
    """Return the lower ones of ``binomial_limits``."""
    low = betaincinv(np.maximum(successes, 1), trials - successes + 1, side)
    return np.where(successes > 0, low, 0.0)


def upper_limits(successes: IntArray, trials: int, side: float) -> FloatArray:
    """Return the upper ones of ``binomial_limits``."""
    misses = trials - successes
    high = betainccinv(successes + 1, np.maximum(misses, 1), side)
    return np.where(misses > 0, high, 1.0)


def mean_limits(
    mean: ArrayLike,
    variance: ArrayLike,
    count: int,
    *,
    bounds: tuple[float, float],
    significance: float,
) -> tuple[FloatArray, FloatArray]:
    """Return two-sided intervals for a bounded variable's mean from the moments of its values.

    Empirical Bernstein (Maurer and Pontil 2009, Theorem 4), each side at ``significance``/2, valid
    for any law on ``bounds``. ``variance`` of ``count`` >= 2 values has the divisor ``count`` − 1
    and the shape of ``mean``.
    """
    low, high = _validate.bounds(bounds)
    _validate.open_unit(significance=significance)
    _validate.integer(count=count, at_least=2)
    centre = _validate.reals(mean, name="mean")
    radius = mean_radius(variance, count, width=high - low, significance=significance)
    return np.maximum(low, centre - radius), np.minimum(high, centre + radius)


def mean_radius(
    variance: ArrayLike, count: int, *, width: float, significance: float
) -> FloatArray:
    """Return the empirical-Bernstein radius of a variable whose range has the given width."""
    _validate.open_unit(significance=significance)
    _validate.integer(count=count, at_least=2)
    _validate.positive(width=width)
    log_term = math.log(4 / significance)
    spread = _validate.reals(variance, name="variance")
    slack = 7 * width * log_term / (3 * (count - 1))
    return np.asarray(np.sqrt(2 * spread * log_term / count) + slack)


def mean_violation(
    variance: float,
    count: int,
    *,
    bounds: tuple[float, float],
    significance: float,
) -> float:
    """Return by how much a mean misses its claimed bound where it is refuted with probability 0.95.

    The mean of many values is taken as normal.

    Parameters
    ----------
    variance : float
        The variable's variance; the limits are those of ``mean_limits``, each side at
        ``significance``/2.
    """
    _validate.non_negative(variance=variance)
    low, high = _validate.bounds(bounds)
    radius = mean_radius(variance, count, width=high - low, significance=significance)
    return float(radius) + float(ndtri(_DETECTION)) * math.sqrt(variance / count)


def binomial_exceeded(level: ArrayLike, trials: int, rate: ArrayLike) -> IntArray:
    """Return the least count k with P(Binomial > k) <= level: the upper quantile.

    Parameters
    ----------
    level, rate : array_like
        Probabilities, which broadcast.

    Examples
    --------
    >>> int(binomial_exceeded(0.05, 100, 0.5))
    58
    """
    level, rate = np.broadcast_arrays(_probabilities("level", level), _probabilities("rate", rate))
    _validate.integer(trials=trials, at_least=1)
    return _least(lambda k: _above(k, trials, rate) <= level, trials, rate.shape)


def hypergeometric_tail(count: int, *, marked: int, drawn: int, total: int) -> float:
    """Return P(X >= count), X the marked among those drawn without replacement.

    Examples
    --------
    >>> hypergeometric_tail(2, marked=2, drawn=2, total=4)  # 1/6
    0.16666666666666...
    """
    _validate.integer(total=total, at_least=1)
    _validate.integer(marked=marked, drawn=drawn, at_least=0, at_most=total)
    fewest, most = max(0, marked + drawn - total), min(marked, drawn)
    if count <= fewest:
        return 1.0
    counts = np.arange(count, most + 1, dtype=np.float64)
    logs = (
        _log_choose(marked, counts)
        + _log_choose(total - marked, drawn - counts)
        - _log_choose(total, np.array(float(drawn)))
    )
    return min(1.0, float(np.exp(logs).sum()))


def average_ranks(values: FloatArray) -> FloatArray:
    """Return the ranks from 1 along the first axis; ties share the mean of theirs.

    Examples
    --------
    >>> average_ranks(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    if values.ndim > 1:
        return np.stack([average_ranks(column) for column in values.T], axis=1)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place.reshape(-1)], dtype=np.float64)


def _least(
    holds: Callable[[FloatArray], BoolArray], trials: int, shape: tuple[int, ...]
) -> IntArray:
    """Return the least of the counts 0, …, ``trials`` at which a condition holds; the last does."""
    fails, done = np.full(shape, -1.0), np.full(shape, float(trials))
    while (wide := done - fails > 1).any():
        middle = np.where(wide, np.floor((fails + done) / 2), done)
        right = holds(middle)
        fails, done = np.where(wide & ~right, middle, fails), np.where(right, middle, done)
    return done.astype(np.int64)


def _above(count: FloatArray, trials: int, rate: FloatArray) -> FloatArray:
    """Return P(Binomial > count)."""
    tail = betainc(count + 1, np.maximum(trials - count, 1e-9), rate)
    return np.where(count < trials, tail, 0.0)


def _log_choose(total: float, chosen: FloatArray) -> FloatArray:
    return np.asarray(gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1))


def _probabilities(name: str, value: ArrayLike) -> FloatArray:
    found = _validate.reals(value, name=name)
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    return found


def smallest_violation(claimed: float, trials: int, *, significance: float) -> float:
    """Return the smallest true rate above ``claimed`` that is refuted with probability 0.95.

    Infinity where no outcome of ``trials`` Bernoulli trials refutes.
    """
    _validate.closed_unit(claimed=claimed)
    _validate.integer(trials=trials, at_least=1)
    _validate.open_unit(significance=significance)
    critical = int(binomial_exceeded(significance / 2, trials, claimed)) + 1
    return rate_reaching(critical, trials, at_least=claimed)


def draws_needed(claimed: float, rate: float, *, significance: float) -> int:
    """Return the fewest trials at which a true ``rate`` above ``claimed`` is refuted.

    The inverse of ``smallest_violation``: the refutation has at least the probability
    ``detection``. Since counts are whole numbers, a few more trials can have a slightly smaller
    power.

    Notes
    -----
    c failures refute at up to H(c) trials, and occur with probability ``detection`` from L(c)
    trials on. Both grow with c, so the answer is ⌈L(c)⌉ at the first c with ⌈L(c)⌉ <= H(c).
    It is looked for from the first c with L(c) <= H(c) on, which H(c) − L(c) growing in c makes
    quick to find.
    """
    _validate.closed_unit(claimed=claimed, rate=rate)
    _validate.open_unit(significance=significance)
    if not rate > claimed:
        raise errors.value_error(
            f"rate must be > claimed = {claimed!r}, got {rate!r}", "a lower rate is no violation"
        )

    def refutes(failures: int, trials: float) -> bool:
        return binomial_tail(failures, trials, claimed) <= significance / 2

    def enough(failures: int) -> float:
        return _trials_reaching(failures, rate)

    failures = fewest(lambda count: refutes(count, enough(count)))
    assert failures is not None  # noqa: S101  (a rate that is larger is refuted in the end)
    while not refutes(failures, math.ceil(enough(failures))):
        failures += 1
    return math.ceil(enough(failures))


def rate_reaching(successes: int, trials: int, *, at_least: float) -> float:
    """Return the smallest rate above ``at_least`` with P(Binomial >= successes) >= 0.95.

    Infinity where ``successes`` exceeds ``trials``.
    """
    _validate.integer(successes=successes, trials=trials, at_least=0)
    _validate.closed_unit(at_least=at_least)
    if successes > trials:
        return math.inf
    return turn(
        lambda rate: binomial_tail(successes, trials, rate) >= _DETECTION, at_least, 1.0, steps=50
    ).holds


def binomial_tail(successes: int, trials: float, rate: float) -> float:
    """Return P(Binomial(trials, rate) >= successes), for 1 <= successes <= trials."""
    return float(betainc(successes, trials - successes + 1, rate))


def _trials_reaching(successes: int, rate: float) -> float:
    """Return the real number of trials at which the binomial tail reaches 0.95."""

    def reached(trials: float) -> bool:
        return binomial_tail(successes, trials, rate) >= _DETECTION

    most = float(successes)
    while not reached(most):
        most *= 2
    if most == successes:
        return most
    return turn(reached, most / 2, most, steps=100).holds


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSequence:
    """Anytime-valid intervals for a Bernoulli rate.

    :Null hypothesis: The rate behind a count is the claimed one.
    :Statistic: The likelihood ratio of a Beta mixture of rates against the claimed rate.
    :Level: At most the significance over all times at once, by Ville's inequality: the trials may
        stop whenever one likes.
    :Power: ``smallest_violation``: the rate that all trials refute with probability 0.95.
    :Reference: Robbins (1970); Ville (1939).

    Parameters
    ----------
    significance : float
        Probability that any of the intervals, at whatever sample size, misses the rate.
    expected_rate : float
        The rate at which the mixture has its mass: the one that matters, for example a claimed δ.
        It affects the width only, never the validity.
    strength : float
        Pseudo-observations of the mixture, a + b.
    """

    significance: float
    expected_rate: float = 0.5

    def __post_init__(self) -> None:
        _validate.open_unit(significance=self.significance, expected_rate=self.expected_rate)

    def log_evidence(self, rate: float, successes: int, trials: float) -> float:
        """Return the log of the mixture likelihood ratio against ``rate``."""
        a, b = self.expected_rate, 1 - self.expected_rate
        mixture = betaln(a + successes, b + trials - successes) - betaln(a, b)
        return float(mixture - xlogy(successes, rate) - xlog1py(trials - successes, -rate))

    def interval(self, successes: int, trials: int) -> tuple[float, float]:
        """Return the rates not excluded after ``successes`` in ``trials``."""
        _validate.integer(trials=trials, at_least=1)
        _validate.integer(successes=successes, at_least=0)
        if successes > trials:
            raise ValueError(f"successes must not exceed trials = {trials}, got {successes}")
        mean = successes / trials
        low = 0.0 if successes == 0 else self._boundary(0.0, mean, successes, trials)
        high = 1.0 if successes == trials else self._boundary(1.0, mean, successes, trials)
        return low, high

    def excludes(self, rate: float, successes: int, trials: float) -> bool:
        """Return True if ``rate`` lies below the interval after ``successes`` in ``trials``."""
        above = successes > rate * trials
        return above and self.log_evidence(rate, successes, trials) >= -np.log(self.significance)

    def smallest_violation(self, claimed: float, trials: int) -> float:
        """Return a rate above ``claimed`` that is excluded with probability 0.95.

        It is the smallest such rate for one look after ``trials``; looks before that can only
        add to the probability. Infinity where no outcome excludes ``claimed``.
        """
        _validate.closed_unit(claimed=claimed)
        _validate.integer(trials=trials, at_least=1)
        critical = bisect_left(
            range(trials + 1), True, key=lambda hits: self.excludes(claimed, hits, trials)
        )
        return rate_reaching(critical, trials, at_least=claimed)

    def _boundary(self, outside: float, inside: float, successes: int, trials: int) -> float:
        """Bisect between an excluded end and the mean; return the side that is still excluded."""
        limit = -np.log(self.significance)
        return turn(
            lambda rate: self.log_evidence(rate, successes, trials) < limit, outside, inside
        ).fails


_TAIL = 36.0
LARGEST_EPSILON = 50.0
NO_COINS = np.zeros(0)
_HALVINGS, _FINEST = 26, 5e-7
"""They narrow a range of 50 to 1e-6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessingTest:
    """The null hypothesis (ε, δ)-DP about the number of right guesses.

    :Null hypothesis: (ε, δ)-DP of a pair of inputs, or ε-DP of all pairs of s inputs, in N rounds
        of the guessing game.
    :Statistic: The number of right guesses among M; N and M are fixed beforehand.
    :Level: At most the significance, and exact: the largest law of the number under the claim is
        known, without a nuisance parameter.
    :Power: ``power``: the probability of a refutation, if each guess is right with a given
        probability.
    :Reference: Kairouz, Oh and Viswanath (2015), Theorem 3.4.

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


def filled(coins: FloatArray, share: float) -> int:
    """Return the number of missing guesses that count as right: coins below the share."""
    return int(np.count_nonzero(coins < share))


def epsilon_bound(
    test: GuessingTest, right: int, *, significance: float, coins: FloatArray = NO_COINS
) -> float:
    """Return the largest ε below which all are refuted, to 1e-6; −∞ where not even 0 is.

    A lower confidence bound of ε at the test's δ, at the level 1 − ``significance``.

    Parameters
    ----------
    test : GuessingTest
    right : int
        The right ones among the guesses that were made.
    coins : ndarray, shape (missing,)
        Uniform draws, one for each missing guess. At each ε they fill in the guesses that are right
        under *that* ε: the coins of another one would be right too often, or too seldom.

    Notes
    -----
    Both the filled guesses and the p-value of a number of guesses rise with ε. All ε between two
    are therefore refuted if the larger one is, at what is filled in at the smaller one. The test's
    own ε is one of those that are asked for, so that it is refuted where the bound reaches it.

    Examples
    --------
    >>> test = GuessingTest(rounds=100, guesses=50, epsilon=1.0)
    >>> round(epsilon_bound(test, 49, significance=0.05), 4)
    2.2967
    """
    _validate.open_unit(significance=significance)

    def refuted(low: float, high: float) -> bool:
        counted = right + filled(coins, guess_share(low, test.inputs))
        return replace(test, epsilon=high).p_value(counted) <= significance

    if not refuted(0.0, 0.0):
        return -math.inf
    reached = 0.0
    for end in (test.epsilon, LARGEST_EPSILON):
        step = end - reached
        while reached < end:
            ahead = min(end, reached + step)
            if refuted(reached, ahead):
                reached, step = ahead, 2 * step
            elif step > _FINEST:
                step /= 2
            else:
                break
        if reached < end:
            break
    return reached


def delta_bound(test: GuessingTest, right: int, *, significance: float) -> float:
    """Return the largest δ(ε) that is refuted at the test's ε; −∞ where not even 0 is."""
    _validate.open_unit(significance=significance)

    def refuted(delta: float) -> bool:
        return replace(test, delta=delta).p_value(right) <= significance

    if not refuted(0.0):
        return -math.inf
    return turn(refuted, 1.0, 0.0, steps=_HALVINGS).holds


def _binomial_mass(counts: IntArray, trials: int, rate: float) -> FloatArray:
    log_choices = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    return np.asarray(np.exp(log_choices + xlogy(counts, rate) + xlog1py(trials - counts, -rate)))
