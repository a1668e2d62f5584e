"""Log-odds: what an observer believes of the coin once it has seen an output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.search.features import feature_from_data

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.search.features import Feature
    from dpcp_audit.results import PlainData


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogOdds:
    """A step function of a feature: the log-odds that an output is of the first input.

    Parameters
    ----------
    feature : Feature
    cuts : ndarray, shape (m,)
        Increasing right ends of the first m cells of the feature's range.
    steps : ndarray, shape (m+1,)
        The log-odds on each cell; 0 where nothing is known, and then no guess is made.
    """

    feature: Feature
    cuts: FloatArray
    steps: FloatArray

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the log-odds of outputs of shape (size,) or (size, d)."""
        return self.at(self.feature(outputs))

    def at(self, values: FloatArray) -> FloatArray:
        """Return the log-odds where the feature has these values."""
        return self.steps[np.searchsorted(self.cuts, values, side="left")]

    def above(self, threshold: float) -> LogOdds:
        """Return the same to two decimals, with 0 where they are below ``threshold`` in size."""
        steps = np.where(np.abs(self.steps) >= threshold, np.round(self.steps, 2), 0.0)
        part = np.flatnonzero(np.diff(steps))  # cells of equal steps are one
        return LogOdds(
            feature=self.feature, cuts=self.cuts[part], steps=np.append(steps[part], steps[-1])
        )

    def as_data(self) -> PlainData:
        """Return the function as plain data."""
        return {
            "feature": self.feature.as_data(),
            "cuts": self.cuts.tolist(),
            "steps": self.steps.tolist(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> LogOdds:
        """Build the function that ``as_data`` wrote."""
        return cls(
            feature=feature_from_data(data["feature"]),
            cuts=np.asarray(data["cuts"], dtype=np.float64),
            steps=np.asarray(data["steps"], dtype=np.float64),
        )
