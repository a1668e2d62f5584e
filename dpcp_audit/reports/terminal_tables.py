"""The tables of a results document on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcp_audit._format import printable
from dpcp_audit.reports.table_texts import lines, numeric, tables_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_WIDTH = 170
"""Where there is no terminal."""
_MARKED = "bold red"


def print_tables(document: Mapping[str, Any], *, stream: TextIO) -> None:
    """Print every table of a run, with its notes; a name that repeats is printed once."""
    console = Console(file=stream)
    if not console.is_terminal:
        console = Console(file=stream, width=_WIDTH)
    for _, table in tables_of(document):
        console.print(_shown(table))
        for note in table["notes"]:
            console.print(Text(f"  {printable(note)}"))
        console.print()


def _shown(table: Mapping[str, Any]) -> Table:
    shown = Table(
        title=Text(printable(table["title"])), title_justify="left", box=None, pad_edge=False
    )
    for column in table["columns"]:
        name = Text(printable(column["name"]), style="bold")
        shown.add_column(name, justify="right" if numeric(column) else "left", overflow="fold")
    above = ""
    for place, (first, *rest) in enumerate(lines(table)):
        cells = ["" if first == above else first, *rest]
        above = first
        shown.add_row(
            *(
                Text(cell, style=_MARKED if place in column["marked"] else "")
                for cell, column in zip(cells, table["columns"], strict=True)
            )
        )
    return shown
