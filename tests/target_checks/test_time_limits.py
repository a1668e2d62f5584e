"""A budget ends an audit between two batches of calls, by a clock that tests wind themselves."""

from __future__ import annotations

import numpy as np
import pytest
from support.blackbox import laplace_mean

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.target_checks import planned_calls as time_limits
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.planned_calls import Timed, within
from dpcp_audit.targets import Kind, Target
from dpcp_audit.targets.degenerate import OutOfTimeError
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.results import Verdict


def mean(scores, *, rng, size) -> np.ndarray:
    return laplace_mean(1.0)(scores, size, rng=rng)


TARGET = Target.from_callable(mean, kind=Kind.QUANTILE, vectorised=True, name="mean")


class Clock:
    """A clock that goes on by a second each time that it is looked at."""

    seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def timed_audit(
    monkeypatch: pytest.MonkeyPatch, *, looks: float, epsilon: float = 1.0
) -> BlackBoxPrivacy:
    """Return an audit of 8,000 calls that may look at the clock so many times."""
    monkeypatch.setattr(time_limits, "clock", Clock())
    timed = Timed(target=TARGET, seconds=looks - 0.5, planned=8000)
    pairs = ScorePairs(sizes=(20,))
    return BlackBoxPrivacy(
        sample=timed, guarantee=PureDP(epsilon), pairs=pairs, draws=8000, detect=8.0
    )


CONTEXT = Context(seed=0, name="timed", significance=1e-4)


def test_an_audit_without_a_stage_ends_with_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search takes what a target raises for a failure on that pair; this it must not."""
    audit = timed_audit(monkeypatch, looks=21)
    with pytest.raises(OutOfTimeError, match=r"^mean: the budget of 20.5 s .* of 8,000 calls"):
        audit(CONTEXT)


def looks_taken(monkeypatch: pytest.MonkeyPatch, *, epsilon: float) -> int:
    """Return how often an audit that has all the time looks at the clock."""
    timed_audit(monkeypatch, looks=1e9, epsilon=epsilon)(CONTEXT)
    clock = time_limits.clock
    assert isinstance(clock, Clock)
    return round(clock.seconds)


def test_what_is_not_refuted_in_time_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the power of the calls that were made: no CONSISTENT depends on a clock."""
    looks = looks_taken(monkeypatch, epsilon=1.0)
    assert timed_audit(monkeypatch, looks=looks)(CONTEXT).verdict is Verdict.CONSISTENT
    stopped = timed_audit(monkeypatch, looks=looks - 1)(CONTEXT)
    assert stopped.verdict is Verdict.INCONCLUSIVE
    assert "the budget of" in stopped.note
    assert "Certified there" in stopped.note


def test_what_is_refuted_in_time_stays_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over while the refutation's pair is made simpler, or its loss is bounded."""
    looks = looks_taken(monkeypatch, epsilon=0.2)
    whole = timed_audit(monkeypatch, looks=looks, epsilon=0.2)(CONTEXT)
    stopped = timed_audit(monkeypatch, looks=looks - 1, epsilon=0.2)(CONTEXT)
    assert whole.verdict is stopped.verdict is Verdict.REFUTED
    assert whole.evidence.lower > stopped.evidence.lower > 0.2


def test_the_clock_starts_with_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces come before it, which the rate that cut the calls does not know."""
    clock = Clock()
    monkeypatch.setattr(time_limits, "clock", clock)
    timed = Timed(target=TARGET, seconds=1.5, planned=4000)
    clock.seconds += 100.0
    scores, rng = np.linspace(0, 1, 9), np.random.default_rng(3)
    for _ in range(2):
        timed(scores, 5, rng=rng)
    with pytest.raises(OutOfTimeError, match="after 10 of 4,000 calls"):
        timed(scores, 5, rng=rng)


def test_a_limit_changes_no_output() -> None:
    timed = Timed(target=TARGET, seconds=1e9, planned=4000)
    scores = np.linspace(0, 1, 9)
    one, other = (each(scores, 5, rng=np.random.default_rng(3)) for each in (timed, TARGET))
    assert one.tolist() == other.tolist()


def test_counted_calls_have_no_limit() -> None:
    data = {"target": "mine.py:f", "kind": "quantile", "pure-dp": 1}
    for effort in ({}, {"draws": 1000}):
        assert within(TARGET, CheckSpec.from_data(data | effort), 1000) is TARGET
    limited = within(TARGET, CheckSpec.from_data(data | {"budget": 100}), 1000)
    assert isinstance(limited, Timed)
    assert limited.seconds == pytest.approx(85)
