"""What a terminal shows: progress on stderr while a run goes on, a summary at its end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcp_audit.reports.running.events import CheckFinished, CheckStarted, Event, RunStarted

if TYPE_CHECKING:
    from types import TracebackType

_STYLES = {
    "REFUTED": "bold red",
    "PROVED": "green",
    "CONSISTENT": "green",
    "INCONCLUSIVE": "yellow",
    "ERROR": "bold magenta",
}
_TARGETS = "targets"
"""The suite of which nothing is expected but that its claims hold."""
_WORST_FIRST = ("ERROR", "REFUTED", "INCONCLUSIVE", "CONSISTENT", "PROVED")


class Progress:
    """Shows the events of a run on stderr: a bar on a terminal, lines elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),  # ids hold brackets
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: bars.TaskID | None = None
        self._total = self._done = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, RunStarted):
            self._total = len(event.ids)
            self._task = self._bar.add_task("checking claims", total=self._total)
        elif isinstance(event, CheckStarted) and self._task is not None:
            self._bar.update(self._task, description=event.id)
        elif isinstance(event, CheckFinished):
            self._show_finding(event)

    def note(self, text: str) -> None:
        """Print a line of talk."""
        print(text, file=sys.stderr)

    def _show_finding(self, event: CheckFinished) -> None:
        self._done += 1
        finding = event.finding
        if self._task is not None:
            self._bar.update(self._task, completed=self._done, description=finding.claim.id)
        if not self._console.is_terminal and not event.recorded:
            self.note(
                f"[{self._done}/{self._total}] {finding.claim.id}: {finding.verdict} "
                f"({finding.seconds:.1f} s)"
            )


def print_summary(document: dict[str, Any], *, stream: TextIO) -> None:
    """Print the findings as a table, worst first, what was skipped, and a line that sums up."""
    console = Console(file=stream)
    if not console.is_terminal:
        console = Console(file=stream, width=140)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("verdict", "claim", "quantity"):
        table.add_column(column, overflow="fold", no_wrap=column == "verdict")
    for column in ("claimed", "measured", "interval"):
        table.add_column(column, justify="right", no_wrap=True)
    for finding in sorted(document["findings"], key=_worst_first):
        marked = finding["contradicts"] and document["suite"] != _TARGETS
        table.add_row(*_cells(finding, " (unexpected)" if marked else ""))
    console.print(table)
    for skipped in document.get("skipped", []):
        console.print(Text(f"skipped: {skipped['name']}: {skipped['reason']}", style="yellow"))
    console.print(Text(summary_line(document)))


def summary_line(document: dict[str, Any]) -> str:
    """Return the run in one sentence."""
    summary = document["summary"]
    counts = ", ".join(f"{summary[v]} {v.lower()}" for v in _WORST_FIRST if summary[v])
    contradictions = summary["contradictions"]
    tail = ""
    if document["suite"] != _TARGETS:
        tail = (
            f" {contradictions} verdict(s) CONTRADICT what was expected;"
            if contradictions
            else " no verdict contradicts what was expected;"
        )
    return (
        f"{len(document['findings'])} claims: {counts or 'none'};{tail} false-alarm "
        f"probability of the run {document['false_alarm']:g}."
    )


def _worst_first(finding: dict[str, Any]) -> tuple[bool, int, str]:
    return (
        not finding["contradicts"],
        _WORST_FIRST.index(finding["verdict"]),
        finding["id"],
    )


def _cells(finding: dict[str, Any], remark: str) -> list[Text]:
    verdict = f"{finding['verdict']}{remark}"
    head = [Text(verdict, style=_STYLES[finding["verdict"]]), Text(finding["id"])]
    evidence = finding["evidence"]
    if evidence is None:
        return [*head, Text(finding["error"]), Text(""), Text(""), Text("")]
    interval = f"[{_number(evidence['lower'])}, {_number(evidence['upper'])}]"
    exact = evidence["kind"] == "exact"
    return [
        *head,
        Text(evidence["quantity"]),
        Text(_number(evidence["claimed"])),
        Text(_number(evidence["value"])),
        Text("exact" if exact else interval),
    ]


def _number(value: float | str | None) -> str:
    return "–" if value is None else f"{float(value):.4g}"
