"""Extraction: surrogates, and the comparison of victims."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcp_audit.laws.pools import hps, true_label_scores
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.mechanisms.label_scores import prediction_sets
from dpcp_ledger.training import extraction as surrogates
from dpcp_ledger.training.examples import DPSGD, Poisson, digits
from dpcp_ledger.training.extraction import Answers, HarderToExtract, Victim, extracted

DIGITS = digits()
PLAIN = DPSGD(
    sampling=Poisson(0.2),
    lot_size=60,
    steps=15,
    noise_multiplier=0.0,
    clip_norm=math.inf,
    learning_rate=2.0,
)


def softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


def linear_victims(n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, probabilities and single-label sets of two linear victims of three classes."""
    rng = np.random.default_rng(seed)
    inputs, weights = rng.normal(size=(2, n, 4)), 2 * rng.normal(size=(2, 4, 3))
    probabilities = softmax(inputs @ weights + [0.5, 0.0, -0.5])
    return inputs, probabilities, probabilities >= probabilities.max(axis=2, keepdims=True)


class TestSurrogates:
    def test_probabilities_of_a_linear_victim_are_solved_for(self) -> None:
        inputs, probabilities, sets = linear_victims(400)
        fitted = surrogates.fit(
            inputs[:, :6], probabilities[:, :6], sets[:, :6], Answers.PROBABILITIES
        )
        ones = np.ones((2, 400, 1))
        again = softmax(np.concatenate([inputs, ones], axis=2) @ fitted)
        np.testing.assert_allclose(again, probabilities, atol=1e-8)

    def test_labels_give_the_penalised_maximum_of_likelihood(self) -> None:
        inputs, probabilities, sets = linear_victims(60)
        fitted = surrogates.fit(inputs, probabilities, sets, Answers.LABELS)
        features = np.concatenate([inputs, np.ones((2, 60, 1))], axis=2)
        truth = np.eye(3)[probabilities.argmax(axis=2)]
        for victim in range(2):

            def cost(flat, victim=victim) -> float:
                weights = flat.reshape(5, 3)
                found = np.log(softmax(features[victim] @ weights))
                fit = -(truth[victim] * found).sum() / 60
                return float(fit + surrogates._PENALTY * (weights**2).sum() / 2)

            best = minimize(cost, np.zeros(15)).fun
            assert cost(fitted[victim].ravel()) < best + 0.01

    def test_single_label_sets_say_what_labels_say(self) -> None:
        inputs, probabilities, sets = linear_victims(60)
        first, second = (
            surrogates.fit(inputs, probabilities, sets, kind)
            for kind in (Answers.LABELS, Answers.SETS)
        )
        np.testing.assert_array_equal(first, second)

    def test_empty_and_full_sets_say_nothing(self) -> None:
        inputs, probabilities, _ = linear_victims(60)
        for sets in (np.zeros((2, 60, 3), dtype=bool), np.ones((2, 60, 3), dtype=bool)):
            fitted = surrogates.fit(inputs, probabilities, sets, Answers.SETS)
            np.testing.assert_allclose(fitted, 0.0, atol=1e-6)

    def test_a_surrogate_sees_its_answers_alone(self) -> None:
        inputs, probabilities, sets = linear_victims(60)
        sharper = softmax(3 * np.log(probabilities))
        for kind, same in ((Answers.LABELS, True), (Answers.SETS, True), ("probabilities", False)):
            fitted = [
                surrogates.fit(inputs, shown, sets, Answers(kind))
                for shown in (probabilities, sharper)
            ]
            assert np.array_equal(*fitted) is same
        other = [
            surrogates.fit(inputs, probabilities, shown, Answers.LABELS) for shown in (sets, ~sets)
        ]
        np.testing.assert_array_equal(*other)

    @pytest.mark.parametrize("alpha", [0.1, 0.3, 0.02])
    def test_sets_are_those_of_split_conformal_prediction(self, alpha) -> None:
        _, probabilities, _ = linear_victims(70)
        labels = np.random.default_rng(1).integers(3, size=(2, 40))
        found = surrogates.conformal_sets(
            probabilities[:, :40], labels, probabilities[:, 40:], alpha=alpha
        )
        for victim in range(2):
            scores = hps(probabilities[victim])
            own = true_label_scores(scores[:40], labels[victim])
            threshold = SplitConformal(alpha=alpha).threshold(own)
            np.testing.assert_array_equal(found[victim], prediction_sets(scores[40:], threshold))


def victim(answers: Answers, training: DPSGD = PLAIN) -> Victim:
    return Victim(name=str(answers), training=training, answers=answers)


VICTIMS = (victim(Answers.LABELS), victim(Answers.PROBABILITIES))
CONTEXT = Context(seed=0, name="extraction", significance=1e-5, effort=0.1)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train on fewer examples, and query fewer."""
    for name, value in (("_TRAINED", 300), ("_CALIBRATION", 10), ("_QUERIES", 60)):
        monkeypatch.setattr(surrogates, name, value)


@pytest.mark.usefixtures("few")
def test_both_victims_meet_the_same_splits_and_one_training_is_one_model() -> None:
    first, second = extracted(DIGITS, VICTIMS, 6, CONTEXT)
    np.testing.assert_array_equal(first.victims, second.victims)
    assert first.fidelity.shape == first.accuracy.shape == (6,)
    assert (second.fidelity > first.fidelity).all()
    again, _ = extracted(DIGITS, VICTIMS, 6, CONTEXT)
    np.testing.assert_array_equal(first.fidelity, again.fidelity)
    other = victim(Answers.LABELS, replace(PLAIN, learning_rate=1.0))
    first, second = extracted(DIGITS, (VICTIMS[0], other), 6, CONTEXT)
    assert not np.array_equal(first.victims, second.victims)


PLAIN_SPLIT = DPSGD(
    sampling=Poisson(0.2),
    lot_size=60,
    steps=20,
    noise_multiplier=0.0,
    clip_norm=math.inf,
    learning_rate=2.0,
)
NOISY = replace(PLAIN_SPLIT, clip_norm=1.0, noise_multiplier=8.0)
TOLD = Victim(name="told", training=PLAIN_SPLIT, answers=Answers.PROBABILITIES)
HIDDEN = Victim(name="hidden", training=PLAIN_SPLIT, answers=Answers.LABELS)
DROWNED = Victim(name="drowned", training=NOISY, answers=Answers.LABELS)
TWIN = replace(HIDDEN, name="twin", training=replace(PLAIN_SPLIT, learning_rate=1.999))
"""Another training in all but law."""


@pytest.mark.known_bad
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("harder", "easier", "verdict"),
    [
        (TOLD, HIDDEN, Verdict.REFUTED),
        (HIDDEN, TOLD, Verdict.CONSISTENT),
        (HIDDEN, DROWNED, Verdict.REFUTED),
        (DROWNED, HIDDEN, Verdict.CONSISTENT),
        (HIDDEN, TWIN, Verdict.CONSISTENT),
    ],
)
def test_claims_true_and_false(harder, easier, verdict) -> None:
    """Twins, which win half of the repetitions or fewer, are refuted with probability 5e-8."""
    check = HarderToExtract(data=DIGITS, harder=harder, easier=easier)
    context = Context(seed=0, name=f"{harder.name}-{easier.name}", significance=1e-7)
    assert check(context).verdict is verdict
