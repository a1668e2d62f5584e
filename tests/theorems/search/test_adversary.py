from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from dpcp_audit.laws.populations import Beta, PiecewiseConstant, Uniform
from dpcp_audit.mechanisms.local_scores import OnMiss, threshold_law
from dpcp_audit.theorems.law_space import BoundedWindows, LawSpace
from dpcp_audit.theorems.ldpcp import ScoreTheorem
from dpcp_audit.words.checks import Check, Context
from dpcp_audit.words.results import EvidenceKind, Verdict
from dpcp_ledger.ldpcp.ldpcp_theorems import (
    DistributionSearch,
    Score,
    exact_score,
    search_worst,
)

ATOM_AT_1 = PiecewiseConstant(atoms=((1, 1),))
THEOREMS = [
    ScoreTheorem(population=population, n=n, epsilon=4, delta=delta, rounds=7, on_miss=on_miss)
    for population in (Uniform(), Beta(5, 0.2), PiecewiseConstant(atoms=((0, 22), (1, 3))))
    for n, delta in ((3001, 0.1), (100_000, 1e-4))
    for on_miss in OnMiss
]

SPREAD = [
    ScoreTheorem(population=population, n=500, epsilon=2, delta=delta, rounds=5)
    for population in (Uniform(), Beta(2, 2), Beta(5, 0.2))
    for delta in (0.05, 0.3, 0.8)
]


def printed(population) -> ScoreTheorem:
    return ScoreTheorem(population=population, n=11080, epsilon=4, delta=0.1)


def distance_to_a_half(law: PiecewiseConstant) -> Score:
    """Score highest, at 1, the laws that put all of their mass above 0 and up to 1/2."""
    ends = law.cdf(np.array([0.0, 0.5]))
    return Score(float(ends[1] - ends[0]), 0.0)


@pytest.mark.parametrize(
    "theorem", THEOREMS, ids=lambda t: f"{t.population.name}-{t.n}-{t.on_miss}"
)
def test_score_is_the_exact_failure_and_its_margin(theorem) -> None:
    score = exact_score(theorem)
    assert score.failure == theorem.exact().value
    assert (score.shortfall > 0) == (score.failure > theorem.delta)


@pytest.mark.parametrize("theorem", SPREAD, ids=lambda t: f"{t.population.name}-{t.delta}")
def test_all_but_delta_of_the_runs_reach_the_bound_less_the_shortfall(theorem) -> None:
    law = threshold_law(theorem.mechanism, theorem.population, n=theorem.n)
    coverage = theorem.population.cdf(law.threshold)
    reached = theorem.bounds["1−α−Δ"] - exact_score(theorem).shortfall
    assert law.probability(coverage < reached - 1e-12) <= theorem.delta
    assert law.probability(coverage <= reached + 1e-12) > theorem.delta


def test_two_sided_bounds_count_above_as_well() -> None:
    theorem = ScoreTheorem(
        population=ATOM_AT_1,
        n=10**6,
        epsilon=4,
        delta=0.1,
        on_miss=OnMiss.UPPER_END,
        two_sided=True,
    )
    over = 1 - theorem.bounds["1−α+2Δ"]
    assert exact_score(theorem) == pytest.approx((1.0, over))


@pytest.mark.parametrize("seed", range(3))
def test_search_climbs_within_its_budget_and_its_space(seed) -> None:
    space = LawSpace(most_atoms=0, most_cells=2)
    scored: list[PiecewiseConstant] = []

    def score(law: PiecewiseConstant) -> Score:
        scored.append(law)
        return distance_to_a_half(law)

    worst = search_worst(score, space=space, evaluations=300, rng=seed)
    assert worst.evaluations == len(scored) <= 300
    assert all(space.contains(law) for law in scored)
    assert worst.score == max(map(distance_to_a_half, scored)) == distance_to_a_half(worst.law)
    assert worst.score.failure > 0.95


def test_search_is_decided_by_its_seed_and_stops_at_enough() -> None:
    run = partial(search_worst, distance_to_a_half, space=LawSpace(), evaluations=200)
    assert run(rng=5) == run(rng=5)
    assert run(rng=5, enough=0.5).evaluations < run(rng=5).evaluations
    assert run(rng=5, enough=0.5).score.failure >= 0.5


def test_laws_keep_to_the_assumption() -> None:
    space = LawSpace(admits=BoundedWindows(rounds=6, mass=0.1))
    rng = np.random.default_rng(2)
    law = space.draw(rng=rng)
    for _ in range(200):
        assert law.largest_mass(2**-6) <= 0.1
        law = space.neighbour(law, rng=rng)
    assert law != space.draw(rng=rng)


def test_a_space_without_laws_says_so() -> None:
    with pytest.raises(ValueError, match="^admits must "):
        LawSpace(admits=lambda law: False).draw(rng=1)


def test_check_refutes_with_a_witness_that_runs_again() -> None:
    check = DistributionSearch(theorem_factory=printed)
    outcome = check(Context(seed=1, name="ldpcp.theorem-4", significance=1e-3))
    assert isinstance(check, Check)
    assert check.sampled is False
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.kind is EvidenceKind.EXACT
    witness = json.loads(json.dumps(outcome.witness))
    again = printed(PiecewiseConstant(**witness["population"])).exact()
    assert again.value == outcome.evidence.value > again.claimed == 0.1
    assert "laws tried" in outcome.note


def test_check_that_finds_nothing_says_how_close_it_came() -> None:
    check = DistributionSearch(
        theorem_factory=lambda p: ScoreTheorem(
            population=p, n=2000, epsilon=4, delta=0.1, rounds=4, on_miss=OnMiss.UPPER_END
        ),
        evaluations=100,
    )
    outcome = check(Context(seed=1, name="upper", significance=1e-3))
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.proof is None
    assert 0 < outcome.evidence.value < 0.1 == outcome.evidence.claimed
    assert outcome.note.startswith("100 laws tried")
    assert outcome == check(Context(seed=1, name="upper", significance=1e-3))
    assert outcome != check(Context(seed=2, name="upper", significance=1e-3))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: LawSpace(most_cells=0), "most_cells"),
        (lambda: LawSpace(most_atoms=-1), "most_atoms"),
        (lambda: BoundedWindows(rounds=0, mass=0.1), "rounds"),
        (lambda: BoundedWindows(rounds=1, mass=1.1), "mass"),
    ],
)
def test_bad_input_names_the_argument(build, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        build()
