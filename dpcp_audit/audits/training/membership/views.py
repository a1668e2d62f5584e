"""Views: what an attacker sees of a model that stands behind a conformal predictor."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.audits.training.membership.cohorts import Cohort

_SMALLEST = 1e-16


class View(StrEnum):
    """What is returned for a queried record whose label the attacker knows."""

    PROBABILITIES = "probabilities"
    """All class probabilities."""
    SCORE = "score"
    """The hinge score 1 − p of the record's own label."""
    SETS = "sets"
    """The prediction set, label by label."""
    SIZE = "size"
    """The number of labels in the prediction set, and nothing else."""

    @property
    def is_discrete(self) -> bool:
        """Whether only a few answers are possible."""
        return self in (View.SETS, View.SIZE)

    def signal(self, cohort: Cohort) -> FloatArray:
        """Return one number a model and record, the larger the likelier a member, (models, n).

        Of probabilities and scores the logit log(p/(1−p)) of the label's probability (Carlini
        et al. 2022, Section IV-C), in which p and 1 − p below 1e-16 count as 1e-16. Of sets,
        k + 1 if the label is in it, less the set's size; of sizes, less the size.
        """
        if self is View.PROBABILITIES:
            return _logit(*_own_and_rest(cohort))
        if self is View.SCORE:
            score = 1 - _own(cohort)
            return _logit(1 - score, score)
        sets = _sets(cohort)
        size: FloatArray = sets.sum(axis=2, dtype=np.float64)
        if self is View.SIZE:
            return -size
        covered: BoolArray = sets[:, np.arange(len(cohort.labels)), cohort.labels]
        return np.where(covered, sets.shape[2] + 1.0, 0.0) - size

    def features(self, cohort: Cohort) -> FloatArray:
        """Return what a classifier of answers is given, shape (models, n, f).

        The label and the signal; of probabilities also their logarithms in falling order; of
        sets also whether the label is in it.
        """
        signal = self.signal(cohort)
        columns = [np.broadcast_to(cohort.labels.astype(np.float64), signal.shape), signal]
        if self is View.SETS:
            columns.append((signal > 0).astype(np.float64))
        stacked = np.stack(columns, axis=2)
        if self is not View.PROBABILITIES:
            return stacked
        ordered = np.sort(cohort.probabilities, axis=2)[:, :, ::-1]
        return np.concatenate([stacked, np.log(np.maximum(ordered, _SMALLEST))], axis=2)


def _logit(own: FloatArray, rest: FloatArray) -> FloatArray:
    odds = np.maximum(own, _SMALLEST) / np.maximum(rest, _SMALLEST)
    return np.asarray(np.log(odds), dtype=np.float64)


def _own(cohort: Cohort) -> FloatArray:
    return cohort.probabilities[:, np.arange(len(cohort.labels)), cohort.labels]


def _own_and_rest(cohort: Cohort) -> tuple[FloatArray, FloatArray]:
    """Return the label's probability, and the sum of all others', each of shape (models, n)."""
    others = cohort.probabilities.copy()
    others[:, np.arange(len(cohort.labels)), cohort.labels] = 0.0
    return _own(cohort), others.sum(axis=2)


def _sets(cohort: Cohort) -> BoolArray:
    """Return the prediction sets, shape (models, n, k)."""
    return 1 - cohort.probabilities <= cohort.thresholds[:, None, None]
