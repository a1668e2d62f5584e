"""CSV of the tables: one line a row, every number in full precision (RFC 4180)."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.document import ReportFormat
from dpcp_audit.reports.formats.csv import safe_text
from dpcp_audit.reports.terminal import records, tables_of

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    writer.writerow({name: safe_text(name) for name in writer.fieldnames})
    for row in rows:
        writer.writerow({name: _cell(text) for name, text in row.items()})
    return stream.getvalue()


def _cell(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return safe_text(text)
    return text


FORMAT = ReportFormat(
    suffix=".cells.csv", help="the cells of tables, in full precision", render=render_cells
)
