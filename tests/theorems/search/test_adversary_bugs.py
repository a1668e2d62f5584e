"""The adversary finds planted bugs by itself, and nothing in their correct twins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from dpcp_audit.laws.populations import PiecewiseConstant, Population, Uniform
from dpcp_audit.mechanisms.local_scores import OnMiss
from dpcp_audit.theorems.law_space import BoundedWindows, LawSpace
from dpcp_audit.theorems.ldpcp import ScoreTheorem, exact_failure
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Outcome, Verdict
from dpcp_ledger.ldpcp.ldpcp_theorems import DistributionSearch

if TYPE_CHECKING:
    from dpcp_audit.mechanisms.local_scores import LDPCPScores
    from dpcp_audit.words.arrays import FloatArray

pytestmark = pytest.mark.known_bad

CASES = [{"n": 11080, "rounds": 10}, {"n": 11080, "rounds": 7}, {"n": 2500, "rounds": 7}]
SEEDS = range(4)


class WidthWithoutRounds(ScoreTheorem):
    """Δ without the factor T under the root: as if every round asked all n users."""

    @property
    def mechanism(self) -> LDPCPScores:
        right = super().mechanism
        return replace(right, window_width=right.window_width / self.rounds**0.5)


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
        enough=0.15,  # more than δ: there is something to shrink
    )
    return check(Context(seed=seed, name="adversary", significance=1e-3))


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"n={c['n']},T={c['rounds']}")
@pytest.mark.parametrize("seed", SEEDS)
def test_last_midpoint_fails_on_a_single_atom(case, seed) -> None:
    outcome = search(partial(theorem, on_miss=OnMiss.LAST_MIDPOINT, **case), seed)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.value > 0.9
    assert PiecewiseConstant(**outcome.witness["population"]) == PiecewiseConstant(atoms=((1, 1),))


@pytest.mark.parametrize(("seed", "case"), list(enumerate(CASES)), ids=str)
def test_upper_end_does_not_fail(seed, case) -> None:
    """Nothing is drawn but laws, whose failure probabilities are exact: any seed will do."""
    outcome = search(partial(theorem, **case), seed)
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.evidence.value < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_last_midpoint_fails_without_atoms_where_mass_is_narrow(seed) -> None:
    space = LawSpace(most_atoms=0)
    factory = partial(theorem, rounds=7, on_miss=OnMiss.LAST_MIDPOINT)
    outcome = search(factory, seed, space=space)
    assert outcome.verdict is Verdict.REFUTED
    law = PiecewiseConstant(**outcome.witness["population"])
    assert not law.atoms
    assert law.largest_mass(2**-7) > factory(Uniform()).mechanism.window_width


@pytest.mark.parametrize("seed", SEEDS[:1])
def test_last_midpoint_does_not_fail_on_admissible_laws(seed) -> None:
    factory = partial(theorem, rounds=7, on_miss=OnMiss.LAST_MIDPOINT)
    width = factory(Uniform()).mechanism.window_width
    space = LawSpace(admits=BoundedWindows(rounds=7, mass=width))
    assert search(factory, seed, space=space).verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_width_without_the_number_of_rounds_is_caught(seed) -> None:
    factory = partial(theorem, kind=WidthWithoutRounds)
    outcome = search(factory, seed, evaluations=3000)
    assert outcome.verdict is Verdict.REFUTED
    law = PiecewiseConstant(**outcome.witness["population"])
    assert exact_failure(theorem(law)).verdict is not Verdict.REFUTED


@pytest.mark.parametrize("seed", SEEDS)
def test_strict_inequality_is_caught_at_an_atom(seed) -> None:
    outcome = search(lambda law: theorem(StrictlyBelow(law)), seed)
    assert outcome.verdict is Verdict.REFUTED
    assert PiecewiseConstant(**outcome.witness["population"]).atoms
    law = PiecewiseConstant(**outcome.witness["population"])
    assert exact_failure(theorem(law)).verdict is not Verdict.REFUTED
