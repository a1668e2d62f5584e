"""A reproduction as plain data: the source of every format it is shown in."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcp_audit import __version__
from dpcp_audit.mechanisms.pcoqs.published_variants import CHOICES
from dpcp_audit.papers.reproduce.table_cells import RULE
from dpcp_audit.reports.document import plain_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpcp_audit.papers.reproduce.experiments import Extent
    from dpcp_audit.papers.reproduce.table_cells import Cell, Estimate, Reproduction

SCHEMA_VERSION = 1


def to_data(
    reproductions: Iterable[Reproduction],
    *,
    extent: Extent,
    seed: int,
    data: Sequence[str] = (),
    seconds: float = 0.0,
) -> dict[str, Any]:
    """Return reproductions as JSON-ready data.

    Numbers that JSON lacks become the strings "inf", "-inf" and "nan". ``wall_seconds`` alone
    differs between runs of the same settings on one machine.
    """
    document = {
        "reproduction_version": SCHEMA_VERSION,
        "tool": {"name": "dpcp-audit", "version": __version__},
        "profile": extent,
        "seed": seed,
        "data": list(data),
        "rule": RULE,
        "choices": [asdict(choice) for choice in CHOICES],
        "wall_seconds": round(seconds, 3),
        "experiments": [_experiment(each) for each in reproductions],
    }
    plain = plain_data(document)
    assert isinstance(plain, dict)  # noqa: S101  (for the type checker)
    return plain


def dump(document: dict[str, Any]) -> str:
    """Return the data as JSON text."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _experiment(reproduction: Reproduction) -> dict[str, Any]:
    cells = [_cell(cell) for cell in reproduction.cells]
    return {
        "id": reproduction.id,
        "title": reproduction.title,
        "source": reproduction.source,
        "notes": list(reproduction.notes),
        "summary": _summary(cells),
        "cells": cells,
    }


def _summary(cells: Sequence[dict[str, Any]]) -> dict[str, int]:
    printed = [cell for cell in cells if cell["printed"] is not None]
    return {
        "printed": len(printed),
        "reproduced": sum(cell["as_published"] is not None for cell in printed),
        "in_full": sum(cell["matches"] is not None for cell in printed),
        "to_the_digit": sum(cell["matches"] is True for cell in printed),
        "differ_as_published": sum(cell["published_differs"] is True for cell in printed),
        "compared_as_written": sum(cell["written_differs"] is not None for cell in printed),
        "differ_as_written": sum(cell["written_differs"] is True for cell in printed),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "row": cell.row,
        "column": cell.column,
        "printed": None if cell.printed is None else asdict(cell.printed),
        "as_published": _estimate(cell.as_published),
        "as_written": _estimate(cell.as_written),
        "comparable": cell.comparable,
        "matches": cell.matches,
        "published_differs": cell.published_differs,
        "written_differs": cell.written_differs,
        "note": cell.note,
    }


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    error = estimate.standard_error
    return asdict(estimate) | {"standard_error": error if math.isfinite(error) else None}
