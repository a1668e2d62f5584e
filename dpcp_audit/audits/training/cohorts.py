"""Cohorts: models of one training, each on a random part of the same records.

Views: what an attacker sees of a model that stands behind a conformal predictor.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray
    from dpcp_audit.words.results import PlainData


RELATIONS = (Relation.ADD_REMOVE, Relation.SUBSTITUTION)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cohort:
    """Independent models, and what each says of every record.

    Under ADD_REMOVE every record is a target, and a fair coin of its own puts it into a model's
    data. Under SUBSTITUTION records i and i + n/2 are rivals, and a fair coin says which of
    the two is in; the first is the target.

    Parameters
    ----------
    members : ndarray of bool, shape (models, n)
        Which records are in each model's data.
    labels : ndarray of int, shape (n,)
        The records' labels, which the attacker knows.
    probabilities : ndarray, shape (models, n, k)
        The models' class probabilities.
    thresholds : ndarray, shape (models,)
        The threshold of the conformal predictor on each model: a label of hinge score 1 − p is
        in the set if the score is at most that.
    relation : Relation
        ADD_REMOVE or SUBSTITUTION.
    """

    members: BoolArray
    labels: IntArray
    probabilities: FloatArray
    thresholds: FloatArray
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ValueError(f"relation must be one of {', '.join(RELATIONS)}, got {self.relation}")
        if self.probabilities.ndim != 3 or 0 in self.probabilities.shape:
            raise ValueError(
                "probabilities must have shape (models, n, k), "
                f"got shape {self.probabilities.shape}"
            )
        models, n, k = self.probabilities.shape
        shapes = {"members": (models, n), "labels": (n,), "thresholds": (models,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                got = getattr(self, name).shape
                raise ValueError(f"{name} must have shape {shape}, got shape {got}")
        _validate.labels(self.labels, n_classes=k)
        if self.relation is Relation.SUBSTITUTION:
            self._hold_rivals()

    def _hold_rivals(self) -> None:
        half, rest = divmod(len(self.labels), 2)
        if rest or (self.members[:, :half] == self.members[:, half:]).any():
            raise ValueError("members must hold exactly one of records i and i + n/2")

    def __len__(self) -> int:
        return len(self.members)

    @property
    def targets(self) -> int:
        """The number of targets: n, or n/2 under substitution."""
        n = len(self.labels)
        return n // 2 if self.relation is Relation.SUBSTITUTION else n

    @property
    def coins(self) -> BoolArray:
        """True if each target is in, shape (models, targets)."""
        return self.members[:, : self.targets]

    def compared(self, scores: FloatArray) -> FloatArray:
        """Return the targets' scores, shape (models, targets), less their rivals' if they have any.

        ``scores``, of shape (models, n), are those of every record.
        """
        if self.relation is Relation.SUBSTITUTION:
            return scores[:, : self.targets] - scores[:, self.targets :]
        return scores

    def part(self, start: int, stop: int) -> Self:
        """Return the models from ``start`` up to ``stop``."""
        chosen = slice(start, stop)
        return type(self)(
            members=self.members[chosen],
            labels=self.labels,
            probabilities=self.probabilities[chosen],
            thresholds=self.thresholds[chosen],
            relation=self.relation,
        )


class Models(Protocol):
    """Trains cohorts. It can be hashed, and equal ones train alike."""

    @property
    def name(self) -> str:
        """The key of the random streams: checks of the same models share one cohort."""
        ...

    @property
    def relation(self) -> Relation:
        """The relation of the cohorts: ADD_REMOVE or SUBSTITUTION."""
        ...

    @property
    def parameters(self) -> PlainData:
        """The training of the models, as plain data."""
        ...

    def __call__(self, models: int, /, *, rng: np.random.Generator) -> Cohort:
        """Return a fresh cohort; every model independent of the others."""
        ...

    def without_noise(self) -> Models | None:
        """Return the same training without its noise: itself if it has none; None if not known.

        An attack that would not refute these says nothing about the noise.
        """
        ...

    def __hash__(self) -> int:
        """Return a hash, since cohorts are kept for the next check."""
        ...


_SMALLEST = 1e-16


class View(StrEnum):
    """The answer to a query for a record whose label the attacker knows."""

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
        """True if only a few answers are possible."""
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
