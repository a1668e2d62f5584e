"""The power of a rate's Clopper–Pearson limit: the smallest violation, and the draws needed.

A claim says that a rate is at most ``claimed``. It is refuted where the lower limit, one side at
``significance``/2, lies above.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scipy.special import betainc

from dpcp_audit import _validate
from dpcp_audit.stats.bisection import fewest, turn
from dpcp_audit.stats.discrete_tails import binomial_exceeded

if TYPE_CHECKING:
    from collections.abc import Callable


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
    """
    _validate.closed_unit(claimed=claimed, rate=rate)
    _validate.open_unit(significance=significance, detection=detection)

    def refutes(failures: int, trials: float) -> bool:
        return binomial_tail(failures, trials, claimed) <= significance / 2

    return fewest_trials(refutes, claimed=claimed, rate=rate, detection=detection)


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


def fewest_trials(
    refutes: Callable[[int, float], bool], *, claimed: float, rate: float, detection: float
) -> int:
    """Return the fewest trials at which a rule refutes with probability >= ``detection``.

    Parameters
    ----------
    refutes : callable
        ``refutes(failures, trials)``: the rule, for any real number of trials. More failures
        among as many trials, or as many among fewer trials, must refute all the more.
    claimed, rate : float
        The rate that is refuted and the true one, which must be larger.

    Notes
    -----
    c failures refute at up to H(c) trials, and occur with probability ``detection`` from L(c)
    trials on. Both grow with c, so the answer is ⌈L(c)⌉ at the first c with ⌈L(c)⌉ <= H(c).
    It is looked for from the first c with L(c) <= H(c) on, which H(c) − L(c) growing in c makes
    quick to find.
    """
    if not rate > claimed:
        raise ValueError(f"rate must be > claimed = {claimed!r}, got {rate!r}")

    def enough(failures: int) -> float:
        return _trials_reaching(failures, rate, detection=detection)

    failures = fewest(lambda count: refutes(count, enough(count)))
    assert failures is not None  # noqa: S101  (a rate that is larger is refuted in the end)
    while not refutes(failures, math.ceil(enough(failures))):
        failures += 1
    return math.ceil(enough(failures))


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
