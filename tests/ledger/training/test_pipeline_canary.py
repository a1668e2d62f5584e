"""A private training under P-COQS: the composed guarantee, and the models that are attacked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.transcripts import transcript_pair

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import conformal_rank
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.guarantees import Relation
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.training.examples import DPSGD, Poisson
from dpcp_ledger.training.training_pipeline import (
    DigitModels,
    PrivatePipeline,
)

CALIBRATION = PCOQS(alpha=0.1, rho=0.5)


def training(
    rate: float = 0.2, relation: Relation = Relation.SUBSTITUTION, sigma: float = 4.0
) -> SubsampledGaussian:
    return SubsampledGaussian(
        sampling_rate=rate, steps=20, noise_multiplier=sigma, relation=relation
    )


@pytest.mark.parametrize("relation", [Relation.SUBSTITUTION, Relation.ZERO_OUT])
def test_the_release_is_the_transcript(relation) -> None:
    pipeline = PrivatePipeline(training=training(relation=relation), calibration=CALIBRATION)
    release = pipeline.release
    exact = transcript_pair(CALIBRATION)
    for epsilon in (0.0, 0.5, 2.0, 4.0):
        assert release.delta_at(epsilon) == pytest.approx(exact.delta_at(epsilon), rel=1e-4)
        assert release.delta_at(epsilon) >= exact.delta_at(epsilon)


def test_full_participation_composes_to_one_gaussian() -> None:
    """Shifts 2√20/σ of the training and √(2ρ) of the threshold: one of their root sum."""
    pipeline = PrivatePipeline(training=training(1.0), calibration=CALIBRATION)
    exact = GaussianPair(math.sqrt(4 * 20 / 16 + 2 * 0.5))
    for epsilon in (0.0, 1.0, 4.0, 8.0):
        assert pipeline.delta_at(epsilon) == pytest.approx(exact.delta_at(epsilon), rel=1e-3)
        assert pipeline.delta_at(epsilon) >= exact.delta_at(epsilon)
    assert pipeline.epsilon_at(1e-5) == pytest.approx(exact.epsilon_at(1e-5), rel=1e-3)
    fpr = np.array([0.001, 0.05, 0.5])
    largest = 1 - exact.tradeoff(fpr)
    assert pipeline.power(fpr) == pytest.approx(largest, rel=1e-3)
    assert (pipeline.power(fpr) >= largest).all()


def test_a_pipeline_lies_between_its_parts_and_the_textbook_sum() -> None:
    pipeline = PrivatePipeline(training=training(), calibration=CALIBRATION)
    whole, parts = pipeline.epsilon_at(1e-5), (pipeline.training, pipeline.release)
    assert max(part.epsilon_at(1e-5) for part in parts) < whole
    assert whole < 0.8 * pipeline.textbook_epsilon(1e-5)
    assert pipeline.delta_at(whole) == pytest.approx(1e-5, rel=1e-3)
    rates = np.linspace(0, 1, 11)
    power = pipeline.power(rates)
    assert (power >= np.maximum(*(part.power(rates) for part in parts)) - 1e-9).all()
    assert np.max(power - rates) <= pipeline.advantage() + 1e-9


def test_what_a_pipeline_refuses() -> None:
    with pytest.raises(ValueError, match=r"training\.relation must be substitution or .* got add-"):
        PrivatePipeline(training=training(relation=Relation.ADD_REMOVE), calibration=CALIBRATION)
    pipeline = PrivatePipeline(training=training(), calibration=CALIBRATION)
    assert math.isinf(pipeline.epsilon_at(1e-13))


def models(**changes: object) -> DigitModels:
    settings = DPSGD(sampling=Poisson(0.5), lot_size=10, steps=5, noise_multiplier=1.0)
    fields = {"name": "test", "settings": settings, "calibrator": SplitConformal(alpha=0.1)}
    return DigitModels(**fields | {"records": 20} | changes)


def test_cohorts_are_drawn_from_the_generator_alone() -> None:
    one, again, other = (models()(4, rng=np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert one.probabilities == pytest.approx(again.probabilities, abs=1e-6)
    assert (one.members == again.members).all()
    assert (one.members != other.members).any()
    assert one.probabilities.sum(axis=2) == pytest.approx(1.0)
    assert 0.2 < one.members.mean() < 0.8


def test_members_calibrate_their_own_pipeline() -> None:
    cohort = models(relation=Relation.SUBSTITUTION)(5, rng=np.random.default_rng(0))
    assert (cohort.members.sum(axis=1) == 10).all()
    own = 1 - cohort.probabilities[:, np.arange(20), cohort.labels]
    for scores, inside, threshold in zip(own, cohort.members, cohort.thresholds, strict=True):
        assert threshold == np.sort(scores[inside])[conformal_rank(10, alpha=0.1) - 1]


def test_private_thresholds_lie_within_bounds() -> None:
    cohort = models(calibrator=PCOQS(alpha=0.1, rho=1.0, resolution=0.01))(
        8, rng=np.random.default_rng(0)
    )
    assert ((cohort.thresholds >= 0) & (cohort.thresholds <= 1.01)).all()
    assert len(set(cohort.thresholds.tolist())) > 1
