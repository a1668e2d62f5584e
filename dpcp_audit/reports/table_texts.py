"""The tables of a results document, as every report prints them."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import number, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dpcp_audit.results import PlainData

NOTHING = ""


def tables_of(document: Mapping[str, Any]) -> Iterator[tuple[str, PlainData]]:
    """Yield the tables of a run, the overview's first, each with its finding's id.

    A table that several findings share is yielded once.
    """
    seen: list[PlainData] = []
    for id_, table in _tables(document):
        if table not in seen:
            seen.append(table)
            yield id_, table


def texts(column: Mapping[str, Any]) -> list[str]:
    """Return what a column's cells say, each on one line: its texts, or else its values."""
    if column["texts"]:
        return [" ".join(printable(text).split()) for text in column["texts"]]
    return [NOTHING if value == "nan" else number(value) for value in column["values"]]


def lines(table: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a table's rows as texts."""
    return list(zip(*map(texts, table["columns"]), strict=True))


def numeric(column: Mapping[str, Any]) -> bool:
    """Return whether a column is set flush right."""
    return bool(column["values"])


def records(table: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield each row in full precision: a field a column, and one for each of its details."""
    fields: dict[str, list[Any]] = {}
    for column in table["columns"]:
        name = column["name"]
        fields[name] = column["values"] or column["texts"]
        fields |= {f"{name}: {detail}": cells for detail, cells in column["details"].items()}
    for row in zip_longest(*fields.values(), fillvalue=NOTHING):
        yield {
            name: NOTHING if cell == "nan" else str(cell)
            for name, cell in zip(fields, row, strict=True)
        }


def _tables(document: Mapping[str, Any]) -> Iterator[tuple[str, PlainData]]:
    for table in document.get("overview", {}).get("tables", ()):
        yield "", table
    for finding in document["findings"]:
        for table in finding.get("tables", ()):
            yield finding["id"], table
