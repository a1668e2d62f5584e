"""Logistic models of digits, trained privately or not, under a conformal predictor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcp_audit.extensions.audits import RELATIONS, Cohort
from dpcp_audit.extensions.claims import Relation
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import SplitConformal, digits

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import BoolArray, FloatArray, PlainData
    from dpcp_audit.extensions.mechanisms import DPSGD, PCOQS, Examples


_SIDE_BY_SIDE = 512
_HELD_OUT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitModels:
    """Logistic regression on a few of scikit-learn's digits, and a threshold on top.

    Under ADD_REMOVE each of ``records`` digits is in a model's data by a coin of its own, and
    the threshold is calibrated on 200 public digits that are none of them. Under SUBSTITUTION
    one of each two rivals is in, and the members train the model *and* calibrate the
    threshold: the data of the whole pipeline.

    Parameters
    ----------
    name : str
        What the models are called.
    settings : DPSGD
        The training.
    calibrator : SplitConformal or PCOQS
        Calibrates the threshold of hinge scores.
    records : int
        Digits that may be in the data, at least 2; even under SUBSTITUTION.
    relation : Relation
        ADD_REMOVE or SUBSTITUTION.
    """

    name: str
    settings: DPSGD
    calibrator: SplitConformal | PCOQS
    records: int = 100
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        _validate.integer(records=self.records, at_least=2)
        if self.relation not in RELATIONS:
            raise ValueError(f"relation must be one of {', '.join(RELATIONS)}, got {self.relation}")
        if self.relation is Relation.SUBSTITUTION and self.records % 2:
            raise ValueError(f"records must be even under substitution, got {self.records}")

    @property
    def parameters(self) -> PlainData:
        """How the models are trained."""
        return {
            "settings": repr(self.settings),
            "calibrator": repr(self.calibrator),
            "records": self.records,
            "relation": str(self.relation),
        }

    def __call__(self, models: int, /, *, rng: np.random.Generator) -> Cohort:
        """Train the models, a few hundred side by side, and calibrate each."""
        _validate.integer(models=models, at_least=1)
        records, held_out = _digits(self.records)
        parts = [
            self._trained(records, held_out, min(_SIDE_BY_SIDE, models - start), rng)
            for start in range(0, models, _SIDE_BY_SIDE)
        ]
        members, probabilities, thresholds = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return Cohort(
            members=members,
            labels=records.labels,
            probabilities=probabilities,
            thresholds=thresholds,
            relation=self.relation,
        )

    def without_noise(self) -> Self:
        """Return the same training at σ = 0, clipping kept, under split conformal prediction."""
        return replace(
            self,
            name=f"{self.name}, without noise",
            settings=replace(self.settings, noise_multiplier=0.0),
            calibrator=SplitConformal(alpha=self.calibrator.alpha),
        )

    def _trained(
        self, records: Examples, held_out: Examples, models: int, rng: np.random.Generator
    ) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Return members, probabilities of the records, and thresholds."""
        from dpcp_audit.extensions.training import (  # noqa: PLC0415
            logistic,
            train,
        )

        members = self._members(models, rng)
        network = logistic(records.inputs.shape[1], records.n_classes)
        trained = train(network, records, self.settings, rng=rng, members=members)
        probabilities = trained.probabilities(records.inputs)
        if self.relation is Relation.SUBSTITUTION:
            own = _own_scores(probabilities, records)
            scores = [row[inside] for row, inside in zip(own, members, strict=True)]
        else:
            scores = list(_own_scores(trained.probabilities(held_out.inputs), held_out))
        return members, probabilities, self._thresholds(scores, rng)

    def _members(self, models: int, rng: np.random.Generator) -> BoolArray:
        if self.relation is Relation.SUBSTITUTION:
            coins = rng.random((models, self.records // 2)) < 0.5
            return np.concatenate([coins, ~coins], axis=1)
        return rng.random((models, self.records)) < 0.5

    def _thresholds(self, scores: list[FloatArray], rng: np.random.Generator) -> FloatArray:
        """Calibrate one model after the other: each has scores of its own."""
        if isinstance(self.calibrator, SplitConformal):
            return np.array([self.calibrator.threshold(row) for row in scores])
        return np.array([self.calibrator.sample(row, 1, rng=rng)[0] for row in scores])


@lru_cache(maxsize=4)
def _digits(records: int) -> tuple[Examples, Examples]:
    """Return the records, and digits held out, from one fixed permutation."""
    data = digits()
    if records > len(data) - _HELD_OUT:
        raise ValueError(f"records must leave {_HELD_OUT} of {len(data)} digits, got {records}")
    order = np.random.default_rng(0).permutation(len(data))
    return data.take(order[:records]), data.take(order[records : records + _HELD_OUT])


def _own_scores(probabilities: FloatArray, data: Examples) -> FloatArray:
    """Return the hinge scores of the data's labels, shape (models, n)."""
    return 1 - probabilities[:, np.arange(len(data)), data.labels]
