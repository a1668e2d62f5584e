"""The comparison as tables of a results document, and a map of which calibrator to use when."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import (
    Figure,
    FigureKind,
    Relation,
    Series,
    Table,
    TableColumn,
    power,
)
from dpcp_ledger.comparison.calibrator_study import method
from dpcp_ledger.comparison.method import Trust

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from dpcp_ledger.comparison.calibrator_study import Comparison, ComparisonRow
    from dpcp_ledger.comparison.method import Method


NUMBERS = {
    "n": "n",
    "alpha": "α",
    "epsilon": "ε",
    "coverage": "mean coverage",
    "failure_rate": "P(F(q̂) < 1−α)",
    "set_size": "mean set size",
}
"""Fields of a row that are columns, with their names."""
DETAILS = {
    "coverage_error": "standard error",
    "distance": "mean |F(q̂) − (1−α)|",
    "delta": "δ",
    "trials": "runs",
    "labels": "labels",
}
"""Fields that a results file and ``--report cells=`` have of each coverage."""
BOUGHT = "bought"
_NOTES = (
    "± is a standard error; ✗ marks a mean coverage that is short of 1−α by more than three.",
    "F(q̂) is the coverage of one calibration; bought is what (ε, δ) buys of the calibrator.",
)


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Return the rows as a table, and what was left out as another one, if anything was."""
    rows, names = comparison.rows, " and ".join(comparison.names)
    coverages = [
        f"{r.coverage:.4f} ± {r.coverage_error:.4f}{'' if r.covers else ' ✗'}" for r in rows
    ]
    columns = {
        "n": [f"{row.n}" for row in rows],
        "alpha": [f"{row.alpha:g}" for row in rows],
        "epsilon": [f"{row.epsilon:g}" if math.isfinite(row.epsilon) else "∞" for row in rows],
        "coverage": coverages,
        "failure_rate": [f"{row.failure_rate:.3f}" for row in rows],
        "set_size": ["–" if row.set_size is None else f"{row.set_size:.3f}" for row in rows],
    }
    found = Table(
        title=f"Every calibrator on {names}",
        columns=[
            TableColumn(name="calibrator", texts=[method(row.method).label for row in rows]),
            *(
                TableColumn(
                    name=NUMBERS[field],
                    texts=texts,
                    values=_numbers(rows, field),
                    details={name: _numbers(rows, each) for each, name in DETAILS.items()}
                    if field == "coverage"
                    else {},
                    marked=[place for place, text in enumerate(texts) if "✗" in text],
                )
                for field, texts in columns.items()
            ),
            TableColumn(name=BOUGHT, texts=[row.parameter for row in rows]),
        ],
        notes=list(_NOTES),
    )
    if not comparison.skipped:
        return (found,)
    left_out = Table(
        title=f"Left out on {names}",
        columns=[
            TableColumn(name="key", texts=[key for key, _ in comparison.skipped]),
            TableColumn(name="left out because", texts=[why for _, why in comparison.skipped]),
        ],
    )
    return (found, left_out)


def _numbers(rows: Iterable[ComparisonRow], field: str) -> list[float]:
    cells = (getattr(row, field) for row in rows)
    return [math.nan if cell is None else float(cell) for cell in cells]


OUTDONE = frozenset({"pcoqs-claimed", "pcoqs-claimed*", "exponq"})
"""Methods that leave a part of the budget unspent which a sibling spends."""
_TIE = 0.02
_USELESS = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A row of the map: the calibrators that compete in it.

    Parameters
    ----------
    trusts : collection of Trust
        Whom the people in the data may be asked to trust.
    promised : bool
        Take only calibrators with a theorem about their coverage.
    """

    title: str
    trusts: Collection[Trust]
    promised: bool = False


PANELS = (
    Panel(
        title="A curator is trusted; with a theorem about coverage",
        trusts=frozenset(Trust),
        promised=True,
    ),
    Panel(title="A curator is trusted; coverage as measured", trusts=frozenset(Trust)),
    Panel(
        title="No curator, at most a shuffler; coverage as measured",
        trusts=frozenset({Trust.SHUFFLER, Trust.NOBODY}),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BestMethod:
    """The best calibrator of a case.

    Parameters
    ----------
    row : ComparisonRow or None
        What was measured of it; None where no calibrator covers with useful sets.
    excess : float
        Labels a set more than split conformal prediction's; nan where there is no row.
    """

    row: ComparisonRow | None
    excess: float = math.nan


def choose(
    comparison: Comparison,
    *,
    subject: str,
    n: int,
    alpha: float,
    epsilon: float,
    panel: Panel,
) -> BestMethod:
    """Return the private calibrator with the smallest sets among those that cover.

    A calibrator covers where its mean coverage is at least 1−α within three standard errors,
    and its sets are useful where they hold less than 90 % of all labels. Among those within 2 %
    of the smallest, by split conformal prediction's size, the one that covers in most cases of
    the whole comparison is taken. Methods that protect labels alone do not stand for election:
    they do not keep the budget.
    """
    here = [r for r in comparison.rows if (r.subject, r.n, r.alpha) == (subject, n, alpha)]
    reference = next((r.set_size for r in here if not method(r.method).private), None)
    if reference is None:
        raise ValueError(f"subject must have split conformal sets to compare with, got {subject!r}")
    fit = [
        (row, size)
        for row in here
        if (size := row.set_size) is not None
        and row.epsilon == epsilon
        and row.covers
        and size < _USELESS * (row.labels or 1)
        and _eligible(method(row.method), panel)
    ]
    if not fit:
        return BestMethod(row=None)
    smallest = min(size for _, size in fit)
    tied = [(row, size) for row, size in fit if size <= smallest + _TIE * reference]
    row, size = min(tied, key=lambda one: (shortfalls(comparison, one[0].method), one[1]))
    return BestMethod(row=row, excess=size - reference)


def elected(comparison: Comparison, *, subject: str, alpha: float, panel: Panel) -> Counter[str]:
    """Return in how many cases over n and ε each calibrator is chosen; "" where none is."""
    return Counter(
        choice.row.method if choice.row else ""
        for n in comparison.grid.sizes
        for epsilon in comparison.grid.epsilons
        for choice in [
            choose(comparison, subject=subject, n=n, alpha=alpha, epsilon=epsilon, panel=panel)
        ]
    )


def told(tally: Counter[str]) -> str:
    """Return in words what ``elected`` counts, the most frequent first."""
    return "; ".join(
        f"{method(key).label if key else 'none'} ({count})" for key, count in tally.most_common()
    )


def shortfalls(comparison: Comparison, key: str) -> float:
    """Return the share of a method's cases, of all subjects, in which it does not cover."""
    rows = [row for row in comparison.rows if row.method == key]
    return sum(not row.covers for row in rows) / len(rows)


def _eligible(candidate: Method, panel: Panel) -> bool:
    return (
        candidate.private
        and candidate.key not in OUTDONE
        and candidate.relation is Relation.SUBSTITUTION
        and candidate.trust in panel.trusts
        and bool(candidate.promise or not panel.promised)
    )


_KEYS = (
    "Of P-COQS, claimed has the noise of its zCDP claim, proven what its bits are proved to need, "
    "coarse the same with Δ = 1/n; exponq-full spends all of ε; proved is what dp.calibrate "
    "returns, at a proved rank; ldpcp-l keeps labels alone private; shuf is shuffled; a star aims "
    "higher, so that a theorem speaks of 1−α."
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
            f"without privacy. {_KEYS}"
        ),
    )


def _short(key: str) -> str:
    """Return a method's key as it fits into a cell."""
    return key.replace("shuffled", "shuf")
