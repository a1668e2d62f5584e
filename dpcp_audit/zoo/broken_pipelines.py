"""Pipelines of the zoo: a classifier is fitted, calibrated and tried on fresh rows.

The rows carry no signal: features are normal and labels are fair coins, so that a classifier
which has seen a row knows its label, and of any other row it knows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.quantities import Quantity
from dpcp_audit.theorems.theorem import TheoremTrials
from dpcp_audit.zoo.broken_calibrators import ALPHA, split_conformal

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.results import PlainData

ROWS, FEATURES, FRESH = 100, 5, 100


def nearest_neighbour(features: FloatArray, labels: IntArray, queries: FloatArray) -> FloatArray:
    """Return class probabilities of queries, shape (m, 2): 3/4 for the label of the nearest row."""
    apart = ((queries[:, None, :] - features[None, :, :]) ** 2).sum(axis=2)
    ones = 0.25 + 0.5 * labels[apart.argmin(axis=1)]
    return np.stack([1 - ones, ones], axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Coverage of split conformal prediction, from fitting to fresh rows: a trial each.

    Parameters
    ----------
    held_out : bool
        Whether the calibration rows are others than those that the classifier was fitted to.
    """

    held_out: bool
    statistic: str = field(default="coverage", init=False)
    allowed_failure: float = field(default=0.0, init=False)
    failure: Quantity = field(default=Quantity.COVERAGE_FAILURE, init=False)

    @property
    def bounds(self) -> dict[str, float]:
        """1−α."""
        return {"1−α": 1 - ALPHA}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {"rows": ROWS, "features": FEATURES, "held_out": self.held_out, "alpha": ALPHA}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Fit, calibrate and try on fresh rows, ``count`` times."""
        coverage = np.array([self._trial(rng) for _ in range(count)])
        return TheoremTrials(coverage, np.zeros(count, dtype=bool))

    def _trial(self, rng: np.random.Generator) -> float:
        features = rng.normal(size=(2 * ROWS + FRESH, FEATURES))
        labels = rng.integers(0, 2, size=len(features))
        fitted, other, fresh = np.split(np.arange(len(features)), [ROWS, 2 * ROWS])
        calibration = other if self.held_out else fitted

        def classify(rows: IntArray) -> FloatArray:
            return nearest_neighbour(features[fitted], labels[fitted], features[rows])

        threshold = split_conformal(classify(calibration), labels[calibration], rng=rng)
        own = classify(fresh)[np.arange(len(fresh)), labels[fresh]]
        return float((1 - own <= threshold).mean())
