"""Event search: the outputs that exceed a guarantee most, on pilot samples.

Every search (``event_searches``) turns outputs into one number each (``features``), cuts that
number's range into cells, and takes half-lines of cells and unions of cells in order of their
likelihood ratio.
All of it happens on pilot samples. Whatever is chosen is certified on fresh ones, so that a
poor choice costs power and never the level.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from dpcp_audit.audits.search.features import Feature, ScalarValue, feature_from_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.guarantees import PrivacyGuarantee

CELLS = 64
"""Cells that a continuous output is cut into, at most."""
_PER_CELL = 80
"""Samples that a cell of a continuous output should hold, on either input."""
_FEW = 16
"""Up to so many cells, likelihood ratios order them well enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A set of outputs: the chosen cells of a partition of the line, (−∞, c₁], (c₁, c₂], … .

    Parameters
    ----------
    cuts : ndarray, shape (m,)
        Increasing right ends of the first m cells.
    inside : ndarray, shape (m+1,)
        Which cells belong to the event.
    feature : Feature
        The number that is looked up in the cells: the output itself, unless said otherwise.
    """

    cuts: FloatArray
    inside: BoolArray
    feature: Feature = field(default_factory=ScalarValue)

    def contains(self, outputs: FloatArray) -> BoolArray:
        """Tell which outputs lie in the event, shape (size,)."""
        return self.inside[np.searchsorted(self.cuts, self.feature(outputs), side="left")]

    def as_intervals(self) -> list[list[float]]:
        """Return the feature's values as half-open intervals (low, high], neighbours merged."""
        edges = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        steps = np.diff(np.concatenate([[0], self.inside.astype(int), [0]]))
        starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
        return [[float(edges[a]), float(edges[b])] for a, b in zip(starts, ends, strict=True)]

    def as_data(self) -> Any:
        """Return the event as plain data: intervals, and the feature where there is one."""
        if isinstance(self.feature, ScalarValue):
            return self.as_intervals()
        return {"feature": self.feature.as_data(), "intervals": self.as_intervals()}

    @classmethod
    def from_data(cls, data: dict[str, Any] | list[Any]) -> Event:
        """Build the event that ``as_data`` wrote; an interval from −∞ includes −∞."""
        pairs: list[tuple[float, float]] = data["intervals"] if isinstance(data, dict) else data
        intervals = [(float(a), float(b)) for a, b in pairs]
        ends = {a for a, _ in intervals if a > -np.inf} | {b for _, b in intervals if b < np.inf}
        cuts = np.array(sorted(ends))
        inside = [
            any((low < right or low == -np.inf) and right <= high for low, high in intervals)
            for right in (*cuts, np.inf)
        ]
        feature = feature_from_data(data["feature"]) if isinstance(data, dict) else ScalarValue()
        return cls(cuts, np.array(inside), feature)


class PilotEvent(NamedTuple):
    """An event, its direction, and what the pilot promises of it.

    ``swapped`` tells whether the event is likelier on the neighbour than the guarantee would
    allow; ``excess`` is how far its probability exceeds what is allowed, in standard errors of
    the certification.
    """

    event: Event
    swapped: bool
    excess: float


class EventSearch(Protocol):
    """Chooses an event from pilot outputs on two neighbours."""

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the choice; the outputs have shape (size,) or (size, d) on either input."""
        ...


def best_cells(
    guarantee: PrivacyGuarantee,
    feature: Feature,
    samples: tuple[FloatArray, FloatArray],
    *,
    cells: int = CELLS,
    cuts: FloatArray | None = None,
    trials: int | None = None,
) -> PilotEvent:
    """Return the best event of a feature: unions of cells by likelihood ratio, and half-lines.

    One half of the samples orders the cells, the other says how many to take: judged on the
    samples that ordered them, the luckiest cells would look best. Among many cells a union must
    promise one standard error more than a half-line to be taken.

    ``cuts``, increasing, part the feature's range; unless given, at most ``cells`` cells do.
    ``trials`` is the size of the certification; the samples' own unless given.
    """
    first, second = (feature(sample) for sample in samples)
    if cuts is None:
        cuts = quantile_cuts(np.concatenate([first, second]), cells=cells)
    ordering, judging, pooled = (
        [_masses(x[part], cuts) for x in (first, second)]
        for part in (slice(0, None, 2), slice(1, None, 2), slice(None))
    )
    allowed = _interpolated_power(guarantee)
    choices: list[PilotEvent] = []
    for swapped in (False, True):
        p0, q0 = ordering[::-1] if swapped else ordering
        by_ratio = np.argsort(-p0 / q0)
        left_to_right = np.arange(by_ratio.size)
        for order, masses, handicap in (
            (left_to_right, pooled, 0.0),
            (left_to_right[::-1], pooled, 0.0),
            (by_ratio, judging, 0.0 if cuts.size < _FEW else 1.0),
        ):
            p, q = masses[::-1] if swapped else masses
            excess = _excess(
                allowed,
                np.cumsum(p[order], dtype=np.float64),
                np.cumsum(q[order], dtype=np.float64),
                trials or first.size,
            )
            taken = int(np.argmax(excess[:-1])) + 1 if p.size > 1 else 1
            inside = np.zeros(p.size, dtype=bool)
            inside[order[:taken]] = True
            promised = float(excess[taken - 1]) - handicap
            choices.append(PilotEvent(Event(cuts, inside, feature), swapped, promised))
    return max(choices, key=lambda choice: choice.excess)


def _masses(values: FloatArray, cuts: FloatArray) -> FloatArray:
    """Return the smoothed shares of the values in each cell, shape (cuts + 1,)."""
    counts = np.bincount(np.searchsorted(cuts, values, side="left"), minlength=cuts.size + 1)
    return np.asarray(counts + 0.5, dtype=np.float64) / (values.size + 0.5 * (cuts.size + 1))


def quantile_cuts(pooled: FloatArray, *, cells: int = CELLS) -> FloatArray:
    """Return cut points: every distinct value when there are few, else pooled quantiles."""
    values = np.unique(pooled)
    if values.size > cells:
        wide = min(cells, max(8, pooled.size // (2 * _PER_CELL)))
        values = np.unique(
            np.quantile(pooled, np.linspace(0, 1, wide + 1)[1:], method="inverted_cdf")
        )
    return values[:-1]


@lru_cache(maxsize=16)
def _interpolated_power(guarantee: PrivacyGuarantee) -> Callable[[FloatArray], FloatArray]:
    """Return the guarantee's power, interpolated: good enough to choose an event by, and quick."""
    inner = expit(np.linspace(-10.0, 10.0, 61))
    grid = np.concatenate([[0.0], inner, [1.0]])
    values = guarantee.power(grid)
    return lambda q: np.interp(q, grid, values)


def promised_excess(
    guarantee: PrivacyGuarantee, event: Event, samples: tuple[FloatArray, FloatArray]
) -> float:
    """Return how far an event exceeds what is allowed, in standard errors.

    Parameters
    ----------
    samples : tuple of ndarray
        Outputs of the two inputs, the likelier one's first.
    """
    trials = len(samples[0])
    p, q = (np.array([(event.contains(sample).sum() + 0.5) / (trials + 1)]) for sample in samples)
    return excess_of(guarantee, p, q, trials)


def excess_of(guarantee: PrivacyGuarantee, p: FloatArray, q: FloatArray, trials: int) -> float:
    """Return how far rates of an event, shape (1,), exceed what is allowed, in standard errors."""
    return float(_excess(_interpolated_power(guarantee), p, q, trials)[0])


def _excess(
    power: Callable[[FloatArray], FloatArray], p: FloatArray, q: FloatArray, trials: int
) -> FloatArray:
    """Return how far p exceeds what q allows, in standard errors."""
    p, q = np.minimum(p, 1.0), np.minimum(q, 1.0)
    error = np.sqrt(np.maximum(q * (1 - q), 1 / trials) / trials)
    allowed, shifted = power(q), power(np.minimum(1.0, q + error))
    variance = np.maximum(p * (1 - p), 1 / trials) / trials
    return (p - allowed) / np.sqrt(variance + (shifted - allowed) ** 2)
