"""Theorems with a planted mistake in the bound or its reading are refuted; the right ones pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.laws.populations import Uniform, atoms
from dpcp_audit.mechanisms.local_labels import dkw_width
from dpcp_audit.mechanisms.local_scores import Debiasing
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.ldpcp import ScoreTheorem, UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import (
    CoverageReading,
    CoverageTheorem,
    RankError,
)
from dpcp_audit.theorems.theorem import FailureRate, TheoremTrials
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Outcome, Verdict

if TYPE_CHECKING:
    from dpcp_audit.theorems.theorem import Theorem

pytestmark = pytest.mark.known_bad

MECHANISM = PCOQS(alpha=0.1, rho=0.5)
ROUNDS, DELTA = 20, 0.01
SCORES = ScoreTheorem(population=Uniform(), n=200_000, epsilon=1.0, delta=DELTA, rounds=ROUNDS)


def outcome(theorem: Theorem, *, trials: int = 20_000) -> Outcome:
    """At a false-alarm probability of 1e-6."""
    check = FailureRate(theorem=theorem, n_trials=trials)
    return check(context(0, significance=1e-6))


def told_apart(wrong: Theorem, right: Theorem, *, trials: int = 20_000) -> bool:
    """Return True if a check refutes the wrong theorem, and shows that the right one fails less.

    The right one's failure probability is at most so much, and the wrong one's more, with
    confidence: an undecided verdict on the right one alone would show nothing.
    """
    found, twin = (outcome(each, trials=trials) for each in (wrong, right))
    apart = twin.evidence.upper < found.evidence.lower
    return apart and (found.verdict, twin.verdict != found.verdict) == (Verdict.REFUTED, True)


def test_dividing_by_all_users() -> None:
    """The printed division misses the quantile; divided by the block, the estimate is unbiased."""
    printed = replace(SCORES, debiasing=Debiasing.PRINTED, two_sided=True)
    assert told_apart(printed, replace(SCORES, two_sided=True))


@dataclass(frozen=True)
class NoiseOfOneRound:
    """Proposition 1 with σ = sqrt(1/(2ρ)) in τ*, as if one round had the whole budget."""

    right: RankError
    statistic: str = "rank error"
    failure: Quantity = Quantity.FAILURE

    @property
    def allowed_failure(self) -> float:
        return self.right.beta

    @property
    def bounds(self) -> dict[str, float]:
        mechanism, beta = self.right.mechanism, self.right.beta
        tau = math.sqrt(math.log(2 * mechanism.rounds / beta) / mechanism.rho)
        return {"τ*": tau + self.right.window_count}

    @property
    def parameters(self) -> dict[str, float]:
        return self.right.parameters

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        error = self.right.trials(count, rng=rng).statistic
        return TheoremTrials(error, error > self.bounds["τ*"])


def test_noise_of_one_round_in_proposition_1() -> None:
    """τ* speaks of all N rounds: of one alone it is exceeded far more often than β."""
    right = RankError(mechanism=MECHANISM, n=2400, beta=0.01)
    assert told_apart(NoiseOfOneRound(right), right)


class StrictBound(CoverageTheorem):
    """Corollary 1 with "more than 1−α" for "at least 1−α"."""

    __slots__ = ()

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        run = CoverageTheorem.trials(self, count, rng=rng)
        return run._replace(failed=run.statistic < 1 - self.mechanism.alpha)


def test_less_than_with_atoms_at_the_bound() -> None:
    """On ten atoms a coverage of exactly 3/10 = 1−α is common; 1 − 0.7 in doubles exceeds it."""
    case = {
        "mechanism": PCOQS(alpha=0.7, rho=1e6, resolution=2**-10),
        "n": 1000,
        "beta": 0.1,
        "reading": CoverageReading.CONDITIONAL,
        "corrected": True,
        "population": atoms(np.linspace(0.05, 0.95, 10), np.ones(10, dtype=int), name="ten"),
    }
    assert told_apart(StrictBound(**case), CoverageTheorem(**case))


def ten_class_pool() -> ProbabilityPool:
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.full(10, 0.3), size=60)
    return ProbabilityPool(
        name="ten", probabilities=rows, labels=np.array([rng.choice(10, p=row) for row in rows])
    )


EVENT = {"pool_name": "ten", "pool": ten_class_pool, "k": 10, "epsilon": 2.0, "delta": 0.1}


class WithoutH(UniformEvent):
    """Δ = sqrt(log(4/δ)/(2n))."""

    @property
    def bounds(self) -> dict[str, float]:
        return {"Δ": dkw_width(n=self.n, beta=0.0, delta=self.delta)}


class TwoOverDelta(UniformEvent):
    """Δ = sqrt(log(2/δ)/(2nh²)), in place of 4/δ."""

    @property
    def bounds(self) -> dict[str, float]:
        return {"Δ": math.sqrt(math.log(2 / self.delta) / (2 * self.n)) / self.response.h}


def test_theorem_1_without_h() -> None:
    assert told_apart(WithoutH(**EVENT, n=2000), UniformEvent(**EVENT, n=2000), trials=4000)


def test_two_over_delta_does_not_break_theorem_1_on_many_users() -> None:
    """At ε = 12, where F̂c is all but an ECDF and DKW all but tight."""
    many = TwoOverDelta(**EVENT | {"epsilon": 12.0}, n=10_000)
    assert outcome(many, trials=4000).verdict is not Verdict.REFUTED
