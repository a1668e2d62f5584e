"""Theorems whose truth is known by construction, to hold the checks against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcp_audit.theorems.theorem import TheoremTrials
from dpcp_audit.words.quantities import Quantity


@dataclass(frozen=True, kw_only=True)
class Coin:
    """Fails with probability ``rate``; a share ``undecided`` of the trials is left open."""

    allowed_failure: float = 0.1
    rate: float = 0.1
    undecided: float = 0.0
    statistic: str = field(default="coverage", init=False)
    failure: Quantity = Quantity.COVERAGE_FAILURE

    @property
    def bounds(self) -> dict[str, float]:
        return {"bound": 0.5}

    @property
    def parameters(self) -> dict[str, Any]:
        return {"rate": self.rate}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        u = rng.random(count)
        failed = u < self.rate
        undecided = (u > 1 - self.undecided) if self.undecided else None
        return TheoremTrials(1.0 - failed, failed, undecided)


@dataclass(frozen=True, kw_only=True)
class Level:
    """A statistic with the mean ``mean``: Beta, or a constant where ``spread`` is 0."""

    mean: float
    spread: float = 10.0
    allowed_failure: float = 0.0
    statistic: str = field(default="Δ-statistic", init=False)
    failure: Quantity = Quantity.COVERAGE_FAILURE

    @property
    def bounds(self) -> dict[str, float]:
        return {"mean": self.mean}

    @property
    def parameters(self) -> dict[str, Any]:
        return {"mean": self.mean}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        a, b = self.spread * self.mean, self.spread * (1 - self.mean)
        values = rng.beta(a, b, size=count) if self.spread else np.full(count, self.mean)
        return TheoremTrials(values, np.zeros(count, dtype=np.bool_))
