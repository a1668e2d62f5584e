"""Surrogates: logistic regressions fitted to what a victim answered, many side by side."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.data.scores import hps, prediction_sets, true_label_scores
from dpcp_audit.mechanisms.conformal import SplitConformal

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray

_STEPS = 100
_PENALTY = 1e-3
_LEAST_PROBABILITY = 1e-30
_CUT_OFF = 1e-4


class Answers(StrEnum):
    """What a victim returns for a query."""

    PROBABILITIES = "probabilities"
    """The probability of every class."""
    LABELS = "labels"
    """The likeliest class alone."""
    SETS = "sets"
    """A conformal prediction set alone."""


def fit(
    inputs: FloatArray, probabilities: FloatArray, sets: BoolArray, answers: Answers
) -> FloatArray:
    """Fit a surrogate to each victim's answers.

    Probabilities give log-ratios, which are linear in the input where the victim is a logistic
    regression: they are solved for (Tramèr et al. 2016, Section 4.1). Labels and sets are fitted
    by likelihood: a label is a probability of 1, a set the uniform one over its labels.

    Parameters
    ----------
    inputs : ndarray, shape (victims, m, f)
        Queries.
    probabilities : ndarray, shape (victims, m, k)
        The victims' probabilities, of which the surrogate sees what ``answers`` says.
    sets : ndarray of bool, shape (victims, m, k)
        The victims' prediction sets, seen where ``answers`` is SETS.

    Returns
    -------
    ndarray, shape (victims, f + 1, k)
        Weights, with the biases last, for ``predict``.
    """
    _validate.choice(Answers, answers=answers)
    queries = _with_constant(inputs)
    if answers is Answers.PROBABILITIES:
        logits = np.log(np.maximum(probabilities, _LEAST_PROBABILITY))
        centred = logits - logits.mean(axis=2, keepdims=True)
        solved: FloatArray = np.linalg.pinv(queries, rcond=_CUT_OFF) @ centred
        return solved
    k = probabilities.shape[2]
    if answers is Answers.LABELS:
        return _by_likelihood(queries, np.eye(k)[probabilities.argmax(axis=2)])
    told = sets | ~sets.any(axis=2, keepdims=True)
    return _by_likelihood(queries, told / told.sum(axis=2, keepdims=True))


def predict(weights: FloatArray, inputs: FloatArray) -> IntArray:
    """Return the likeliest classes, shape (victims, m), of inputs (victims, m, f)."""
    return np.asarray((_with_constant(inputs) @ weights).argmax(axis=2), dtype=np.int64)


def conformal_sets(
    probabilities: FloatArray, labels: IntArray, queried: FloatArray, *, alpha: float
) -> BoolArray:
    """Return split conformal prediction sets of the score 1 − p_y, of many victims at once.

    Parameters
    ----------
    probabilities, labels : ndarray, shapes (victims, n, k) and (victims, n)
        The calibration data as each victim sees them.
    queried : ndarray, shape (victims, m, k)
        The victims' probabilities of what is queried.
    alpha : float
        The sets miss the label with probability at most this.
    """
    calibrator = SplitConformal(alpha=alpha)
    thresholds = [
        calibrator.threshold(true_label_scores(hps(seen), true))
        for seen, true in zip(probabilities, labels, strict=True)
    ]
    return np.stack(
        [prediction_sets(hps(asked), q) for asked, q in zip(queried, thresholds, strict=True)]
    )


def _with_constant(inputs: FloatArray) -> FloatArray:
    ones = np.ones((*inputs.shape[:2], 1), dtype=inputs.dtype)
    return np.concatenate([inputs, ones], axis=2)


def _by_likelihood(queries: FloatArray, targets: FloatArray) -> FloatArray:
    """Minimise cross-entropy and a small penalty by accelerated descent (Nesterov 1983).

    The step is one over the curvature's upper bound, ‖X‖²/2 a query. In single precision: a
    surrogate needs no more.
    """
    features = np.ascontiguousarray(queries, dtype=np.float32)
    across = np.ascontiguousarray(features.mT)
    count = np.float32(features.shape[1])
    curvature = np.linalg.eigvalsh(across @ features / count)[:, -1] / 2 + _PENALTY
    rate = (1 / curvature)[:, None, None].astype(np.float32)
    truth = np.ascontiguousarray(targets.mT, dtype=np.float32)
    weights = np.zeros((*truth.shape[:2], features.shape[2]), dtype=np.float32)
    ahead = weights
    for step in range(_STEPS):
        logits = ahead @ across
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        errors = odds / odds.sum(axis=1, keepdims=True) - truth
        gradient = errors @ features / count + np.float32(_PENALTY) * ahead
        after = ahead - rate * gradient
        ahead = after + np.float32(step / (step + 3)) * (after - weights)
        weights = after
    return weights.mT.astype(np.float64)
