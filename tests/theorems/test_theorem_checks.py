"""FailureRate and MeanBound on theorems whose truth is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from support.samplers import context
from support.theorems import Coin, Level

from dpcp_audit.stats.samples import Spread
from dpcp_audit.theorems.theorem import FailureRate, MeanBound, TheoremTrials, histogram, outside
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import EvidenceKind, Verdict


def rate(theorem: Coin, trials: int = 20_000) -> FailureRate:
    return FailureRate(theorem=theorem, n_trials=trials)


@pytest.mark.parametrize(
    ("coin", "trials", "verdict"),
    [
        (Coin(rate=0.2), 20_000, Verdict.REFUTED),
        (Coin(rate=0.02), 20_000, Verdict.CONSISTENT),
        (Coin(rate=0.0), 20_000, Verdict.CONSISTENT),
        (Coin(rate=0.1), 20_000, Verdict.CONSISTENT),  # 0.15 would have been refuted
        (Coin(rate=0.1), 100, Verdict.INCONCLUSIVE),
        (Coin(rate=0.001, allowed_failure=0.001), 1000, Verdict.INCONCLUSIVE),
        (Coin(rate=1.0), 100, Verdict.REFUTED),
    ],
)
def test_verdict_of_a_failure_rate(coin: Coin, trials: int, verdict: Verdict) -> None:
    outcome = rate(coin, trials)(context(0, significance=1e-6))
    assert outcome.verdict is verdict
    evidence = outcome.evidence
    assert evidence.kind is EvidenceKind.CERTIFIED
    assert evidence.lower <= evidence.value <= evidence.upper
    assert (evidence.n_samples, evidence.claimed) == (trials, coin.allowed_failure)


@dataclass(frozen=True, kw_only=True)
class _Between(Level):
    """Bounds that a constant misses on one side, or one of two values on each side."""

    values: tuple[float, ...]

    @property
    def bounds(self) -> dict[str, float]:
        return {"lower bound": 0.88, "upper bound": 0.92}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        values = rng.choice(self.values, size=count)
        return TheoremTrials(values, outside(values, self.bounds))


@pytest.mark.parametrize(
    ("values", "quantity"),
    [
        ((0.95,), Quantity.OVER_COVERAGE),
        ((0.9, 0.95), Quantity.OVER_COVERAGE),
        ((0.85,), Quantity.COVERAGE_FAILURE),
        ((0.85, 0.95), Quantity.COVERAGE_FAILURE),
        ((0.9,), Quantity.COVERAGE_FAILURE),
    ],
)
def test_a_coverage_above_its_upper_bound_alone_is_no_lack_of_coverage(
    values: tuple[float, ...], quantity: Quantity
) -> None:
    theorem = _Between(mean=0.9, allowed_failure=0.1, values=values)
    outcome = FailureRate(theorem=theorem, n_trials=2_000)(context(0, significance=1e-6))
    assert outcome.verdict is (Verdict.CONSISTENT if values == (0.9,) else Verdict.REFUTED)
    assert outcome.evidence.quantity is quantity
    told = "no lower bound of the coverage is broken" in outcome.note
    assert told is (quantity is Quantity.OVER_COVERAGE)
    consequence = quantity.consequence(outcome.evidence.bound)
    assert (consequence == "Covers more than promised") is told


@pytest.mark.parametrize("undecided", [0.06, 0.5, 1.0])
def test_undecided_trials_leave_a_claim_open(undecided: float) -> None:
    """They may all have failed: hidden failures cost power, even where the claim would stand."""
    outcome = rate(Coin(rate=0.0, undecided=undecided))(context(0, significance=1e-6))
    assert outcome.evidence.lower == outcome.evidence.value == 0.0
    assert outcome.evidence.upper >= undecided
    assert outcome.verdict is Verdict.INCONCLUSIVE


def test_undecided_trials_refute_nothing() -> None:
    """The lower limit is that of the failures alone."""
    open_, closed = (
        rate(Coin(rate=0.09, undecided=u))(context(0, significance=1e-3)) for u in (0.9, 0.0)
    )
    assert open_.evidence.lower == closed.evidence.lower
    assert open_.verdict is Verdict.INCONCLUSIVE
    refuted = rate(Coin(rate=0.2, undecided=0.8))(context(0, significance=1e-6))
    assert refuted.verdict is Verdict.REFUTED


def test_trials_in_chunks_are_all_counted() -> None:
    outcome = rate(Coin(rate=1.0), 120_000)(context(0))
    assert (outcome.evidence.value, outcome.evidence.n_samples) == (1.0, 120_000)
    assert sum(outcome.figures[0].series[0].y) == 120_000


def test_chunks_of_trials_are_independent() -> None:
    """Streams that repeated from chunk to chunk would double every rate's weight."""

    class Recorded(Coin):
        def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
            firsts.append(rng.random())
            return Coin.trials(self, count, rng=rng)

    firsts: list[float] = []
    rate(Recorded(), 150_000)(context(0))
    assert len(firsts) == len(set(firsts)) == 3


def test_the_witness_names_the_case() -> None:
    witness = rate(Coin(rate=0.3), 200)(context(5)).witness
    assert witness == {"rate": 0.3, "limits": {"bound": 0.5}, "trials": 200, "seed": 5}


@pytest.mark.parametrize(
    ("mean", "limits", "verdict"),
    [
        (0.5, {"at_least": 0.6}, Verdict.REFUTED),
        (0.5, {"at_most": 0.4}, Verdict.REFUTED),
        (0.5, {"at_least": 0.4}, Verdict.INCONCLUSIVE),
        (0.5, {"at_most": 0.6}, Verdict.INCONCLUSIVE),
        (0.5, {"at_least": 0.4, "tolerance": 0.05}, Verdict.CONSISTENT),
        (0.5, {"at_most": 0.6, "tolerance": 0.05}, Verdict.CONSISTENT),
        (0.5, {"at_least": 0.5, "tolerance": 0.05}, Verdict.CONSISTENT),
        (0.5, {"at_least": 0.5, "tolerance": 0.0}, Verdict.INCONCLUSIVE),
        (0.45, {"at_least": 0.5, "tolerance": 0.2}, Verdict.REFUTED),
    ],
)
def test_verdict_of_a_mean(mean: float, limits: dict[str, float], verdict: Verdict) -> None:
    check = MeanBound(theorem=Level(mean=mean), n_trials=20_000, **limits)  # type: ignore[arg-type]
    outcome = check(context(0, significance=1e-6))
    assert outcome.verdict is verdict
    assert outcome.evidence.lower < mean < outcome.evidence.upper
    assert outcome.evidence.claimed == limits.get("at_least", limits.get("at_most"))


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"at_least": 0.1, "at_most": 0.9},
        {"at_least": math.inf},
        {"at_most": -math.inf},
        {"at_least": math.nan},
        {"at_most": math.nan},
    ],
)
def test_bounds_that_are_none_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="exactly one of at_least and at_most"):
        MeanBound(theorem=Level(mean=0.5), **limits)  # type: ignore[arg-type]


@pytest.mark.parametrize("trials", [99, 0, -1, 100.5, True])
def test_bad_numbers_of_trials_are_refused(trials: int) -> None:
    with pytest.raises(ValueError, match="n_trials"):
        FailureRate(theorem=Coin(), n_trials=trials)
    with pytest.raises(ValueError, match="n_trials"):
        MeanBound(theorem=Level(mean=0.5), at_least=0.5, n_trials=trials)


def test_a_statistic_that_leaves_its_range_is_an_error() -> None:
    check = MeanBound(theorem=Level(mean=0.5), at_least=0.5, range=(0.6, 1.0))
    with pytest.raises(ValueError, match=r"values must lie in \[0.6, 1\]"):
        check(context(0))


def test_bounds_are_met_up_to_rounding() -> None:
    """1 − 0.7 is a little more than 3/10: a coverage of 3/10 still attains it."""
    coverage = np.array([0.3, 0.3 - 1e-9, 0.9, 0.9 + 1e-9])
    assert 0.3 < 1 - 0.7
    bounds = {"lower": 1 - 0.7, "upper": 0.9}
    assert outside(coverage, bounds).tolist() == [False, True, False, True]
    assert outside(coverage, {"lower": 1 - 0.7}).tolist() == [False, True, False, False]
    assert not outside(coverage, bounds, margin=1e-6).any()
    assert outside(coverage, bounds, margin=-1e-6).all()


def test_histogram_keeps_the_letters_of_the_statistic() -> None:
    figure = histogram(Spread.of(np.linspace(0, 1, 11)), Level(mean=0.5))
    assert figure.title.startswith("Δ-statistic")
    (series,) = figure.series
    assert len(series.x) == len(series.y) + 1
    assert sum(series.y) == 11
    assert figure.marks == {"mean": 0.5}


def test_a_constant_statistic_has_a_histogram() -> None:
    check = MeanBound(theorem=Level(mean=0.5, spread=0.0), at_least=0.4)
    assert check(context(0)).verdict is Verdict.CONSISTENT
