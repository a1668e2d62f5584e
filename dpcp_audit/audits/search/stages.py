"""The stages of a search: pairs are raced, judged on fresh outputs, and shrunk once refuted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.certificates import Hits
from dpcp_audit.audits.search.event_search import Coordinate, ScalarValue
from dpcp_audit.audits.search.moment_test import MomentTest
from dpcp_audit.audits.search.pair_space import RecordOrder
from dpcp_audit.audits.search.pilot_hypotheses import EventTest, interval_of_outputs
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.targets.answers import DegenerateTargetError
from dpcp_audit.words.formatting import counted
from dpcp_audit.words.results import (
    Extent,
    Figure,
    FigureKind,
    Odds,
    Series,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from dpcp_audit.audits.certificates import Judgement
    from dpcp_audit.audits.search.event_search import Event, Feature
    from dpcp_audit.audits.search.pair_race import PairRace
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.audits.search.pilot_hypotheses import PairTest
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A pair and the test chosen for it, judged on fresh outputs of its own.

    Parameters
    ----------
    pilot, fresh : tuple of ndarray
        Outputs of either input: those known before, and those that it is judged on.
    """

    number: int
    candidate: Candidate
    pair_test: PairTest
    judgement: Judgement
    size: int
    spent: int
    significance: float
    pilot: tuple[FloatArray, FloatArray]
    fresh: tuple[FloatArray, FloatArray]

    @property
    def feature(self) -> Feature | None:
        """The number of an output that the test looks at, where it is a single one."""
        if isinstance(self.pair_test, EventTest):
            return self.pair_test.event.feature
        return self.pair_test.feature if isinstance(self.pair_test, MomentTest) else None


_NEARLY = 0.8
"""The share of the loss of the test's own event that an interval of outputs must show."""


def shown_by_interval(guarantee: PrivacyGuarantee, stage: Stage) -> Odds | None:
    """Return an interval of outputs that shows the loss, where the test counts no such interval.

    The pilot names the interval, and the outputs that the test judged are counted in it, so that
    its probabilities are as observed. It is told where it shows at least 0.8 of the loss that the
    event of the test shows on the same outputs; beside a moment test, where it shows any loss.
    None for a game, which counts guesses.
    """
    test, loss = stage.pair_test, loss_of(guarantee)
    own = test.event if isinstance(test, EventTest) else None
    if own is not None and (_is_interval(own) or "output" in test.as_data()):
        return None
    if own is None and not isinstance(test, MomentTest):
        return None
    found = interval_of_outputs(guarantee, stage.pilot)
    least = 0.0 if own is None else _NEARLY * loss.of_event(*_hits(own, stage).rates)
    outside = replace(found, inside=~found.inside)
    told = max((found, outside), key=lambda event: _told(event, stage))
    if loss.of_event(*_hits(told, stage).rates) <= least:
        return None
    value, neighbour = (float(told.contains(outputs).mean()) for outputs in stage.fresh)
    return Odds(
        output=None,
        value=value,
        neighbour=neighbour,
        event=_one_output(told, stage) or told.as_data(),
        trials=stage.size,
    )


def _one_output(event: Event, stage: Stage) -> list[list[float]]:
    """Return the event of one output, if all outputs that were counted are that one; else []."""
    if not isinstance(event.feature, ScalarValue):
        return []
    counted = np.concatenate([outputs[event.contains(outputs)] for outputs in stage.fresh])
    low, high = float(counted.min()), float(counted.max())
    return [[math.nextafter(low, -math.inf), low]] if low == high else []


def _is_interval(event: Event) -> bool:
    """Return True if an event is one interval of the output, or of a vector's coordinate."""
    in_units = isinstance(event.feature, ScalarValue | Coordinate)
    return in_units and len(event.as_intervals()) == 1


def _hits(event: Event, stage: Stage) -> Hits:
    """Return the counts of an event among the judged outputs, those of the likelier input first."""
    counts = sorted(int(event.contains(outputs).sum()) for outputs in stage.fresh)
    return Hits(counts[1], counts[0], stage.size)


def _told(event: Event, stage: Stage) -> float:
    """Return the ratio of the observed rates of an event; −∞ where it is no interval."""
    likelier, rarer = _hits(event, stage).rates
    return likelier / rarer if _is_interval(event) else -math.inf


MOST_STAGES = 8
LEFT = 0.1
"""The share of the significance that the stages leave."""
_FIRST_STAGE = 2400
_EARLY = 0.2
"""The share of the stages' significance that all but the last have."""


def stage_plan(usable: int, significance: float, *, growth: int) -> list[tuple[int, float]]:
    """Return each stage's outputs and significance."""
    stages = math.log((growth - 1) * usable / _FIRST_STAGE + 1, growth)
    count = min(MOST_STAGES, max(1, int(stages)))
    whole = (1 - LEFT) * significance
    early = _EARLY * whole / (count - 1) if count > 1 else 0.0
    shares = [early] * (count - 1) + [whole - early * (count - 1)]
    return list(zip(halves(usable, count, growth), shares, strict=True))


def halves(total: int, stages: int, growth: int = 2) -> Iterator[int]:
    """Yield budgets that double, or grow more, from stage to stage and sum to at most ``total``."""
    first = total * (growth - 1) / (growth**stages - 1)
    for stage in range(stages):
        yield int(first * growth**stage)


def figure_of(stages: list[Stage]) -> Figure:
    """Return the certified loss of each stage beside the claim."""
    evidence = stages[-1].judgement.evidence
    name, claimed = evidence.quantity.unit, evidence.claimed or 0.0
    spent = [float(stage.spent) for stage in stages]
    losses = [stage.judgement.evidence.lower for stage in stages]
    x = spent if len(spent) > 1 else [0.0, *spent]
    return Figure(
        kind=FigureKind.LINES,
        title=f"Certified {name} by stage",
        x_label="outputs drawn",
        y_label=name,
        series=[
            Series(name=f"certified {name}", x=x, y=losses if len(spent) > 1 else [0.0, *losses]),
            Series(name="claimed", x=[x[0], x[-1]], y=[claimed, claimed]),
        ],
        description=(
            f"Each stage certifies a lower bound of {name} on the pair and event that it found: "
            f"the last is {losses[-1]:.4g}, after {stages[-1].spent} outputs; the claim is "
            f"{claimed:.4g}. The finding of a refuted claim may show a simpler pair and its bound."
        ),
    )


CERTIFICATIONS = 12
_PILOTS = 40
_NEEDED = 1.2
"""A pilot is worth certifying if it promises this multiple of the critical standard errors."""


def shrink(
    race: PairRace,
    stage: Stage,
    certify: Callable[[Candidate, int, float], Stage | None],
    *,
    size: int,
    room: int,
    significance: float,
) -> Stage:
    """Return the stage of the simplest pair that was certified within ``room`` outputs.

    Each of at most 12 certifications has 1/12 of the significance. A pilot, of half as many
    outputs, says which pairs are worth one.

    Parameters
    ----------
    certify : callable
        Judges a pair on so many fresh outputs of each input at a significance; None where it
        is not refuted.
    size : int
        Outputs of each input for a certification.
    """
    share = significance / CERTIFICATIONS
    critical = _NEEDED * math.sqrt(-2 * math.log(share))
    stop = race.bank.spent + room
    left, pilots = CERTIFICATIONS, _PILOTS
    simpler = iter(race.pairs.simpler(stage.candidate))
    while left and pilots and race.bank.spent + 3 * size <= stop:
        candidate = next(simpler, None)
        if candidate is None:
            break
        pilots -= 1
        promise = _promise(race, candidate, max(50, size // 2))
        if not promise * math.sqrt(size) >= critical:
            continue
        left -= 1
        found = certify(candidate, size, share)
        if found is not None:
            stage, simpler = found, iter(race.pairs.simpler(candidate))
    return stage


def _promise(race: PairRace, candidate: Candidate, size: int) -> float:
    """Return a pilot's promise for a pair; −∞ where the target has no answer on it."""
    try:
        race.bank.fill(candidate, size)
    except DegenerateTargetError:
        raise
    except Exception:  # noqa: BLE001  (a target may raise anything)
        return -math.inf
    return race.choose_pair_test(candidate).promise


_MOST_SIZES = 12


def _of(families: Collection[str]) -> str:
    return "1 family" if len(families) == 1 else f"{len(families)} families"


def _joined(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def extent_of(
    tried: Sequence[Candidate], *, calls: int = 0, planned: int = 0, errors: Sequence[str] = ()
) -> Extent:
    """Return the numbers of pairs tried and of calls, and the sizes of the pairs.

    Parameters
    ----------
    errors : sequence of str
        Errors of pairs on one input of which alone the target raised.
    """
    sizes = {each.scores.size for each in tried if each.scores is not None}
    return Extent(
        cases=len(tried),
        of="pair of neighbours" if len(tried) == 1 else "pairs of neighbours",
        sizes=tuple(sorted(sizes)),
        calls=calls,
        planned=max(calls, planned),
        raised=len(errors),
        error=errors[0] if errors else "",
    )


def extent(tried: Sequence[Candidate]) -> str:
    """Return the number of pairs tried; for scores, with their families, sizes and orders."""
    pairs = f"{counted(len(tried), 'pair')} of neighbours tried"
    scores = [each.scores for each in tried if each.scores is not None]
    if not scores:
        return pairs
    families = {each.family.removeprefix("untied: ") for each in tried}
    sizes = sorted({pair.size for pair in scores})
    shown = _joined(list(map(str, sizes)))
    if len(sizes) > _MOST_SIZES:
        shown = f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
    met = {pair.order for pair in scores}
    orders = _joined([str(order) for order in RecordOrder if order in met])
    return (
        f"{pairs}, of {_of(families)}, at n = {shown}; the changed record was {orders} in the array"
    )
