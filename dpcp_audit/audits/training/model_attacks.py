"""Attacks on trained models: the loss threshold, the attack classifier, and LiRA.

Each is fitted on shadow models, whose members the attacker knows, and gives every model and
record a score: the higher, the likelier a member.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.training.cohorts import Cohort, View
    from dpcp_audit.words.arrays import BoolArray, FloatArray


_LEAST_VARIANCE = 1e-6
_PRIOR_MODELS = 2.0
_MOST_ROWS = 40_000
_TREES = 40


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

    Where there are no probabilities, the view's signal stands in for the loss.
    """

    @property
    def name(self) -> str:
        """Loss threshold."""
        return "loss threshold"

    def fit(self, shadows: Cohort, view: View, /) -> Callable[[Cohort], FloatArray]:  # noqa: ARG002
        """Return the signal, which falls with the loss."""
        return view.signal


@dataclass(frozen=True, slots=True)
class AttackClassifier:
    """A classifier of members' answers against others' (Shokri et al. 2017).

    One for all records, fitted on what the shadow models answer: boosted trees, which see the
    record's label, in place of a network for each label.
    """

    @property
    def name(self) -> str:
        """Shadow models."""
        return "attack classifier on shadow models"

    def fit(self, shadows: Cohort, view: View, /) -> Callable[[Cohort], FloatArray]:
        """Return the classifier's log-odds of "member"."""
        from sklearn.ensemble import (  # noqa: PLC0415  (slow to import)
            HistGradientBoostingClassifier,
        )

        kept = shadows.part(0, max(2, _MOST_ROWS // len(shadows.labels)))
        features = view.features(kept)
        settings: dict[str, Any] = {"early_stopping": False, "categorical_features": [0]}
        classifier = cast(
            "Any", HistGradientBoostingClassifier(max_iter=_TREES, random_state=0, **settings)
        )
        classifier.fit(features.reshape(-1, features.shape[2]), kept.members.ravel())

        def score(cohort: Cohort) -> FloatArray:
            seen = view.features(cohort)
            odds = classifier.decision_function(seen.reshape(-1, seen.shape[2]))
            return np.asarray(odds, dtype=np.float64).reshape(seen.shape[:2])

        return score


@dataclass(frozen=True, slots=True, kw_only=True)
class LiRA:
    """The likelihood ratio of a record's signal, from shadow models (Carlini et al. 2022).

    Parameters
    ----------
    online : bool
        With the record: Gaussians of the signal in shadows with and without it, and their
        ratio. Without (offline): how far the signal lies above that of shadows without it.
    global_variance : bool
        One variance for all records, within and without: for few shadow models.

    Notes
    -----
    Online, on a view of a few answers, the two laws are the answers' frequencies, drawn to
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
        if self.online and view.is_discrete:
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
    """Return how often each record got each answer in its chosen models, (answers, n)."""
    counts = np.stack([(chosen & (signal == answer)).sum(axis=0) for answer in answers])
    common = (counts.sum(axis=1) + 0.5) / (counts.sum() + 0.5 * answers.size)
    weighed = counts + _PRIOR_MODELS * common[:, None]
    return np.asarray(weighed / weighed.sum(axis=0), dtype=np.float64)
