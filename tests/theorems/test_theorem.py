"""The theorems as objects: bounds by hand, exact and sampled failures side by side, bad cases."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import norm
from support.samplers import context

from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.laws.populations import Beta, Population, Uniform
from dpcp_audit.mechanisms.local_scores import OnMiss, hoeffding_width
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.ldpcp import LabelTheorem, ScoreTheorem
from dpcp_audit.theorems.pcoqs_coverage import (
    CoverageReading,
    CoverageTheorem,
    NoiseBound,
    RankError,
    noise_rank_error,
)
from dpcp_audit.theorems.theorem import FailureRate
from dpcp_audit.words.results import Verdict
from dpcp_ledger.ldpcp.ldpcp_scores import score_range
from dpcp_ledger.mechanisms.label_scores import aps
from dpcp_ledger.pcoqs.pcoqs_theorems import (
    largest_windows,
)

if TYPE_CHECKING:
    from dpcp_audit.words.validate import FloatArray

MECHANISM = PCOQS(alpha=0.1, rho=0.5, resolution=2**-10)
SCORES = ScoreTheorem(population=Uniform(), n=20_000, epsilon=4.0, delta=0.1, rounds=10)
POOL = ProbabilityPool(
    name="four",
    probabilities=np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.5, 0.25, 0.25]]),
    labels=np.array([0, 2, 1, 1]),
)


def case(reading: CoverageReading = CoverageReading.CONDITIONAL, **more: Any) -> CoverageTheorem:
    return CoverageTheorem(mechanism=MECHANISM, n=1000, beta=0.05, reading=reading, **more)


def labels(**more: Any) -> LabelTheorem:
    arguments = {"n": 4000, "epsilon": 4.0, "delta": 0.1, "k": 3} | more
    return LabelTheorem(pool_name="four", pool=lambda: POOL, **arguments)


def test_noise_rank_error_by_hand() -> None:
    rounds, rho, beta = MECHANISM.rounds, 0.5, 0.05
    assert rounds == 10
    union = noise_rank_error(MECHANISM, beta=beta)
    assert union == pytest.approx(math.sqrt(rounds / rho * math.log(2 * rounds / beta)))
    sharper = noise_rank_error(MECHANISM, beta=beta, bound=NoiseBound.GAUSSIAN)
    sigma = math.sqrt(rounds / (2 * rho))
    assert sharper == pytest.approx(sigma * norm.isf(beta / (2 * rounds)))
    assert sharper < union


def test_bounds_of_theorem_1_and_corollary_1() -> None:
    theorem = case()
    tau = noise_rank_error(MECHANISM, beta=0.05) + 1
    assert theorem.rank_error == pytest.approx(tau)
    assert list(theorem.bounds.values()) == pytest.approx(
        [0.9 - tau / 1001, 0.9 + (tau + 1) / 1001]
    )
    assert theorem.calibrator is MECHANISM
    corollary = case(corrected=True)
    assert list(corollary.bounds.values()) == [0.9]
    assert corollary.calibrator.alpha == pytest.approx(0.1 - tau / 1001)
    assert replace(corollary, n=50).calibrator.alpha == 0.0


def test_rank_error_limit() -> None:
    theorem = RankError(mechanism=MECHANISM, n=1000, beta=0.05, window_count=3)
    assert theorem.limit == pytest.approx(noise_rank_error(MECHANISM, beta=0.05) + 3)
    assert theorem.parameters["window_count"] == 3
    run = theorem.trials(500, rng=np.random.default_rng(0))
    assert (run.failed == (run.statistic > theorem.limit)).all()


def test_marginal_means_within_their_error_of_a_bound_are_left_open() -> None:
    """At a bound of exactly one of the means, that trial is undecided, and no other is."""
    theorem = CoverageTheorem(
        mechanism=PCOQS(alpha=0.1, rho=0.5), n=100, beta=0.1, reading=CoverageReading.MARGINAL
    )
    means = theorem.trials(40, rng=np.random.default_rng(0)).statistic

    class AtOneOfThem(CoverageTheorem):
        __slots__ = ()

        @property
        def bounds(self) -> dict[str, float]:
            return {"lower": float(np.sort(means)[20])}

    same = {"mechanism": theorem.mechanism, "n": theorem.n, "beta": theorem.beta}
    run = AtOneOfThem(reading=CoverageReading.MARGINAL, **same).trials(  # type: ignore[arg-type]
        40, rng=np.random.default_rng(0)
    )
    assert run.undecided is not None
    assert (run.failed.sum(), run.undecided.sum()) == (20, 1)


def test_marginal_trials_are_means_given_one_noise() -> None:
    """The averages scatter by the noise alone, and none is undecided."""
    theorem = case(reading=CoverageReading.MARGINAL)
    run = theorem.trials(30, rng=np.random.default_rng(0))
    conditional = case().trials(2000, rng=np.random.default_rng(1))
    assert run.undecided is not None
    assert run.statistic.shape == run.undecided.shape == (30,)
    assert not (run.undecided & run.failed).any()
    assert run.statistic.std() < conditional.statistic.std()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: replace(case(), n=0), "n must be an integer >= 1"),
        (lambda: replace(case(), beta=1.0), "beta must lie in"),
        (lambda: replace(case(), beta=math.nan), "beta"),
        (lambda: replace(case(), window_count=-1), "window_count"),
        (lambda: replace(case(), reading="marginal"), "reading must be a CoverageReading"),
        (lambda: RankError(mechanism=MECHANISM, n=1.5, beta=0.1), "n must be an integer"),  # type: ignore[arg-type]
        (lambda: RankError(mechanism=MECHANISM, n=5, beta=0.0), "beta must lie in"),
        (lambda: replace(SCORES, n=9), "n must be an integer >= 10, got 9"),
        (lambda: replace(SCORES, rounds=0), "rounds must be an integer >= 1, got 0"),
        (lambda: replace(SCORES, delta=0.0), "delta must lie in"),
        (lambda: labels(n=0), "n must be an integer >= 1"),
        (lambda: labels(delta=2.0), "delta must lie in"),
        (lambda: labels(k=4).trials(10, rng=np.random.default_rng(0)), "k = 4"),
    ],
)
def test_bad_cases_are_refused_by_name(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_score_theorem_bounds_by_hand() -> None:
    width = hoeffding_width(n=20_000, epsilon=4.0, rounds=10, delta=0.1)
    assert SCORES.mechanism.window_width == pytest.approx(width)
    assert list(SCORES.bounds.values()) == pytest.approx([0.9 - width])
    both = replace(SCORES, two_sided=True).bounds.values()
    assert list(both) == pytest.approx([0.9 - width, 0.9 + 2 * width])
    assert list(replace(SCORES, starred=True).bounds.values()) == [0.9]
    ragged = replace(SCORES, n=20_009).mechanism.window_width
    assert ragged == pytest.approx(width)  # the last 9 users make no block longer than the bound's


@pytest.mark.parametrize("population", [Uniform(), Beta(2, 1), Beta(5, 0.2)])
@pytest.mark.parametrize("on_miss", list(OnMiss))
def test_exact_and_sampled_failures_of_theorem_4_agree(
    population: Population, on_miss: OnMiss
) -> None:
    """The exact failure probability lies in the sampled interval (false alarm 1e-6 each)."""
    theorem = ScoreTheorem(
        population=population, n=1000, epsilon=1.0, delta=0.9, rounds=3, on_miss=on_miss
    )
    exact = theorem.exact()
    evidence = FailureRate(theorem=theorem)(context(0, significance=1e-6)).evidence
    assert evidence.lower <= exact.value <= evidence.upper
    if population == Uniform():
        assert 1e-3 < exact.value < 1e-2


def test_label_theorem_runs_on_its_pool() -> None:
    run = labels().trials(50, rng=np.random.default_rng(0))
    assert set(np.unique(run.statistic)) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert labels(starred=True).bounds == {"1−α": 0.9}


@pytest.mark.parametrize("excess", [2.0**-52, 9e-13])
def test_a_score_of_the_pool_just_above_1_is_not_proved_away(excess: float) -> None:
    def planted(p: FloatArray, u: FloatArray) -> FloatArray:
        return aps(p, u=u) * (1 + excess * (p.max(axis=1, keepdims=True) < 1))

    found = score_range(planted, lambda: POOL, argument="The sum is a part of the total.")
    assert found.verdict is Verdict.CONSISTENT


def test_largest_windows_by_brute_force() -> None:
    """Windows (t, t+Δ] are open on the left: two scores exactly Δ apart never share one."""
    rows = np.sort(np.random.default_rng(0).random((20, 30)), axis=1)
    brute = [max(int(((row > end - 0.1) & (row <= end)).sum()) for end in row) for row in rows]
    assert largest_windows(rows, 0.1).tolist() == brute
    assert largest_windows(np.array([[0.0, 0.25, 0.5]]), 0.25).tolist() == [1]
    assert largest_windows(np.array([[0.5, 0.5, 0.5]]), 0.25).tolist() == [3]
