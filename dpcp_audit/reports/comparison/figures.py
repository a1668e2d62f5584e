"""Figures of the comparison as plain data, for the reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.audits.evidence import Figure, FigureKind, Series
from dpcp_audit.theorems.comparison.methods import method

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.theorems.comparison.study import Comparison, Row

SHOWN = ("split", "pcoqs-claimed*", "pcoqs-proven*", "exponq", "exponq-full")
"""What the lines show: the calibrators with a promise about coverage, and the yardstick."""


def size_figure(comparison: Comparison, *, subject: str, alpha: float, epsilon: float) -> Figure:
    """Return the mean set size against n at one ε."""
    return _against_n(
        comparison,
        lambda row: math.nan if row.set_size is None else row.set_size,
        subject=subject,
        alpha=alpha,
        epsilon=epsilon,
        title=f"Mean set size on {subject}, ε = {epsilon:g}",
        y_label="mean set size",
        description="Labels in a set, on average over calibrations and the pool, by method.",
    )


def coverage_figure(
    comparison: Comparison, *, subject: str, alpha: float, epsilon: float
) -> Figure:
    """Return the mean excess of coverage over 1−α against n at one ε."""
    return _against_n(
        comparison,
        lambda row: row.coverage - (1 - row.alpha),
        subject=subject,
        alpha=alpha,
        epsilon=epsilon,
        title=f"Coverage beyond 1−α on {subject}, ε = {epsilon:g}",
        y_label="mean coverage − (1−α)",
        description="What each method's mean coverage exceeds 1−α by: the price of its noise.",
    )


def _against_n(
    comparison: Comparison,
    value: Callable[[Row], float],
    *,
    subject: str,
    alpha: float,
    epsilon: float,
    title: str,
    y_label: str,
    description: str,
) -> Figure:
    rows = [
        row
        for row in comparison.rows
        if (row.subject, row.alpha) == (subject, alpha) and row.epsilon in {epsilon, math.inf}
    ]
    series = [_series([row for row in rows if row.method == key], key, value) for key in SHOWN]
    return Figure(
        kind=FigureKind.LINES,
        title=title,
        x_label="n",
        y_label=y_label,
        series=[line for line in series if line.x],
        description=description,
        log_x=True,
    )


def _series(rows: Sequence[Row], key: str, value: Callable[[Row], float]) -> Series:
    ordered = sorted(rows, key=lambda row: row.n)
    return Series(
        name=method(key).label,
        x=[float(row.n) for row in ordered],
        y=[value(row) for row in ordered],
    )
