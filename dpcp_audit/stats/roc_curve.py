"""Concave ROC curves: how often a test detects one law, by how often it errs on another.

The Neyman–Pearson curve of two laws is concave from (0, ·) to (1, 1). One that lies above another
everywhere is of laws that are easier to tell apart: every divergence of them is at least as large
(Blackwell's order).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray


_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocCurve:
    """A concave, piecewise linear curve.

    Parameters
    ----------
    fpr : ndarray, shape (k,)
        Increasing false-positive rates of the corners, from 0 to 1.
    tpr : ndarray, shape (k,)
        The true-positive rates there; the last one is 1.

    Examples
    --------
    >>> curve = RocCurve.hull([0.1], [0.5])
    >>> curve.fpr.tolist(), curve.tpr.tolist(), float(curve.at(0.05))
    ([0.0, 0.1, 1.0], [0.0, 0.5, 1.0], 0.25)
    """

    fpr: FloatArray
    tpr: FloatArray

    @classmethod
    def hull(cls, fpr: ArrayLike, tpr: ArrayLike) -> RocCurve:
        """Return the least concave curve above points, (0, 0) and (1, 1) among them."""
        x, y = np.append(fpr, [0.0, 1.0]), np.append(tpr, [0.0, 1.0])
        order = np.lexsort((-y, x))
        kept: list[tuple[float, float]] = []
        for point in zip(x[order].tolist(), y[order].tolist(), strict=True):
            if kept and (point[0] == kept[-1][0] or (point[1] <= kept[-1][1] and point[0] < 1)):
                continue
            while len(kept) > 1 and _turns_up(kept[-2], kept[-1], point):
                kept.pop()
            kept.append(point)
        corners = np.array(kept)
        return cls(fpr=corners[:, 0], tpr=corners[:, 1])

    @classmethod
    def below(cls, lines: Sequence[tuple[float, float]]) -> RocCurve:
        """Return the largest curve below lines, each an intercept and a slope, both >= 0.

        A curve lies below 1, too; one of the lines may say so by passing through (1, 1).
        """
        ending = [slope for intercept, slope in lines if intercept + slope <= 1 + _ROUNDING]
        flattest = max(ending, default=0.0)  # flatter ones lie above that line
        kept_lines = [line for line in lines if line[1] >= flattest]
        whole = [] if ending else [(1.0, 0.0)]
        intercepts, slopes = (np.array(part) for part in zip(*kept_lines, *whole, strict=True))
        order = np.lexsort((intercepts, -slopes))
        kept: list[tuple[float, float]] = []
        starts: list[float] = []
        for intercept, slope in zip(intercepts[order], slopes[order], strict=True):
            line = float(intercept), float(slope)
            if kept and (slope == kept[-1][1] or not np.isfinite(slope)):
                continue
            while kept and _crossing(kept[-1], line) <= starts[-1]:
                kept.pop()
                starts.pop()
            starts.append(_crossing(kept[-1], line) if kept else 0.0)
            kept.append(line)
        x = np.array([*(start for start in starts if start < 1), 1.0])
        y = np.min([a + b * x for a, b in kept], axis=0)
        return cls.hull(x, np.minimum(y, 1.0))

    @property
    def lines(self) -> list[tuple[float, float]]:
        """The lines through its edges, each an intercept and a slope."""
        slopes = np.diff(self.tpr) / np.diff(self.fpr)
        return list(
            zip((self.tpr[1:] - slopes * self.fpr[1:]).tolist(), slopes.tolist(), strict=True)
        )

    @property
    def masses(self) -> tuple[FloatArray, FloatArray]:
        """The masses of two laws whose curve it is, the likeliest outcome of the first in front."""
        p, q = np.diff(self.tpr, prepend=0.0), np.diff(self.fpr, prepend=0.0)
        live = (p > 0) | (q > 0)
        return p[live], q[live]

    def at(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest true-positive rate at each rate of false positives."""
        return np.interp(_validate.reals(fpr, name="fpr"), self.fpr, self.tpr)


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Tell whether the middle one of three points lies on or below the line of the others."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def _crossing(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return where a line meets a steeper one."""
    return (second[0] - first[0]) / (first[1] - second[1])
