"""The comparison as tables of a results document, and back again."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_type_hints

from dpcp_audit.extensions.claims import Table, TableColumn
from dpcp_ledger.comparison.calibrator_study import Comparison, ComparisonRow, Grid
from dpcp_ledger.comparison.known_methods import methods

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_HINTS = get_type_hints(ComparisonRow)
_NAMES = [field.name for field in fields(ComparisonRow)]
_LEFT_OUT = ["method", "left out because"]
_MEANING = (
    "coverage is the mean of F(q̂) over the runs, failure_rate the share of runs that cover less "
    "than 1−α, distance the mean of |F(q̂) − (1−α)|; parameter is what (ε, δ) buys."
)


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Return the rows as a table, and what was left out as another one, if anything was."""
    rows = Table(
        title=f"Every calibrator on {' and '.join(comparison.names)}",
        columns=[_column(name, comparison.rows) for name in _NAMES],
        notes=[_MEANING],
    )
    if not comparison.skipped:
        return (rows,)
    cells = zip(*comparison.skipped, strict=True)
    columns = [
        TableColumn(name=name, texts=list(texts))
        for name, texts in zip(_LEFT_OUT, cells, strict=True)
    ]
    return (rows, Table(title=f"Left out of {rows.title.lower()}", columns=columns))


def comparison_of(document: Mapping[str, Any]) -> Comparison:
    """Return the comparison that a results document holds.

    Raises
    ------
    ValueError
        If it holds none.
    """
    tables = [table for finding in document["findings"] for table in finding.get("tables", ())]
    rows = [row for table in tables if _names(table) == _NAMES for row in _rows(table)]
    if not rows:
        raise ValueError("document must hold the comparison of a subject, got none")
    left_out = [
        pair
        for table in tables
        if _names(table) == _LEFT_OUT
        for pair in zip(*(column["texts"] for column in table["columns"]), strict=True)
    ]
    skipped = tuple((str(key), str(why)) for key, why in dict.fromkeys(left_out))
    return Comparison(
        grid=_grid(rows, {key for key, _ in skipped}, seed=int(document["seed"])),
        rows=tuple(rows),
        skipped=skipped,
    )


def _column(name: str, rows: Sequence[ComparisonRow]) -> TableColumn:
    cells = [getattr(row, name) for row in rows]
    if _HINTS[name] is str:
        return TableColumn(name=name, texts=cells)
    return TableColumn(name=name, values=[math.nan if each is None else each for each in cells])


def _names(table: Mapping[str, Any]) -> list[str]:
    return [column["name"] for column in table["columns"]]


def _rows(table: Mapping[str, Any]) -> Iterator[ComparisonRow]:
    columns = [column["values"] or column["texts"] for column in table["columns"]]
    for cells in zip(*columns, strict=True):
        yield ComparisonRow(
            **{name: _field(name, cell) for name, cell in zip(_NAMES, cells, strict=True)}
        )


def _field(name: str, cell: str | float) -> Any:
    hint = _HINTS[name]
    if hint is str:
        return cell
    number = float(cell)
    if math.isnan(number):
        return None
    return number if hint in {float, float | None} else int(number)


def _grid(rows: Sequence[ComparisonRow], skipped: set[str], *, seed: int) -> Grid:
    tried = {row.method for row in rows} | skipped
    return Grid(
        methods=tuple(m.key for m in methods() if m.key in tried),
        subjects=tuple(dict.fromkeys(row.subject for row in rows)),
        sizes=tuple(sorted({row.n for row in rows})),
        epsilons=tuple(sorted({row.epsilon for row in rows if math.isfinite(row.epsilon)})),
        alphas=tuple(sorted({row.alpha for row in rows})),
        delta=min(row.delta for row in rows),
        trials=max(row.trials for row in rows),
        seed=seed,
    )
