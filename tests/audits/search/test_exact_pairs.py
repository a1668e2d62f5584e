"""The search over pairs of neighbours: what it finds from random starts, and its pairs."""

from __future__ import annotations

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.audits.exact import worst_measurement
from dpcp_audit.audits.search.exact_pairs import (
    ScorePair,
    WorstPairSearch,
    exact_loss,
    search_pairs,
)
from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.mechanisms.exponq.exponential_quantile import ExponQ, Normaliser
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.words.checks import Check
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, PureDP
from dpcp_audit.words.results import Verdict

SEARCH = PCOQS(alpha=0.1, rho=0.5)
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.study) for seed in (1, 2, 3))]


def exponq(normaliser: Normaliser) -> ExponQ:
    return ExponQ(alpha=0.1, epsilon=1.0, n_candidates=1000, gamma=0.01, normaliser=normaliser)


@pytest.mark.parametrize("seed", SEEDS)
def test_pcoqs_worst_pair_is_found_without_being_told(seed: int) -> None:
    """At least the pair of ``PCOQS.worst_pair``; in fact one whose ρ̂ is 0.94 of the claim."""
    found = search_pairs(
        exact_loss(SEARCH, SEARCH.guarantee), n=50, bounds=(0.0, 1.0), evaluations=200, rng=seed
    )
    known = FinitePair(*SEARCH.laws(*SEARCH.worst_pair(50))).rho()
    assert known / 0.5 >= 0.63
    assert 0.93 <= found.loss / 0.5 <= 1.0
    laws = FinitePair(*SEARCH.laws(*found.pair.scores))
    assert worst_measurement(SEARCH.guarantee, [laws])[0].value == found.loss


@pytest.mark.parametrize("seed", SEEDS)
def test_the_pair_of_the_largest_delta_is_found(seed: int) -> None:
    """For δ(1), n = 50, the worst pair has counts at the rank: δ = 0.06414, to 1 %."""
    guarantee = ApproxDP(1.0, 0.05)
    found = search_pairs(
        exact_loss(SEARCH, guarantee), n=50, bounds=(0.0, 1.0), evaluations=600, rng=seed
    )
    assert found.loss >= 0.99 * FinitePair(*SEARCH.laws(*SEARCH.worst_pair(50))).delta_at(1.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_published_exponq_is_refuted_by_what_is_found(seed: int) -> None:
    mechanism = exponq(Normaliser.PUBLISHED)
    found = search_pairs(
        exact_loss(mechanism, PureDP(1.0)), n=500, bounds=(0.0, 1.0), evaluations=400, rng=seed
    )
    assert found.loss > 1.1
    assert found.loss >= 0.998 * mechanism.worst_log_ratio(500).log_ratio
    assert found.loss <= mechanism.log_ratio_bound(500) * (1 + 1e-9)


def test_a_search_repeats_and_depends_on_its_seed() -> None:
    def run(seed: int) -> dict[str, object]:
        loss = exact_loss(exponq(Normaliser.PUBLISHED), PureDP(1.0))
        return search_pairs(loss, n=30, bounds=(0.0, 1.0), evaluations=20, rng=seed).pair.as_data()

    assert run(3) == run(3)
    assert len({str(run(seed)) for seed in range(5)}) > 1


def test_every_pair_tried_is_a_pair_of_neighbours_within_the_bounds() -> None:
    tried: list[ScorePair] = []

    def loss(pair: ScorePair) -> float:
        tried.append(pair)
        return float(np.sin(100 * pair.source) + pair.positions[0])

    search_pairs(loss, n=7, bounds=(-2.0, 3.0), evaluations=2000, rng=0)
    for pair in tried:
        first, second = pair.scores
        assert first.shape == second.shape == (7,)
        assert (first[:-1] == second[:-1]).all()
        assert min(first.min(), second.min()) >= -2.0
        assert max(first.max(), second.max()) <= 3.0


def test_shrinking_leaves_what_matters() -> None:
    """Only the differing score's direction matters here: all else is shrunk away."""
    found = search_pairs(
        lambda pair: float(pair.target > pair.source), n=40, bounds=(0.0, 1.0), rng=1,
        evaluations=50,
    )  # fmt: skip
    assert found.loss == 1.0
    assert found.pair.positions.tolist() in ([0.0], [1.0])
    assert found.pair.counts.tolist() == [39]
    assert {found.pair.source, found.pair.target} <= {k / 64 for k in range(65)}


def test_the_check_hands_over_the_pair() -> None:
    mechanism = exponq(Normaliser.PUBLISHED)
    check = WorstPairSearch(
        mechanism=mechanism, guarantee=mechanism.guarantee, n=500, evaluations=400
    )
    assert isinstance(check, Check)
    assert not check.sampled
    outcome = check(context(0))
    assert outcome.verdict is Verdict.REFUTED
    witness = outcome.witness
    laws = FinitePair(*mechanism.laws(witness["value"], witness["neighbour"]))
    again = worst_measurement(mechanism.guarantee, [laws])[0].value
    assert again == outcome.evidence.value > 1.1


def test_the_check_repeats_under_its_seed() -> None:
    mechanism = exponq(Normaliser.PUBLISHED)
    check = WorstPairSearch(
        mechanism=mechanism, guarantee=mechanism.guarantee, n=30, evaluations=10
    )
    for seed in range(3):
        assert check(context(seed)).witness == check(context(seed)).witness


def test_a_correct_mechanism_is_consistent_and_never_proved() -> None:
    mechanism = exponq(Normaliser.CORRECTED)
    check = WorstPairSearch(
        mechanism=mechanism, guarantee=mechanism.guarantee, n=500, evaluations=400
    )
    outcome = check(context(0))
    assert outcome.verdict is Verdict.CONSISTENT
    assert 0 < outcome.evidence.value <= mechanism.log_ratio_bound(500) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 1}, "n must be an integer >= 2, got 1"),
        ({"evaluations": 9}, "evaluations must be an integer >= 10, got 9"),
    ],
)
def test_bad_input_is_named(change: dict[str, int], message: str) -> None:
    given = {"n": 10, "evaluations": 10} | change
    with pytest.raises(ValueError, match=message):
        WorstPairSearch(mechanism=SEARCH, guarantee=ZCDP(0.5), **given)
    with pytest.raises(ValueError, match=message):
        search_pairs(lambda pair: 0.0, bounds=(0.0, 1.0), **given)
