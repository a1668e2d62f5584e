"""What an audit would have refuted with probability 0.95, in the claim's own parameter."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import beta, binom, norm

from dpcp_audit.guarantees import ZCDP, Coverage, PrivacyGuarantee, RenyiDP
from dpcp_audit.results import Outcome, Verdict

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

_LAST_STAGE = 0.45
"""The share of a black-box audit's significance that its last stage has."""
_MISSES = 0.05
_CUTS = np.linspace(-3, 8, 89)
_LARGEST_SHIFT = 40.0
_TOLD = (
    (re.compile(r"A true ε of (\S+)(?: \((\S+) times the claim\))? at this event"), "ε"),
    (re.compile(r"A loss of (\S+) \((\S+) times the claim\) of such a pair"), "loss"),
)
_SHORTFALL = re.compile(r"refute a (mean coverage|rate of failures) of (\S+) (below|above)")


def power(outcome: Outcome, guarantee: PrivacyGuarantee | Coverage) -> str:
    """Return what the audit would have refuted with probability 0.95, in a few words.

    Read off the outcome's note. Where a claim of zCDP or of a Rényi divergence was put to an
    event, whose probability says little, it is the loss of a Gaussian release.
    """
    if outcome.verdict is Verdict.REFUTED:
        return "refuted"
    for pattern, what in _TOLD:
        if found := pattern.search(outcome.note):
            times = f" ({found[2]}x the claim)" if found[2] else ""
            return f"{_parameter(guarantee, what)} of {found[1]}{times}"
    if found := _SHORTFALL.search(outcome.note):
        return f"{found[1]} {found[2]} {found[3]} the claim"
    if isinstance(guarantee, ZCDP | RenyiDP):
        return _gaussian(guarantee, outcome)
    return "nothing"


def gaussian_shift(guarantee: PrivacyGuarantee, trials: int, *, significance: float) -> float:
    """Return the least shift μ of N(μ, 1) against N(0, 1) at which an event is refuted.

    With probability at least 0.95, by the Clopper–Pearson limits of the best half-line, at
    ``trials`` outputs of either law; infinity where no shift below 40 is.
    """

    def refuted(shift: float) -> bool:
        hits = np.asarray(binom.ppf(_MISSES / 2, trials, norm.sf(_CUTS - shift)))
        other = np.asarray(binom.ppf(1 - _MISSES / 2, trials, norm.sf(_CUTS)))
        low = _limit(hits, trials - hits + 1, significance / 2)
        high = _limit(other + 1, trials - other, 1 - significance / 2)
        return bool((low > guarantee.power(high)).any())

    if not refuted(_LARGEST_SHIFT):
        return math.inf
    low, high = 0.0, _LARGEST_SHIFT
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high


def _limit(a: FloatArray, b: FloatArray, share: float) -> FloatArray:
    """Return a quantile of Beta(a, b): 0 where a is 0, 1 where b is."""
    inner = beta.ppf(share, np.maximum(a, 0.5), np.maximum(b, 0.5))
    return np.where(a <= 0, 0.0, np.where(b <= 0, 1.0, inner))


def _gaussian(guarantee: ZCDP | RenyiDP, outcome: Outcome) -> str:
    trials = max(1, (outcome.evidence.n_samples or 0) // 2)
    significance = _LAST_STAGE * (1 - outcome.evidence.confidence)
    shift = gaussian_shift(guarantee, trials, significance=significance)
    if math.isinf(shift):
        return "nothing"
    order = 1.0 if isinstance(guarantee, ZCDP) else guarantee.alpha
    claimed = guarantee.rho if isinstance(guarantee, ZCDP) else guarantee.epsilon
    loss = order * shift**2 / 2
    name = _parameter(guarantee, "loss")
    return f"{name} of {loss:.3g} ({loss / claimed:.3g}x the claim), if Gaussian"


def _parameter(guarantee: PrivacyGuarantee | Coverage, otherwise: str) -> str:
    if isinstance(guarantee, ZCDP):
        return "ρ"
    if isinstance(guarantee, RenyiDP):
        return "D_α"
    return otherwise
