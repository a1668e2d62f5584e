"""What a rate check can detect, how many trials a rate needs, and checks that stop early."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom
from support.samplers import context
from support.theorems import Coin

from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.stats.rate_power import RateSequence, draws_needed
from dpcp_audit.theorems.pcoqs_coverage import RankError
from dpcp_audit.theorems.sequential_checks import AlongN, SequentialRate
from dpcp_audit.theorems.theorem import FailureRate, TheoremTrials
from dpcp_audit.words.checks import Check
from dpcp_audit.words.results import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Needing(Coin):
    """A theorem that never fails; a share ``rate`` of trials needs ``multiple`` of Δ for that."""

    multiple: float = 0.5
    correction_name: str = "Δ"

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        needed = np.where(rng.random(count) < self.rate, self.multiple, 0.0)
        return TheoremTrials(needed, np.zeros(count, dtype=np.bool_), needed=needed)


@pytest.mark.parametrize("kind", [FailureRate, SequentialRate])
def test_every_rate_check_has_all_three_parts(kind: type[FailureRate | SequentialRate]) -> None:
    check = kind(theorem=Coin(), n_trials=5000)
    assert isinstance(check, Check)
    excess = check.smallest_violation(context(0, significance=1e-6, effort=2.0)).smallest
    assert 0.1 < excess < 0.15
    needed = check.draws_needed(excess, significance=1e-6)
    assert 0.98 * 10_000 < needed <= 10_000
    again = kind(theorem=Coin(), n_trials=needed).smallest_violation(context(0, significance=1e-6))
    assert again.smallest <= excess * (1 + 1e-9)


def test_the_smallest_violation_is_infinite_where_nothing_refutes() -> None:
    hopeless = Coin(allowed_failure=0.999)
    for check in (
        FailureRate(theorem=hopeless, n_trials=100),
        SequentialRate(theorem=hopeless, n_trials=100),
    ):
        assert check.smallest_violation(context(0, significance=1e-6)).smallest == math.inf


def test_a_sequence_needs_more_trials_than_one_look_but_not_many() -> None:
    """What stopping early costs: under twice the trials."""
    for rate in (0.11, 0.15, 0.5):
        one = draws_needed(0.1, rate, significance=1e-4)
        many = RateSequence(significance=1e-4, expected_rate=0.1).draws_needed(0.1, rate)
        assert one < many < 2 * one


def test_the_smallest_violation_of_a_sequence_from_its_intervals() -> None:
    sequence, trials = RateSequence(significance=1e-3, expected_rate=0.1), 800
    refuting = next(k for k in range(trials) if sequence.interval(k, trials)[0] > 0.1)
    excess = sequence.smallest_violation(0.1, trials)
    assert binom.sf(refuting - 1, trials, excess) == pytest.approx(0.95, abs=1e-6)


@pytest.mark.parametrize(("rate", "verdict"), [(0.0, Verdict.CONSISTENT), (0.9, Verdict.REFUTED)])
def test_clear_cases_end_at_the_first_look(rate: float, verdict: Verdict) -> None:
    outcome = SequentialRate(theorem=Coin(rate=rate))(context(0, significance=1e-6))
    assert (outcome.verdict, outcome.evidence.n_samples) == (verdict, 137)
    assert outcome.evidence.lower <= rate <= outcome.evidence.upper
    assert outcome.witness["trials"] == 137


@pytest.mark.parametrize(("allowed", "first"), [(0.1, 137), (0.01, 2000)])
def test_the_first_look_is_where_no_failure_settles_it(allowed: float, first: int) -> None:
    """One trial less would leave δ within the interval; at δ = 0.01 it is at 500, and doubles."""
    outcome = SequentialRate(theorem=Coin(rate=0.0, allowed_failure=allowed))(
        context(0, significance=1e-6)
    )
    sequence = RateSequence(significance=1e-6, expected_rate=allowed)
    assert outcome.evidence.n_samples == first
    assert sequence.interval(0, first)[1] <= allowed
    assert sequence.interval(0, first - 1 if first < 500 else first // 2)[1] > allowed


def test_the_tightness_is_certified_wherever_the_trials_stop() -> None:
    """None of 137 needs more than 0.5: the sequence allows δ there, and at no smaller multiple."""
    outcome = SequentialRate(theorem=Needing(rate=0.3, multiple=0.5))(context(0, significance=1e-6))
    assert outcome.evidence.n_samples == 137
    assert "Δ × 0.50 would do." in outcome.note
    (table,) = outcome.tables
    assert table.columns[4].values == [0.5]


def test_a_close_case_spends_its_budget_and_no_more() -> None:
    outcome = SequentialRate(theorem=Coin(rate=0.1), n_trials=1500)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.evidence.n_samples == 1500
    assert outcome.evidence.lower < 0.1 < outcome.evidence.upper


def test_a_close_case_that_spends_a_large_budget_is_judged_by_its_power() -> None:
    outcome = SequentialRate(theorem=Coin(rate=0.1), n_trials=8000)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.power is not None
    assert 1 < outcome.power.factor < 1.5


def test_a_larger_budget_does_not_change_what_was_settled() -> None:
    runs = [
        SequentialRate(theorem=Coin(rate=0.13), n_trials=n)(context(3, significance=1e-2))
        for n in (50_000, 100_000)
    ]
    assert runs[0].evidence == runs[1].evidence
    assert runs[0].verdict is Verdict.REFUTED
    assert runs[0].evidence.n_samples < 50_000


def test_undecided_trials_keep_a_sequential_check_open() -> None:
    theorem = Coin(rate=0.0, undecided=0.5)
    outcome = SequentialRate(theorem=theorem, n_trials=1000)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.evidence.lower == 0.0
    assert outcome.evidence.upper > 0.5


@dataclass(frozen=True, kw_only=True)
class CoinAt(Coin):
    """A coin whose bounds move with n, as a theorem's do."""

    n: int = 1

    @property
    def bounds(self) -> dict[str, float]:
        return {"bound": 1 / self.n}


def along(**rates: float) -> AlongN:
    sizes = tuple(int(name[1:]) for name in rates)
    return AlongN(theorem_at=lambda n: CoinAt(rate=rates[f"n{n}"], n=n), sizes=sizes)


@pytest.mark.parametrize(
    ("rates", "verdict", "worst"),
    [
        ({"n5": 0.01, "n7": 0.02}, Verdict.CONSISTENT, 7),
        ({"n5": 0.01, "n7": 0.5, "n9": 0.2}, Verdict.REFUTED, 7),
        ({"n5": 0.1, "n7": 0.01}, Verdict.CONSISTENT, 5),
    ],
)
def test_the_worst_n_decides(rates: dict[str, float], verdict: Verdict, worst: int) -> None:
    outcome = along(**rates)(context(0, significance=1e-6))
    assert outcome.verdict is verdict
    assert f"n = {worst}." in outcome.note
    assert outcome.witness["rate"] == rates[f"n{worst}"]
    assert outcome.evidence.lower <= rates[f"n{worst}"] <= outcome.evidence.upper
    assert outcome.evidence.n_samples == 4000 * len(rates)
    statistic, rate = outcome.figures
    assert statistic.title == "Coverage against n"
    assert [series.name for series in statistic.series][-1] == "bound"
    assert statistic.series[-1].y == [1 / int(name[1:]) for name in rates]
    assert np.allclose(rate.series[1].y, list(rates.values()), atol=0.03)


def test_each_n_has_its_share_of_the_significance() -> None:
    """Intervals at many n are wider than at one."""
    one, many = (
        along(n1=0.05)(context(0)),
        along(n1=0.05, **{f"n{i}": 0.0 for i in range(2, 40)})(context(0)),
    )
    assert one.evidence.value == many.evidence.value
    assert many.evidence.upper > one.evidence.upper


def test_unequal_claims_along_n_are_refused() -> None:
    check = AlongN(theorem_at=lambda n: CoinAt(allowed_failure=1 / n, n=n), sizes=(2, 3))
    with pytest.raises(ValueError, match="theorem_at must allow one failure probability"):
        check(context(0))


@pytest.mark.parametrize(
    "build",
    [
        lambda: SequentialRate(theorem=Coin(), n_trials=99),
        lambda: AlongN(theorem_at=lambda n: CoinAt(n=n), sizes=(1,), n_trials=0),
        lambda: AlongN(theorem_at=lambda n: CoinAt(n=n), sizes=()),
    ],
)
def test_bad_settings_are_refused(build) -> None:
    with pytest.raises(ValueError, match="n_trials must|sizes must"):
        build()


@pytest.mark.parametrize("kind", [FailureRate, SequentialRate])
def test_a_witness_keeps_the_mechanism_bounds_beside_the_theorem_limits(
    kind: type[FailureRate | SequentialRate],
) -> None:
    theorem = RankError(mechanism=PCOQS(alpha=0.1, rho=0.5, bounds=(0.0, 2.0)), n=100, beta=0.1)
    witness = kind(theorem=theorem, n_trials=100)(context(0)).witness
    assert witness["bounds"] == [0.0, 2.0]
    assert witness["limits"] == theorem.bounds


def test_a_sequential_verdict_is_that_of_the_sequence_at_the_significance_given() -> None:
    check = SequentialRate(theorem=Coin(rate=0.11), n_trials=1500)
    evidence = check(context(0, significance=0.01)).evidence
    sequence = RateSequence(significance=0.01, expected_rate=0.1)
    failures = round(evidence.value * evidence.n_samples)
    assert (evidence.lower, evidence.upper) == sequence.interval(failures, evidence.n_samples)
    assert evidence.confidence == 0.99
