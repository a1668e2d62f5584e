"""How far apart two laws are over very many values: by how often outputs of both are equal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.search.event_search import CELLS

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

_CAUTION = 1.0
"""Standard errors taken off."""
_MANY = 1000
"""Equally likely values, in effect, from which on values are too many for cells."""


def apart_by_meetings(outputs: FloatArray, neighbour_outputs: FloatArray) -> float:
    """Return about how far apart the rates of an event are, where values are too many for cells.

    Two outputs on one input are equal with probability Σp² or Σq², on both Σpq: the excess of the
    former over the latter, as a share of their sum, is the mean of tanh²(ℓ/2) over values of
    log-ratio ℓ, whose root is the distance in rate of the likelier values if all ℓ are ±ℓ. It shows
    long before values come up often enough to be told apart: of K values, from some √K outputs on.

    Parameters
    ----------
    outputs, neighbour_outputs : ndarray, shape (n,)

    Returns
    -------
    float
        In [0, 1), a standard error below the estimate; 0 where values are few, or some
        are much likelier than others, or hardly any meet.

    Examples
    --------
    >>> import numpy as np
    >>> even, odd = np.arange(0, 4000, 2), np.arange(1, 4000, 2)
    >>> apart_by_meetings(np.tile(even, 4), np.tile(odd, 4)) > 0.9
    True
    >>> apart_by_meetings(np.tile(even, 4), np.tile(even, 4))
    0.0
    """
    size = len(outputs)
    listed, back = np.unique(np.concatenate([outputs, neighbour_outputs]), return_inverse=True)
    if not CELLS < listed.size < back.size or size < 2:
        return 0.0
    first, second = (
        np.bincount(part, minlength=listed.size).astype(np.float64)
        for part in (back[:size], back[size:])
    )
    same = (first * (first - 1) + second * (second - 1)) / 2 * size / (size - 1)
    both = first * second
    met = float((same + both).sum())
    if not 0 < met * _MANY < 2 * size**2:
        return 0.0
    error = math.sqrt(float(((same - both) ** 2).sum()))
    share = (float((same - both).sum()) - _CAUTION * error) / met
    return math.sqrt(max(0.0, share))
