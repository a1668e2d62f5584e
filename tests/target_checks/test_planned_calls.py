"""How many calls are planned, and where their time ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.blackbox import laplace_mean

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.target_checks import planned_calls as time_limits
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.planned_calls import (
    MOST,
    MOST_UNASKED,
    SIGNIFICANCE,
    _Timed,
    calls_for,
    cut_words,
    short_words,
    within,
)
from dpcp_audit.target_checks.target_rows import check_of
from dpcp_audit.targets import Kind, Target
from dpcp_audit.targets.answers import OutOfTimeError
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.evidence import reaches
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.target_checks.planned_calls import ClaimAudit
    from dpcp_audit.words.results import Outcome


FEWEST = 2**17


def claim_audit(**data: Any) -> ClaimAudit:
    spec = CheckSpec.from_data({"target": "mine.py:f", "kind": "quantile"} | data)
    return check_of(spec, spec.guarantees[0]).audit


REPORT = {"kind": "randomizer", "domain": 10}


@pytest.mark.parametrize(
    ("data", "calls"),
    [
        ({"pure-dp": 1.0}, FEWEST),
        ({"zcdp": 0.5}, FEWEST),
        ({"gaussian-dp": 1.0}, FEWEST),
        ({"approx-dp": [1.0, 1e-5]}, 2**18),
        (REPORT | {"local-dp": 2.0}, FEWEST),
        ({"coverage-at-least": 0.9}, 2**14),
        ({"pure-dp": 0.1}, 2**19),
        ({"pure-dp": 8.0}, 2**20),
        ({"pure-dp": 0.5, "detect": 1.2}, 2**20),
        ({"zcdp": 0.5, "detect": 1.2}, 2**20),
        ({"renyi-dp": [32.0, 1.0]}, MOST_UNASKED),
    ],
)
def test_calls_follow_from_the_claim(data: dict[str, Any], calls: int) -> None:
    assert calls_for(claim_audit(**data)) == calls


@pytest.mark.parametrize("data", [{"pure-dp": 0.1}, {"zcdp": 0.5, "detect": 1.2}])
def test_they_reach_what_is_to_be_detected(data: dict[str, Any]) -> None:
    """And half of them would not."""
    one = claim_audit(**data)
    context = Context(seed=0, name="plan", significance=SIGNIFICANCE)

    def able(calls: int) -> bool:
        return reaches(one.of(calls).smallest_violation(context), one.spec.detect)

    calls = calls_for(one)
    assert able(calls)
    assert not able(calls // 2)


def test_what_none_can_refute_gets_the_most() -> None:
    small = claim_audit(**{"pure-dp": 0.01})
    assert small.draws_needed(small.violation(2.0), significance=SIGNIFICANCE) > MOST
    assert calls_for(small) == MOST_UNASKED
    least = claim_audit(**{"pure-dp": 0.001})
    with pytest.raises(ValueError, match="violation is too close to the claim"):
        least.draws_needed(least.violation(2.0), significance=SIGNIFICANCE)
    assert calls_for(least) == MOST_UNASKED


CLAIMED = st.one_of(
    st.floats(1e-3, 8.0).map(lambda epsilon: {"pure-dp": epsilon}),
    st.floats(1e-3, 8.0).map(lambda epsilon: {"approx-dp": [epsilon, 1e-5]}),
    st.floats(1e-3, 8.0).map(lambda epsilon: REPORT | {"local-dp": epsilon}),
    st.floats(1e-4, 5.0).map(lambda rho: {"zcdp": rho}),
    st.floats(1e-2, 4.0).map(lambda mu: {"gaussian-dp": mu}),
    st.floats(1.5, 32.0).map(lambda order: {"renyi-dp": [order, 1.0]}),
    st.floats(0.6, 0.99).map(lambda share: {"coverage-at-least": share}),
)
FACTORS = st.floats(1.01, 8.0)


@settings(max_examples=25)
@given(CLAIMED, FACTORS, FACTORS)
@example({"pure-dp": 0.1}, 1.1, 1.2)
@example({"pure-dp": 0.01}, 2.0, 4.0)
@example({"zcdp": 0.5}, 1.3, 1.4)
def test_whoever_asks_for_more_plans_no_fewer(
    data: dict[str, Any], one: float, other: float
) -> None:
    more, less = (calls_for(claim_audit(**data, detect=each)) for each in sorted((one, other)))
    assert more >= less


def test_a_factor_out_of_reach_is_announced() -> None:
    context = Context(seed=0, name="plan", significance=SIGNIFICANCE)
    small, usual = (
        claim_audit(**{"pure-dp": epsilon, "draws": MOST_UNASKED}).smallest_violation(context)
        for epsilon in (0.01, 1.0)
    )
    said = short_words(2.0, small)
    assert "cannot detect noise that is too small by the factor 2" in said
    assert said.endswith("the verdict will be INCONCLUSIVE.")
    assert not short_words(2.0, usual)


def test_a_cut_is_told_with_both_numbers() -> None:
    cut = claim_audit(**{"pure-dp": 1.0, "budget": "10s"})
    assert cut_words(cut, 4096) == "The budget of 10 s has cut 131,072 calls to 4,096."
    assert not cut_words(cut, FEWEST)
    assert not cut_words(claim_audit(**{"pure-dp": 1.0}), 4096)


def test_the_violation_is_by_a_factor_of_the_noise() -> None:
    assert claim_audit(zcdp=0.5).violation(2.0) == 2.0
    assert claim_audit(**{"pure-dp": 0.5}).violation(2.0) == 1.0
    assert claim_audit(**{"coverage-at-least": 0.9}).violation(2.0) == pytest.approx(0.8)
    confident = claim_audit(**{"coverage-at-least": 0.9, "with-confidence": 0.95})
    assert confident.violation(2.0) == pytest.approx(0.1)


@pytest.mark.parametrize("detect", [1, 0.5, float("nan"), float("inf"), -2, "two", True])
def test_a_factor_must_exceed_1(detect: object) -> None:
    with pytest.raises(UsageError, match="^detect must be|^detect must be a number"):
        claim_audit(**{"pure-dp": 1.0, "detect": detect})


def test_planned_calls_are_kept_as_data() -> None:
    spec = CheckSpec.from_data(
        {"target": "a.py:f", "kind": "quantile", "zcdp": 0.5, "coverage-at-least": 0.9}
        | {"detect": 1.5, "planned": [4096, 2048]}
    )
    assert [spec.calls(each) for each in spec.guarantees] == [4096, 2048]
    assert CheckSpec.from_data(spec.as_data()) == spec


@pytest.mark.parametrize("planned", [[1], [1, 2, 3], [0, 5], "many", [1.5, 2]])
def test_planned_calls_are_one_for_each_claim(planned: object) -> None:
    data = {"target": "a.py:f", "kind": "quantile", "zcdp": 0.5, "coverage-at-least": 0.9}
    with pytest.raises(UsageError, match="planned must be 2 whole numbers"):
        CheckSpec.from_data(data | {"planned": planned})


def test_a_randomizer_of_few_values_is_audited_over_all_of_them() -> None:
    """The game refutes a smaller loss than a search, and than the black box on a given pair."""
    claim = REPORT | {"local-dp": 1.0, "draws": FEWEST}
    context = Context(seed=0, name="power", significance=1e-3)
    over_all = claim_audit(**claim).smallest_violation(context)
    searched, given = (
        claim_audit(**(claim | other)).smallest_violation(context)
        for other in ({"domain": 129}, {"pair": (0, 1)})
    )
    assert over_all.factor < 1.05
    assert over_all.factor < given.factor < searched.factor
    assert searched.factor > 1.1


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
    timed = _Timed(target=TARGET, seconds=looks - 0.5, planned=8000)
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


def in_all_the_time(monkeypatch: pytest.MonkeyPatch, *, epsilon: float) -> tuple[Outcome, int]:
    """Return the outcome of an audit, and how often it looks at the clock."""
    whole = timed_audit(monkeypatch, looks=1e9, epsilon=epsilon)(CONTEXT)
    clock = time_limits.clock
    assert isinstance(clock, Clock)
    return whole, round(clock.seconds)


def test_what_is_not_refuted_in_time_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the power of the calls that were made: no CONSISTENT depends on a clock."""
    whole, looks = in_all_the_time(monkeypatch, epsilon=1.0)
    assert whole.verdict is Verdict.CONSISTENT
    stopped = timed_audit(monkeypatch, looks=looks - 1)(CONTEXT)
    assert stopped.verdict is Verdict.INCONCLUSIVE
    assert "the budget of" in stopped.note
    assert "Certified on this pair" in stopped.note


def test_what_is_refuted_in_time_stays_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over while the refutation's pair is made simpler, or its loss is bounded."""
    whole, looks = in_all_the_time(monkeypatch, epsilon=0.2)
    stopped = timed_audit(monkeypatch, looks=looks - 1, epsilon=0.2)(CONTEXT)
    assert whole.verdict is stopped.verdict is Verdict.REFUTED
    assert whole.evidence.lower > stopped.evidence.lower > 0.2


def test_the_clock_starts_with_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces come before it, which the rate that cut the calls does not know."""
    clock = Clock()
    monkeypatch.setattr(time_limits, "clock", clock)
    timed = _Timed(target=TARGET, seconds=1.5, planned=4000)
    clock.seconds += 100.0
    scores, rng = np.linspace(0, 1, 9), np.random.default_rng(3)
    for _ in range(2):
        timed(scores, 5, rng=rng)
    with pytest.raises(OutOfTimeError, match="after 10 of 4,000 calls"):
        timed(scores, 5, rng=rng)


def test_a_limit_changes_no_output() -> None:
    timed = _Timed(target=TARGET, seconds=1e9, planned=4000)
    scores = np.linspace(0, 1, 9)
    one, other = (each(scores, 5, rng=np.random.default_rng(3)) for each in (timed, TARGET))
    assert one.tolist() == other.tolist()


def test_counted_calls_have_no_limit() -> None:
    data = {"target": "mine.py:f", "kind": "quantile", "pure-dp": 1}
    for effort in ({}, {"draws": 1000}):
        assert within(TARGET, CheckSpec.from_data(data | effort), 1000) is TARGET
    limited = within(TARGET, CheckSpec.from_data(data | {"budget": 100}), 1000)
    assert isinstance(limited, _Timed)
    assert limited.seconds == pytest.approx(85)
