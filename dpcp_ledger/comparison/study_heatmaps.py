"""The comparison on one subject as heat maps: plain data, for the reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from dpcp_audit.extensions.claims import Figure, FigureKind, Series, power
from dpcp_ledger.comparison.best_method import PANELS, choose
from dpcp_ledger.comparison.known_methods import method

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dpcp_ledger.comparison.calibrator_study import Comparison, ComparisonRow

    Cell = tuple[float, str]
    """What colours a cell, and what stands in it."""

_ERRORS = 3.0
"""Standard errors by which a mean coverage that is marked falls short: ``ComparisonRow.covers``."""
_CAP = 3.0
_KEYS = (
    "Of P-COQS, claimed has the noise of its zCDP claim, proven what its bits are proved to need, "
    "coarse the same with Δ = 1/n; exponq-full spends all of ε; ldpcp-l keeps labels alone "
    "private; shuf is shuffled; a star aims higher, so that a theorem speaks of 1−α."
)
_PANELS = ("theorem", "as measured", "no curator")
"""Names of ``PANELS`` that fit before a figure."""


def choice_figure(comparison: Comparison, *, subject: str, alpha: float) -> Figure:
    """Return which calibrator gives the smallest sets among those that cover, over n and ε.

    Parameters
    ----------
    subject : str
        A pool: laws of scores have no sets.
    """
    grid = comparison.grid
    series: list[Series] = []
    for panel, name in zip(PANELS, _PANELS, strict=True):
        for epsilon in grid.epsilons:
            chosen = [
                choose(comparison, subject=subject, n=n, alpha=alpha, epsilon=epsilon, panel=panel)
                for n in grid.sizes
            ]
            series.append(
                Series(
                    name=f"{name}, ε = {epsilon:g}",
                    x=[float(n) for n in grid.sizes],
                    y=[choice.excess for choice in chosen],
                    texts=[_short(each.row.method) if each.row else "none" for each in chosen],
                )
            )
    return Figure(
        kind=FigureKind.HEATMAP,
        title=f"Which calibrator gives the smallest sets on {subject}, α = {alpha:g}",
        x_label="n",
        y_label="",
        columns=[power(n) for n in grid.sizes],
        series=series,
        description=(
            "At each n and ε the private calibrator with the smallest sets among those whose mean "
            "coverage reaches 1−α; none, where no sets hold less than 90 % of all labels. First "
            "among those with a theorem about their coverage, then among all, then among those "
            "that need no curator. The colour is the number of labels a set holds more than "
            "without privacy."
        ),
    )


def number_figures(
    comparison: Comparison,
    *,
    subject: str,
    alpha: float,
    sizes: Sequence[int],
    epsilons: Sequence[float],
) -> Iterator[Figure]:
    """Yield every method at chosen n and ε: mean coverage, failure rate and, on a pool, set size.

    The failure rate is how often one calibration covers less than 1−α.
    """
    allowed = comparison.grid.failure
    measures: dict[str, _Measure] = {
        f"Mean coverage on {subject}, α = {alpha:g}": _Measure(
            _coverage,
            {f"✗ short of 1−α by over {_ERRORS:g} errors": 1.0},
            "Mean of F(q̂) over calibrations. The colour is what it lacks of 1−α, in "
            f"units of {_ERRORS:g} standard errors, strongest from {_CAP:g} on. {_KEYS}",
        ),
        f"P(F(q̂) < 1−α) on {subject}, α = {alpha:g}": _Measure(
            lambda row: (row.failure_rate, f"{row.failure_rate:.2f}"),
            {f"above {allowed:g}": allowed},
            "Share of calibrations whose sets cover less than 1−α: the PAC failure rate. "
            f"Calibrators with a star aim at {allowed:g}; a mean coverage of just 1−α has about "
            "0.5.",
        ),
        f"Mean set size on {subject}, α = {alpha:g}": _Measure(
            lambda row: (
                (math.nan, "") if row.set_size is None else (row.set_size, f"{row.set_size:.2f}")
            ),
            {},
            "Labels in a set, on average over calibrations and the pool.",
        ),
    }
    rows = [row for row in comparison.rows if row.subject == subject]
    if not any(row.labels for row in rows):
        measures.popitem()
    cases = [(n, epsilon, alpha) for n in sizes for epsilon in epsilons]
    for title, measure in measures.items():
        cells = {(row.method, row.n, row.epsilon, row.alpha): measure.cell(row) for row in rows}
        yield Figure(
            kind=FigureKind.HEATMAP,
            title=title,
            x_label="n, ε",
            y_label="",
            columns=[f"{power(n)}, {epsilon:g}" for n, epsilon, _ in cases],
            series=list(_by_method(comparison.grid.methods, cells, cases)),
            marks=measure.marks,
            description=measure.description,
        )


class _Measure(NamedTuple):
    """What a heat map shows of a row: its colour and text, what is marked, and what it means."""

    cell: Callable[[ComparisonRow], Cell]
    marks: dict[str, float]
    description: str


def _coverage(row: ComparisonRow) -> Cell:
    short = max(0.0, 1 - row.alpha - row.coverage)
    strain = short / (_ERRORS * row.coverage_error) if row.coverage_error else math.inf
    return min(strain, _CAP) if short else 0.0, f"{'' if row.covers else '✗'}{row.coverage:.3f}"


def _by_method(
    keys: Iterable[str],
    found: Mapping[tuple[str, int, float, float], Cell],
    cases: Sequence[tuple[int, float, float]],
) -> Iterator[Series]:
    for key in keys:
        private = method(key).private
        cells = [found.get((key, n, e if private else math.inf, a)) for n, e, a in cases]
        if any(cells):
            yield Series(
                name=_short(key),
                x=[float(place) for place in range(len(cells))],
                y=[math.nan if one is None else one[0] for one in cells],
                texts=["" if one is None else one[1] for one in cells],
            )


def _short(key: str) -> str:
    """Return a method's key as it fits into a cell."""
    return key.replace("shuffled", "shuf")
