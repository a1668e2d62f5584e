from __future__ import annotations

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest

from dpcp_audit.laws.pools import Classifier, Dataset, aps, classifier_pool

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
fitted_pool = runpy.run_path(str(BENCHMARKS / "pool_fitting.py"))["fitted_pool"]
EVERY = list(itertools.product(Dataset, Classifier))


@pytest.mark.parametrize(("dataset", "classifier"), EVERY)
def test_a_pool_holds_half_of_the_data_with_valid_probabilities(
    dataset: Dataset, classifier: Classifier
) -> None:
    pool = classifier_pool(dataset, classifier)
    m, k = {Dataset.DIGITS: (899, 10), Dataset.BREAST_CANCER: (285, 2)}[dataset]
    assert pool.probabilities.shape == (m, k)
    assert pool.labels.shape == (m,)
    assert set(np.unique(pool.labels)) == set(range(k))
    np.testing.assert_allclose(pool.probabilities.sum(axis=1), 1, atol=1e-9)
    assert pool.name == f"{dataset}-{classifier}"


@pytest.mark.parametrize(("dataset", "classifier"), EVERY)
def test_a_pool_is_read_once_and_cannot_be_written_to(
    dataset: Dataset, classifier: Classifier
) -> None:
    pool = classifier_pool(dataset, classifier)
    assert classifier_pool(dataset, classifier) is pool
    with pytest.raises(ValueError, match="read-only"):
        pool.probabilities[0, 0] = 1


@pytest.mark.parametrize(("dataset", "classifier"), EVERY)
def test_a_pool_is_what_fitting_gives(dataset: Dataset, classifier: Classifier) -> None:
    kept, fitted = classifier_pool(dataset, classifier), fitted_pool(dataset, classifier)
    np.testing.assert_array_equal(kept.labels, fitted.labels)
    np.testing.assert_allclose(kept.probabilities, fitted.probabilities, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dataset", Dataset)
def test_naive_bayes_is_over_confident_and_logistic_regression_is_not(dataset: Dataset) -> None:
    def overconfidence(classifier: Classifier) -> float:
        pool = classifier_pool(dataset, classifier)
        right = pool.probabilities.argmax(axis=1) == pool.labels
        return pool.probabilities.max(axis=1).mean() - right.mean()

    assert overconfidence(Classifier.GAUSSIAN_NB) > 0.05
    assert overconfidence(Classifier.LOGISTIC) < 0


def test_the_population_of_a_pool_is_the_true_labels_scores() -> None:
    pool = classifier_pool(Dataset.DIGITS, Classifier.LOGISTIC)
    own = pool.probabilities[np.arange(pool.labels.size), pool.labels]
    np.testing.assert_array_equal(pool.hps_population().scores, 1 - own)
    assert pool.hps_population().name == pool.name
    expected = aps(pool.probabilities)[np.arange(pool.labels.size), pool.labels]
    np.testing.assert_array_equal(pool.population(aps).scores, expected)


def test_a_choice_must_be_a_member() -> None:
    with pytest.raises(ValueError, match=r"^dataset must be a Dataset"):
        classifier_pool("digits", Classifier.LOGISTIC)
    with pytest.raises(ValueError, match=r"^classifier must be a Classifier"):
        classifier_pool(Dataset.DIGITS, "logistic")
