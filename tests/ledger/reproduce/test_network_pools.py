"""Networks trained by DP-Adam as pools."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.laws.pools import Classifier, Dataset, classifier_pool
from dpcp_audit.mechanisms.dpsgd.examples import Poisson
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.guarantees import Relation
from dpcp_ledger.mechanisms.score_pools import Network, _settings, dpsgd_pool, load_dataset, split


def accuracy(*, epsilon: float = math.inf) -> float:
    pool = dpsgd_pool(Dataset.DIGITS, Network.LOGISTIC, epsilon=epsilon)
    return float(np.mean(pool.probabilities.argmax(axis=1) == pool.labels))


def test_privacy_costs_accuracy() -> None:
    plain, private, noise = accuracy(), accuracy(epsilon=8.0), accuracy(epsilon=0.2)
    assert plain > private + 0.005 > 0.8
    assert noise < private - 0.2


def test_a_pool_is_the_half_that_is_not_fitted() -> None:
    pool = dpsgd_pool(Dataset.DIGITS, Network.LOGISTIC)
    np.testing.assert_array_equal(
        pool.labels, classifier_pool(Dataset.DIGITS, Classifier.LOGISTIC).labels
    )
    np.testing.assert_allclose(pool.probabilities.sum(axis=1), 1.0)
    assert not pool.probabilities.flags.writeable
    assert pool.name == "digits-adam-logistic"
    assert dpsgd_pool(Dataset.DIGITS, Network.LOGISTIC).probabilities is pool.probabilities


@pytest.mark.parametrize(
    "relation", [Relation.ZERO_OUT, Relation.ADD_REMOVE, Relation.SUBSTITUTION]
)
def test_the_noise_is_what_the_privacy_takes(relation) -> None:
    settings = _settings(898, epsilon=2.0, delta=1e-5, relation=relation)
    assert isinstance(settings.sampling, Poisson)
    training = SubsampledGaussian(
        sampling_rate=settings.sampling.rate,
        steps=settings.steps,
        noise_multiplier=settings.noise_multiplier,
        relation=relation,
    )
    assert 1.98 < training.epsilon_at(1e-5) <= 2.0


def test_the_seed_is_the_training() -> None:
    pools = [
        dpsgd_pool(Dataset.BREAST_CANCER, Network.HEAD, seed=seed).probabilities for seed in (0, 1)
    ]
    assert not np.array_equal(*pools)


def test_the_cnn_sees_images() -> None:
    pool = dpsgd_pool(Dataset.DIGITS, Network.CNN)
    assert np.mean(pool.probabilities.argmax(axis=1) == pool.labels) > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dataset": "digits"}, "dataset must be a Dataset"),
        ({"network": "logistic"}, "network must be a Network"),
        ({"epsilon": 0.0}, "epsilon must be finite and > 0"),
        ({"epsilon": math.nan}, "epsilon must be a number"),
        ({"delta": 0.0, "epsilon": 1.0}, "delta must lie in"),
        ({"relation": Relation.ONE_LABEL, "epsilon": 1.0}, "relation must be one of"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"dataset": Dataset.BREAST_CANCER, "network": Network.CNN}, "dataset must be digits"),
    ],
)
def test_bad_input_is_named(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        dpsgd_pool(**{"dataset": Dataset.DIGITS, "network": Network.LOGISTIC} | arguments)


@pytest.mark.parametrize(("name", "shape"), [("digits", (1797, 64)), ("breast_cancer", (569, 30))])
def test_load_dataset(name: str, shape: tuple[int, int]) -> None:
    features, labels = load_dataset(name)
    assert features.shape == shape
    assert labels.shape == shape[:1]


def test_split_is_stratified_and_the_same_each_time() -> None:
    features, labels = load_dataset("digits")
    fit_x, rest_x, fit_y, rest_y = split(features, labels, share=0.25)
    assert (len(fit_x), len(fit_y)) == (449, 449)
    assert (len(rest_x), len(rest_y)) == (1348, 1348)
    assert np.abs(np.bincount(fit_y) - np.bincount(labels) / 4).max() < 1
    assert (split(features, labels, share=0.25)[0] == fit_x).all()
