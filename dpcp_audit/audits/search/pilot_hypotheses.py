"""The hypothesis that a pilot selects on a pair: an event or a moment, tested on fresh outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dpcp_audit.audits import event_power
from dpcp_audit.audits.certificates import (
    Certificate,
    Hits,
    Judgement,
    certify,
    linear_claim,
    prefers_complement,
)
from dpcp_audit.audits.guessing.game_test import GameTest, choose_game
from dpcp_audit.audits.search.event_search import Event, best_cells, promised_excess, quantile_cuts
from dpcp_audit.audits.search.feature_cells import Automatic
from dpcp_audit.audits.search.features import Ones, ScalarValue
from dpcp_audit.audits.search.moment_test import MomentTest, bounds_renyi, choose_moments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.search.event_search import PilotEvent
    from dpcp_audit.audits.search.features import Feature
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import Power

_BITS = (24, 10, 48)
_RESOLUTIONS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3)
"""Steps, as shares of the range, that a bisection may take beyond its midpoints."""
_SCREENED = 8000
_FINALISTS = 2
_ATOMS = 24
_BOXED = 0.65
"""What a standard error of a box of two rates, or of a bet, is worth in those of an exact test."""
_CLEAR = 12.0
"""Standard errors beyond which an event need not be bettered."""
_KEPT = 0.97
"""The share of an event's promise that a simpler event must keep."""


class PairTest(Protocol):
    """A test of a claim, fixed before the outputs are drawn that it judges."""

    @property
    def promise(self) -> float:
        """How far the claim is exceeded, in standard errors of a test on one pair of outputs."""
        ...

    def judge(
        self,
        guarantee: PrivacyGuarantee,
        outputs: FloatArray,
        neighbour_outputs: FloatArray,
        /,
        *,
        significance: float,
    ) -> Judgement:
        """Judge the claim; a true one is refuted with probability <= ``significance``."""
        ...

    def smallest_violation(
        self, guarantee: PrivacyGuarantee, trials: int, /, *, significance: float
    ) -> Power:
        """Return the smallest loss that ``trials`` outputs of either input refute."""
        ...

    def as_data(self) -> dict[str, Any]:
        """Return the test as plain data, for ``pair_test_from_data``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventTest:
    """An event that is too much likelier on one input than on the other.

    Parameters
    ----------
    event : Event
    swapped : bool
        Whether the event is the likelier one on the neighbour.
    complement : bool
        Whether the complement is tested in its place.
    promise : float
        See ``PairTest``.
    """

    event: Event
    swapped: bool
    complement: bool
    promise: float

    def judge(
        self,
        guarantee: PrivacyGuarantee,
        outputs: FloatArray,
        neighbour_outputs: FloatArray,
        *,
        significance: float,
    ) -> Judgement:
        """Count the event on either input, and certify."""
        hits = _hits(self.event, (outputs, neighbour_outputs), swapped=self.swapped)
        return certify(
            guarantee,
            hits,
            significance=significance,
            certificate=Certificate.SCORE,
            complement=self.complement,
        )

    def smallest_violation(
        self, guarantee: PrivacyGuarantee, trials: int, *, significance: float
    ) -> Power:
        """Return the smallest loss that a well-chosen event refutes with probability 0.95."""
        return event_power.smallest_violation(guarantee, trials, significance=significance)

    def as_data(self) -> dict[str, Any]:
        """Return the test as plain data."""
        return {
            "event": self.event.as_data(),
            "swapped": self.swapped,
            "complement": self.complement,
        }


def pair_test_from_data(data: dict[str, Any], *, seed: int) -> PairTest:
    """Build the test that ``as_data`` wrote; other keys of the data are left alone.

    ``seed`` is of the coins of a game.
    """
    if "game" in data:
        return GameTest.from_data(data["game"], seed=seed)
    if "moment" in data:
        return MomentTest.from_data(data["moment"])
    return EventTest(
        event=Event.from_data(data["event"]),
        swapped=data["swapped"],
        complement=data["complement"],
        promise=math.nan,
    )


def choose_pair_test(
    guarantee: PrivacyGuarantee,
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    bounds: tuple[float, float] | None,
    seed: int,
) -> PairTest:
    """Select, on pilot outputs, the game, event or moment that exceeds a claim most.

    Events on the value, on its atoms and, where ``bounds`` are given, on the number of ones
    among its first bits, as of a bisection; a claim that bounds a Rényi divergence is also put
    to moments of the same cells. ``seed`` is of the coins of a game.
    """
    fixed = choose_event_or_moment(guarantee, outputs, neighbour_outputs, bounds=bounds)
    if fixed.promise * math.sqrt(len(outputs)) > _CLEAR:
        return fixed
    game = choose_game(guarantee, outputs, neighbour_outputs, bounds=bounds, seed=seed)
    worth = 1.0 if isinstance(fixed, EventTest) and linear_claim(guarantee) else _BOXED
    return fixed if game is None or worth * fixed.promise >= game.promise else game


def choose_event_or_moment(
    guarantee: PrivacyGuarantee,
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    bounds: tuple[float, float] | None,
) -> EventTest | MomentTest:
    """Select, on pilot outputs, the event or moment that exceeds a claim most."""
    samples = outputs, neighbour_outputs
    if outputs.ndim == 2:
        return _event_test(guarantee, Automatic()(guarantee, *samples), samples)
    features = _features(np.concatenate(samples), bounds, thorough=True)
    if outputs.size > _SCREENED:
        few = outputs[:_SCREENED], neighbour_outputs[:_SCREENED]
        promises = [_promise(guarantee, _view(feature, few)) for feature in features]
        order = np.argsort(promises)[::-1][:_FINALISTS]
        features = [features[i] for i in sorted({0, *order.tolist()})]
    views = [_view(feature, samples) for feature in features]
    choices = [_best_event(guarantee, view) for view in views]
    best_event = max(choices, key=lambda choice: choice.excess)
    event = _event_test(guarantee, _simplified(guarantee, best_event, choices[0], samples), samples)
    moments = [_best_moment(guarantee, view, thorough=True) for view in views]
    best = max(
        (moment for moment in moments if moment is not None),
        key=lambda moment: moment.promise,
        default=None,
    )
    return event if best is None or event.promise >= best.promise else best


def total_promise(
    guarantees: Sequence[PrivacyGuarantee],
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    bounds: tuple[float, float] | None,
) -> float:
    """Return the sum over some claims of what a few features promise against each."""
    samples = outputs, neighbour_outputs
    if outputs.ndim == 2:
        found = [_event_test(g, Automatic()(g, *samples), samples).promise for g in guarantees]
        return sum(found)
    features = _features(np.concatenate(samples), bounds, thorough=False)
    views = [_view(feature, samples) for feature in features]
    return sum(max(_promise(g, view) for view in views) for g in guarantees)


class _View(NamedTuple):
    """A feature's values on either input, and the cuts of its range."""

    feature: Feature
    values: tuple[FloatArray, FloatArray]
    cuts: FloatArray


def _view(feature: Feature, samples: tuple[FloatArray, FloatArray]) -> _View:
    pooled = feature(np.concatenate(samples))
    cuts = quantile_cuts(pooled)
    if isinstance(feature, ScalarValue):
        cuts = _with_atoms(pooled, cuts)
    size = len(samples[0])
    return _View(feature, (pooled[:size], pooled[size:]), cuts)


def _promise(guarantee: PrivacyGuarantee, view: _View) -> float:
    moment = _best_moment(guarantee, view, thorough=False)
    event = _best_event(guarantee, view).excess / math.sqrt(len(view.values[0]))
    return event if moment is None else max(event, moment.promise)


def _best_event(guarantee: PrivacyGuarantee, view: _View) -> PilotEvent:
    choice = best_cells(guarantee, ScalarValue(), view.values, cuts=view.cuts)
    return choice._replace(event=replace(choice.event, feature=view.feature))


def _best_moment(guarantee: PrivacyGuarantee, view: _View, *, thorough: bool) -> MomentTest | None:
    if not bounds_renyi(guarantee) or len(view.values[0]) < 16:
        return None
    found = choose_moments(guarantee, ScalarValue(), view.values, view.cuts, thorough=thorough)
    return None if found is None else replace(found, feature=view.feature)


def _features(
    pooled: FloatArray, bounds: tuple[float, float] | None, *, thorough: bool
) -> list[Feature]:
    if bounds is None or not ((pooled >= bounds[0]) & (pooled <= bounds[1])).mean() > 0.5:
        return [ScalarValue()]
    plain = _BITS if thorough else _BITS[:2]
    features: list[Feature] = [
        ScalarValue(),
        *(Ones(bounds=bounds, rounds=rounds) for rounds in plain),
    ]
    if thorough:
        span = bounds[1] - bounds[0]
        features += [
            Ones(bounds=bounds, rounds=math.ceil(-math.log2(step)), resolution=step * span)
            for step in _RESOLUTIONS
        ]
    return features


def _with_atoms(values: FloatArray, cuts: FloatArray) -> FloatArray:
    """Return the cuts, and cells of their own for the values that come up most often."""
    listed, counts = np.unique(values, return_counts=True)
    if listed.size <= cuts.size + 1 or listed.size == values.size:
        return cuts
    frequent = listed[np.argsort(-counts, kind="stable")[:_ATOMS]]
    frequent = frequent[counts[np.searchsorted(listed, frequent)] >= max(3, 0.002 * values.size)]
    return np.unique(np.concatenate([cuts, frequent, np.nextafter(frequent, -np.inf)]))


def _hits(event: Event, samples: tuple[FloatArray, FloatArray], *, swapped: bool) -> Hits:
    first, second = samples[::-1] if swapped else samples
    return Hits(int(event.contains(first).sum()), int(event.contains(second).sum()), len(first))


def _event_test(
    guarantee: PrivacyGuarantee, choice: PilotEvent, samples: tuple[FloatArray, FloatArray]
) -> EventTest:
    hits = _hits(choice.event, samples, swapped=choice.swapped)
    return EventTest(
        event=choice.event,
        swapped=choice.swapped,
        complement=prefers_complement(guarantee, hits),
        promise=choice.excess / math.sqrt(hits.trials),
    )


def _simplified(
    guarantee: PrivacyGuarantee,
    best_event: PilotEvent,
    by_value: PilotEvent,
    samples: tuple[FloatArray, FloatArray],
) -> PilotEvent:
    """Return the simplest of the event and simpler ones that keep most of the promise."""
    floor = best_event.excess - (1 - _KEPT) * abs(best_event.excess)
    start = by_value if by_value.excess >= floor else best_event
    ordered = (samples[1], samples[0]) if start.swapped else samples
    for event in _simpler_events(start.event):
        if event.inside.all() or not event.inside.any():
            continue
        judged = promised_excess(guarantee, event, ordered)
        if judged >= floor:
            return start._replace(event=event, excess=judged)
    return start


def _simpler_events(event: Event) -> Iterator[Event]:
    """Yield half-lines, then single intervals, then the event itself, with ends of few digits."""
    intervals = event.as_intervals()
    low, high = intervals[0][0], intervals[-1][1]
    longest = max(intervals, key=lambda ends: min(ends[1], 1e300) - max(ends[0], -1e300))
    hulls = [[-math.inf, high], [low, math.inf], [low, high], longest]
    for digits in (1, 2, 3, 4, 6):
        for hull in hulls:
            for down, up in ((round, round), (_floor, _ceil)):
                ends = [
                    rounding(end, digits) if math.isfinite(end) else end
                    for end, rounding in zip(hull, (down, up), strict=True)
                ]
                if ends[0] < ends[1]:
                    yield _interval(ends, event)
    for hull in hulls[:3]:
        yield _interval(hull, event)


def _floor(value: float, digits: int) -> float:
    return round(math.floor(value * 10.0**digits) / 10.0**digits, digits)


def _ceil(value: float, digits: int) -> float:
    return -_floor(-value, digits)


def _interval(ends: list[float], event: Event) -> Event:
    cuts = np.array([end for end in ends if math.isfinite(end)])
    inside = np.zeros(cuts.size + 1, dtype=bool)
    inside[1 if math.isfinite(ends[0]) else 0] = True
    return Event(cuts, inside, event.feature)
