"""Cohorts: models of one training, each on a random part of the same records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from dpcp_audit import _validate
from dpcp_audit.neighbours import Relation

if TYPE_CHECKING:
    import numpy as np

    from dpcp_audit._types import BoolArray, FloatArray, IntArray
    from dpcp_audit.results import PlainData

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
        """Whether each target is in, shape (models, targets)."""
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
        """What keys the random streams: checks of the same models share one cohort."""
        ...

    @property
    def relation(self) -> Relation:
        """The relation of the cohorts: ADD_REMOVE or SUBSTITUTION."""
        ...

    @property
    def parameters(self) -> PlainData:
        """How the models are trained, as plain data."""
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
