"""What a pilot looks at: features of the outputs, each with the cells of its range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.audits.search.event_search import CELLS, PilotCounts, Unions, quantile_cuts
from dpcp_audit.audits.search.features import Feature, Ones, ScalarValue
from dpcp_audit.audits.search.float_features import DecimalPlaces, Digit, LastBits, TrailingZeros

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit._types import FloatArray

_BITS = (24, 10, 48)
_RESOLUTIONS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3)
"""Steps, as shares of the range, that a bisection may take beyond its midpoints."""
_WRITTEN: tuple[Feature, ...] = (
    LastBits(3),
    LastBits(8),
    TrailingZeros(),
    DecimalPlaces(),
    *map(Digit, range(2, 13)),
)
"""How an output is written."""
_HANDICAP = 1.0
"""Standard errors more that one of these must promise: of many, one looks good by luck."""
_ATOMS = 24
_SHARE_OF_ATOM, _FEWEST_OF_ATOM = 0.002, 3


class PilotView(NamedTuple):
    """A feature's values on either input, counted in cells, and what is taken off it.

    ``handicap`` is in standard errors of a test on one pair of outputs.
    """

    feature: Feature
    values: tuple[FloatArray, FloatArray]
    counts: PilotCounts
    unions: Unions
    handicap: float


def view_of(
    feature: Feature, samples: tuple[FloatArray, FloatArray], marks: Sequence[float]
) -> PilotView:
    """Return a feature's view; of the value itself, ``marks`` and atoms have cells of their own."""
    first, second = (feature(sample) for sample in samples)
    pooled = np.concatenate([first, second])
    cuts = quantile_cuts(pooled)
    if isinstance(feature, ScalarValue):
        alone = np.unique(np.concatenate([_atoms(first, second), np.asarray(marks)]))
        cuts = np.unique(np.concatenate([cuts, alone, np.nextafter(alone, -np.inf)]))
    handicap = _HANDICAP if feature in _WRITTEN else 0.0
    counts = PilotCounts.of((first, second), cuts)
    handicap /= math.sqrt(len(first))
    return PilotView(feature, (first, second), counts, Unions.of(counts), handicap)


def looked_at(
    pooled: FloatArray, bounds: tuple[float, float] | None, *, thorough: bool
) -> list[Feature]:
    """Return the features that suit scalar outputs: the value, its bits, and how it is written."""
    features: list[Feature] = [ScalarValue()]
    if bounds is not None and ((pooled >= bounds[0]) & (pooled <= bounds[1])).mean() > 0.5:
        plain = _BITS if thorough else _BITS[:2]
        features += [Ones(bounds=bounds, rounds=rounds) for rounds in plain]
        span = bounds[1] - bounds[0]
        for step in _RESOLUTIONS if thorough else ():
            rounds = math.ceil(-math.log2(step))
            features.append(Ones(bounds=bounds, rounds=rounds, resolution=step * span))
    if np.unique(pooled).size > min(CELLS, pooled.size // 2):
        features += _WRITTEN
    return features


def _atoms(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return values that come up again and again: the most frequent, and the most uneven.

    By the samples that order the cells; the others judge them.
    """
    sides = first[::2], second[::2]
    listed, back = np.unique(np.concatenate(sides), return_inverse=True)
    size = back.size
    on_first, on_second = (
        np.bincount(part, minlength=listed.size)
        for part in (back[: sides[0].size], back[sides[0].size :])
    )
    counts = on_first + on_second
    again = np.flatnonzero(counts >= _FEWEST_OF_ATOM)
    frequent = again[counts[again] >= _SHARE_OF_ATOM * size]
    uneven = np.abs(on_first - on_second)[again] / np.sqrt(counts[again])
    chosen = [
        frequent[np.argsort(-counts[frequent], kind="stable")[:_ATOMS]],
        again[np.argsort(-uneven, kind="stable")[:_ATOMS]],
    ]
    return listed[np.unique(np.concatenate(chosen))]
