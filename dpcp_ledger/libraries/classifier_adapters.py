"""Split conformal classifiers of other libraries, as ``dpcp-audit check`` calls a calibrator.

The libraries take a classifier, features and labels, and return prediction sets. Here the
features of a record *are* its probabilities, and the threshold is read off the sets: records are
put to the library whose first label has the probabilities that the calibration records gave to
their true labels, and the least probable one that is in its set tells the threshold. So what is
audited is the set that a user gets, not a number inside of the library.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray, IntArray


_PROBES = 8
"""Records that a library is asked about at a time: each call has a cost, and so has each record."""


class GivenProbabilities:
    """A fitted classifier whose features are the probabilities of its labels.

    Parameters
    ----------
    classes_ : ndarray, shape (K,)
        The labels 0, …, K−1.
    """

    _estimator_type = "classifier"

    def __init__(self, classes_: IntArray) -> None:
        self.classes_ = classes_

    def fit(self, _features: FloatArray, _labels: IntArray) -> GivenProbabilities:
        """Return itself: there is nothing to be fitted."""
        return self

    def predict_proba(self, features: FloatArray) -> FloatArray:
        """Return the features, shape (m, K)."""
        return np.asarray(features, dtype=np.float64)

    def predict(self, features: FloatArray) -> IntArray:
        """Return the most probable labels, shape (m,)."""
        best: IntArray = self.predict_proba(features).argmax(axis=1)
        return np.take(self.classes_, best)


def mapie_split_conformal(
    probabilities: FloatArray, labels: IntArray, *, confidence_level: float
) -> float:
    """Return the threshold on 1 − p_y behind the sets of MAPIE's ``SplitConformalClassifier``.

    MAPIE takes p within 1e-8 of its quantile for equal, which is not seen here.

    Parameters
    ----------
    probabilities : ndarray, shape (n, K)
    labels : ndarray, shape (n,)
    confidence_level : float
        The coverage that is asked for, in (0, 1).
    """
    classifier = import_module("mapie.classification").SplitConformalClassifier(
        estimator=GivenProbabilities(np.arange(int(probabilities.shape[1]))),
        confidence_level=confidence_level,
        conformity_score="lac",
        prefit=True,
    )
    with warnings.catch_warnings():  # of labels that no calibration record has
        warnings.simplefilter("ignore", UserWarning)
        classifier.conformalize(probabilities, labels)
    return _threshold(
        probabilities, labels, in_sets=lambda records: classifier.predict_set(records)[1][:, 0, 0]
    )


def crepes_split_conformal(
    probabilities: FloatArray, labels: IntArray, *, confidence: float
) -> float:
    """Return the threshold on 1 − p_y behind the sets of crepes' ``WrapClassifier``.

    Its p-values are taken without smoothing: smoothed ones make sets that are random given the
    calibration data, which no threshold describes.

    Parameters
    ----------
    probabilities : ndarray, shape (n, K)
    labels : ndarray, shape (n,)
    confidence : float
        The coverage that is asked for, in (0, 1).
    """
    learner = GivenProbabilities(np.arange(int(probabilities.shape[1])))
    classifier = import_module("crepes").WrapClassifier(learner)
    classifier.calibrate(probabilities, labels)
    return _threshold(
        probabilities,
        labels,
        in_sets=lambda records: classifier.predict_set(
            records, labels=False, confidence=confidence, smoothing=False
        )[:, 0],
    )


def puncc_split_conformal(probabilities: FloatArray, labels: IntArray, *, alpha: float) -> float:
    """Return the threshold on 1 − p_y behind the sets of puncc's ``LAC``.

    Parameters
    ----------
    probabilities : ndarray, shape (n, K)
    labels : ndarray, shape (n,)
    alpha : float
        The miscoverage level, in (0, 1).
    """
    model = import_module("deel.puncc.api.prediction").BasePredictor(_Given(), is_trained=True)
    classifier = import_module("deel.puncc.classification").LAC(model, train=False)
    classifier.fit(X_calib=probabilities, y_calib=labels)
    return _threshold(
        probabilities,
        labels,
        in_sets=lambda records: [0 in each for each in classifier.predict(records, alpha=alpha)[1]],
    )


def torchcp_split_conformal(probabilities: FloatArray, labels: IntArray, *, alpha: float) -> float:
    """Return the threshold on 1 − p_y behind the sets of TorchCP's ``SplitPredictor``.

    Its score is ``LAC`` of the probabilities as they are.

    Parameters
    ----------
    probabilities : ndarray, shape (n, K)
    labels : ndarray, shape (n,)
    alpha : float
        The significance level, in (0, 1).
    """
    torch = import_module("torch")
    score = import_module("torchcp.classification.score").LAC(score_type="identity")
    predictor = import_module("torchcp.classification.predictor").SplitPredictor(score)
    with warnings.catch_warnings():  # of too few records
        warnings.simplefilter("ignore", UserWarning)
        predictor.calculate_threshold(
            torch.as_tensor(probabilities), torch.as_tensor(labels), alpha
        )
    return _threshold(
        probabilities,
        labels,
        in_sets=lambda records: predictor.predict_with_logits(torch.as_tensor(records))[:, 0],
    )


class _Given:
    """A model that predicts the probabilities that its features are."""

    def predict(self, features: FloatArray) -> FloatArray:
        return features


def _threshold(
    probabilities: FloatArray, labels: IntArray, *, in_sets: Callable[[FloatArray], ArrayLike]
) -> float:
    """Return the largest 1 − p that a calibration record has and the sets cover.

    Infinity where even p = 0 is covered, minus infinity where none of the records' p is.

    Parameters
    ----------
    in_sets : callable
        Whether the first label is in the set of each record, shape (m, K) to (m,). What is
        covered at p is covered at every larger p.
    """
    n_labels = probabilities.shape[1]
    p = np.unique(np.append(probabilities[np.arange(labels.size), labels], 0.0))
    first, end = 0, p.size
    while first < end:
        tried = first + (end - first) * np.arange(1, _PROBES + 1) // (_PROBES + 1)
        records = np.repeat((1 - p[tried, None]) / (n_labels - 1), n_labels, axis=1)
        records[:, 0] = p[tried]
        missed = int(np.count_nonzero(~np.asarray(in_sets(records), dtype=np.bool_)))
        end = int(tried[missed]) if missed < _PROBES else end
        first = int(tried[missed - 1]) + 1 if missed else first
    if first == 0:
        return np.inf
    return -np.inf if first == p.size else float(1 - p[first])
