"""Calibration on labelled users: what mechanisms that take scores and labels have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from dpcp_audit import _validate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.guarantees import ZCDP, LocalDP


class LabelledCalibration(ABC):
    """Thresholds from scores and labels: a mechanism says how it checks users and releases."""

    __slots__ = ()

    @property
    @abstractmethod
    def guarantee(self) -> LocalDP | ZCDP:
        """What a release promises."""

    @abstractmethod
    def users(self, scores: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, IntArray]:
        """Return the users' scores and labels as arrays, or raise a ValueError."""

    @abstractmethod
    def releases(
        self, scores: FloatArray, labels: IntArray, size: int, *, rng: np.random.Generator
    ) -> FloatArray:
        """Draw ``size`` releases from users that are checked."""

    def sample(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        size: int,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> FloatArray:
        """Draw ``size`` independent releases from the same users.

        Parameters
        ----------
        scores, labels : array_like
            The users' scores, and their true labels in {0, ..., k−1}, shape (n,).
        size : int
            Number of releases.

        Returns
        -------
        ndarray, shape (size,) or (size, k)
            A threshold a release, or one for each label.
        """
        values, true = self.users(scores, labels)
        _validate.integer(size=size, at_least=1)
        return self.releases(values, true, size, rng=_validate.generator(rng))


def score_table(scores: ArrayLike, *, k: int) -> FloatArray:
    """Return scores of every label in [0, 1], shape (n, k)."""
    values = _validate.array(scores, name="scores", ndim=2)
    if values.shape[1] != k:
        raise ValueError(f"scores must have k = {k} columns, got shape {values.shape}")
    _validate.scores(values.ravel(), within=(0.0, 1.0))
    return values


def label_users(scores: ArrayLike, labels: ArrayLike, *, k: int) -> tuple[FloatArray, IntArray]:
    """Return users whose features are open: scores of every label (n, k), true labels (n,)."""
    values = score_table(scores, k=k)
    return values, _validate.labels(labels, n_classes=k, shape=values.shape[:1])
