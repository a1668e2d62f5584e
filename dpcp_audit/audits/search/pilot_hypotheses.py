"""The hypothesis that a pilot selects on a pair: an event, a moment or a game, for fresh outputs.

Of numbers, the value; of vectors, each coordinate, sets of frequent outputs, and two scores that
are fitted to tell the inputs apart. The event of the feature that promises most is taken.

An event of probability 10⁻³ on one input and 0 on its neighbour breaks (1, 10⁻⁵)-DP, but in a few
hundred outputs it does not come up twice. It shows, sooner or later, where all records but one are
alike, since whatever is handed out then differs most; and in outputs that otherwise hardly repeat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcp_audit.audits.certificates import (
    Hits,
    Judgement,
    certify,
    prefers_complement,
)
from dpcp_audit.audits.guessing_game import GameTest, choose_game
from dpcp_audit.audits.search.event_search import (
    Coordinate,
    CutFeature,
    Event,
    FittedScore,
    PilotEvent,
    Quadratic,
    Rank,
    ScalarValue,
    looked_at,
    promised_excess,
)
from dpcp_audit.audits.search.moment_test import MomentTest, PilotMoments
from dpcp_audit.laws.losses import linear_claim, loss_of
from dpcp_audit.targets.answers import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray

    Samples = tuple[FloatArray, FloatArray]
    from collections.abc import Iterator

    from dpcp_audit.words.validate import FloatArray


_LISTED = 256
"""Outputs of a finite set that stand alone; all others are one cell."""


def best_event(guarantee: PrivacyGuarantee, samples: Samples) -> PilotEvent:
    """Return the event of pilot outputs that promises most, among the features of their shape.

    Of numbers: unions of cells of the line, by their likelihood ratio, and half-lines. Ties go to
    the first of a vector's features.

    Parameters
    ----------
    samples : tuple of ndarray, shape (size,) or (size, d)
        Samples of the input and of its neighbour.
    """
    return best_of(guarantee, cut_features(samples))


def best_of(guarantee: PrivacyGuarantee, cuts: Sequence[CutFeature]) -> PilotEvent:
    """Return the event that promises most, the first of several that promise the same."""
    return max((each.best(guarantee) for each in cuts), key=lambda choice: choice.excess)


def cut_features(samples: Samples) -> list[CutFeature]:
    """Return the features of the outputs' shape, cut into cells whatever the claim."""
    if samples[0].ndim == 1:
        return [CutFeature.of(ScalarValue(), samples)]
    searches = (of_coordinates, of_listed, of_classifier, of_squashed)
    return [cut for search in searches for cut in search(samples)]


def of_coordinates(samples: Samples) -> list[CutFeature]:
    """Return the coordinates."""
    return [CutFeature.of(Coordinate(i), samples) for i in range(samples[0].shape[1])]


def of_listed(samples: Samples) -> list[CutFeature]:
    """Return the places of outputs, vectors too, of which the most frequent stand alone.

    Nothing, if no output came up twice.
    """
    listed, counts = np.unique(np.concatenate(samples), axis=0, return_counts=True)
    if counts.max() == 1:
        return []
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_LISTED])
    return [CutFeature.of(Rank(listed[frequent]), samples, cells=_LISTED + 1)]


def of_classifier(samples: Samples) -> list[CutFeature]:
    """Return a logistic regression on a vector's coordinates and their products."""
    return [_of_score(Quadratic, samples)]


def of_squashed(samples: Samples) -> list[CutFeature]:
    """Return a linear score of squashed coordinates, for noise with heavy tails."""
    return [_of_score(FittedScore, samples)]


def _of_score(kind: type[FittedScore], samples: Samples) -> CutFeature:
    """Fit a score on every other pilot output; events are cut out of it on the rest."""
    first, second = (sample[::2] for sample in samples)
    pooled = np.concatenate([first, second])
    score = kind.of(pooled, np.arange(len(pooled)) < len(first))
    held_out = samples[0][1::2], samples[1][1::2]
    return CutFeature.of(score, held_out, trials=len(samples[0]))


_AHEAD = 1.0
"""Added to the promise of a pair with an atom: events that would refute a smaller ε as well
promise less, unless they refute at once."""
_FEWEST = 4
"""Times that the atoms have to come up."""


def shows_atoms(candidate: Candidate) -> bool:
    """Return True if all scores but one are equal, so that what is handed out differs most."""
    pair = candidate.scores
    return pair is not None and pair.positions.size == 1


def promise_of_atoms(
    guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray
) -> float:
    """Return the promise of values that repeat on one of the inputs alone.

    The value most frequent on either, in standard errors of right guesses beyond the claim, for one
    pair of outputs; less what the luckiest of as many repeated values would show. −∞ if nothing,
    or no δ is claimed.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcp_audit.words.guarantees import ApproxDP
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


_EASED = ((1.0, 1.0), (0.7, 0.5), (0.3, 0.25))
"""Pairs are ranked by the claim and by ones of so many times its ε, ρ or μ, which fewer outputs
break; each with its weight."""
_SCREENED = 8000
_FINALISTS = 2
_BOXED = 0.65
"""The efficiency of a box of two rates, or of a bet, relative to an exact test."""
_FEWEST_FOR_MOMENTS = 16
_LUCKIEST = 2.0
"""Standard errors that the luckiest of many events promises beyond its worth; a game's observer
promises what it has won on outputs that it had not seen."""
_CLEAR = 12.0
"""Standard errors beyond which an event need not be bettered."""
_KEPT = 0.97
"""The share of an event's promise that a simpler event must keep."""


class PairTest(Protocol):
    """A test of a claim, fixed before the outputs are drawn that it judges."""

    @property
    def promise(self) -> float:
        """The excess over the claim, in standard errors of a test on one pair of outputs."""
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

    def as_data(self) -> dict[str, Any]:
        """Return the test as plain data, for ``pair_test_from_data``."""
        ...


_NAMED, _TEXTS = 3, 64
"""Texts that a finding names, at most, and texts of a law, at most, that are told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventTest:
    """An event that is too much likelier on one input than on the other.

    :Null hypothesis: P(E) ≤ e^ε·Q(E) + δ, for one event E that was fixed before the outputs were
        drawn. For a claim that is no single (ε, δ): P(E) ≤ F(Q(E)), with F the claim's power curve.
        P and Q are the laws of the output on the two inputs.
    :Statistic: The counts of E among equally many outputs of either input: the score statistic T
        (``RatioTest``), or for a curve the least level at which the Clopper–Pearson limits refute
        (``CurveTest``).
    :Level: At most the significance, at every sample size. The p-value is the largest probability
        over the unknown Q(E), which is confined to an interval whose error is added.
    :Power: Nearly exact: where the claim holds with equality, false alarms come close to the
        significance. It finds rare events that the other two rules miss. ``smallest_violation``
        states the loss that a well-chosen event refutes with probability 0.95.
    :Reference: Farrington and Manning (1990); Berger and Boos (1994); Clopper and Pearson (1934).

    Parameters
    ----------
    event : Event
    swapped : bool
        True if the event is the likelier one on the neighbour.
    complement : bool
        True if the complement is tested in its place.
    promise : float
        Excess over the claim (see ``PairTest``).
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
            complement=self.complement,
        )

    def as_data(self) -> dict[str, Any]:
        """Return the test as plain data, with the value that is no number of an event of one."""
        ends = self.event.as_intervals()
        few = len(ends) <= _NAMED and isinstance(self.event.feature, ScalarValue)
        names = [told(*each) for each in ends] if few else []
        named = " or ".join(names) if all(names) else ""
        return {
            "event": self.event.as_data(),
            "swapped": self.swapped,
            "complement": self.complement,
            **({"output": named} if named else {}),
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
    marks: Sequence[float] = (),
) -> PairTest:
    """Select, on pilot outputs, the game, event or moment that exceeds a claim most.

    Events on the value, on its atoms and, where ``bounds`` are given, on the number of ones
    among its first bits, as of a bisection; a claim that bounds a Rényi divergence is also put
    to moments of the same cells. ``seed`` is of the coins of a game; ``marks`` are numbers that
    may come out exactly, such as the scores that differ.
    """
    fixed = choose_event_or_moment(
        guarantee, outputs, neighbour_outputs, bounds=bounds, marks=marks
    )
    if fixed.promise * math.sqrt(len(outputs)) > _CLEAR:
        return fixed
    game = choose_game(guarantee, outputs, neighbour_outputs, bounds=bounds, seed=seed)
    worth = _worth(guarantee, fixed, (outputs, neighbour_outputs))
    promised = worth * (fixed.promise - _LUCKIEST / math.sqrt(len(outputs)))
    return fixed if game is None or promised >= game.promise else game


def _worth(
    guarantee: PrivacyGuarantee,
    fixed: EventTest | MomentTest,
    samples: tuple[FloatArray, FloatArray],
) -> float:
    """Return the efficiency of the chosen test relative to an exact one.

    The score test's are those of a claim that just holds: larger, for events that one input has.
    """
    claim = linear_claim(guarantee)
    if claim is None or not isinstance(fixed, EventTest):
        return _BOXED
    hits = _hits(fixed.event, samples, swapped=fixed.swapped)
    p, q = (hits.complement() if fixed.complement else hits).rates
    slope = math.exp(claim.epsilon)
    least = max(0.0, p + q - claim.delta) / (1 + slope)
    most = min(1.0, slope * least + claim.delta)
    held = most * (1 - most) + slope**2 * least * (1 - least)
    return min(1.0, math.sqrt((p * (1 - p) + slope**2 * q * (1 - q)) / held)) if held else 1.0


def choose_event_or_moment(
    guarantee: PrivacyGuarantee,
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    bounds: tuple[float, float] | None,
    marks: Sequence[float] = (),
) -> EventTest | MomentTest:
    """Select, on pilot outputs, the event or moment that exceeds a claim most."""
    samples = outputs, neighbour_outputs
    if outputs.ndim == 2:
        return event_test(guarantee, best_event(guarantee, samples), samples)
    features = looked_at(np.concatenate(samples), bounds, thorough=True)
    if outputs.size > _SCREENED:
        few = outputs[:_SCREENED], neighbour_outputs[:_SCREENED]
        looks = [CutFeature.of(feature, few, marks=marks) for feature in features]
        promises = [
            _promise(guarantee, view, _moments(guarantee, view, thorough=False)) for view in looks
        ]
        order = np.argsort(promises)[::-1][:_FINALISTS]
        features = [features[i] for i in sorted({0, *order.tolist()})]
    views = [CutFeature.of(feature, samples, marks=marks) for feature in features]
    choices = [view.best(guarantee) for view in views]
    most = max(choices, key=lambda choice: choice.excess)
    event = event_test(guarantee, _simplified(guarantee, most, choices[0], samples), samples)
    moments = [
        moments.best(guarantee, view.feature)
        for view in views
        if (moments := _moments(guarantee, view, thorough=True)) is not None
    ]
    best = max(
        (moment for moment in moments if moment is not None),
        key=lambda moment: moment.promise,
        default=None,
    )
    return event if best is None or event.promise >= best.promise else best


def total_promise(
    guarantee: PrivacyGuarantee,
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    bounds: tuple[float, float] | None,
    marks: Sequence[float] = (),
) -> float:
    """Return the sum over a claim and eased ones, weighted, of what a few features promise."""
    samples = outputs, neighbour_outputs
    claims = [(eased(guarantee, factor), weight) for factor, weight in _EASED]
    if outputs.ndim == 2:
        cuts = cut_features(samples)
        total = sum(weight * best_of(claim, cuts).excess for claim, weight in claims)
        return total / math.sqrt(len(outputs))
    features = looked_at(np.concatenate(samples), bounds, thorough=False)
    views = [CutFeature.of(feature, samples, marks=marks) for feature in features]
    looks = [(view, _moments(guarantee, view, thorough=False)) for view in views]
    return sum(
        weight * max(_promise(claim, view, moments) for view, moments in looks)
        for claim, weight in claims
    )


def eased(guarantee: PrivacyGuarantee, factor: float) -> PrivacyGuarantee:
    """Return the guarantee with its ε, ρ or μ times a factor; itself where it has neither."""
    scaled = {
        name: value * factor
        for name, value in guarantee.parameters.items()
        if name in {"epsilon", "rho", "mu"}
    }
    return type(guarantee)(**(guarantee.parameters | scaled))


def _promise(guarantee: PrivacyGuarantee, view: CutFeature, moments: PilotMoments | None) -> float:
    moment = None if moments is None else moments.best(guarantee, view.feature)
    event = view.best(guarantee).excess / math.sqrt(len(view.values[0]))
    return event if moment is None else max(event, moment.promise)


def _moments(
    guarantee: PrivacyGuarantee, view: CutFeature, *, thorough: bool
) -> PilotMoments | None:
    """Return the moments of a view; None where the claim bounds none, or they would show little."""
    if not loss_of(guarantee).renyi or len(view.values[0]) < _FEWEST_FOR_MOMENTS:
        return None
    return PilotMoments.of(guarantee, view.values, view.counts, thorough=thorough)


def _hits(event: Event, samples: tuple[FloatArray, FloatArray], *, swapped: bool) -> Hits:
    first, second = samples[::-1] if swapped else samples
    return Hits(int(event.contains(first).sum()), int(event.contains(second).sum()), len(first))


def of_texts(event: Event, samples: tuple[FloatArray, FloatArray]) -> Event:
    """Return the event without what no pilot has seen, where all outputs are texts or the like.

    Their codes have no order, so that a half-line of them says nothing.
    """
    values = np.unique(np.concatenate(samples)) if samples[0].ndim == 1 else np.zeros(0)
    held = values[event.contains(values)] if isinstance(event.feature, ScalarValue) else values[:0]
    if not held.size or len(values) > _TEXTS or not all(told(x - 0.5, x) for x in values.tolist()):
        return event
    return Event.from_data([[x - 0.5, x] for x in held.tolist()])


def event_test(
    guarantee: PrivacyGuarantee, choice: PilotEvent, samples: tuple[FloatArray, FloatArray]
) -> EventTest:
    """Return the test of an event that pilot samples have chosen."""
    hits = _hits(choice.event, samples, swapped=choice.swapped)
    return EventTest(
        event=of_texts(choice.event, samples),
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


def interval_of_outputs(guarantee: PrivacyGuarantee, samples: Samples) -> Event:
    """Return the interval of outputs that promises most on pilot samples.

    A half-line or a part of the event that promises most; of vectors, of one coordinate. Its ends
    have few digits where that keeps most of the promise.
    """
    if samples[0].ndim == 2:
        union = best_of(guarantee, of_coordinates(samples)).event
    else:
        union = CutFeature.of(ScalarValue(), samples, marks=()).best(guarantee).event

    def promised(event: Event) -> float:
        ways = samples, (samples[1], samples[0])
        return max(promised_excess(guarantee, event, ordered) for ordered in ways)

    cuts: list[float] = union.cuts.tolist()
    half_lines = [ends for cut in cuts for ends in ([-math.inf, cut], [cut, math.inf])]
    parts = [_interval(ends, union) for ends in (*half_lines, *union.as_intervals())]
    best = max(parts, key=promised)
    least = _KEPT * promised(best)
    return next((each for each in _simpler_events(best) if promised(each) >= least), best)


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
    moved = value * 10.0**digits
    return round(math.floor(moved) / 10.0**digits, digits) if math.isfinite(moved) else value


def _ceil(value: float, digits: int) -> float:
    return -_floor(-value, digits)


def _interval(ends: list[float], event: Event) -> Event:
    cuts = np.array([end for end in ends if math.isfinite(end)])
    inside = np.zeros(cuts.size + 1, dtype=bool)
    inside[1 if math.isfinite(ends[0]) else 0] = True
    return Event(cuts, inside, event.feature)
