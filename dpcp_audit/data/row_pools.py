"""Rows of features and labels as a population: what predictors are fitted to and tried on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit import _validate

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.results import PlainData

_ROWS, _CLASSES = 120, 3
_ROUNDING = 16 * np.finfo(np.float64).eps
"""Of the numbers that an end is made of: a label that is the end itself may come out beside it."""


def within(ends: FloatArray, labels: FloatArray) -> BoolArray:
    """Tell which intervals hold their labels, whatever the rounding of their ends.

    An end is a prediction plus or less a residual |y − prediction|; of the very record that set
    it, that is y only to the last bits.

    Parameters
    ----------
    ends : ndarray, shape (..., m, 2)
    labels : ndarray, shape (m,)

    Returns
    -------
    ndarray of bool, shape (..., m)

    Examples
    --------
    >>> end = 0.05 + (0.21 - 0.05)
    >>> end >= 0.21, within(np.array([[0.0, end], [1.0, 2.0]]), np.full(2, 0.21))
    (False, array([ True, False]))
    """
    low, high = ends[..., 0], ends[..., 1]
    room = [_ROUNDING * np.where(np.isfinite(x), np.abs(x), 0) for x in (low, high, labels)]
    beyond = np.maximum(np.maximum(room[0], room[1]), room[2])
    return np.asarray((low <= labels + beyond) & (labels - beyond <= high))


@dataclass(frozen=True, slots=True, eq=False)
class RowPool:
    """Rows that stand for a population: data sets are drawn from them with replacement.

    Parameters
    ----------
    features : ndarray, shape (m, p)
    labels : ndarray, shape (m,)
        Classes 0, …, K−1, or outcomes of a regression.
    """

    features: FloatArray
    labels: FloatArray

    def __post_init__(self) -> None:
        features = _validate.array(self.features, name="features", ndim=2)
        labels = _validate.array(self.labels, name="labels", ndim=1)
        if len(features) != len(labels):
            raise ValueError(
                f"features and labels must have the same length, got {len(features)} and "
                f"{len(labels)}"
            )
        order = np.lexsort((features[:, 0], labels))
        object.__setattr__(self, "features", features[order])
        object.__setattr__(self, "labels", labels[order])

    @property
    def classes(self) -> int:
        """The number K of classes.

        Raises
        ------
        ValueError
            If the labels are no integers from 0.
        """
        whole = (self.labels == np.floor(self.labels)) & (self.labels >= 0)
        if not whole.all():
            raise ValueError(
                f"labels must be integers from 0 for a predictor of sets, got "
                f"{self.labels[~whole][0]:g}: of outcomes the kind is regression"
            )
        return max(2, int(self.labels.max()) + 1)

    def as_data(self) -> PlainData:
        """Return the rows as plain data."""
        return {"features": self.features.tolist(), "labels": self.labels.tolist()}

    @classmethod
    def from_data(cls, data: Any) -> RowPool:
        """Return the rows of ``as_data``."""
        return cls(np.asarray(data["features"]), np.asarray(data["labels"]))


def made_classes() -> RowPool:
    """Return rows of three overlapping classes in two features, the same ones each time."""
    rng = np.random.default_rng(20)
    labels = np.arange(_ROWS) % _CLASSES
    centres = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
    features = centres[labels] + rng.normal(size=(_ROWS, 2))
    return RowPool(features.round(3), labels.astype(np.float64))


def made_outcomes() -> RowPool:
    """Return rows of one feature and an outcome with uneven noise, the same ones each time."""
    rng = np.random.default_rng(21)
    x = rng.uniform(-2, 2, size=(_ROWS, 1))
    noise = rng.normal(size=_ROWS) * (0.2 + np.abs(x[:, 0]))
    return RowPool(x.round(3), (x[:, 0] + noise).round(3))
