"""Conformity scores of a classifier, and pools of real ones: on scikit-learn's data, or of a user.

A score is low where the label agrees with the prediction.

Half of the data (a stratified split with ``random_state=0``) fitted the classifier; the other
half is the pool. A pool is taken as the population: calibration sets are drawn from it, and
coverage is its ECDF. The probabilities are kept as package data, so that a pool does not depend
on scikit-learn's version and is there without importing it; ``benchmarks/pool_fitting.py``
fits them anew.
"""

from __future__ import annotations

import functools
import zipfile
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.laws.populations import Pool
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.validate import is_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


def hps(probabilities: ArrayLike) -> FloatArray:
    """Return the hinge score 1 − p_i of every label (Vovk et al. 2005; P-COQS's hinge).

    Parameters
    ----------
    probabilities : array_like, shape (n, k)
        Class probabilities; rows sum to 1.

    Returns
    -------
    ndarray, shape (n, k)
        Scores in [0, 1].

    Examples
    --------
    >>> hps([[0.75, 0.25]])
    array([[0.25, 0.75]])
    """
    return 1 - _validate.probabilities(probabilities)


def true_label_scores(scores: ArrayLike, labels: ArrayLike) -> FloatArray:
    """Return the score of each row's own label.

    Parameters
    ----------
    scores : array_like, shape (n, k)
        Scores of every label.
    labels : array_like, shape (n,)
        Labels in {0, ..., k−1}.

    Returns
    -------
    ndarray, shape (n,)
    """
    values = _validate.array(scores, name="scores", ndim=2)
    chosen = _validate.labels(labels, n_classes=values.shape[1], shape=values.shape[:1])
    return values[np.arange(chosen.size), chosen]


_ROWS, _CLASSES = 120, 3
_ROUNDING = 16 * np.finfo(np.float64).eps
"""The relative rounding error of an interval's end: a label at the end may come out beside it."""


def within(ends: FloatArray, labels: FloatArray) -> BoolArray:
    """Return True for each interval that holds its label, whatever the rounding of its ends.

    An end is a prediction plus or less a residual |y − prediction|; of the very record that set
    it, that is y only to the last bits.

    Parameters
    ----------
    ends : ndarray, shape (..., m, 2)
    labels : ndarray, shape (m,)

    Returns
    -------
    ndarray of bool, shape (..., m)

    Examples
    --------
    >>> end = 0.05 + (0.21 - 0.05)
    >>> end >= 0.21, within(np.array([[0.0, end], [1.0, 2.0]]), np.full(2, 0.21))
    (False, array([ True, False]))
    """
    low, high = ends[..., 0], ends[..., 1]
    room = [_ROUNDING * np.where(np.isfinite(x), np.abs(x), 0) for x in (low, high, labels)]
    beyond = np.maximum(np.maximum(room[0], room[1]), room[2])
    return np.asarray((low <= labels + beyond) & (labels - beyond <= high))


@dataclass(frozen=True, slots=True, eq=False)
class RowPool:
    """Rows that stand for a population: data sets are drawn from them with replacement.

    Parameters
    ----------
    features : ndarray, shape (m, p)
    labels : ndarray, shape (m,)
        Classes 0, …, K−1, or outcomes of a regression.
    """

    features: FloatArray
    labels: FloatArray

    def __post_init__(self) -> None:
        features = _validate.array(self.features, name="features", ndim=2)
        labels = _validate.array(self.labels, name="labels", ndim=1)
        if len(features) != len(labels):
            raise ValueError(
                f"features and labels must have the same length, got {len(features)} and "
                f"{len(labels)}"
            )
        order = np.lexsort((features[:, 0], labels))
        object.__setattr__(self, "features", features[order])
        object.__setattr__(self, "labels", labels[order])

    @property
    def classes(self) -> int:
        """The number K of classes.

        Raises
        ------
        ValueError
            If the labels are no integers from 0.
        """
        whole = (self.labels == np.floor(self.labels)) & (self.labels >= 0)
        if not whole.all():
            raise ValueError(
                f"labels must be integers from 0 for a predictor of sets, got "
                f"{self.labels[~whole][0]:g}: of outcomes the kind is regression"
            )
        return max(2, int(self.labels.max()) + 1)

    def as_data(self) -> PlainData:
        """Return the rows as plain data."""
        return {"features": self.features.tolist(), "labels": self.labels.tolist()}

    @classmethod
    def from_data(cls, data: Any) -> RowPool:
        """Return the rows of ``as_data``."""
        return cls(np.asarray(data["features"]), np.asarray(data["labels"]))


def made_classes() -> RowPool:
    """Return rows of three overlapping classes in two features, the same ones each time."""
    rng = np.random.default_rng(20)
    labels = np.arange(_ROWS) % _CLASSES
    centres = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
    features = centres[labels] + rng.normal(size=(_ROWS, 2))
    return RowPool(features.round(3), labels.astype(np.float64))


def made_outcomes() -> RowPool:
    """Return rows of one feature and an outcome with uneven noise, the same ones each time."""
    rng = np.random.default_rng(21)
    x = rng.uniform(-2, 2, size=(_ROWS, 1))
    noise = rng.normal(size=_ROWS) * (0.2 + np.abs(x[:, 0]))
    return RowPool(x.round(3), (x[:, 0] + noise).round(3))


class Dataset(StrEnum):
    """Data that scikit-learn ships."""

    DIGITS = "digits"
    """1797 images of 8 × 8 pixels, 10 classes."""
    BREAST_CANCER = "breast-cancer"
    """569 cases of 30 features, 2 classes."""


CLASSES = {Dataset.DIGITS: 10, Dataset.BREAST_CANCER: 2}
"""The number of classes of each data set."""


class Classifier(StrEnum):
    """The classifiers that are fitted to the standardised features."""

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
            A function from probabilities (m, k) to scores (m, k), for example ``hps``.
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
    file = resources.files("dpcp_audit.laws").joinpath("fitted_pools.npz")
    with file.open("rb") as opened, np.load(opened) as arrays:
        probabilities, labels = arrays[name], arrays[dataset].astype(np.int64)
    for each in (probabilities, labels):
        each.setflags(write=False)
    return ProbabilityPool(name, probabilities, labels)


_SAVE = "save one by np.savez('pool.npz', probabilities=..., labels=...)"


@functools.cache
def load_pool(path: str) -> ProbabilityPool:
    """Read a pool from a user's file; it is read once a process.

    Parameters
    ----------
    path : str
        An ``.npz`` written by ``numpy.savez(path, probabilities=..., labels=...)``: class
        probabilities, shape (m, k), and true labels in {0, ..., k−1}, shape (m,). The pool has the
        file's name without its ending.

    Raises
    ------
    ValueError
        If the path names no such file.
    """
    held = _read(path)
    missing = sorted({"probabilities", "labels"} - held.keys())
    if missing:
        raise errors.value_error(
            f"path must hold probabilities and labels, {path!r} lacks {missing}", _SAVE
        )
    probabilities = _validate.probabilities(held["probabilities"])
    m, n_classes = probabilities.shape
    labels = _validate.labels(held["labels"], n_classes=n_classes, shape=(m,))
    return ProbabilityPool(Path(path).stem.replace(" ", "_"), probabilities, labels)


def _read(path: str) -> dict[str, NDArray[Any]]:
    try:
        archive: Any = np.load(path, allow_pickle=False)
        if is_array(archive):
            raise ValueError("it holds a single array: write it with numpy.savez")
        with archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except (
        *(OSError, EOFError, ValueError),
        *(AttributeError, MemoryError, zipfile.BadZipFile),
    ) as error:
        raise errors.value_error(
            f"path must name a readable .npz file, got {path!r} ({error})", _SAVE
        ) from error
