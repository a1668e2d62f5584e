"""Sequential audits: stopped early on broken code, never on correct twins, and replayed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.blackbox import gaussian_mean, laplace_mean
from support.samplers import context, gaussian, laplace, pair, response

from dpcp_audit.audits.blackbox import confirm
from dpcp_audit.audits.search.pair_race import Arm
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.audits.sequential import SequentialPrivacy, _budgets, _counted
from dpcp_audit.targets.degenerate import DegenerateTargetError
from dpcp_audit.words.checks import Check
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, LocalDP, PureDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.audits.sampled import Sampler
    from dpcp_audit.audits.search.pair_race import PairRace
    from dpcp_audit.audits.search.pair_space import Candidate, PairSpace
    from dpcp_audit.words.guarantees import PrivacyGuarantee

ONE = FixedPairs((pair(0, 1),))


def check(
    sample: Any, guarantee: PrivacyGuarantee, pairs: PairSpace = ONE, *, draws: int = 20_000
) -> SequentialPrivacy:
    return SequentialPrivacy(sample=sample, guarantee=guarantee, pairs=pairs, draws=draws)


@pytest.mark.parametrize(
    ("bad", "good", "guarantee"),
    [
        (laplace(0.5), laplace(1.0), PureDP(1.0)),
        (response(2.0), response(1.0), LocalDP(1.0)),
        (gaussian(0.5), gaussian(1.0), ApproxDP(1.0, 0.1270)),
        (gaussian(0.5), gaussian(1.0), GaussianDP(1.0)),
        (gaussian(0.5), gaussian(1.0), ZCDP(0.5)),
    ],
)
@pytest.mark.known_bad
def test_it_stops_early_on_half_the_noise_and_never_on_enough(
    bad: Sampler, good: Sampler, guarantee: PrivacyGuarantee
) -> None:
    """At a significance of 1e-6."""
    outcome = check(bad, guarantee)(context(0, significance=1e-6))
    evidence = outcome.evidence
    assert outcome.verdict is Verdict.REFUTED
    assert evidence.n_samples is not None
    assert evidence.n_samples < 6000
    assert evidence.claimed is not None
    assert evidence.claimed < evidence.lower <= evidence.value
    assert f"Refuted after {evidence.n_samples} rounds" in outcome.note
    outcome = check(good, guarantee)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.evidence.n_samples == 20_000
    assert outcome.evidence.claimed is not None
    assert outcome.evidence.lower <= outcome.evidence.claimed


@pytest.mark.parametrize(
    ("bad", "good", "guarantee"),
    [
        (laplace_mean(0.5), laplace_mean(1.0), PureDP(1.0)),
        (gaussian_mean(0.5), gaussian_mean(1.0), ZCDP(0.5)),
    ],
)
@pytest.mark.known_bad
def test_one_wealth_goes_through_a_search_over_pairs(
    bad: Sampler, good: Sampler, guarantee: PrivacyGuarantee
) -> None:
    """At a significance of 1e-6; the witness is a pair that fresh outputs refute again."""
    pairs = ScorePairs(sizes=(1, 2))
    outcome = check(bad, guarantee, pairs)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.REFUTED
    witness = json.loads(json.dumps(outcome.witness))
    assert witness["spent"] < 20_000
    again = confirm(
        witness,
        bad,
        guarantee=guarantee,
        context=context(7, significance=1e-3),
        n_samples=5 * witness["n_samples"] + 100,
    )
    assert again.verdict is Verdict.REFUTED
    outcome = check(good, guarantee, pairs)(context(0, significance=1e-6))
    assert outcome.verdict in {Verdict.CONSISTENT, Verdict.INCONCLUSIVE}
    assert outcome.witness is not None
    assert outcome.witness["spent"] <= 20_400
    assert outcome.evidence.n_samples == pytest.approx(12_000, rel=0.1)  # two fifths searched


@pytest.mark.parametrize("telling_first", [True, False])
def test_the_witness_is_the_pair_whose_bets_won_most(
    telling_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a pair that loses 1 and one that loses a thousandth, in whichever order they come."""
    pairs = FixedPairs((pair(0.0, 0.001), pair(0.0, 1.0)))
    in_turn = pairs.candidates()[:: -1 if telling_first else 1]

    def next_pair(_: object, race: PairRace, number: int, budget: int) -> Candidate:
        race.arms.append(Arm(candidate=in_turn[number % 2]))
        return in_turn[number % 2]

    monkeypatch.setattr(SequentialPrivacy, "_candidate", next_pair)
    found = check(laplace(1.0), PureDP(0.8), pairs, draws=7200)(context(0, significance=1e-6))
    assert found.verdict is not Verdict.REFUTED
    assert found.witness is not None
    assert found.witness["neighbour"] == 1.0


def test_the_same_seed_gives_the_same_outcome() -> None:
    pairs = ScorePairs(sizes=(1, 2))
    first, second = (
        check(laplace_mean(0.8), PureDP(1.0), pairs, draws=5000)(context(3)) for _ in range(2)
    )
    assert first == second


def test_scattered_outcomes_are_seen() -> None:
    """Ten thousand values in no order, each e times as likely on one input as on the other."""
    order = np.random.default_rng(1).permutation(10_000).astype(float)

    def sample(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        side = (rng.random(size) < 1 / (1 + math.exp(-1))) ^ (value == 1)
        return order[5000 * side + rng.integers(5000, size=size)]

    outcome = check(sample, PureDP(0.2), draws=40_000)(context(0, significance=1e-4))
    assert outcome.verdict is Verdict.REFUTED


def test_different_constants_are_refuted_and_equal_ones_say_nothing() -> None:
    def constant(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.full(size, value)

    def same(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.zeros(size)

    outcome = check(constant, PureDP(1.0), draws=1000)(context(0))
    assert outcome.verdict is Verdict.REFUTED
    with pytest.raises(DegenerateTargetError, match="returned the same value in all"):
        check(same, PureDP(1.0), draws=1000)(context(0))


def test_few_draws_are_inconclusive() -> None:
    few = check(laplace(1.0), PureDP(5.0), draws=600)
    assert isinstance(few, Check)
    assert few.sampled
    assert few(context(0, significance=1e-9)).verdict is Verdict.INCONCLUSIVE


def test_what_it_cannot_judge_is_refused() -> None:
    with pytest.raises(ValueError, match="guarantee must be one that outputs can refute"):
        check(laplace(1.0), ApproxDP(1.0, 1.0))
    with pytest.raises(ValueError, match="draws must be an integer >= 600"):
        check(laplace(1.0), PureDP(1.0), draws=50)


@pytest.mark.parametrize(
    ("draws", "budgets"),
    [
        (100, [100]),
        (3599, [3599]),
        (3600, [1200, 2400]),
        (20_000, [1333, 2666, 5333, 10_666]),
        (10**6, [3921, 7843, 15_686, 31_372, 62_745, 125_490, 250_980, 501_960]),
    ],
)
def test_stages_double_from_1200_outputs_on(draws, budgets) -> None:
    assert _budgets(draws, single=False) == budgets
    assert _budgets(draws, single=True) == [draws]


def test_the_power_is_of_the_rounds_of_the_last_stage_that_are_bet_on() -> None:
    """Two fifths of a stage search, at most 200,000 outputs, unless there is nothing to search."""
    assert _counted([500, 1000], single=False) == 300
    assert _counted([10**6], single=False) == 400_000
    assert _counted([1000], single=True) == 500
