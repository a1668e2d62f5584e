"""What the calibrators are tried on: synthetic score laws, and pools of real scores."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.laws import (
    SHIPPED,
    Beta,
    Pool,
    Uniform,
    classifier_pool,
    hps,
    load_pool,
    true_label_scores,
)
from dpcp_audit.extensions.mechanisms import NETWORKS, dpsgd_pool, require_torch

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray
    from dpcp_audit.extensions.laws import Population, ProbabilityPool


LAWS: dict[str, Population] = {law.name: law for law in (Uniform(), Beta(5.0, 0.2), Beta(0.5, 3.0))}
POOLS = {
    name: SHIPPED[name]
    for name in ("digits-gaussian-nb", "digits-logistic", "breast-cancer-gaussian-nb")
}
LOG_SCORE = ":log"
"""What the name of a pool ends in where the score is ``log_score`` in place of HPS."""
_LEAST_PROBABILITY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledScores:
    """Scores of every label on a pool, with its true labels.

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
    """Return a subject by its name.

    Parameters
    ----------
    name : str
        A key of ``LAWS``, ``POOLS`` or ``NETWORKS``, or the path of an ``.npz`` that
        ``load_pool`` reads; a pool's may end in ``:log``.

    Raises
    ------
    RuntimeError
        If a network is asked for and PyTorch is not installed.
    """
    pool = name.removesuffix(LOG_SCORE)
    if name in LAWS:
        return Subject(name=name, population=LAWS[name])
    if pool in POOLS:
        return _from_pool(classifier_pool(*POOLS[pool]), log=pool != name)
    if pool in NETWORKS:
        dataset, network, epsilon = NETWORKS[pool]
        return _from_pool(dpsgd_pool(dataset, network, epsilon=epsilon), log=pool != name)
    if pool.endswith(".npz"):
        return _from_pool(load_pool(pool), log=pool != name)
    raise ValueError(
        f"name must be one of {', '.join([*LAWS, *POOLS, *NETWORKS])}, or end in .npz, got {name!r}"
    )


def known_name(name: str) -> str:
    """Return the name that a subject's findings have; nothing is fitted for it.

    Raises
    ------
    ValueError
        If there is no such subject, or a file holds no pool.
    MissingExtraError
        If it is a network, and PyTorch is not installed.
    """
    pool = name.removesuffix(LOG_SCORE)
    if pool in NETWORKS:
        require_torch()
    if name in LAWS or pool in POOLS or pool in NETWORKS:
        return name
    return subject(name).name


def log_score(probabilities: FloatArray) -> FloatArray:
    """Return log(1−log p)/log(1−log 1e-300) of every label, with p at least 1e-300.

    It falls in p as 1−p does, so that it orders labels alike and gives the same sets where no
    privacy is asked for, but for p < 1e-16, where 1−p is rounded to 1. It spreads what an
    over-confident classifier heaps up at p = 0, which a private search over [0, 1] of finite
    resolution cannot tell apart.

    Parameters
    ----------
    probabilities : ndarray, shape (m, k)

    Returns
    -------
    ndarray, shape (m, k)
        In [0, 1].
    """
    depth = np.log1p(-np.log(np.clip(probabilities, _LEAST_PROBABILITY, 1.0)))
    scores: FloatArray = depth / np.log1p(-np.log(_LEAST_PROBABILITY))
    return np.minimum(scores, 1.0)


def _from_pool(pool: ProbabilityPool, *, log: bool) -> Subject:
    score = log_score if log else hps
    labelled = LabelledScores(scores=score(pool.probabilities), labels=pool.labels)
    name = pool.name + LOG_SCORE * log
    true = true_label_scores(labelled.scores, labelled.labels)
    return Subject(name=name, population=Pool(true, name), labelled=labelled)
