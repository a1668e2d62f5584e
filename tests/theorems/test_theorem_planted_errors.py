"""Errors planted in bounds, ranks, noise, blocks and sets: each is caught, its twin is not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.plain_pcoqs import drawn_scores
from support.samplers import context

from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.laws.populations import Beta, Population, Uniform, atoms
from dpcp_audit.mechanisms.local_labels import dkw_width
from dpcp_audit.mechanisms.quantiles import ThresholdTrials, conformal_rank
from dpcp_audit.theorems.ldpcp import UniformEvent
from dpcp_audit.theorems.split import Calibrator, MarginalCoverage
from dpcp_audit.theorems.theorem import FailureRate, MeanBound
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.histlap import SplitConformal

if TYPE_CHECKING:
    from dpcp_audit.theorems.theorem import Theorem

pytestmark = pytest.mark.known_bad


def judged(theorem: Theorem, *, trials: int = 16_000) -> Verdict:
    """Return the verdict of a sequential check with a false-alarm probability of 1e-6."""
    check = FailureRate(theorem=theorem, n_trials=trials, stops_early=True)
    return check(context(0, significance=1e-6)).verdict


def judged_mean(calibrator: Calibrator, population: Population, *, n: int) -> Verdict:
    """Return the verdict on a mean coverage of 1−α, with a false-alarm probability of 1e-6."""
    theorem = MarginalCoverage(calibrator=calibrator, population=population, n=n)
    check = MeanBound(theorem=theorem, at_least=1 - calibrator.alpha, tolerance=0.01)
    return check(context(0, significance=1e-6)).verdict


def binary_pool() -> ProbabilityPool:
    """Return 200 users with two classes and distinct scores."""
    rng = np.random.default_rng(0)
    top = (np.arange(200) + 0.5) / 200
    return ProbabilityPool(
        name="binary",
        probabilities=np.stack([top, 1 - top], axis=1),
        labels=(rng.random(200) > top).astype(np.int64),
    )


def ten_class_pool() -> ProbabilityPool:
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.full(10, 0.3), size=60)
    return ProbabilityPool(
        name="ten", probabilities=rows, labels=np.array([rng.choice(10, p=row) for row in rows])
    )


def uniform_event(cls: type[UniformEvent] = UniformEvent, **more: object) -> UniformEvent:
    arguments = {
        "pool_name": "ten",
        "pool": ten_class_pool,
        "k": 10,
        "n": 2000,
        "epsilon": 2.0,
        "delta": 0.1,
    } | more
    return cls(**arguments)  # type: ignore[arg-type]


class WithoutH(UniformEvent):
    """Δ = sqrt(log(4/δ)/(2n))."""

    @property
    def bounds(self) -> dict[str, float]:
        return {"Δ": dkw_width(n=self.n, beta=0.0, delta=self.delta)}


def test_theorem_1_without_h() -> None:
    assert judged(uniform_event(WithoutH)) is Verdict.REFUTED
    assert judged(uniform_event()) is Verdict.CONSISTENT


@dataclass(frozen=True, kw_only=True)
class OtherConstant(UniformEvent):
    """Δ = sqrt(log(c/δ)/(2nh²)) with another c than 4."""

    c: float

    @property
    def bounds(self) -> dict[str, float]:
        return {"Δ": math.sqrt(math.log(self.c / self.delta) / (2 * self.n)) / self.response.h}


def nearly_noiseless(c: float, *, two_sided: bool = True) -> OtherConstant:
    """Return the event at ε = 12, where F̂c is all but an ECDF and DKW all but tight."""
    return OtherConstant(
        pool_name="binary",
        pool=binary_pool,
        k=2,
        n=10_000,
        epsilon=12.0,
        delta=0.1,
        c=c,
        two_sided=two_sided,
    )


def test_one_over_delta_breaks_the_two_sided_form() -> None:
    """The failure probability nears 2δ. One-sided, it nears δ and no constant below 1 is safe."""
    assert judged(nearly_noiseless(1.0)) is Verdict.REFUTED
    assert judged(nearly_noiseless(4.0)) is Verdict.CONSISTENT
    assert judged(nearly_noiseless(0.5, two_sided=False)) is Verdict.REFUTED
    assert judged(nearly_noiseless(4.0, two_sided=False)) is Verdict.CONSISTENT


def test_two_over_delta_does_not_break_theorem_1_on_many_users() -> None:
    """Sampled, where it is tightest: refuted would be 1.15 δ, and it is not."""
    check = FailureRate(theorem=nearly_noiseless(2.0), n_trials=16_000, stops_early=True)
    at = context(0, significance=1e-6)
    assert check.smallest_violation(at).smallest < 1.2 * 0.1
    assert check(at).verdict is not Verdict.REFUTED


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnConformal:
    """Split conformal calibration on scores really drawn, ``lower`` ranks below r."""

    alpha: float
    lower: int = 0
    strict: bool = False

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> ThresholdTrials:
        rank = conformal_rank(n, alpha=self.alpha) - self.lower
        scores = drawn_scores(population, (trials, n), np.random.default_rng(rng))
        threshold = np.partition(scores, rank - 1, axis=1)[:, rank - 1]
        cover = population.cdf_left if self.strict else population.cdf
        return ThresholdTrials(threshold, cover(threshold))


@pytest.mark.parametrize("population", [Uniform(), Beta(5, 0.2)], ids=lambda p: p.name)
@pytest.mark.parametrize("n", [9, 49])
def test_a_rank_too_low(population: Population, n: int) -> None:
    """The mean coverage is (r−1)/(n+1), below 1−α."""
    assert judged_mean(DrawnConformal(alpha=0.1, lower=1), population, n=n) is Verdict.REFUTED
    for right in (DrawnConformal(alpha=0.1), SplitConformal(alpha=0.1)):
        assert judged_mean(right, population, n=n) is Verdict.CONSISTENT


def test_a_strict_prediction_set_on_atoms() -> None:
    """{y : s(y) < q} leaves out the labels at the threshold; without atoms it is as good."""
    votes = atoms(np.arange(8) / 7, [30, 20, 15, 10, 10, 5, 5, 5], name="votes-7")
    strict = DrawnConformal(alpha=0.1, strict=True)
    assert judged_mean(strict, votes, n=99) is Verdict.REFUTED
    assert judged_mean(DrawnConformal(alpha=0.1), votes, n=99) is Verdict.CONSISTENT
    assert judged_mean(strict, Uniform(), n=99) is Verdict.CONSISTENT
