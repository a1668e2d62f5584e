"""What a terminal shows of a reproduction: progress on stderr, tables on stdout."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcp_audit.reports.reproduction.rendering import HEAD, LEGEND, lines, remarks, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_WIDTH = 132
_DIFFERS = "bold red"


@contextmanager
def watched() -> Iterator[Callable[[int, int], None]]:
    """Yield what shows how far the trials are: a bar on a terminal, else nothing."""
    console = Console(stderr=True)
    with bars.Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("trials", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show(document: Mapping[str, Any], *, stream: TextIO | None = None) -> None:
    """Print every experiment as a table, and one line on each at the end."""
    target = stream or sys.stdout
    console = Console(file=target, soft_wrap=False)
    if not console.is_terminal:
        console = Console(file=target, width=_WIDTH)
    for experiment in document["experiments"]:
        console.print(_table(experiment))
        for remark in remarks(experiment):
            console.print(Text(f"  {remark}"))
        console.print()
    console.print(Text(f"{LEGEND}."))
    console.print(Text(document["rule"]))
    console.print()
    for experiment in document["experiments"]:
        console.print(Text(f"{experiment['id']:<17} {summary(experiment)}"))


def _table(experiment: Mapping[str, Any]) -> Table:
    table = Table(
        title=Text(f"{experiment['source']}: {experiment['title']}"), title_justify="left"
    )
    for place, name in enumerate(HEAD):
        table.add_column(name, justify="left" if place < 2 else "right")
    previous = None
    for line in lines(experiment):
        row = "" if line.row == previous else line.row
        previous = line.row
        table.add_row(
            Text(row),
            Text(line.column),
            Text(line.printed),
            Text(line.as_published, style=_DIFFERS if line.published_differs else ""),
            Text(line.as_written, style=_DIFFERS if line.written_differs else ""),
        )
    return table
