"""Real score populations for the suite, built when a check first uses them."""

from __future__ import annotations

from functools import partial

from dpcp_audit.data.pools import Classifier, Dataset, classifier_pool
from dpcp_audit.data.populations import Deferred, Population


def _hps(dataset: Dataset, classifier: Classifier) -> Population:
    return classifier_pool(dataset, classifier).hps_population()


def digits(classifier: Classifier) -> Deferred:
    """Return the HPS scores of a classifier on scikit-learn's digits."""
    return Deferred(f"digits-{classifier}", partial(_hps, Dataset.DIGITS, classifier))


def breast_cancer(classifier: Classifier) -> Deferred:
    """Return the HPS scores of a classifier on scikit-learn's breast-cancer data."""
    return Deferred(f"breast-cancer-{classifier}", partial(_hps, Dataset.BREAST_CANCER, classifier))
