"""Guarantees of prediction sets: how often they hold the label, and how large they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Coverage:
    """at_least ≤ P(Y ∈ C(X)) ≤ at_most, with probability at least ``confidence``.

    With ``per_class`` the bounds are those of P(Y ∈ C(X) | Y = y), for each class y.
    """

    at_least: float
    at_most: float = 1.0
    confidence: float = 1.0
    per_class: bool = False

    def __post_init__(self) -> None:
        _validate.finite(at_least=self.at_least, at_most=self.at_most)
        if not self.at_least <= self.at_most:
            raise ValueError(
                f"at_least must not exceed at_most, got {self.at_least!r} and {self.at_most!r}"
                + "; coverage is a share, such as 0.9" * (self.at_most == 1)
            )
        _validate.closed_unit(confidence=self.confidence)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name, as the constructor takes them."""
        return {
            "at_least": self.at_least,
            "at_most": self.at_most,
            "confidence": self.confidence,
        }

    def holds(self, coverage: ArrayLike) -> np.ndarray:
        """Tell, elementwise, which coverages lie within the bounds."""
        values = np.asarray(coverage, dtype=np.float64)
        return (values >= self.at_least) & (values <= self.at_most)


@dataclass(frozen=True, slots=True)
class SetSize:
    """The mean number of labels in a prediction set is at most ``at_most``.

    On average over calibration data, noise and a test point, all of one law.
    """

    at_most: float

    def __post_init__(self) -> None:
        _validate.positive(at_most=self.at_most)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameter by name, as the constructor takes it."""
        return {"at_most": self.at_most}
