"""A trade-off curve from a file, as the (ε, δ) guarantees that it is made of.

A piecewise-linear trade-off curve f is the largest of its lines. The line β = 1 − δ − e^ε·α is
what (ε, δ)-differential privacy says of a test's errors α and β, so that a mechanism has the
curve f if and only if it has the guarantee of each of the curve's lines (Dong, Roth and Su, 2022,
Proposition 2.4). Lines with a slope above −1 say the same of the neighbours exchanged. Lines
between points of a smooth curve lie above it, and claim more than it does.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.words.guarantees import ApproxDP, PureDP
from dpcp_audit.words.values import Value, is_file, wrong
from dpcp_audit.words.whole_files import UsageError

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import FloatArray


_WANTED = "a text file with a line 'ALPHA BETA' for each corner of the curve"
_MOST_LINES = 20
_ROUNDING = 1e-9


class TradeOffFile(Value):
    """A file whose lines have a type I error α and the least type II error β at it."""

    def read(self, value: object, name: str) -> tuple[ApproxDP | PureDP, ...]:
        """Return the guarantees of the curve's lines."""
        if not isinstance(value, str | Path) or not is_file(value):
            raise wrong(name, _WANTED, value)
        try:
            table = np.loadtxt(Path(value), delimiter=_delimiter(Path(value)), ndmin=2)
        except ValueError:
            raise wrong(name, _WANTED, str(value)) from None
        try:
            return guarantees_of_curve(table)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from error


def guarantees_of_curve(table: FloatArray) -> tuple[ApproxDP | PureDP, ...]:
    """Return the (ε, δ) guarantees that a trade-off curve is made of.

    Parameters
    ----------
    table : ndarray, shape (k, 2)
        The curve's corners (α, β); it is convex, falls, and lies below 1 − α.

    Raises
    ------
    ValueError
        If it is no trade-off curve.

    Examples
    --------
    >>> (found,) = guarantees_of_curve(np.array([[0, 0.9], [0.25, 0.25], [0.9, 0]]))
    >>> round(found.epsilon, 4), round(found.delta, 4)
    (0.9555, 0.1)
    """
    if table.ndim != 2 or table.shape[1] != 2 or len(table) < 2:
        raise ValueError(f"a curve must have 2 corners or more, got shape {table.shape}")
    alpha, beta = table[np.argsort(table[:, 0])].T
    if not ((table >= 0) & (table <= 1)).all() or (np.diff(alpha) <= 0).any():
        raise ValueError("a curve must have corners in [0, 1], each with an α of its own")
    slopes = np.diff(beta) / np.diff(alpha)
    if (slopes > 0).any() or (np.diff(slopes) < -_ROUNDING).any() or (alpha + beta > 1).any():
        raise ValueError("a trade-off curve must fall, be convex, and lie below 1 − α")
    steep = np.flatnonzero(slopes <= -1)
    if not steep.size or len(slopes) > _MOST_LINES:
        raise ValueError(
            f"a curve must have a line of slope -1 or less, and at most {_MOST_LINES} lines, got "
            f"{len(slopes)}"
        )
    lines = ((math.log(-slopes[i]), 1 - float(beta[i] - slopes[i] * alpha[i])) for i in steep)
    return tuple(
        PureDP(epsilon) if delta <= _ROUNDING else ApproxDP(epsilon, delta)
        for epsilon, delta in lines
        if epsilon > 0
    )


def _delimiter(path: Path) -> str | None:
    return "," if "," in path.read_text(encoding="utf-8") else None
