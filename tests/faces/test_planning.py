"""Planned calls: the machine has no say in them; a budget cuts them by what audits take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcp_audit.faces.keywords import spec_of
from dpcp_audit.faces.planning import FEWEST, _Timing, announcement, planned, time_limit
from dpcp_audit.target_checks import planned_calls as time_limits
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.target_rows import check_of, rows_of_targets
from dpcp_audit.targets import Target
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import IncompleteError
from dpcp_audit.words.guarantees import Coverage, PureDP

BOTH = {"pure-dp": 1, "coverage-at-least": 0.9}
WANTED = (2**17, 2**14)


def spec(**data: Any) -> CheckSpec:
    return CheckSpec.from_data({"target": "mine.py:f", "kind": "quantile"} | data)


def timed(*rates: float, spent: float = 0.0) -> dict[str, Any]:
    return {"seconds": 1e-6, "rates": list(rates), "spent": spent}


@pytest.mark.parametrize("seconds", [1e-7, 1e-5, 0.01])
def test_a_slower_machine_plans_the_same(seconds: float) -> None:
    found = planned(spec(**BOTH), {"seconds": seconds, "spent": 100.0})
    assert found.planned == WANTED


def test_a_budget_that_is_large_enough_cuts_nothing() -> None:
    assert planned(spec(**BOTH, budget=60), timed(1e-5, 1e-4)).planned == WANTED


@pytest.mark.parametrize(
    ("rates", "calls"),
    [
        ((1e-3, 1e-5), (2**15, 2**14)),
        ((1e-3, 1e-3), (2**14, 2**14)),
        ((1e-5, 5e-3), (2**17, 2**12)),
    ],
)
def test_a_cut_keeps_within_the_budget(rates: tuple[float, float], calls: tuple[int, int]) -> None:
    """A power of two each; what a claim does not need is left to the other."""
    found = planned(spec(**BOTH, budget=60), timed(*rates)).planned
    assert found == calls
    assert sum(n * rate for n, rate in zip(found, rates, strict=True)) < 0.7 * 60


def test_what_timing_took_is_no_longer_there() -> None:
    slow = spec(**{"pure-dp": 1}, budget=60)
    fresh, late = (planned(slow, timed(1e-3, spent=s)).planned[0] for s in (0.0, 10.0))
    assert late == fresh // 2 == 2**14


def test_too_slow_for_its_budget_is_said_with_one_that_suffices() -> None:
    slow = spec(**{"pure-dp": 1}, budget=20)
    with pytest.raises(IncompleteError, match=r"0.5 s a call.*\nhint: .* a budget of 35m"):
        planned(slow, timed(0.5))
    assert planned(spec(**{"pure-dp": 1}, budget="35m"), timed(0.5)).planned == (FEWEST,)


def test_a_check_that_would_be_stopped_is_not_begun() -> None:
    with pytest.raises(
        IncompleteError, match=r"131,072 planned calls .* 18 h.*\nhint: .* a budget"
    ):
        planned(spec(**{"pure-dp": 1}), {"seconds": 0.5})
    assert planned(spec(**{"pure-dp": 1}, draws=600), {"seconds": 0.5}).calls(PureDP(1.0)) == 600


def test_a_check_is_stopped_at_its_budget() -> None:
    assert time_limit(spec(**{"pure-dp": 1})) == 3600
    assert 57 <= time_limit(spec(**{"pure-dp": 1}, budget=60, trace=False)) <= 60
    assert time_limit(spec(**{"pure-dp": 1}, budget=60)) == pytest.approx(2 * 57)
    assert time_limit(spec(**{"pure-dp": 1}, draws=600)) == 3600


def test_without_a_budget_a_function_at_hand_is_not_called() -> None:
    def never(scores, *, rng) -> float:
        raise AssertionError

    found = spec_of(never, [PureDP(1.0), Coverage(0.9)], {}, file="here.py")
    assert tuple(check_of(found, each).planned_calls for each in found.guarantees) == WANTED


class Clock:
    """A clock that goes on with the calls of a target, a thousandth of a second each."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def mean(self, scores, *, rng, size) -> np.ndarray:
        self.seconds += 1e-3 * size
        return np.mean(scores) + rng.laplace(scale=1 / len(scores), size=size)


def test_what_is_timed_is_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call takes a millisecond, whatever the machine: so the cut is what fits."""
    clock = Clock()
    monkeypatch.setattr(time_limits, "clock", clock)
    monkeypatch.setattr(Target, "seconds_per_draw", lambda *_, **__: 1e-3)
    options = {"budget": 40, "vectorised": True, "n": 20}
    found = spec_of(clock.mean, [PureDP(1.0)], options, file="here.py")
    assert found.planned == (2**14,)
    assert clock.seconds < 0.2 * 40
    (rate,) = _Timing(spec=found)(Context(seed=0, name="f", significance=0.5))["rates"]
    assert rate == pytest.approx(1e-3)


def test_calls_and_power_are_announced() -> None:
    (row,) = rows_of_targets([planned(spec(**{"pure-dp": 1}), {})])
    said = announcement(row, 1e-3)
    assert said.startswith("131,072 calls are planned. This check would catch ε ≥ 1.")
    assert said.endswith("with 95 % probability.")


def test_a_cut_is_announced_with_how_to_repeat_it() -> None:
    cut = planned(spec(**{"pure-dp": 1}, budget=10), timed(1e-3))
    (row,) = rows_of_targets([cut])
    said = announcement(row, 1e-3)
    assert "has cut 131,072 calls to 4,096" in said
    assert said.endswith("--draws 4096 repeats them.")
