"""The power of two Clopper–Pearson limits: how often p's lower one exceeds e^ε times p′'s upper.

The rule is that of audits that certify an event by a limit for each of its two probabilities.
Powers are exact sums over the counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 2**28
_NEGLIGIBLE = 1e-12


def box_power(
    p: float, p_prime: float, trials: int, *, epsilon: float, significance: float
) -> float:
    """Return the probability that the two limits refute p ≤ e^ε·p′.

    Parameters
    ----------
    p, p_prime : float
        The event's true probabilities.
    trials : int
        Samples of each input.
    significance : float
        That of each two-sided Clopper–Pearson interval, as in ``clopper_pearson``.

    Notes
    -----
    Counts beyond the two quantiles at 1e-12 are taken not to refute, so that the power is at
    most 2e-12 too small.
    """
    from scipy.stats import beta, binom  # noqa: PLC0415  (slow to import)

    _validate.closed_unit(p=p, p_prime=p_prime)
    _validate.integer(trials=trials, at_least=1)
    _validate.non_negative(epsilon=epsilon)
    _validate.open_unit(significance=significance)
    first = max(0, int(binom.ppf(_NEGLIGIBLE, trials, p_prime)))
    last = min(trials - 1, int(binom.isf(_NEGLIGIBLE, trials, p_prime)))
    counts = np.arange(first, last + 1)
    upper = beta.isf(significance / 2, counts + 1, trials - counts)
    allowed = np.exp(np.minimum(0.0, epsilon + np.log(upper)))
    below = binom.isf(significance / 2, trials, allowed)  # the largest count that does not refute
    beyond = np.where(allowed < 1, binom.sf(below, trials, p), 0.0)
    return float(binom.pmf(counts, trials, p_prime) @ beyond)


def fewest(detected: Callable[[int], bool], *, at_least: int, name: str, got: float) -> int:
    """Return a number of samples that detects, by doubling and bisection to 1 in 500.

    Up to the ripple of a few samples that whole counts leave in the power.

    Parameters
    ----------
    detected : callable
        Whether so many samples detect.
    at_least : int
        The smallest number to try.
    name, got : str, float
        The argument that is refused where 2^28 samples do not detect.
    """
    low, high = at_least - 1, at_least
    while not detected(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise ValueError(f"{name} is too close to the claim, got {got!r}")
    while high - low > max(1, high // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if detected(middle) else (middle, high)
    return high


def smallest_epsilon(detected: Callable[[float], bool], *, claimed: float) -> float:
    """Return the smallest ε above the claimed one that is detected, by bisection to 1e-9.

    ``detected`` must rise with ε. Infinity where not even 50 above the claim is detected.
    """
    low, high = claimed, claimed + 50.0
    if not detected(high):
        return math.inf
    while high - low > 1e-9 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if detected(middle) else (middle, high)
    return high
