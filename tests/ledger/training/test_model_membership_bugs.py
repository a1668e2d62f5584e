"""Trainings that break their promise, seen by membership inference, beside their correct twins."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.refusals import most_refusals
from support.samplers import context

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.guarantees import ApproxDP, PrivacyGuarantee, Relation
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.training.examples import DPSGD, Adam, Flaw, Poisson
from dpcp_ledger.training.model_attacks import LiRA, LossThreshold, ShadowAttack, View
from dpcp_ledger.training.model_membership import ModelMembership, RateLine, rate
from dpcp_ledger.training.pipeline_canary import PipelineCanary, pipeline_canary
from dpcp_ledger.training.training_pipeline import DigitModels, PrivatePipeline

CLAIM = SubsampledGaussian(sampling_rate=0.5, steps=20, noise_multiplier=8.0)
RIGHT = DigitModels(
    name="correct",
    settings=DPSGD(
        sampling=Poisson(CLAIM.sampling_rate),
        lot_size=15,
        steps=CLAIM.steps,
        noise_multiplier=CLAIM.noise_multiplier,
        learning_rate=0.5,
    ),
    calibrator=SplitConformal(alpha=0.1),
    records=60,
)


ADAM = replace(RIGHT.settings, optimiser=Adam(), learning_rate=0.05)


def verdict(models: DigitModels, guarantee: PrivacyGuarantee, view: View) -> Verdict:
    check = ModelMembership(
        models=models, attack=LiRA(), view=view, guarantee=guarantee, n_models=400
    )
    return check(context(0, significance=1e-5)).verdict


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("settings", "flaw"),
    [
        (RIGHT.settings, Flaw.NOISE_DIVIDED_TWICE),
        (ADAM, Flaw.FIXED_NOISE_SEED),
    ],
)
def test_a_flawed_training_and_its_correct_twin(settings: DPSGD, flaw: Flaw) -> None:
    """The twin is refuted with probability at most 1e-5, and lies far below the bound."""
    wrong = replace(RIGHT, name=f"wrong, {flaw}", settings=replace(settings, flaw=flaw))
    right = replace(RIGHT, settings=settings)
    assert verdict(wrong, CLAIM, View.PROBABILITIES) is Verdict.REFUTED
    assert verdict(right, CLAIM, View.PROBABILITIES) is Verdict.CONSISTENT


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("view", "expected"),
    [(View.PROBABILITIES, Verdict.CONSISTENT), (View.SETS, Verdict.INCONCLUSIVE)],
)
def test_a_pipeline_without_noise_and_its_private_twin(view: View, expected: Verdict) -> None:
    """Sets show too little: of training as gentle as the private one, less than is allowed."""
    claim = PrivatePipeline(
        training=replace(CLAIM, relation=Relation.SUBSTITUTION),
        calibration=PCOQS(alpha=0.1, rho=0.05, resolution=2.0**-6),
    )
    right = replace(
        RIGHT,
        name="private pipeline",
        calibrator=claim.calibration,
        records=80,
        relation=Relation.SUBSTITUTION,
    )
    bare = replace(
        RIGHT.settings, noise_multiplier=0.0, clip_norm=math.inf, learning_rate=4.0, steps=40
    )
    wrong = replace(
        right, name="bare pipeline", settings=bare, calibrator=SplitConformal(alpha=0.1)
    )
    assert verdict(right, claim, view) is expected
    assert verdict(wrong, claim, view) is Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize("attack", [LossThreshold(), LiRA()])
def test_a_training_without_noise_is_never_consistent(attack: ShadowAttack) -> None:
    """Its gradients are clipped, its steps are short, and what it shows is hardly too much."""
    gentle = replace(
        RIGHT.settings, noise_multiplier=0.0, sampling=Poisson(0.2), lot_size=6, learning_rate=0.2
    )
    check = ModelMembership(
        models=replace(RIGHT, name="gentle, bare", settings=gentle),
        attack=attack,
        view=View.SETS,
        guarantee=SubsampledGaussian(sampling_rate=0.2, steps=20, noise_multiplier=2.0),
        n_models=400,
    )
    outcome = check(context(0, significance=1e-5))
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.power is not None
    assert outcome.power.smallest == math.inf


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("flaw", "rho", "expected"),
    [
        (Flaw.NONE, 0.125, Verdict.CONSISTENT),
        (Flaw.HALF_NOISE, 0.125, Verdict.REFUTED),
        (Flaw.NONE, 0.5, Verdict.REFUTED),
    ],
    ids=["correct", "training", "calibration"],
)
def test_half_the_noise_in_a_part_of_the_pipeline(flaw: Flaw, rho: float, expected) -> None:
    """The correct twin is refuted with probability at most 1e-7, the significance."""
    training = SubsampledGaussian(
        sampling_rate=1.0, steps=16, noise_multiplier=8.0, relation=Relation.ZERO_OUT
    )
    claim = PrivatePipeline(training=training, calibration=PCOQS(alpha=0.1, rho=0.125))
    settings = DPSGD(sampling=Poisson(1.0), lot_size=60, steps=16, noise_multiplier=8.0, flaw=flaw)
    game = PipelineCanary(settings=settings, calibrator=replace(claim.calibration, rho=rho))
    outcome = pipeline_canary(game, claim, n_samples=40_000)(context(0, significance=1e-7))
    assert outcome.verdict is expected
    assert outcome.evidence.value > 0.8 * claim.advantage()


def check(models, guarantee: PrivacyGuarantee, *, n_models: int = 200) -> ModelMembership:
    return ModelMembership(
        models=models,
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=guarantee,
        n_models=n_models,
    )


@pytest.mark.statistical(false_alarm=1e-07)
def test_limits_of_the_gain_err_as_seldom_as_they_say() -> None:
    """False alarm: at most 1e-7, over 80 intervals at 20 % whose truth is known."""
    rng, wrong = np.random.default_rng(0), 0
    line = RateLine.of(ApproxDP(0.0, 0.2), 0.0, targets=10)
    for _ in range(80):
        coins = rng.random((60, 10)) < 0.5
        tells = rng.random((60, 1)) < 0.4
        gains = line.gains(coins & tells, coins)  # TPR 0.4 and FPR 0, together
        lower, upper = line.limits(gains, significance=0.2, pilot=gains[:5])
        wrong += not lower <= 0.4 <= upper
    assert wrong <= most_refusals(80, level=0.2, false_alarm=1e-7)


@pytest.mark.statistical(false_alarm=1e-07)
def test_limits_of_rates_err_as_seldom_as_they_say() -> None:
    """False alarm: at most 1e-7, over 80 intervals at 20 % whose truth is known."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(80):
        coins = rng.random((60, 10)) < 0.5
        said = np.broadcast_to(rng.random((60, 1)) < 0.3, coins.shape)
        found = rate(said, coins, significance=0.2)
        wrong += not found.lower <= 0.3 <= found.upper
    assert wrong <= most_refusals(80, level=0.2, false_alarm=1e-7)
