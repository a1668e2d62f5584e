"""The adversary finds planted bugs by itself, and nothing in their correct twins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.laws.populations import PiecewiseConstant, Population, Uniform
from dpcp_audit.mechanisms.local_scores import OnMiss
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.catalogue import largest_interval_mass
from dpcp_audit.theorems.law_space import BoundedWindows, LawSpace, move
from dpcp_audit.theorems.ldpcp import ScoreTheorem
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.theorems.statement import tightness_of
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Outcome, Verdict
from dpcp_ledger.ldpcp.ldpcp_theorems import DistributionSearch
from dpcp_ledger.pcoqs.hostile_scores import (
    HostileTheorem,
    clustered,
    on_staircase,
    split_scores,
    staircase,
    undercovered,
)

if TYPE_CHECKING:
    from dpcp_audit.words.validate import FloatArray


CASES = [{"n": 11080, "rounds": 10}, {"n": 2500, "rounds": 7}]
SEEDS = range(2)


@dataclass(frozen=True, slots=True)
class StrictlyBelow(Population):
    """Prediction sets with S < q in place of S ≤ q, and bits with S ≤ q in place of S < q."""

    law: Population

    @property
    def name(self) -> str:
        return self.law.name

    def cdf(self, x) -> FloatArray:
        return self.law.cdf_left(x)

    def cdf_left(self, x) -> FloatArray:
        return self.law.cdf(x)

    def quantile(self, u) -> FloatArray:
        return self.law.quantile(u)


def theorem(
    population, *, kind=ScoreTheorem, on_miss=OnMiss.UPPER_END, n=11080, rounds=10
) -> ScoreTheorem:
    return kind(population=population, n=n, epsilon=4, delta=0.1, rounds=rounds, on_miss=on_miss)


def search(factory, seed: int, *, evaluations: int = 400, space: LawSpace | None = None) -> Outcome:
    check = DistributionSearch(
        theorem_factory=factory,
        evaluations=evaluations,
        space=space or LawSpace(),
        enough=0.15,  # more than δ
    )
    return check(Context(seed=seed, name="adversary", significance=1e-3))


@pytest.mark.known_bad
@pytest.mark.parametrize(("seed", "case"), list(enumerate(CASES)), ids=str)
def test_last_midpoint_fails_on_a_single_atom(seed, case) -> None:
    outcome = search(partial(theorem, on_miss=OnMiss.LAST_MIDPOINT, **case), seed)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.value > 0.9
    assert PiecewiseConstant(**outcome.witness["population"]) == PiecewiseConstant(atoms=((1, 1),))


@pytest.mark.known_bad
@pytest.mark.parametrize(("seed", "case"), list(enumerate(CASES)), ids=str)
def test_upper_end_does_not_fail(seed, case) -> None:
    """Nothing is drawn but laws, whose failure probabilities are exact: any seed will do."""
    outcome = search(partial(theorem, **case), seed)
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.evidence.value < 0.1


@pytest.mark.known_bad
@pytest.mark.parametrize("seed", SEEDS)
def test_last_midpoint_fails_without_atoms_where_mass_is_narrow(seed) -> None:
    space = LawSpace(most_atoms=0)
    factory = partial(theorem, rounds=7, on_miss=OnMiss.LAST_MIDPOINT)
    outcome = search(factory, seed, space=space)
    assert outcome.verdict is Verdict.REFUTED
    law = PiecewiseConstant(**outcome.witness["population"])
    assert not law.atoms
    assert law.largest_mass(2**-7) > factory(Uniform()).mechanism.window_width


@pytest.mark.known_bad
@pytest.mark.parametrize("seed", SEEDS[:1])
def test_last_midpoint_does_not_fail_on_admissible_laws(seed) -> None:
    factory = partial(theorem, rounds=7, on_miss=OnMiss.LAST_MIDPOINT)
    width = factory(Uniform()).mechanism.window_width
    space = LawSpace(admits=BoundedWindows(rounds=7, mass=width))
    assert search(factory, seed, space=space).verdict is Verdict.CONSISTENT


@pytest.mark.known_bad
@pytest.mark.parametrize("seed", SEEDS)
def test_strict_inequality_is_caught_at_an_atom(seed) -> None:
    outcome = search(lambda law: theorem(StrictlyBelow(law)), seed)
    assert outcome.verdict is Verdict.REFUTED
    assert PiecewiseConstant(**outcome.witness["population"]).atoms
    law = PiecewiseConstant(**outcome.witness["population"])
    assert theorem(law).exact().verdict is not Verdict.REFUTED


MECHANISM = PCOQS(alpha=0.1, rho=0.5)
SCORES = ScoreTheorem(population=Uniform(), n=100_000, epsilon=4.0, delta=0.01)


def coverage(n: int) -> CoverageTheorem:
    return CoverageTheorem(mechanism=MECHANISM, n=n, beta=0.01, reading=CoverageReading.MARGINAL)


def test_split_scores_are_further_apart_than_the_resolution() -> None:
    scores = split_scores(MECHANISM, 200, below=60)
    assert scores.size == 200
    assert np.diff(scores).min() > 1.5 * MECHANISM.resolution
    assert (scores < 0.5).sum() == 60


def test_one_score_more_would_be_within_the_bound() -> None:
    found = undercovered(coverage(500))
    assert found is not None
    below = (found.scores < 0.5).sum()
    lower = found.bounds["lower bound"]
    assert below / 501 < lower <= (below + 1) / 501


def test_a_vacuous_bound_has_no_hostile_scores() -> None:
    assert undercovered(coverage(5)) is None
    with pytest.raises(ValueError, match="must have hostile scores"):
        HostileTheorem(theorem=coverage(5), worst=undercovered).exact()


def test_the_staircase_is_admissible_and_just_below() -> None:
    law = staircase(SCORES)
    assert law is not None
    width = SCORES.mechanism.window_width
    assert largest_interval_mass(law, 2.0**-SCORES.rounds) <= width
    assert law.cdf(np.array(0.5)) == pytest.approx(0.9 - width, abs=1e-8)
    assert law.cdf(np.array(0.5)) < 0.9 - width


def test_it_fares_worse_than_uniform_scores() -> None:
    hostile = HostileTheorem(theorem=SCORES, worst=on_staircase)
    assert hostile.failure_probability() > 1e4 * SCORES.failure_probability()


def test_no_staircase_no_case() -> None:
    wide = replace(SCORES, n=20, epsilon=0.1)
    assert staircase(wide) is None
    assert on_staircase(wide) is None
    assert HostileTheorem(theorem=wide, worst=on_staircase).failure_probability() == 0


def test_a_staircase_fails_at_more_than_no_correction() -> None:
    """There is none without Δ_S, and the multiple that would do lies where the law crosses δ."""
    theorem = ScoreTheorem(
        population=Uniform(), n=2832, epsilon=0.415, delta=0.5, alpha=0.5, rounds=12
    )
    hostile = HostileTheorem(theorem=theorem, worst=on_staircase)
    multiple = tightness_of(hostile).multiple
    assert 0.5 < multiple < 0.6
    assert hostile.scaled(multiple).failure_probability() <= 0.5
    assert hostile.scaled(multiple - 2 / 512).failure_probability() > 0.5


def test_clusters_that_overlap_are_no_case() -> None:
    """At a resolution of 2^(−7) the scores of three clusters lie on those of the next."""
    coarse = replace(MECHANISM, resolution=2.0**-7)
    theorem = replace(coverage(30), mechanism=coarse)
    assert undercovered(theorem) is not None
    assert clustered(3)(theorem) is None
    assert clustered(3)(replace(theorem, window_count=2)) is not None
    assert clustered(2)(coverage(500)) is not None


@pytest.mark.parametrize(
    "law",
    [
        PiecewiseConstant(cells=(0.98,), atoms=((0.0, 0.02),)),
        PiecewiseConstant(edges=(0.0, 0.5, 1.0), cells=(97.5, 2.5)),
        PiecewiseConstant(atoms=((0.0, 0.7), (1.0, 0.3))),
    ],
)
def test_every_step_from_a_law_of_broken_weights_is_a_law(law) -> None:
    rng = np.random.default_rng(0)
    found = [move(law, rng) for _ in range(2000)]
    assert sum(each is not None for each in found) > 1000
