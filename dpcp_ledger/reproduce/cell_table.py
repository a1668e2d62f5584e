"""A reproduction as a table: published, as published and as written, cell by cell."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Table, TableColumn
from dpcp_ledger.mechanisms.published_variants import CHOICES
from dpcp_ledger.reproduce.table_cells import Form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_ledger.reproduce.table_cells import Printed, ReproducedNumber, Reproduction, TableCell


_LEGEND = (
    "Value ± standard deviation over runs (standard error). = the printed digits come out, ≠ the "
    "published number differs beyond errors, no mark: it agrees, or is not compared."
)


def cell_table(found: Reproduction, *, level: float) -> Table:
    """Return a reproduction as a table, a row a number.

    Parameters
    ----------
    level : float
        Probability that one comparison marks numbers that agree in mean.
    """
    remarks = dict.fromkeys(cell.note for cell in found.cells if cell.note)
    return Table(
        title=f"{found.source}: {found.title}",
        columns=[
            TableColumn(name="row", texts=[cell.row for cell in found.cells]),
            TableColumn(name="number", texts=[cell.column for cell in found.cells]),
            _published([cell.printed for cell in found.cells]),
            *(_ours(found.cells, form, level) for form in Form),
        ],
        notes=[_counted(found.cells, level), _LEGEND, *found.notes, *remarks],
    )


def choices_table() -> Table:
    """Return the choices of the published computation that P-COQS's text does not make."""
    names = {
        "choice": "name",
        "as published": "published",
        "as written": "written",
        "source": "source",
    }
    choices = [asdict(choice) for choice in CHOICES]
    return Table(
        title="What “as published” means in P-COQS's tables",
        columns=[
            TableColumn(name=name, texts=[choice[key] for choice in choices])
            for name, key in names.items()
        ],
    )


def _published(numbers: Sequence[Printed | None]) -> TableColumn:
    return TableColumn(
        name="published",
        texts=["" if p is None else _spread(p.value, p.spread, p.decimals) for p in numbers],
        values=[math.nan if p is None else p.value for p in numbers],
        details={"spread": [_known(None if p is None else p.spread) for p in numbers]},
    )


def _ours(cells: Sequence[TableCell], form: Form, level: float) -> TableColumn:
    numbers = [cell.ours(form) for cell in cells]
    differs = [cell.differs(form, level=level) for cell in cells]
    return TableColumn(
        name=form,
        texts=[
            _text(cell, form, differing=bool(off)) for cell, off in zip(cells, differs, strict=True)
        ],
        values=[math.nan if ours is None else ours.value for ours in numbers],
        details={
            "spread": [_known(ours and ours.spread) for ours in numbers],
            "standard error": [_known(ours and ours.standard_error) for ours in numbers],
            "trials": [_known(ours and ours.trials) for ours in numbers],
            "differs": [_known(None if off is None else float(off)) for off in differs],
        },
        marked=[place for place, off in enumerate(differs) if off],
    )


def _known(number: float | ReproducedNumber | None) -> float:
    return float(number) if isinstance(number, int | float) else math.nan


def _text(cell: TableCell, form: Form, *, differing: bool) -> str:
    ours = cell.ours(form)
    if ours is None:
        return ""
    decimals = 4 if cell.printed is None else cell.printed.decimals
    text = _estimate(ours, decimals)
    if form is Form.PUBLISHED and cell.matches:
        return f"{text} ="
    return f"{text} ≠" if differing else text


def _estimate(ours: ReproducedNumber, decimals: int) -> str:
    if ours.trials is None or not math.isfinite(ours.standard_error):
        return _spread(ours.value, ours.spread or None, decimals)
    error = f"({ours.standard_error:.{decimals + 1}f})"
    return f"{_spread(ours.value, ours.spread or None, decimals)} {error}"


def _spread(value: float, spread: float | None, decimals: int) -> str:
    if spread is None or not math.isfinite(spread):
        return f"{value:.{decimals}f}"
    return f"{value:.{decimals}f} ± {spread:.{decimals}f}"


def _counted(cells: Sequence[TableCell], level: float) -> str:
    """Return a sentence on how the printed numbers fared."""
    printed = [cell for cell in cells if cell.printed is not None]
    if not printed:
        return "The paper prints no numbers for this."
    compared = {
        form: [off for cell in printed if (off := cell.differs(form, level=level)) is not None]
        for form in Form
    }
    said = [f"{len(compared[Form.PUBLISHED])} of {len(printed)} printed numbers reproduced"]
    if compared[Form.PUBLISHED]:
        said.append(f"{sum(compared[Form.PUBLISHED])} differ")
    if in_full := [cell.matches for cell in printed if cell.matches is not None]:
        said.append(
            f"{sum(in_full)} of the {len(in_full)} over all published runs come out to the "
            "printed digit"
        )
    if written := compared[Form.WRITTEN]:
        said.append(f"{sum(written)} of {len(written)} differ from the algorithm as written")
    return f"{', '.join(said)}."
