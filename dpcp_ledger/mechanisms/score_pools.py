"""Pools of classifiers' scores for the suites, built when a check first uses them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import UsageError
from dpcp_audit.extensions.laws import (
    Classifier,
    Dataset,
    Deferred,
    Population,
    ProbabilityPool,
    classifier_pool,
    load_pool,
)
from dpcp_ledger.mechanisms.label_scores import raps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.extensions.claims import FloatArray


RAPS_PENALTY, RAPS_SPARED = 0.01, 5
"""λ and the ranks without a penalty, as NACP's public code has them."""


def saved_pools(paths: Sequence[str]) -> list[Callable[[], ProbabilityPool]]:
    """Return the loaders of a user's pools (see ``load_pool``).

    Raises
    ------
    UsageError
        If a file does not hold a pool.
    """
    pools: list[Callable[[], ProbabilityPool]] = [partial(load_pool, path) for path in paths]
    try:
        for pool in pools:
            pool()
    except ValueError as error:
        raise UsageError(f"pool: {error}") from error
    return pools


def _hps(dataset: Dataset, classifier: Classifier) -> Population:
    return classifier_pool(dataset, classifier).hps_population()


def digits(classifier: Classifier) -> Deferred:
    """Return the HPS scores of a classifier on scikit-learn's digits."""
    return Deferred(f"digits-{classifier}", partial(_hps, Dataset.DIGITS, classifier))


def breast_cancer(classifier: Classifier) -> Deferred:
    """Return the HPS scores of a classifier on scikit-learn's breast-cancer data."""
    return Deferred(f"breast-cancer-{classifier}", partial(_hps, Dataset.BREAST_CANCER, classifier))


def _raps(probabilities: FloatArray) -> FloatArray:
    u = np.random.default_rng(0).random(len(probabilities))
    return raps(probabilities, penalty=RAPS_PENALTY, spared=RAPS_SPARED, u=u)


def raps_of_digits(classifier: Classifier) -> Deferred:
    """Return the randomised RAPS scores of a classifier on scikit-learn's digits."""
    build = partial(_raps_population, classifier)
    return Deferred(f"digits-{classifier}-raps", build)


def _raps_population(classifier: Classifier) -> Population:
    return classifier_pool(Dataset.DIGITS, classifier).population(_raps)
