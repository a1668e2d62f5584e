"""Theorems with a planted mistake in the bound or its reading are refuted; the right ones pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.laws.populations import Beta, Uniform, atoms
from dpcp_audit.mechanisms.local_labels import dkw_width
from dpcp_audit.mechanisms.local_scores import Debiasing, OnMiss
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.randomized_response import BinaryRandomizedResponse
from dpcp_audit.theorems.ldpcp import ScoreTheorem
from dpcp_audit.theorems.pcoqs_coverage import (
    CoverageReading,
    CoverageTheorem,
    RankError,
    noise_rank_error,
)
from dpcp_audit.theorems.theorem import FailureRate, TheoremTrials, outside
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


def verdict(theorem: Theorem, *, trials: int = 20_000) -> Verdict:
    """At a false-alarm probability of 1e-6."""
    return outcome(theorem, trials=trials).verdict


def told_apart(wrong: Theorem, right: Theorem, *, trials: int = 20_000) -> bool:
    """Return True if a check refutes the wrong theorem, and shows that the right one fails less.

    The right one's failure probability is at most so much, and the wrong one's more, with
    confidence: an undecided verdict on the right one alone would show nothing.
    """
    found, twin = (outcome(each, trials=trials) for each in (wrong, right))
    apart = twin.evidence.upper < found.evidence.lower
    return apart and (found.verdict, twin.verdict != found.verdict) == (Verdict.REFUTED, True)


@dataclass(frozen=True)
class Width:
    """Theorem 4 with another Δ_S, in the window and in the bound; the coverage is two-sided."""

    right: ScoreTheorem
    width: float
    statistic: str = "coverage"
    failure: Quantity = Quantity.COVERAGE_FAILURE

    @property
    def allowed_failure(self) -> float:
        return self.right.delta

    @property
    def bounds(self) -> dict[str, float]:
        nominal = 1 - self.right.alpha
        return {"lower": nominal - self.width, "upper": nominal + 2 * self.width}

    @property
    def parameters(self) -> dict[str, float]:
        return {"width": self.width}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        mechanism = replace(self.right.mechanism, window_width=self.width)
        run = mechanism.trials(self.right.population, n=self.right.n, trials=count, rng=rng)
        return TheoremTrials(run.coverage, outside(run.coverage, self.bounds))


def width(*, blocks: int = ROUNDS, log_term: float) -> float:
    gain = BinaryRandomizedResponse(SCORES.epsilon).gain
    return gain * math.sqrt(blocks * log_term / (2 * SCORES.n))


WHOLE = math.log(2 * ROUNDS / DELTA)


def test_hoeffding_width_without_the_number_of_blocks() -> None:
    """Each estimate has n/T reports, not n."""
    wrong = Width(SCORES, width(blocks=1, log_term=WHOLE))
    assert told_apart(wrong, Width(SCORES, width(log_term=WHOLE)))


def test_hoeffding_width_without_the_confidence() -> None:
    """√(T/(2n)) alone is about one standard deviation: log(2T/δ) is what makes it rare."""
    assert verdict(Width(SCORES, width(log_term=1.0))) is Verdict.REFUTED


def test_the_window_of_one_block_of_all_users() -> None:
    """Δ_L's constant 4/δ and h in place of Δ_S: a bound for n reports, not for n/T."""
    beta = 2 / (1 + math.exp(SCORES.epsilon))
    assert verdict(Width(SCORES, dkw_width(n=SCORES.n, beta=beta, delta=DELTA) / 2)) is (
        Verdict.REFUTED
    )


def test_dividing_by_all_users() -> None:
    """The printed division misses the quantile; divided by the block, the estimate is unbiased."""
    printed = replace(SCORES, debiasing=Debiasing.PRINTED, two_sided=True)
    assert told_apart(printed, replace(SCORES, two_sided=True))


def test_returning_the_last_midpoint_on_a_miss() -> None:
    """Scores heaped near 1 lie beyond the last midpoint; the upper end of the bracket covers."""
    heaped = replace(SCORES, population=Beta(5, 0.05), rounds=4)
    assert told_apart(heaped, replace(heaped, on_miss=OnMiss.UPPER_END))


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


def test_a_run_at_a_sixteenth_of_the_budget() -> None:
    """The bound of ρ, the run of ρ/16: the noise is four times what τ* speaks of."""
    small = replace(MECHANISM, rho=MECHANISM.rho / 16)

    @dataclass(frozen=True)
    class Mismatch(NoiseOfOneRound):
        @property
        def bounds(self) -> dict[str, float]:
            return {"τ*": noise_rank_error(MECHANISM, beta=0.01) + 1}

    noisy = RankError(mechanism=small, n=2400, beta=0.01)
    assert told_apart(Mismatch(noisy), noisy)


def test_theorem_1_read_as_the_coverage_of_one_calibrated_set() -> None:
    """The same case, read as printed, averages over calibration sets, and holds."""
    theorem = CoverageTheorem(
        mechanism=MECHANISM, n=20_000, beta=0.01, reading=CoverageReading.CONDITIONAL
    )
    marginal = replace(theorem, reading=CoverageReading.MARGINAL)
    assert told_apart(theorem, marginal, trials=200)


class AtAlpha(CoverageTheorem):
    """Corollary 1's promise of a run at α in place of α*."""

    __slots__ = ()

    @property
    def calibrator(self) -> PCOQS:
        return self.mechanism


def test_corollary_1_run_at_alpha() -> None:
    """At α the coverage is below 1−α for half of the noise; at α* it hardly ever is."""
    arguments = {"n": 100, "beta": 0.1, "reading": CoverageReading.MARGINAL, "corrected": True}
    right = CoverageTheorem(mechanism=MECHANISM, **arguments)
    assert told_apart(AtAlpha(mechanism=MECHANISM, **arguments), right, trials=300)


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
