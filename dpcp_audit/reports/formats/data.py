"""The results as data: the document as JSON, and CSV of its numbers and tables (RFC 4180)."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.document import ReportFormat, dump
from dpcp_audit.reports.sentences import shown_estimate
from dpcp_audit.reports.terminal import records, tables_of
from dpcp_audit.words.formatting import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.words.results import PlainData


COLUMNS = (
    "id",
    "verdict",
    "expected",
    "contradicts",
    "standing",
    "quantity",
    "detail",
    "value",
    "lower",
    "upper",
    "claimed",
    "confidence",
    "n_samples",
    "kind",
    "seed",
    "seconds",
    "worse",
)
_NUMBERS = ("value", "lower", "upper", "claimed", "confidence", "n_samples")
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # those of full width, too


def render_csv(document: Mapping[str, Any]) -> str:
    """Render the numbers of a results document as CSV.

    Parameters
    ----------
    document : mapping
        The results document, as :func:`dpcp_audit.reports.document.load` returns it.

    Returns
    -------
    str
        A header and one line a finding, in the document's order, lines ending in CR LF. What is
        missing is empty, numbers that are not finite are inf, -inf and nan. A text that a
        spreadsheet would take for a formula gets an apostrophe in front; control characters
        become U+FFFD, and line breaks spaces.
    """
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for finding in document["findings"]:
        evidence: PlainData = shown_estimate(finding) if finding["evidence"] else {}
        writer.writerow(
            [
                _safe_text(finding["id"]),
                finding["verdict"],
                finding["expected"] or "",
                str(finding["contradicts"]).lower(),
                finding["standing"],
                evidence.get("quantity", ""),
                _safe_text(evidence.get("detail", "")),
                *(_number_text(evidence.get(name)) for name in _NUMBERS),
                evidence.get("kind", ""),
                document["seed"],
                _number_text(finding["seconds"]),
                _safe_text(finding.get("worse", "")),
            ]
        )
    return stream.getvalue()


def _safe_text(text: object) -> str:
    """Return a text on one line, which no spreadsheet takes for a formula."""
    cell = " ".join(printable(text).split())
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


def _number_text(value: float | str | None) -> str:
    return "" if value is None else str(value)


def render_cells(document: Mapping[str, Any]) -> str:
    """Render the tables of a results document as CSV.

    Returns
    -------
    str
        A header and a line for each row of each table: its finding, its table, and its cells,
        with numbers such as standard errors in columns of their own. What a table lacks is
        empty.
    """
    rows = [
        {"finding": id_, "table": table["title"]} | record
        for id_, table in tables_of(document)
        for record in records(table)
    ]
    stream = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(stream, list(names) or ["finding", "table"], restval="")
    writer.writerow({name: _safe_text(name) for name in writer.fieldnames})
    for row in rows:
        writer.writerow({name: _cell_text(text) for name, text in row.items()})
    return stream.getvalue()


def _cell_text(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return _safe_text(text)
    return text


FORMATS = {
    "json": ReportFormat(
        suffix=".json", help="every result; the source of all other formats", render=dump
    ),
    "csv": ReportFormat(
        suffix=".csv", help="one row a finding, for spreadsheets and data frames", render=render_csv
    ),
    "cells": ReportFormat(
        suffix=".cells.csv", help="the cells of tables, in full precision", render=render_cells
    ),
}
