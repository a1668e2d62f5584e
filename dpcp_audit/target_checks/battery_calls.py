"""Calls of a fitted object for the checks of a battery: data drawn from rows, sets per row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.data.row_pools import within
from dpcp_audit.targets import Kind, TargetSpec
from dpcp_audit.targets.data_forms import DataForm
from dpcp_audit.targets.target_errors import TargetRaisedError

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray
    from dpcp_audit.data.row_pools import RowPool

_ENDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedCalls:
    """A fitted object, the rows that its data are drawn from, and how many it is fitted to.

    Parameters
    ----------
    target : TargetSpec
        Of kind PREDICTOR or REGRESSION.
    pool : RowPool
        What it predicts, too.
    n : int
        Records of a fit.
    """

    target: TargetSpec
    pool: RowPool
    n: int

    @property
    def labels(self) -> Any:
        """The rows' labels: whole numbers of classes."""
        whole = self.target.kind is Kind.PREDICTOR
        return self.pool.labels.astype(np.int64) if whole else self.pool.labels

    def draw(self, rng: np.random.Generator, n: int | None = None) -> IntArray:
        """Return the rows of a data set, drawn with replacement."""
        return rng.integers(len(self.pool.labels), size=self.n if n is None else n)

    def data(self, rows: IntArray) -> tuple[Any, Any, Any]:
        """Return features, labels and all rows as new ones."""
        return self.pool.features[rows], self.labels[rows], self.pool.features

    def outputs(
        self, rows: IntArray, *, seed: int, size: int = 1, form: DataForm = DataForm.ARRAY
    ) -> FloatArray:
        """Return what is predicted of all rows, ``size`` times, shape (size, d)."""
        with replace(self.target, given_as=form).open() as target:
            found = target(self.data(rows), size, rng=np.random.default_rng(seed))
            return found.reshape(size, -1)

    def covered(self, outputs: FloatArray) -> BoolArray:
        """Tell of each row whether its label is in its set or interval, shape (size, m)."""
        labels = self.labels
        if self.target.kind is Kind.REGRESSION:
            return within(outputs.reshape(len(outputs), -1, _ENDS), labels)
        sets = outputs.reshape(len(outputs), len(labels), -1) > 0
        return np.asarray(sets[:, np.arange(len(labels)), labels])

    def empty(self, outputs: FloatArray) -> BoolArray:
        """Tell of each row whether nothing is in its set or interval, shape (size, m)."""
        parts = outputs.reshape(len(outputs), len(self.labels), -1)
        if self.target.kind is Kind.REGRESSION:
            return np.asarray(parts[..., 1] < parts[..., 0])
        return np.asarray(~(parts > 0).any(axis=2))

    def calls(
        self, rng: np.random.Generator, *, count: int, n: int | None = None, rows: Any = None
    ) -> tuple[FloatArray, str]:
        """Return the outputs of fits to fresh data, and why some were refused.

        Parameters
        ----------
        rows : ndarray of int, optional
            The data of all of them.
        """
        found: list[FloatArray] = []
        refusal = ""
        with self.target.open() as target:
            for _ in range(count):
                chosen = self.draw(rng, n) if rows is None else rows
                try:
                    found.append(target(self.data(chosen), 1, rng=rng).reshape(-1))
                except TargetRaisedError as error:
                    refusal = str(error)
        return np.array(found), refusal
