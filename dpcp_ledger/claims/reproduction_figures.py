"""A reproduced table as heat maps: published, as published and as written, side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from dpcp_audit.extensions.claims import Figure, FigureKind, Series
from dpcp_ledger.reproduce.table_cells import Form

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcp_ledger.reproduce.table_cells import Reproduction, TableCell


_MOST_ROWS = 60
_CAP = 3.0
_DUST = 1e-12
"""Standard errors below it are rounding of equal numbers."""


def figures(found: Reproduction, form: Form, *, level: float) -> tuple[Figure, ...]:
    """Return a reproduction as heat maps of at most 60 rows, parted by metric where it is larger.

    Parameters
    ----------
    form : Form
        What the printed numbers are held against; as published, what the algorithms give as
        written stands beside it.
    level : float
        Probability that one comparison marks numbers that agree in mean.
    """
    forms = tuple(Form) if form is Form.PUBLISHED else (Form.WRITTEN,)
    drawn = [cell for cell in found.cells if any(_numbers(cell, forms))]
    return tuple(_figure(found.source, part, forms, level=level) for part in _parts(drawn))


def _numbers(cell: TableCell, forms: Sequence[Form]) -> Iterator[bool]:
    yield cell.printed is not None
    for form in forms:
        yield cell.ours(form) is not None


class _Part(NamedTuple):
    """Rows of one figure, by their names; ``metric`` is empty where all are in one figure."""

    metric: str
    number: str
    rows: list[tuple[str, TableCell]]


def _parts(cells: list[TableCell]) -> Iterator[_Part]:
    if len(cells) <= _MOST_ROWS:
        if cells:
            yield _Part("", "", [(f"{cell.row}, {cell.column}", cell) for cell in cells])
        return
    by_metric: dict[str, list[TableCell]] = {}
    for cell in cells:
        by_metric.setdefault(cell.column.split()[0], []).append(cell)
    for metric, members in by_metric.items():
        rows = [(_without(metric, cell), cell) for cell in members]
        for start in range(0, len(rows), _MOST_ROWS):
            number = f", part {start // _MOST_ROWS + 1}" if len(rows) > _MOST_ROWS else ""
            yield _Part(f", {metric}", number, rows[start : start + _MOST_ROWS])


def _without(metric: str, cell: TableCell) -> str:
    rest = cell.column.removeprefix(metric).strip()
    return f"{cell.row}, {rest}" if rest else cell.row


def _figure(source: str, part: _Part, forms: Sequence[Form], *, level: float) -> Figure:
    return Figure(
        kind=FigureKind.HEATMAP,
        title=f"{source}{part.metric}{part.number}",
        x_label="mean ± standard error",
        y_label="",
        columns=["published", *forms],
        series=[_series(name, cell, forms, level) for name, cell in part.rows],
        marks={"≠ differs beyond errors": 1.0},
        description=(
            "Each number as the paper prints it and as it comes out here, with standard errors. "
            "The colour is the distance to the printed number as a share of what the errors of "
            f"both allow, orange and ≠ above 1, strongest from {_CAP:g} on; without colour "
            "nothing is compared. = marks numbers that come out to the printed digit, spread "
            "included, over all published runs."
        ),
    )


def _series(name: str, cell: TableCell, forms: Sequence[Form], level: float) -> Series:
    strains = [cell.strain(form, level=level) for form in forms]
    y = [math.nan, *(math.nan if strain is None else min(strain, _CAP) for strain in strains)]
    texts = [_text(cell, form, strain) for form, strain in zip(forms, strains, strict=True)]
    return Series(
        name=name,
        x=[float(place) for place in range(len(y))],
        y=y,
        texts=[_printed(cell), *texts],
    )


def _printed(cell: TableCell) -> str:
    if cell.printed is None:
        return ""
    value, spread = cell.printed.value, cell.printed.spread
    error = None if spread is None else spread / math.sqrt(cell.printed.runs)
    return _number(value, error, cell.printed.decimals)


def _text(cell: TableCell, form: Form, strain: float | None) -> str:
    ours = cell.ours(form)
    if ours is None:
        return ""
    mark = "" if strain is None or strain <= 1 else "≠"
    if form is Form.PUBLISHED and cell.matches:
        mark = "="
    decimals = 4 if cell.printed is None else cell.printed.decimals
    error = None if ours.trials is None else ours.standard_error
    return mark + _number(ours.value, error, decimals)


def _number(value: float, error: float | None, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    if error is None or not math.isfinite(error):
        return text
    return f"{text}±{error if error > _DUST else 0:.1g}"
