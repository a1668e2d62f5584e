"""What the calibrators are tried on: synthetic score laws, and pools of real scores."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.mechanisms.pools import Classifier, Dataset, classifier_pool, load_pool
from dpcp_audit.mechanisms.populations import Beta, Uniform
from dpcp_audit.mechanisms.scores import hps

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.mechanisms.pools import ProbabilityPool
    from dpcp_audit.mechanisms.populations import Population

LAWS: dict[str, Population] = {law.name: law for law in (Uniform(), Beta(5.0, 0.2), Beta(0.5, 3.0))}
POOLS = {
    f"{dataset}-{classifier}": (dataset, classifier)
    for dataset, classifier in (
        (Dataset.DIGITS, Classifier.GAUSSIAN_NB),
        (Dataset.DIGITS, Classifier.LOGISTIC),
        (Dataset.BREAST_CANCER, Classifier.GAUSSIAN_NB),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledScores:
    """HPS scores of every label on a pool, with its true labels.

    Parameters
    ----------
    scores : ndarray, shape (m, k)
    labels : ndarray, shape (m,)
    """

    scores: FloatArray
    labels: IntArray
    _sorted: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sorted", np.sort(self.scores, axis=None))

    def mean_set_size(self, threshold: FloatArray) -> FloatArray:
        """Return the mean number of labels with a score at or below each threshold, exactly."""
        covered = np.searchsorted(self._sorted, threshold, side="right")
        sizes: FloatArray = covered / self.labels.size
        return sizes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """A population of scores in [0, 1], and where it comes from a pool, the pool's labels."""

    name: str
    population: Population
    labelled: LabelledScores | None = None


@functools.cache
def subject(name: str) -> Subject:
    """Return a subject by its name: a key of ``LAWS`` or ``POOLS``, or the path of an ``.npz``."""
    if name in LAWS:
        return Subject(name=name, population=LAWS[name])
    if name in POOLS:
        return from_pool(classifier_pool(*POOLS[name]))
    if name.endswith(".npz"):
        return from_pool(load_pool(name))
    raise ValueError(
        f"name must be one of {', '.join([*LAWS, *POOLS])}, or end in .npz, got {name!r}"
    )


def from_pool(pool: ProbabilityPool) -> Subject:
    """Return a pool's HPS scores as a subject."""
    labelled = LabelledScores(scores=hps(pool.probabilities), labels=pool.labels)
    return Subject(name=pool.name, population=pool.hps_population(), labelled=labelled)
