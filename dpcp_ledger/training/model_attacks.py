"""Attacks on trained models: the loss threshold, and LiRA.

A cohort is models of one training, each on a random part of the same records. A view is what an
attacker sees of a model behind a conformal predictor. An attack is fitted on shadow models, whose
members the attacker knows, and scores every model and record: the higher, the likelier a member.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from dpcp_audit.extensions.claims import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import BoolArray, FloatArray, IntArray, PlainData


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cohort:
    """Independent models, and what each says of every record.

    Under ADD_REMOVE every record is a target, and a fair coin of its own puts it into a model's
    data. Under SUBSTITUTION records i and i + n/2 are rivals, and a fair coin says which of
    the two is in; the first is the target.

    Parameters
    ----------
    members : ndarray of bool, shape (models, n)
        True where a record is in a model's data.
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
    SETS = "sets"
    """The prediction set, label by label."""

    def signal(self, cohort: Cohort) -> FloatArray:
        """Return one number a model and record, the larger the likelier a member, (models, n).

        Of probabilities the logit log(p/(1−p)) of the label's probability (Carlini et al. 2022,
        Section IV-C), in which p and 1 − p below 1e-16 count as 1e-16. Of sets, k + 1 if the
        label is in it, less the set's size.
        """
        if self is View.PROBABILITIES:
            own, rest = _own_and_rest(cohort)
            return np.asarray(np.log(np.maximum(own, _SMALLEST) / np.maximum(rest, _SMALLEST)))
        sets: BoolArray = 1 - cohort.probabilities <= cohort.thresholds[:, None, None]
        size: FloatArray = sets.sum(axis=2, dtype=np.float64)
        covered: BoolArray = sets[:, np.arange(len(cohort.labels)), cohort.labels]
        return np.where(covered, sets.shape[2] + 1.0, 0.0) - size


def _own_and_rest(cohort: Cohort) -> tuple[FloatArray, FloatArray]:
    """Return the label's probability, and the sum of all others', each of shape (models, n)."""
    records = np.arange(len(cohort.labels))
    others = cohort.probabilities.copy()
    others[:, records, cohort.labels] = 0.0
    return cohort.probabilities[:, records, cohort.labels], others.sum(axis=2)


_LEAST_VARIANCE = 1e-6
_PRIOR_MODELS = 2.0


class ShadowAttack(Protocol):
    """A way to score models and records, fitted on shadow models."""

    @property
    def name(self) -> str:
        """The attack's name in reports."""
        ...

    def fit(self, shadows: Cohort, view: View, /) -> Callable[[Cohort], FloatArray]:
        """Return a score of other models, of shape (models, n): of every record."""
        ...


@dataclass(frozen=True, slots=True)
class LossThreshold:
    """The loss of the record's own label, and no shadow model (Yeom et al. 2018).

    Of sets the view's signal stands in for the loss.
    """

    @property
    def name(self) -> str:
        """Loss threshold."""
        return "loss threshold"

    def fit(self, shadows: Cohort, view: View, /) -> Callable[[Cohort], FloatArray]:  # noqa: ARG002
        """Return the signal, which falls with the loss."""
        return view.signal


@dataclass(frozen=True, slots=True, kw_only=True)
class LiRA:
    """The likelihood ratio of a record's signal, from shadow models (Carlini et al. 2022).

    Parameters
    ----------
    online : bool
        True: Gaussians of the signal in shadows with and without the record, and their ratio. False
        (offline): how far the signal lies above that of shadows without it.
    global_variance : bool
        One variance for all records, within and without: for few shadow models.

    Notes
    -----
    Online, on sets, the two laws are the answers' frequencies, drawn to
    those of all records by two models' weight.
    """

    online: bool = True
    global_variance: bool = False

    @property
    def name(self) -> str:
        """LiRA, online or offline."""
        variance = ", one variance" if self.global_variance else ""
        return f"LiRA, {'online' if self.online else 'offline'}{variance}"

    def fit(self, shadows: Cohort, view: View, /) -> Callable[[Cohort], FloatArray]:
        """Return the log-likelihood ratio, or the standardised signal.

        Raises
        ------
        ValueError
            If a record is in, or is out of, fewer than two shadow models.
        """
        inside, signal = shadows.members, view.signal(shadows)
        fewest = int(min(inside.sum(axis=0).min(), (~inside).sum(axis=0).min()))
        if fewest < 2:
            raise ValueError(
                f"shadows must be at least two with and without every record, got {fewest}"
            )
        if self.online and view is View.SETS:
            score = _frequency_ratio(signal, inside)
        else:
            score = self._gaussian(signal, inside)
        return lambda cohort: score(view.signal(cohort))

    def _gaussian(
        self, signal: FloatArray, inside: BoolArray
    ) -> Callable[[FloatArray], FloatArray]:
        with_it, without = (
            _moments(signal, chosen, pooled=self.global_variance) for chosen in (inside, ~inside)
        )

        def score(seen: FloatArray) -> FloatArray:
            if not self.online:
                return (seen - without[0]) / np.sqrt(without[1])
            return _log_density(seen, *with_it) - _log_density(seen, *without)

        return score


def _moments(
    signal: FloatArray, chosen: BoolArray, *, pooled: bool
) -> tuple[FloatArray, FloatArray]:
    """Return every record's mean and variance over its chosen models, each of shape (n,)."""
    counts = chosen.sum(axis=0)
    mean = np.where(chosen, signal, 0.0).sum(axis=0) / counts
    squares = np.where(chosen, (signal - mean) ** 2, 0.0).sum(axis=0)
    if pooled:
        variance = np.full_like(mean, squares.sum() / (counts.sum() - counts.size))
    else:
        variance = squares / (counts - 1)
    return mean, np.maximum(variance, _LEAST_VARIANCE)


def _log_density(seen: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    return -0.5 * ((seen - mean) ** 2 / variance + np.log(variance))


def _frequency_ratio(signal: FloatArray, inside: BoolArray) -> Callable[[FloatArray], FloatArray]:
    answers = np.unique(signal)
    with_it, without = (_frequencies(signal, chosen, answers) for chosen in (inside, ~inside))
    ratio = np.log(with_it) - np.log(without)
    return partial(_ratio_of, answers=answers, ratio=ratio)


def _ratio_of(seen: FloatArray, *, answers: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return each record's log-ratio of its answer; 0 of an answer that no shadow gave."""
    place = np.minimum(np.searchsorted(answers, seen), answers.size - 1)
    found: FloatArray = ratio[place, np.arange(seen.shape[1])]
    return np.where(answers[place] == seen, found, 0.0)


def _frequencies(signal: FloatArray, chosen: BoolArray, answers: FloatArray) -> FloatArray:
    """Return the number of times that each record got each answer, shape (answers, n)."""
    counts = np.stack([(chosen & (signal == answer)).sum(axis=0) for answer in answers])
    common = (counts.sum(axis=1) + 0.5) / (counts.sum() + 0.5 * answers.size)
    weighed = counts + _PRIOR_MODELS * common[:, None]
    return np.asarray(weighed / weighed.sum(axis=0), dtype=np.float64)
