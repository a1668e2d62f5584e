"""Cohorts without training: answers drawn straight from the coins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.words.guarantees import Relation
from dpcp_ledger.training.model_attacks import Cohort

if TYPE_CHECKING:
    from dpcp_audit.words.validate import BoolArray, FloatArray


def cohort(
    members: BoolArray, confidence: FloatArray, *, threshold: float = 0.5, **options: Any
) -> Cohort:
    """Return a cohort of two labels, all of them 0, of which the models are so confident."""
    return Cohort(
        members=members,
        labels=np.zeros(members.shape[1], dtype=np.int64),
        probabilities=np.stack([confidence, 1 - confidence], axis=2),
        thresholds=np.full(len(members), threshold),
        **options,
    )


@dataclass(frozen=True)
class Responses:
    """Each model answers every coin by randomised response: ε-DP for each, with equality."""

    epsilon: float
    targets: int = 20
    name: str = "responses"
    relation: Relation = Relation.ADD_REMOVE

    @property
    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "targets": self.targets}

    def without_noise(self) -> Responses:
        return replace(self, epsilon=math.inf, name=f"{self.name}, without noise")

    def __call__(self, models: int, /, *, rng: np.random.Generator) -> Cohort:
        coins = rng.random((models, self.targets)) < 0.5
        kept = rng.random(coins.shape) < 1 / (1 + math.exp(-self.epsilon))
        return cohort(coins, np.where(coins == kept, 0.9, 0.1))


@dataclass(frozen=True)
class Gossip:
    """Now and then a model tells all of its coins, else none: (0, δ)-DP, with equality.

    The guesses about one model are right or wrong together.
    """

    delta: float
    targets: int = 20
    name: str = "gossip"
    relation: Relation = Relation.ADD_REMOVE

    @property
    def parameters(self) -> dict[str, Any]:
        return {"delta": self.delta, "targets": self.targets}

    def without_noise(self) -> None:
        """Not known: whether a model tells is all that it does."""

    def __call__(self, models: int, /, *, rng: np.random.Generator) -> Cohort:
        coins = rng.random((models, self.targets)) < 0.5
        tells = rng.random((models, 1)) < self.delta
        return cohort(coins, np.where(tells, np.where(coins, 0.9, 0.1), 0.5))


def three_labels() -> Cohort:
    """Return one model's answers for two records, of labels 0 and 2."""
    return Cohort(
        members=np.array([[True, False]]),
        labels=np.array([0, 2]),
        probabilities=np.array([[[0.5, 0.25, 0.25], [0.5, 0.375, 0.125]]]),
        thresholds=np.array([0.7]),
    )
