"""The comparison as tables of a results document."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Table, TableColumn
from dpcp_ledger.comparison.known_methods import method

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_ledger.comparison.calibrator_study import Comparison, ComparisonRow

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
