"""Rare atoms: outputs that are handed out once in a thousand calls, where a δ is claimed.

An event of probability 10⁻³ on one input and 0 on its neighbour breaks (1, 10⁻⁵)-DP, but in a few
hundred outputs it does not come up twice. It shows, sooner or later, where all records but one are
alike, since whatever is handed out then differs most; and in outputs that otherwise hardly repeat.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.certificates import linear_claim

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.guarantees import PrivacyGuarantee

_AHEAD = 1.0
"""What the promise of a pair with an atom is raised by: events that a smaller ε would be broken by
promise less, unless they refute at once."""
_FEWEST = 4
"""Times that the atoms have to come up."""


def claims_delta(guarantee: PrivacyGuarantee) -> bool:
    """Tell whether the guarantee is (ε, δ)-DP with a δ > 0."""
    linear = linear_claim(guarantee)
    return linear is not None and linear.delta > 0


def shows_atoms(candidate: Candidate) -> bool:
    """Tell whether all scores but one are equal, so that what is handed out differs most."""
    pair = candidate.scores
    return pair is not None and pair.positions.size == 1


def promise_of_atoms(
    guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray
) -> float:
    """Return what values promise that come up again and again on one of the inputs alone.

    The value most frequent on either, in standard errors of right guesses beyond the claim, for one
    pair of outputs; less what the luckiest of as many repeated values would show. −∞ if nothing,
    or no δ is claimed.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcp_audit.guarantees import ApproxDP
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.normal(size=(2, 1000))
    >>> promise_of_atoms(ApproxDP(1.0, 1e-5), first, second)
    -inf
    >>> first[:5] = 0.25
    >>> promise_of_atoms(ApproxDP(1.0, 1e-5), first, second) > 1
    True
    """
    linear = linear_claim(guarantee)
    if linear is None or not linear.delta or outputs.ndim == 2:
        return -math.inf
    size = len(outputs)
    listed, back = np.unique(np.concatenate([outputs, neighbour_outputs]), return_inverse=True)
    first, second = (np.bincount(part, minlength=listed.size) for part in np.split(back, [size]))
    again = first + second > 1
    most = sum(
        int(on[again & (off == 0)].max(initial=0)) for on, off in ((first, second), (second, first))
    )
    if most < _FEWEST:
        return -math.inf
    luck = math.sqrt(2 * math.log(int(again.sum())))
    excess = math.sqrt(most * math.exp(-linear.epsilon)) - luck
    return _AHEAD + excess / math.sqrt(size) if excess > 0 else -math.inf
