"""A share of independent trials, held against the largest that a claim allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.decisions import conclude
from dpcp_audit.evidence import of_rate
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Count, Outcome, Power
from dpcp_audit.stats import rate_power
from dpcp_audit.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray
    from dpcp_audit.figures import Figure
    from dpcp_audit.results import PlainData


def conclude_share(
    of: str,
    hits: BoolArray,
    *,
    claimed: float,
    significance: float,
    witness: PlainData,
    note: str,
    figures: tuple[Figure, ...] = (),
) -> Outcome:
    """Judge "the probability of a hit is at most ``claimed``".

    By the Clopper–Pearson lower limit, which errs with probability at most ``significance``/2.
    What is shown of attacks is judged by whether anything could have been refuted.

    Parameters
    ----------
    of : str
        What a hit is, in words: "share of ...".
    hits : ndarray of bool, shape (trials,)
        Independent trials, at least 1.
    claimed : float
        In [0, 1].
    """
    _validate.closed_unit(claimed=claimed)
    count = Count(of=of, hits=int(np.count_nonzero(hits)), trials=int(hits.size))
    interval = clopper_pearson(count.hits, count.trials, significance=significance)

    def power() -> Power:
        smallest = rate_power.smallest_violation(claimed, count.trials, significance=significance)
        return Power(quantity=Quantity.ATTACK_SUCCESS, smallest=smallest, claimed=claimed)

    return conclude(
        of_rate(
            Quantity.ATTACK_SUCCESS,
            interval,
            count,
            claimed=claimed,
            confidence=1 - significance,
            detail=of,
        ),
        power,
        detect=math.inf,
        witness=witness,
        note=note,
        figures=figures,
    )
