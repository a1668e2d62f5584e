"""A share of independent trials, held against the largest that a claim allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Count, Evidence, EvidenceKind, Measure, Sample, Verdict
from dpcp_audit.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray


class Judged(NamedTuple):
    """A verdict with its evidence."""

    verdict: Verdict
    evidence: Evidence


def hold_share(of: str, hits: BoolArray, *, claimed: float, significance: float) -> Judged:
    """Refute "the probability of a hit is at most ``claimed``" where that is certain.

    By the Clopper–Pearson lower limit, which errs with probability at most
    ``significance``/2; INCONCLUSIVE where not even hits alone could have refuted.

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
    count, trials = int(np.count_nonzero(hits)), int(hits.size)
    lower, upper = clopper_pearson(count, trials, significance=significance)
    perfect, _ = clopper_pearson(trials, trials, significance=significance)
    able = Verdict.CONSISTENT if perfect > claimed else Verdict.INCONCLUSIVE
    evidence = Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=Quantity.ATTACK_SUCCESS,
        detail=of,
        value=count / trials,
        lower=lower,
        upper=upper,
        claimed=claimed,
        confidence=1 - significance,
        n_samples=trials,
        sample=Sample(measure=Measure.RATES, counts=(Count(of=of, hits=count, trials=trials),)),
    )
    return Judged(Verdict.REFUTED if lower > claimed else able, evidence)
