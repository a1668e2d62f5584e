"""A comparison of two runs on a terminal, whatever its width: an id is never broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcp_audit._format import DASH
from dpcp_audit.reports.differences.difference_text import cells_of, comparison_data, summary
from dpcp_audit.reports.terminal_findings import plain_line, print_indented

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from dpcp_audit.reports.differences.two_runs import RunDifferences

_COLUMNS = ("", "claim", "quantity", "old", "new", "p", "remark")
_FOLDED = {"quantity", "remark"}
_NARROWEST, _WIDTH, _GAP = 24, 180, 1


def print_comparison(comparison: RunDifferences, *, stream: TextIO) -> None:
    """Print what changed, worst first, and the summary; as a table where it fits."""
    console = Console(file=stream)
    changes = comparison_data(comparison)["changes"]
    rows = [tuple(map(plain_line, cells_of(row))) for row in changes if row["changed"]]
    if rows:
        needed = _needed(rows)
        if not console.is_terminal:
            Console(file=stream, width=max(_WIDTH, needed)).print(_table(rows))
        elif needed <= console.width:
            console.print(_table(rows))
        else:
            for row in rows:
                _print_stacked(row, console)
    console.print(Text(summary(comparison)), soft_wrap=not console.is_terminal)


def _needed(rows: Sequence[tuple[str, ...]]) -> int:
    """Return the fewest characters in which the table breaks no id and no number."""
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    for place, name in enumerate(_COLUMNS):
        if name in _FOLDED:
            words = max((len(word) for row in rows for word in row[place].split()), default=0)
            widths[place] = min(widths[place], max(_NARROWEST, words))
    return sum(widths) + 2 * _GAP * len(widths)


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in _COLUMNS:
        table.add_column(column, no_wrap=column not in _FOLDED)
    for standing, *others in rows:
        table.add_row(Text(standing, style=_style(standing)), *map(Text, others))
    return table


def _print_stacked(row: tuple[str, ...], console: Console) -> None:
    standing, claim, quantity, old, new, p_value, remark = row
    console.print(Text(standing, style=_style(standing)), Text(claim), soft_wrap=True)
    tested = "" if p_value == DASH else f" (p = {p_value})"
    print_indented(f"{quantity or 'verdict'}: {old} -> {new}{tested}", console)
    if remark:
        print_indented(remark, console)


def _style(standing: str) -> str:
    return "bold red" if standing.startswith("worse") else ""
