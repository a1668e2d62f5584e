"""The loss of a randomiser over a finite domain, with two sides, over all pairs of inputs.

A set of outputs shows no larger ratio than the best of its members, so that ε of the whole
randomiser is the largest log-ratio of a single output's probabilities on two inputs. Limits of all
probabilities at once bound it from both sides, whatever pair and output it is attained at.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Estimate
from dpcp_audit.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from dpcp_audit._types import IntArray

_UNSEEN = 0.5
"""Counts that stand beside those of every output in a point estimate, which stays finite."""
_DETAIL = "of the randomizer, over all pairs of inputs and all outputs"


def channel_loss(halves: tuple[IntArray, IntArray], *, significance: float) -> Estimate:
    """Return ε of a randomiser from counts of its outputs on every input.

    The limits are Clopper–Pearson's, and each probability has the same share of the error. The
    estimate is the mean of the log-ratios that each half of the counts has where the other half
    has its largest, since the largest of many is too large; it is held between the limits.

    Parameters
    ----------
    halves : tuple of ndarray of int, shape (k, m)
        Independent counts of the outputs, an input a row; the outputs of each row are as many in
        every row of a half, and that number was fixed beforehand.
    significance : float
        The probability that ε lies outside of the interval is at most this.

    Examples
    --------
    >>> counts = np.array([[360, 40, 100], [100, 300, 100]])
    >>> found = channel_loss((counts, counts), significance=0.05)
    >>> round(found.value, 2), round(found.lower, 2), round(found.upper, 2)
    (2.0, 1.67, 2.39)
    """
    _validate.open_unit(significance=significance)
    counts = halves[0] + halves[1]
    low, high = clopper_pearson(
        counts, int(counts[0].sum()), significance=significance / counts.size
    )
    with np.errstate(divide="ignore"):
        lower = max(0.0, float((np.log(low.max(axis=0)) - np.log(high.min(axis=0))).max()))
        upper = float((np.log(high.max(axis=0)) - np.log(low.min(axis=0))).max())
    found = (_elsewhere(*halves) + _elsewhere(*halves[::-1])) / 2
    return Estimate(
        quantity=Quantity.EPSILON,
        value=min(max(found, lower), upper),
        lower=lower,
        upper=upper,
        confidence=1 - significance,
        detail=_DETAIL,
    )


def _elsewhere(chooses: IntArray, judges: IntArray) -> float:
    """Return the log-ratio that one half has where the other half's is the largest."""
    rates = chooses + _UNSEEN
    first, second = rates.argmax(axis=0), rates.argmin(axis=0)
    outputs = np.arange(int(rates.shape[1]))
    spread = np.sqrt(1 / rates[first, outputs] + 1 / rates[second, outputs])
    ratios = np.log(rates[first, outputs] / rates[second, outputs])
    output = int(np.argmax(ratios - spread))
    seen = (judges[[first[output], second[output]], output] + _UNSEEN).tolist()
    return math.log(seen[0] / seen[1])
