"""The event that certifies the largest loss, rather than the one that exceeds a claim most.

A claim is exceeded by most standard errors at an event of middling probability; what is left of a
loss after the error is taken off is often largest far out, where the neighbour hardly ever goes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.audits.search.event_search import Event
from dpcp_audit.laws.losses import log_ratio, loss_of
from dpcp_audit.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.audits.search.features import Feature
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.guarantees import PrivacyGuarantee


_RANKS = np.unique(np.geomspace(1, 2**17, 60).astype(np.int64))
_SURE = 3.0
_DIGITS = 1
"""Of a half-line's end, relative to the spread of the outputs."""
_CAUTION = 0.5
"""How much of the pilot's own variance is taken off what an event promises."""
_WIDEST = 0.99
_UNSEEN = 1.0
"""Hits on the neighbour beside those of the pilot: the luckiest of many events looks rarest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundingEvent:
    """An event, and the loss that it promises to certify.

    Parameters
    ----------
    event : Event
    swapped : bool
        Whether the event is the likelier one on the neighbour.
    bound : float
    refutes : bool
        Whether it refutes the claim as good as surely: with three standard errors to spare.
    """

    event: Event
    swapped: bool
    bound: float
    refutes: bool


def bounding_event(
    guarantee: PrivacyGuarantee,
    event: Event,
    samples: tuple[FloatArray, FloatArray],
    *,
    trials: int,
    significance: float,
) -> BoundingEvent | None:
    """Return the event with the largest bound to come among some: the given one, and half-lines.

    Parameters
    ----------
    event : Event
        Whose feature the half-lines are of.
    samples : tuple of ndarray
        Pilot outputs on the input and on its neighbour.
    trials : int
        Fresh outputs of each of the two that will certify.

    Returns
    -------
    BoundingEvent or None
        None where no event promises any loss.
    """
    loss, found = _loss_of_event(guarantee), (-math.inf, event, False, 0.0, 0.0)
    values = event.feature(samples[0]), event.feature(samples[1])
    size, outside = len(values[0]), replace(event, inside=~event.inside)
    caution = math.sqrt(1 + _CAUTION * trials / size)

    def bound(p: float, q: float, level: float, share: float = 1.0) -> float:
        promised = _promised(loss, p, q, trials=trials, significance=level)
        return promised.value - share * promised.radius

    for candidate in (event, outside, *_half_lines(event.feature, values)):
        inside = [_inside(candidate, value) for value in values]
        for swapped in (False, True):
            p, q = inside[::-1] if swapped else inside
            q += _UNSEEN / size
            if p > q and (reached := bound(p, q, significance, caution)) > found[0]:
                found = reached, candidate, swapped, p, q
    largest, chosen, swapped, p, q = found
    if largest <= 0:
        return None
    stricter = float(ndtr(float(ndtri(significance)) - _SURE))
    refutes = bound(p, q, stricter) > loss_of(guarantee).claimed_at(q)
    return BoundingEvent(event=chosen, swapped=swapped, bound=largest, refutes=refutes)


def _loss_of_event(guarantee: PrivacyGuarantee) -> Callable[[float, float], float]:
    """Return the loss that an event shows, its complement left aside where a test does so."""
    linear = linear_claim(guarantee)
    if linear is None:
        return loss_of(guarantee).of_event
    delta = linear.delta
    return lambda p, q: max(0.0, log_ratio(p - delta, q))


class _Promised(NamedTuple):
    """A loss, and about how far below it the bound lies that counts at their means certify."""

    value: float
    radius: float


def _promised(
    loss: Callable[[float, float], float], p: float, q: float, *, trials: int, significance: float
) -> _Promised:
    """Return what two rates promise: the distances of their two limits, added in squares."""
    counts = np.minimum(trials, np.rint([p * trials, q * trials])).astype(np.int64)
    low, high = clopper_pearson(counts, trials, significance=min(2 * significance, _WIDEST))
    limits = (float(low[0]), q), (p, float(high[1]))
    value = loss(p, q)
    one, other = (loss(a, b) if a > b else 0.0 for a, b in limits)
    return _Promised(value, math.hypot(value - one, value - other))


def _inside(event: Event, values: FloatArray) -> float:
    """Return the share of a feature's values that lie in an event of it."""
    cells = np.searchsorted(event.cuts, values, side="left")
    return float(event.inside[cells].mean())


def _half_lines(feature: Feature, values: tuple[FloatArray, FloatArray]) -> Iterator[Event]:
    """Yield half-lines that begin at some ranks from either end of the two samples."""
    low, high = np.quantile(values[0], [0.25, 0.75], method="inverted_cdf")
    spread = high - low if np.isfinite(high - low) else 0.0
    digits = _DIGITS - math.floor(math.log10(spread)) if spread > 0 else None
    cuts: set[float] = set()
    for sample in values:
        ordered = np.sort(sample)
        ranks = _RANKS[ordered.size > _RANKS]
        ends = np.concatenate([ordered[ranks - 1], ordered[-ranks - 1]])
        ends = ends[np.isfinite(ends)]
        cuts |= set((ends if digits is None else np.round(ends, digits)).tolist())
    for cut in sorted(cuts):
        for inside in ([True, False], [False, True]):
            yield Event(np.array([cut]), np.array(inside), feature)
