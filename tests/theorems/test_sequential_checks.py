"""What a rate check can detect, how many trials a rate needs, and checks that stop early."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom
from support.samplers import context
from support.theorems import Coin

from dpcp_audit.checks import Check
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.results import Verdict
from dpcp_audit.stats.confidence_sequence import RateSequence
from dpcp_audit.stats.intervals import clopper_pearson, detectable_excess, trials_needed
from dpcp_audit.theorems.pcoqs_coverage import RankError
from dpcp_audit.theorems.sequential_checks import AlongN, SequentialRate
from dpcp_audit.theorems.theorem import FailureRate


def fewest_by_trying(claimed: float, rate: float, *, significance: float) -> int:
    """Return the fewest trials by trying every number of them, from the definition."""
    for trials in range(1, 5000):
        refuting = [
            k
            for k in range(trials + 1)
            if clopper_pearson(k, trials, significance=significance)[0] > claimed
        ]
        if refuting and binom.sf(refuting[0] - 1, trials, rate) >= 0.95:
            return trials
    raise AssertionError


@pytest.mark.parametrize(
    ("claimed", "rate", "significance"),
    [(0.0, 0.3, 0.05), (0.1, 0.6, 0.05), (0.05, 0.5, 1e-6), (0.9, 0.99, 0.2), (0.7, 1.0, 1e-3)],
)
def test_trials_needed_by_trying_all(claimed: float, rate: float, significance: float) -> None:
    needed = trials_needed(claimed, rate, significance=significance)
    assert needed == fewest_by_trying(claimed, rate, significance=significance)


@pytest.mark.parametrize("claimed", [0.0, 1e-6, 0.01, 0.1, 0.9])
@pytest.mark.parametrize("factor", [1.01, 1.5, 10.0])
@pytest.mark.parametrize("significance", [0.05, 1e-9])
def test_trials_needed_inverts_detectable_excess(
    claimed: float, factor: float, significance: float
) -> None:
    rate = min(1.0, factor * claimed) if claimed else factor / 100
    needed = trials_needed(claimed, rate, significance=significance)

    def excess(trials: int) -> float:
        return detectable_excess(claimed, trials, significance=significance)

    assert excess(needed) <= rate * (1 + 1e-9)
    assert all(excess(fewer) > rate for fewer in range(max(1, needed - 40), needed))


def test_trials_needed_grows_as_the_excess_shrinks() -> None:
    counts = [trials_needed(0.1, rate, significance=1e-3) for rate in (0.9, 0.3, 0.15, 0.11, 0.101)]
    assert counts == sorted(counts)
    assert counts[-1] > 500 * counts[1]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0.5, 0.5), "rate"), ((0.5, 0.4), "rate"), ((0.5, 1.1), "rate"), ((-0.1, 0.5), "claimed")],
)
def test_bad_rates_are_refused(arguments: tuple[float, float], name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        trials_needed(*arguments, significance=0.05)
    with pytest.raises(ValueError, match=f"^{name} must "):
        RateSequence(significance=0.05).trials_needed(*arguments)


@pytest.mark.parametrize("kind", [FailureRate, SequentialRate])
def test_every_rate_check_has_all_three_parts(kind: type[FailureRate | SequentialRate]) -> None:
    check = kind(theorem=Coin(), n_trials=5000)
    assert isinstance(check, Check)
    excess = check.detectable(context(0, significance=1e-6, effort=2.0))
    assert 0.1 < excess < 0.15
    needed = check.trials_needed(excess, significance=1e-6)
    assert 0.98 * 10_000 < needed <= 10_000
    assert kind(theorem=Coin(), n_trials=needed).detectable(
        context(0, significance=1e-6)
    ) <= excess * (1 + 1e-9)


def test_detectable_is_infinite_where_nothing_refutes() -> None:
    hopeless = Coin(allowed_failure=0.999)
    for check in (
        FailureRate(theorem=hopeless, n_trials=100),
        SequentialRate(theorem=hopeless, n_trials=100),
    ):
        assert check.detectable(context(0, significance=1e-6)) == math.inf


def test_a_sequence_needs_more_trials_than_one_look_but_not_many() -> None:
    """What stopping early costs: under twice the trials."""
    for rate in (0.11, 0.15, 0.5):
        one = trials_needed(0.1, rate, significance=1e-4)
        many = RateSequence(significance=1e-4, expected_rate=0.1).trials_needed(0.1, rate)
        assert one < many < 2 * one


def test_detectable_excess_of_a_sequence_from_its_intervals() -> None:
    sequence, trials = RateSequence(significance=1e-3, expected_rate=0.1), 800
    refuting = next(k for k in range(trials) if sequence.interval(k, trials)[0] > 0.1)
    excess = sequence.detectable_excess(0.1, trials)
    assert binom.sf(refuting - 1, trials, excess) == pytest.approx(0.95, abs=1e-6)


@pytest.mark.parametrize(("rate", "verdict"), [(0.0, Verdict.CONSISTENT), (0.9, Verdict.REFUTED)])
def test_clear_cases_end_at_the_first_look(rate: float, verdict: Verdict) -> None:
    outcome = SequentialRate(theorem=Coin(rate=rate))(context(0, significance=1e-6))
    assert (outcome.verdict, outcome.evidence.n_samples) == (verdict, 500)
    assert outcome.evidence.lower <= rate <= outcome.evidence.upper
    assert outcome.witness["trials"] == 500


def test_a_close_case_spends_its_budget_and_no_more() -> None:
    outcome = SequentialRate(theorem=Coin(rate=0.1), n_trials=3000)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.evidence.n_samples == 3000
    assert outcome.evidence.lower < 0.1 < outcome.evidence.upper
    assert "settled" not in outcome.note


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
        ({"n5": 0.1, "n7": 0.01}, Verdict.INCONCLUSIVE, 5),
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
