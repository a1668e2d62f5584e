"""What a pilot selects, in cases that are worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpcp_audit.audits.certificates import Hits
from dpcp_audit.audits.search import pilot_hypotheses
from dpcp_audit.audits.search.event_search import CutFeature, Event, PilotEvent, ScalarValue
from dpcp_audit.audits.search.moment_test import MomentTest, PilotMoments
from dpcp_audit.audits.search.pilot_hypotheses import (
    EventTest,
    _ceil,
    _floor,
    _hits,
    _interval,
    _simpler_events,
    _simplified,
    _worth,
    choose_event_or_moment,
    choose_pair_test,
    eased,
    event_test,
    total_promise,
)
from dpcp_audit.targets.answers import coded
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP

ATOMS = (np.repeat([0.0, 1.0], [80, 20]), np.repeat([0.0, 1.0], [30, 70]))
ONE = Event(np.array([0.0]), np.array([False, True]))

MOMENT = MomentTest(
    feature=ScalarValue(),
    cuts=np.array([0.0]),
    log_ratios=np.array([1.0, -1.0]),
    order=2.0,
    reference=1.0,
    share=0.5,
    swapped=False,
    promise=0.0,
)


def promised(p: float, q: float, epsilon: float, trials: int) -> float:
    """(p − e^ε·q)/σ a standard error, where e^ε·q < 1 − e^−ε·(1 − q): on the first line."""
    error = math.sqrt(q * (1 - q) / trials)
    variance = (p * (1 - p) / trials) + (math.exp(epsilon) * error) ** 2
    return (p - math.exp(epsilon) * q) / math.sqrt(variance)


def test_a_claim_is_eased_in_its_losses_alone() -> None:
    assert eased(ApproxDP(1.0, 1e-5), 0.5) == ApproxDP(0.5, 1e-5)
    assert eased(ZCDP(0.5), 0.3) == ZCDP(0.15)
    assert eased(GaussianDP(2.0), 0.7) == GaussianDP(1.4)


def test_hits_are_of_the_likelier_input_first() -> None:
    assert _hits(ONE, ATOMS, swapped=False) == Hits(20, 70, 100)
    assert _hits(ONE, ATOMS, swapped=True) == Hits(70, 20, 100)


def test_an_event_promises_so_much_a_root_of_an_output() -> None:
    test = event_test(PureDP(0.5), PilotEvent(ONE, True, 3.0), ATOMS)
    assert (test.event, test.swapped, test.promise) == (ONE, True, 0.3)


def test_a_standard_error_is_worth_less_for_an_event_that_one_input_has() -> None:
    """At p = 0.8 and q = 0.3 the claim e^ε = 2 holds with p = 2q + δ, and p + q = 1.1."""
    test = EventTest(
        event=Event(np.array([0.0]), np.array([True, False])),
        swapped=False,
        complement=False,
        promise=0.1,
    )
    seen = 0.8 * 0.2 + 4 * 0.3 * 0.7
    for delta in (0.0, 0.1):
        least = (1.1 - delta) / 3
        most = 2 * least + delta
        held = most * (1 - most) + 4 * least * (1 - least)
        found = _worth(ApproxDP(math.log(2), delta), test, ATOMS)
        assert found == pytest.approx(math.sqrt(seen / held))
    assert _worth(ZCDP(0.5), test, ATOMS) == 0.65


def test_numbers_are_rounded_outward_to_a_few_digits() -> None:
    assert [_floor(0.123456, 2), _ceil(0.123456, 2)] == [0.12, 0.13]
    assert [_floor(-0.5, 0), _ceil(-0.5, 0)] == [-1.0, 0.0]
    assert _floor(1e308, 3) == 1e308


@pytest.mark.parametrize(
    ("ends", "inside", "cuts"),
    [
        ([-math.inf, 2.0], [True, False], [2.0]),
        ([1.0, math.inf], [False, True], [1.0]),
        ([1.0, 2.0], [False, True, False], [1.0, 2.0]),
    ],
)
def test_an_interval_is_one_cell(ends, inside, cuts) -> None:
    event = _interval(ends, ONE)
    assert event.inside.tolist() == inside
    assert event.cuts.tolist() == cuts


def test_half_lines_of_few_digits_come_first_and_the_hull_last() -> None:
    event = Event(
        np.array([0.123456, 0.5, 0.7, 3.14159]), np.array([False, True, False, True, False])
    )
    found = [each.as_intervals() for each in _simpler_events(event)]
    assert found[:3] == [[[-math.inf, 3.1]], [[-math.inf, 3.2]], [[0.1, math.inf]]]
    assert [[0.7, 3.1]] in found  # the longest of its intervals
    assert [[0.1, 0.5]] not in found
    below = [ends[1] for ((*ends,),) in found if ends[0] == -math.inf]
    rounded = [3.1, 3.2, 3.14, 3.15, 3.142, 3.142, 3.1416, 3.1416]
    assert below == [*rounded, 3.14159, 3.14159, 3.14159]
    assert len(found) == 4 * 2 * 5 + 3
    assert found[-3:] == [[[-math.inf, 3.14159]], [[0.123456, math.inf]], [[0.123456, 3.14159]]]


def test_the_simplest_event_that_keeps_most_of_the_promise_is_taken() -> None:
    """The half-line beyond 0.5 promises what the cell from 0.49876 on does; one beyond 1 less."""
    first, second = (
        np.repeat([0.3, 0.7, 1.4], [20, 40, 40]),
        np.repeat([0.3, 0.7, 1.4], [80, 10, 10]),
    )
    narrow = Event(np.array([0.49876]), np.array([False, True]))
    best = PilotEvent(narrow, False, promised(0.8, 0.2, 0.5, 100))
    found = _simplified(PureDP(0.5), best, best, (first, second))
    assert found.event.as_intervals() == [[0.5, math.inf]]
    turned = best._replace(swapped=True)
    assert _simplified(PureDP(0.5), turned, turned, (second, first)).excess == found.excess
    unkept = best._replace(excess=2 * best.excess)
    assert _simplified(PureDP(0.5), unkept, best, (first, second)) is unkept


@pytest.mark.parametrize(("low", "named"), [(0.5, {"output": "None"}), (2.0, {}), (math.inf, {})])
def test_an_event_of_one_coded_output_names_it(low: float, named: dict[str, str]) -> None:
    code = coded(None)
    assert code is not None
    event = Event(np.array([code - low, code]), np.array([False, True, False]))
    test = EventTest(event=event, swapped=False, complement=False, promise=0.0)
    assert test.as_data().items() >= named.items()
    assert ("output" in test.as_data()) == bool(named)


def test_of_two_atoms_the_telling_one_is_selected() -> None:
    test = choose_event_or_moment(PureDP(0.1), *ATOMS, bounds=None)
    assert isinstance(test, EventTest)
    assert test.event.contains(np.array([0.0, 1.0])).tolist() in ([True, False], [False, True])
    likelier = 1.0 if test.swapped else 0.0
    assert test.event.contains(np.array([likelier])).all()
    assert test.promise > 0.2


@pytest.mark.parametrize("more", [False, True])
def test_of_equal_promises_the_event_is_taken(more: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is simpler than a moment or a game, less its luck; what promises more is taken."""
    event = choose_event_or_moment(PureDP(0.1), *ATOMS, bounds=None)
    bar = math.nextafter(event.promise, math.inf) if more else event.promise
    moment = replace(MOMENT, promise=bar)
    moments = SimpleNamespace(best=lambda *_: moment)
    monkeypatch.setattr(pilot_hypotheses, "_moments", lambda *_, **__: moments)
    taken = choose_event_or_moment(PureDP(0.1), *ATOMS, bounds=None)
    assert taken is moment if more else isinstance(taken, EventTest)
    monkeypatch.setattr(pilot_hypotheses, "choose_event_or_moment", lambda *_, **__: event)
    monkeypatch.setattr(pilot_hypotheses, "_CLEAR", math.inf)
    luck = pilot_hypotheses._LUCKIEST / math.sqrt(len(ATOMS[0]))
    worth = _worth(PureDP(0.1), event, ATOMS) * (event.promise - luck)
    game = SimpleNamespace(promise=math.nextafter(worth, math.inf) if more else worth)
    monkeypatch.setattr(pilot_hypotheses, "choose_game", lambda *_, **__: game)
    found = choose_pair_test(PureDP(0.1), *ATOMS, bounds=None, seed=0)
    assert found is (game if more else event)


def test_a_moment_is_looked_for_among_all_orders_and_heights() -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(1.5, 1, 4000), rng.normal(0, 1, 4000)
    counts = CutFeature.of(ScalarValue(), samples, marks=()).counts
    few, all_of_them = (
        PilotMoments.of(ZCDP(0.5), samples, counts, thorough=thorough).best(
            ZCDP(0.5), ScalarValue()
        )
        for thorough in (False, True)
    )
    found = choose_event_or_moment(ZCDP(0.5), *samples, bounds=None)
    assert isinstance(found, MomentTest)
    assert few is not None
    assert all_of_them is not None
    assert few.promise < 0.95 * all_of_them.promise
    assert found.promise == all_of_them.promise


def test_vectors_are_judged_by_the_claim_and_by_eased_ones() -> None:
    rows = tuple(np.stack([each, each], axis=1) for each in ATOMS)
    claim = PureDP(0.4)
    parts = [
        weight * choose_event_or_moment(PureDP(0.4 * factor), *rows, bounds=None).promise
        for factor, weight in ((1.0, 1.0), (0.7, 0.5), (0.3, 0.25))
    ]
    assert total_promise(claim, *rows, bounds=None) == pytest.approx(sum(parts))
    assert total_promise(claim, *ATOMS, bounds=None) > 1.0 * parts[0]


def test_the_feature_of_an_event_is_kept() -> None:
    assert isinstance(_interval([0.0, 1.0], ONE).feature, ScalarValue)
