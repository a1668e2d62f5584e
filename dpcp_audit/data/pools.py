"""Pools of real scores: classifiers fitted to the data that scikit-learn ships.

Half of the data (a stratified split with ``random_state=0``) fitted the classifier; the other
half is the pool. A pool is taken as the population: calibration sets are drawn from it, and
coverage is its ECDF. The probabilities are kept as package data, so that a pool does not depend
on scikit-learn's version and is there without importing it; ``pool_fitting`` fits them anew.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.data.populations import Pool
from dpcp_audit.data.scores import hps, true_label_scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit._types import FloatArray, IntArray


class Dataset(StrEnum):
    """Data that scikit-learn ships."""

    DIGITS = "digits"
    """1797 images of 8 × 8 pixels, 10 classes."""
    BREAST_CANCER = "breast-cancer"
    """569 cases of 30 features, 2 classes."""


CLASSES = {Dataset.DIGITS: 10, Dataset.BREAST_CANCER: 2}
"""How many classes the data have."""


class Classifier(StrEnum):
    """What is fitted to the standardised features."""

    GAUSSIAN_NB = "gaussian-nb"
    """Gaussian naive Bayes: over-confident, its probabilities pile up at 0 and 1."""
    LOGISTIC = "logistic"
    """Logistic regression with C = 0.1: close to calibrated."""


SHIPPED = {
    f"{dataset}-{classifier}": (dataset, classifier)
    for dataset in Dataset
    for classifier in Classifier
}
"""Data and classifier of each pool that is fitted here, by its name."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityPool:
    """A classifier's probabilities on data that it was not fitted to.

    Parameters
    ----------
    name : str
        The data's and the classifier's names.
    probabilities : ndarray, shape (m, k)
        Class probabilities, read-only.
    labels : ndarray, shape (m,)
        True labels, read-only.
    """

    name: str
    probabilities: FloatArray
    labels: IntArray

    def population(self, score: Callable[[FloatArray], FloatArray]) -> Pool:
        """Return the true labels' scores as a population.

        Parameters
        ----------
        score : callable
            From probabilities (m, k) to scores (m, k), for example ``aps``.
        """
        return Pool(true_label_scores(score(self.probabilities), self.labels), self.name)

    def hps_population(self) -> Pool:
        """Return the true labels' HPS scores as a population."""
        return self.population(hps)


def classifier_pool(dataset: Dataset, classifier: Classifier) -> ProbabilityPool:
    """Return the pool of a classifier on a dataset; read once a process."""
    _validate.choice(Dataset, dataset=dataset)
    _validate.choice(Classifier, classifier=classifier)
    return _kept_pool(dataset, classifier)


@functools.cache
def _kept_pool(dataset: Dataset, classifier: Classifier) -> ProbabilityPool:
    name = f"{dataset}-{classifier}"
    file = resources.files("dpcp_audit.data").joinpath("fitted_pools.npz")
    with file.open("rb") as opened, np.load(opened) as arrays:
        probabilities, labels = arrays[name], arrays[dataset].astype(np.int64)
    for each in (probabilities, labels):
        each.setflags(write=False)
    return ProbabilityPool(name, probabilities, labels)
