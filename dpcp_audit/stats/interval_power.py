"""The power of two Clopper–Pearson limits: how often p's lower one exceeds e^ε times p′'s upper.

The rule is that of audits that certify an event by a limit for each of its two probabilities.
Powers are exact sums over the counts.
"""

from __future__ import annotations

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.stats.intervals import clopper_pearson

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
    from scipy.stats import binom  # noqa: PLC0415  (slow to import)

    _validate.closed_unit(p=p, p_prime=p_prime)
    _validate.integer(trials=trials, at_least=1)
    _validate.non_negative(epsilon=epsilon)
    _validate.open_unit(significance=significance)
    first = max(0, int(binom.ppf(_NEGLIGIBLE, trials, p_prime)))
    last = min(trials - 1, int(binom.isf(_NEGLIGIBLE, trials, p_prime)))
    counts = np.arange(first, last + 1)
    _, upper = clopper_pearson(counts, trials, significance=significance)
    allowed = np.exp(np.minimum(0.0, epsilon + np.log(upper)))
    below = binom.isf(significance / 2, trials, allowed)  # the largest count that does not refute
    beyond = np.where(allowed < 1, binom.sf(below, trials, p), 0.0)
    return float(binom.pmf(counts, trials, p_prime) @ beyond)
