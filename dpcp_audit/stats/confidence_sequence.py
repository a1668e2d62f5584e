"""A confidence sequence for a rate: an interval that holds at every sample size at once.

The mixture martingale of Robbins (1970): under the true rate p, the likelihood ratio of a
Beta(a, b) mixture against p is a non-negative martingale that starts at 1, so by Ville's
inequality it ever reaches 1/significance with probability at most the significance. The
rates that it has not excluded form an interval, valid whenever one stops.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from dpcp_audit import _validate
from dpcp_audit.stats.bisection import turn
from dpcp_audit.stats.rate_power import fewest_trials, rate_reaching


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSequence:
    """Anytime-valid intervals for a Bernoulli rate.

    Parameters
    ----------
    significance : float
        Probability that any of the intervals, at whatever sample size, misses the rate.
    expected_rate : float
        Where the mixture puts its mass: the rate that matters, for example a claimed δ.
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

    def draws_needed(self, claimed: float, rate: float, *, detection: float = 0.95) -> int:
        """Return the fewest trials at which one look excludes ``claimed`` under a larger ``rate``.

        With looks before that, the probability is at least ``detection``.
        """
        _validate.closed_unit(claimed=claimed, rate=rate)
        _validate.open_unit(detection=detection)
        return fewest_trials(
            lambda failures, trials: self.excludes(claimed, failures, trials),
            claimed=claimed,
            rate=rate,
            detection=detection,
        )

    def _boundary(self, outside: float, inside: float, successes: int, trials: int) -> float:
        """Bisect between an excluded end and the mean; return the side that is still excluded."""
        limit = -np.log(self.significance)
        return turn(
            lambda rate: self.log_evidence(rate, successes, trials) < limit, outside, inside
        ).fails
