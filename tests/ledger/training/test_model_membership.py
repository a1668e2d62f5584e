from __future__ import annotations

import math

import numpy as np
import pytest
from support.cohorts import Gossip, Responses, cohort
from support.samplers import context

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.guarantees import ApproxDP, PureDP, Relation
from dpcp_audit.words.results import EvidenceKind, Verdict
from dpcp_ledger.training.model_attacks import LiRA, LossThreshold, View
from dpcp_ledger.training.model_membership import ModelMembership, RateLine
from dpcp_ledger.training.training_pipeline import PrivatePipeline


def test_rivals_are_compared() -> None:
    members = np.array([[True, False, False, True]])
    rivals = cohort(members, np.full((1, 4), 0.5), relation=Relation.SUBSTITUTION)
    assert rivals.targets == 2
    assert rivals.coins.tolist() == [[True, False]]
    assert rivals.compared(np.array([[5.0, 1.0, 2.0, 4.0]])).tolist() == [[3.0, -3.0]]
    alone = cohort(members, np.full((1, 4), 0.5))
    assert alone.targets == 4
    assert alone.compared(np.ones((1, 4))).shape == (1, 4)


def test_the_check_says_what_it_found() -> None:
    check = ModelMembership(
        models=Responses(2.0),
        attack=LiRA(),
        view=View.PROBABILITIES,
        guarantee=PureDP(1.0),
        n_models=800,
    )
    outcome = check(context(0, significance=1e-4))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.kind is EvidenceKind.CERTIFIED
    assert outcome.evidence.n_samples == 400
    assert outcome.evidence.lower > outcome.evidence.claimed
    assert outcome.witness["models"] == 800
    assert outcome.witness["epsilon"] == 2.0
    assert "At an FPR near 0.001: TPR" in outcome.note
    (figure,) = outcome.figures
    assert figure.log_x
    assert figure.log_y
    assert check(context(0, significance=1e-4)).evidence == outcome.evidence


def test_too_few_models_for_any_attack_are_inconclusive() -> None:
    check = ModelMembership(
        models=Responses(2.0),
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=ApproxDP(6.0, 0.01),
        n_models=100,
    )
    assert check(context(0, significance=1e-4)).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("models", "claim", "verdict", "of"),
    [
        (Responses(0.5), PureDP(1.0), "CONSISTENT", "of the same training without noise"),
        (Responses(0.5), ApproxDP(6.0, 0.01), "INCONCLUSIVE", "the same training without noise"),
        (Gossip(0.05), ApproxDP(0.0, 0.2), "CONSISTENT", "at this spread of the gains"),
        (Gossip(0.05), ApproxDP(3.0, 0.2), "INCONCLUSIVE", "at this spread of the gains"),
    ],
    ids=["told", "never told", "twice told", "twice never told"],
)
def test_consistent_is_said_only_where_the_attack_had_power(models, claim, verdict, of) -> None:
    check = ModelMembership(
        models=models,
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=claim,
        n_models=800,
    )
    outcome = check(context(0, significance=1e-4))
    assert outcome.verdict == verdict
    assert outcome.power is not None
    assert outcome.power.detail.startswith(of)


def test_models_that_tell_every_coin_are_refuted() -> None:
    """No score of an outsider parts the two: the threshold lies above all of them."""
    check = ModelMembership(
        models=Responses(math.inf),
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=PureDP(1.0),
        n_models=400,
    )
    outcome = check(context(0, significance=1e-4))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.value == pytest.approx(1.0, abs=0.03)


def test_the_number_of_models_needed_is_enough_and_not_too_many() -> None:
    """Of 20 cohorts of that size 19 are refuted on average, and of a quarter of it not all."""
    rng = np.random.default_rng(0)
    line = RateLine.of(PureDP(1.0), 0.0, targets=40)

    def gains(models: int) -> np.ndarray:
        coins = rng.random((models, 40)) < 0.5
        kept = rng.random(coins.shape) < 1.55 / 2
        return line.gains(coins == kept, coins)

    pilot = gains(130)
    needed = line.draws_needed(gains(130), significance=1e-3, pilot=pilot)

    def refuted(models: int) -> int:
        limits = (line.limits(gains(models), significance=1e-3, pilot=pilot)[0] for _ in range(20))
        return sum(lower > line.allowed for lower in limits)

    assert refuted(int(needed)) >= 14
    assert refuted(int(needed / 4)) <= 10
    assert math.isinf(line.draws_needed(0 * pilot, significance=1e-3, pilot=pilot))


@pytest.mark.parametrize(
    "guarantee",
    [
        SubsampledGaussian(
            sampling_rate=0.1, steps=5, noise_multiplier=2.0, relation=Relation.SUBSTITUTION
        ),
        PrivatePipeline(
            training=SubsampledGaussian(
                sampling_rate=0.1, steps=5, noise_multiplier=2.0, relation=Relation.SUBSTITUTION
            ),
            calibration=PCOQS(alpha=0.1, rho=0.5),
        ),
    ],
    ids=["training", "pipeline"],
)
def test_a_guarantee_under_another_relation_is_refused(guarantee) -> None:
    said = "under the models' relation, add-remove, got one under substitution"
    with pytest.raises(ValueError, match=said):
        ModelMembership(
            models=Responses(1.0), attack=LiRA(), view=View.PROBABILITIES, guarantee=guarantee
        )


def test_what_the_check_refuses() -> None:
    good = {"models": Responses(1.0), "attack": LiRA(), "guarantee": PureDP(1.0)}
    with pytest.raises(ValueError, match="n_models must be an integer >= 100, got 99"):
        ModelMembership(view=View.SETS, n_models=99, **good)
    with pytest.raises(ValueError, match="view must be a View"):
        ModelMembership(view="sets", **good)
