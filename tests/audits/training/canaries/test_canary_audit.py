"""The canary audit on games without a training: chunks, certificates, verdicts, words."""

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import binom

from dpcp_audit.audits.training.canary_audit import CanaryAudit
from dpcp_audit.audits.training.canary_games import GameResults, Guesses, foreseen, total
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.checks import Chunked, Context
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.results import Assumption, EvidenceKind, Outcome, Verdict

Q, STEPS, SIGMA = 0.1, 20, 0.8
CLAIM = SubsampledGaussian(sampling_rate=Q, steps=STEPS, noise_multiplier=SIGMA)


@dataclass(frozen=True)
class Response:
    """Randomised response of ``epsilon``; without its noise, the coins."""

    epsilon: float
    canaries: int = 40

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        coins = rng.random((runs, self.canaries)) < 0.5
        lies = rng.random(coins.shape) < 1 / (1 + np.exp(self.epsilon))
        return GameResults((coins ^ lies) + 0.1 * rng.random(coins.shape), coins)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        return Response(50.0, self.canaries).play(runs, rng=rng)


@dataclass(frozen=True)
class Blind(Response):
    """Its attacker sees nothing, whatever the noise."""

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        return self.play(runs, rng=rng)


@dataclass(frozen=True)
class Release:
    """The subsampled Gaussian mechanism itself, of noise ``sigma``."""

    sigma: float = SIGMA
    canaries: int = 200

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        coins = rng.random((runs, self.canaries)) < 0.5
        scores = np.zeros(coins.shape)
        for _ in range(STEPS):
            hit = coins & (rng.random(coins.shape) < Q)
            seen = self.sigma * rng.standard_normal(coins.shape) + hit
            scores += np.logaddexp(np.log1p(-Q), np.log(Q) + (seen - 0.5) / SIGMA**2)
        return GameResults(scores, coins)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        return Release(0.0, self.canaries).play(runs, rng=rng)


def context(effort: float = 1.0, significance: float = 1e-4) -> Context:
    return Context(seed=1, name="canaries", significance=significance, effort=effort)


def audit(**changes: object) -> CanaryAudit:
    settings = {"game": Release(), "claim": CLAIM, "delta": 1e-5, "runs": 100}
    return CanaryAudit(**(settings | changes))


@pytest.mark.parametrize("runs", [1, 64, 600])
def test_as_many_runs_are_played_without_noise_as_with_it(runs: int) -> None:
    asked: list[int] = []

    @dataclass(frozen=True)
    class Counting(Release):
        def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
            asked.append(runs)
            return Release(0.0, self.canaries).play(runs, rng=rng)

    check = audit(game=Counting(canaries=5), runs=runs)
    for index in range(check.chunks(context())):
        check.chunk(context(), index)
    assert sum(asked) == runs


@pytest.fixture(scope="module")
def of_many_runs() -> Outcome:
    """The audit of 600 runs of the mechanism itself."""
    return audit(runs=600)(context(significance=1e-8))


@pytest.mark.statistical(false_alarm=1.1e-8)
def test_a_true_claim_is_not_refuted_and_the_bound_comes_near(of_many_runs: Outcome) -> None:
    """False alarm at most 1e-8, the check's significance.

    The bound is too low to pass with a probability below 1e-10: it is seven standard deviations up.
    """
    assert of_many_runs.verdict is Verdict.CONSISTENT
    evidence = of_many_runs.evidence
    assert evidence.kind is EvidenceKind.CERTIFIED
    assert evidence.claimed == pytest.approx(CLAIM.epsilon_at(1e-5))
    assert 0.2 * evidence.claimed < evidence.lower < evidence.claimed
    assert evidence.n_samples == 600 * 200


def test_too_little_noise_is_refuted_by_the_claims_own_region() -> None:
    outcome = audit(game=Release(sigma=SIGMA / 2))(context())
    assert outcome.verdict is Verdict.REFUTED
    evidence = outcome.evidence
    assert evidence.quantity == "epsilon"
    assert evidence.at == {"delta": 1e-5}
    assert evidence.value >= evidence.lower > evidence.claimed == CLAIM.epsilon_at(1e-5)


def test_no_epsilon_is_certified_where_the_region_alone_refutes() -> None:
    """Randomised response is no training, of whatever noise."""
    claim = SubsampledGaussian(sampling_rate=1.0, steps=1, noise_multiplier=1.1)
    check = audit(game=Response(3.0), claim=claim, runs=96, claim_share=0.4, epsilon_share=0.4)
    outcome = check(context())
    evidence = outcome.evidence
    assert claim.epsilon_at(1e-5) > 3.9
    assert outcome.verdict is Verdict.REFUTED
    assert evidence.lower > evidence.claimed
    assert evidence.detail.startswith("among trainings that differ in the noise alone")
    assert evidence.assumption is Assumption.TRADE_OFF
    (certified,) = outcome.estimates
    assert certified.lower < 3.0 + 1e-3 < evidence.value
    assert evidence.claimed == claim.epsilon_at(1e-5)


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_no_certified_epsilon_exceeds_that_of_randomised_response(epsilon) -> None:
    """False alarm at most 1e-8, the check's significance."""
    claim = SubsampledGaussian(sampling_rate=1.0, steps=1, noise_multiplier=2.0)
    check = audit(game=Response(epsilon), claim=claim, claim_share=0.4, epsilon_share=0.4)
    outcome = check(context(significance=1e-8))
    evidence = outcome.evidence
    assert (evidence.quantity, evidence.at) == ("epsilon", {"delta": 1e-5})
    assert 0.5 * epsilon < evidence.lower <= epsilon
    assert (evidence.lower > evidence.claimed) == (outcome.verdict is Verdict.REFUTED)
    assert outcome.verdict is (Verdict.REFUTED if epsilon > 2 else Verdict.CONSISTENT)


def test_an_attack_that_a_training_without_noise_would_survive_is_inconclusive() -> None:
    blind, seeing = (audit(game=game(0.1, 200))(context()) for game in (Blind, Response))
    assert blind.verdict is Verdict.INCONCLUSIVE
    assert seeing.verdict is Verdict.CONSISTENT
    assert blind.power is not None
    assert seeing.power is not None
    assert blind.power.smallest == math.inf
    assert seeing.power.claimed < seeing.power.smallest < math.inf


@pytest.mark.parametrize("made", [[40], [7, 8, 9], [1] * 30])
def test_what_is_foreseen_has_the_twins_rate_less_its_uncertainty(made) -> None:
    groups = [Guesses(correct=0, guesses=c, canaries=10 * c) for c in made]
    twin = Guesses(correct=900, guesses=1000, canaries=5000)
    found = foreseen(groups, twin)
    assert [(g.guesses, g.canaries) for g in found] == [(g.guesses, g.canaries) for g in groups]
    chance = binom.cdf([total(found).correct - 2, total(found).correct + 2], sum(made), 0.9)
    assert chance[0] < 0.05 < chance[1]
    few = foreseen(groups, Guesses(correct=9, guesses=10, canaries=50))
    assert total(few).correct < total(found).correct


@pytest.mark.parametrize("relation", [Relation.SUBSTITUTION, Relation.ZERO_OUT])
def test_a_claim_under_another_relation_is_refused(relation) -> None:
    with pytest.raises(ValueError, match=f"claim must hold under add/remove.*got {relation}"):
        audit(claim=replace(CLAIM, relation=relation))


def test_a_single_run_is_one_whatever_the_effort() -> None:
    single = audit(game=Release(canaries=20_000), runs=1)
    assert single.chunks(context(effort=20)) == 1
    outcome = single(context(effort=20))
    assert "1 run of 20000 canaries" in outcome.note
    drawn = outcome.figures[0].series[1]
    assert drawn.x[-1] == 20_000
    assert drawn.y[-1] > 1


def test_few_canaries_are_inconclusive() -> None:
    outcome = audit(game=Release(canaries=2), runs=2)(context())
    assert outcome.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("runs", [80, 500])
def test_chunks_are_plain_data_and_the_order_of_work_does_not_matter(runs) -> None:
    check = audit(runs=runs, game=Release(canaries=20))
    assert isinstance(check, Chunked)
    here = context()
    results = {i: check.chunk(here, i) for i in reversed(range(check.chunks(here)))}
    kept = [json.loads(json.dumps(results[i])) for i in range(check.chunks(here))]
    assert check.combine(here, kept) == check(here)
    assert sum(part["canaries"] for chunk in kept for part in chunk["claim"]) == runs * 20
    assert ("scores" in kept[0]) == (runs >= 500)


def test_more_runs_certify_more(of_many_runs: Outcome) -> None:
    """The figure's bounds are at 95 %, whatever the significance of the verdict."""
    few, many = (
        outcome.figures[0].series[1].y[-1] for outcome in (audit(runs=4)(context()), of_many_runs)
    )
    assert many > few + 0.3
