"""The power of a rate's Clopper–Pearson limit, and a confidence sequence for a rate.

A claim says that a rate is at most ``claimed``. It is refuted where the lower limit, one side at
``significance``/2, lies above.

The mixture martingale of Robbins (1970): under the true rate p, the likelihood ratio of a
Beta(a, b) mixture against p is a non-negative martingale that starts at 1, so by Ville's
inequality it ever reaches 1/significance with probability at most the significance. The
rates that it has not excluded form an interval, valid whenever one stops.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, xlog1py, xlogy

from dpcp_audit.stats.intervals import binomial_exceeded
from dpcp_audit.stats.roots import fewest, turn
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate


def smallest_violation(
    claimed: float, trials: int, *, significance: float, detection: float = 0.95
) -> float:
    """Return the smallest true rate above ``claimed`` that is refuted with the given probability.

    Infinity where no outcome of ``trials`` Bernoulli trials refutes.
    """
    _validate.closed_unit(claimed=claimed)
    _validate.integer(trials=trials, at_least=1)
    _validate.open_unit(significance=significance, detection=detection)
    critical = int(binomial_exceeded(significance / 2, trials, claimed)) + 1
    return rate_reaching(critical, trials, detection=detection, at_least=claimed)


def draws_needed(
    claimed: float, rate: float, *, significance: float, detection: float = 0.95
) -> int:
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
    _validate.open_unit(significance=significance, detection=detection)
    if not rate > claimed:
        raise errors.value_error(
            f"rate must be > claimed = {claimed!r}, got {rate!r}", "a lower rate is no violation"
        )

    def refutes(failures: int, trials: float) -> bool:
        return binomial_tail(failures, trials, claimed) <= significance / 2

    def enough(failures: int) -> float:
        return _trials_reaching(failures, rate, detection=detection)

    failures = fewest(lambda count: refutes(count, enough(count)))
    assert failures is not None  # noqa: S101  (a rate that is larger is refuted in the end)
    while not refutes(failures, math.ceil(enough(failures))):
        failures += 1
    return math.ceil(enough(failures))


def rate_reaching(successes: int, trials: int, *, detection: float, at_least: float) -> float:
    """Return the smallest rate above ``at_least`` with P(Binomial >= successes) >= detection.

    Infinity where ``successes`` exceeds ``trials``.
    """
    _validate.integer(successes=successes, trials=trials, at_least=0)
    _validate.open_unit(detection=detection)
    _validate.closed_unit(at_least=at_least)
    if successes > trials:
        return math.inf
    return turn(
        lambda rate: binomial_tail(successes, trials, rate) >= detection, at_least, 1.0, steps=50
    ).holds


def binomial_tail(successes: int, trials: float, rate: float) -> float:
    """Return P(Binomial(trials, rate) >= successes), for 1 <= successes <= trials."""
    return float(betainc(successes, trials - successes + 1, rate))


def _trials_reaching(successes: int, rate: float, *, detection: float) -> float:
    """Return the real number of trials at which the binomial tail reaches ``detection``."""

    def reached(trials: float) -> bool:
        return binomial_tail(successes, trials, rate) >= detection

    most = float(successes)
    while not reached(most):
        most *= 2
    if most == successes:
        return most
    return turn(reached, most / 2, most, steps=100).holds


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSequence:
    """Anytime-valid intervals for a Bernoulli rate.

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
    strength: float = 1.0

    def __post_init__(self) -> None:
        _validate.open_unit(significance=self.significance, expected_rate=self.expected_rate)
        _validate.positive(strength=self.strength)

    def log_evidence(self, rate: float, successes: int, trials: float) -> float:
        """Return the log of the mixture likelihood ratio against ``rate``."""
        a = self.strength * self.expected_rate
        b = self.strength - a
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
        """Tell whether ``rate`` lies below the interval after ``successes`` in ``trials``."""
        above = successes > rate * trials
        return above and self.log_evidence(rate, successes, trials) >= -np.log(self.significance)

    def smallest_violation(self, claimed: float, trials: int, *, detection: float = 0.95) -> float:
        """Return a rate above ``claimed`` that is excluded with the given probability.

        It is the smallest such rate for one look after ``trials``; looks before that can only
        add to the probability. Infinity where no outcome excludes ``claimed``.
        """
        _validate.closed_unit(claimed=claimed)
        _validate.integer(trials=trials, at_least=1)
        _validate.open_unit(detection=detection)
        critical = bisect_left(
            range(trials + 1), True, key=lambda hits: self.excludes(claimed, hits, trials)
        )
        return rate_reaching(critical, trials, detection=detection, at_least=claimed)

    def _boundary(self, outside: float, inside: float, successes: int, trials: int) -> float:
        """Bisect between an excluded end and the mean; return the side that is still excluded."""
        limit = -np.log(self.significance)
        return turn(
            lambda rate: self.log_evidence(rate, successes, trials) < limit, outside, inside
        ).fails
