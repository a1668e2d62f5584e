"""The words of the comparison: a case, a calibrator at its budget, a method, a case left out."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcp_audit.extensions.claims import Relation, UsageError
from dpcp_audit.extensions.claims import validate as _validate
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
from dpcp_audit.extensions.mechanisms import require_torch
from dpcp_ledger.mechanisms.score_pools import NETWORKS, dpsgd_pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import ApproxDP, FloatArray, IntArray
    from dpcp_audit.extensions.laws import Population, ProbabilityPool


class Trust(StrEnum):
    """Whom the people in the calibration data must trust."""

    CURATOR = "curator"
    """Whoever calibrates sees their data; the threshold alone is private."""
    SHUFFLER = "shuffler"
    """Someone who mixes their randomised reports, but need not be shown the data."""
    NOBODY = "nobody"
    """Nobody: what leaves a device is private already."""


class _CalibratorFunction(Protocol):
    """A private threshold of scores in [0, 1]."""

    def __call__(
        self,
        scores: FloatArray,
        *,
        alpha: float,
        epsilon: float,
        delta: float,
        rng: np.random.Generator,
    ) -> float:
        """Return a threshold that is (ε, δ)-DP under substitution of one score."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateCalibrator:
    """A private calibrator that another package brings to ``compare-calibrators``.

    Parameters
    ----------
    label : str
        Its name for readers.
    calibrate : callable
        ``calibrate(scores, *, alpha, epsilon, delta, rng)`` returns a threshold, a float in [0, 1],
        of scores of shape (n,) in [0, 1]; (ε, δ)-DP under substitution of one score.
    privacy : str
        How its δ(ε) is known, such as "proved: pure ε".
    promise : str
        What its theory promises about coverage; empty where it promises nothing.
    trust : Trust
        Whom the people in the data must trust.

    Raises
    ------
    ValueError
        Naming the field, with what it got.

    Examples
    --------
    >>> def everything(scores, *, alpha, epsilon, delta, rng):
    ...     return 1.0
    >>> PrivateCalibrator(label="all labels", calibrate=everything, privacy="a constant").trust
    <Trust.CURATOR: 'curator'>
    """

    label: str
    calibrate: _CalibratorFunction
    privacy: str
    promise: str = ""
    trust: Trust = Trust.CURATOR

    def __post_init__(self) -> None:
        _validate.instance(str, label=self.label, privacy=self.privacy, promise=self.promise)
        _validate.choice(Trust, trust=self.trust)
        if not self.label:
            raise ValueError("label must not be empty")
        if not callable(self.calibrate):
            raise UsageError(
                f"calibrate must be a function, got {self.calibrate!r}",
                hint="calibrate(scores, *, alpha, epsilon, delta, rng) returns a threshold",
            )


LAWS: dict[str, Population] = {law.name: law for law in (Uniform(), Beta(5.0, 0.2), Beta(0.5, 3.0))}
POOLS = {
    name: SHIPPED[name]
    for name in ("digits-gaussian-nb", "digits-logistic", "breast-cancer-gaussian-nb")
}
LOG_SCORE = ":log"
"""The end of a pool's name whose score is ``log_score`` in place of HPS."""
_LEAST_PROBABILITY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LabelledScores:
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
class _Subject:
    """A population of scores in [0, 1], and where it comes from a pool, the pool's labels."""

    name: str
    population: Population
    labelled: _LabelledScores | None = None


@functools.cache
def subject(name: str) -> _Subject:
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
        return _Subject(name=name, population=LAWS[name])
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


def _from_pool(pool: ProbabilityPool, *, log: bool) -> _Subject:
    score = log_score if log else hps
    labelled = _LabelledScores(scores=score(pool.probabilities), labels=pool.labels)
    name = pool.name + LOG_SCORE * log
    true = true_label_scores(labelled.scores, labelled.labels)
    return _Subject(name=name, population=Pool(true, name), labelled=labelled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One setting in which calibrators are compared.

    Parameters
    ----------
    subject : _Subject
        What is calibrated on.
    n : int
        Calibration scores, drawn i.i.d.
    alpha : float
        Miscoverage level in (0, 1).
    budget : ApproxDP
        The privacy of the released threshold.
    failure : float
        The probability with which a promise that holds "with high probability" may fail: β of
        P-COQS, δ of LDP-CP.
    """

    subject: _Subject
    n: int
    alpha: float
    budget: ApproxDP
    failure: float = 0.1

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)
        _validate.open_unit(alpha=self.alpha, failure=self.failure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A mechanism at the parameter that the budget buys.

    Parameters
    ----------
    draw : callable
        ``draw(trials, rng)`` returns the thresholds of independent runs on fresh scores.
    parameter : str
        The mechanism's own privacy parameter.
    most_trials : float
        How many runs are affordable; infinity where a run does not pay for n.
    """

    draw: Callable[[int, np.random.Generator], FloatArray]
    parameter: str
    most_trials: float = field(default=math.inf)


@dataclass(frozen=True, slots=True)
class SkippedMethod:
    """A method that was left out of a case, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to calibrate at a given privacy budget.

    Parameters
    ----------
    key, label : str
        Its short name, and its name for readers.
    family : str
        Methods of one family share what is costly to compute of a budget.
    trust : Trust
        Whom the people in the data must trust.
    promise : str
        What its theory promises about coverage; empty where it promises nothing.
    privacy : str
        How its δ(ε) is known.
    build : callable
        From a case to the calibrator at that budget, or the reason why there is none.
    relation : Relation
        What the budget protects: a whole record, or its label alone.
    private : bool
        False for the non-private reference.
    """

    key: str
    label: str
    family: str
    trust: Trust
    promise: str
    privacy: str
    build: Callable[[Case], Calibrated | SkippedMethod]
    relation: Relation = Relation.SUBSTITUTION
    private: bool = True
