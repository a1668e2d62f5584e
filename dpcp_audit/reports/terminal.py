"""What a terminal shows: progress on stderr while a run goes on, a summary at its end."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcp_audit._format import interval, number, printable, telling_digits
from dpcp_audit.engine.run_events import CheckFinished, CheckStarted, Event, RunStarted
from dpcp_audit.reports.findings.severity import named
from dpcp_audit.reports.findings.witness import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
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
_MOST_WITNESSES, _FEW_WITNESSES = 5, 3
"""Of so many refuted claims the witnesses are printed; of more, those of the worst few."""
_WITNESS = 190
_PLACEHOLDER = "RESULTS.json"
"""How a document's replay command ends."""
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
            self._bar.update(self._task, description=_one_line(event.id))
        elif isinstance(event, CheckFinished):
            self._show_finding(event)

    def note(self, text: str) -> None:
        """Print a line of talk."""
        print(text, file=sys.stderr)

    def _show_finding(self, event: CheckFinished) -> None:
        self._done += 1
        finding = event.finding
        if self._task is not None:
            self._bar.update(
                self._task, completed=self._done, description=_one_line(finding.claim.id)
            )
        if not self._console.is_terminal and not event.recorded:
            self.note(
                f"[{self._done}/{self._total}] {_one_line(finding.claim.id)}: {finding.verdict} "
                f"({finding.seconds:.1f} s)"
            )


def print_summary(document: dict[str, Any], *, stream: TextIO, results: Path | None = None) -> None:
    """Print the findings as a table, worst first, with witnesses, what was skipped and a sum.

    Parameters
    ----------
    results : Path, optional
        The results file that was written, for the commands that replay.
    """
    console = Console(file=stream)
    if not console.is_terminal:
        console = Console(file=stream, width=140)
    findings = sorted(document["findings"], key=_worst_first)
    if findings:
        console.print(_table(findings, document["suite"]))
    else:
        console.print("no check was finished: there is no verdict")
    for line in _witnesses(findings, results):
        console.print(Text(line), soft_wrap=True)
    for skipped in document.get("skipped", []):
        text = _one_line(f"skipped: {skipped['name']}: {skipped['reason']}")
        console.print(Text(text, style="yellow"))
    console.print(Text(summary_line(document)))


def _table(findings: Sequence[dict[str, Any]], suite: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("verdict", "claim", "quantity"):
        table.add_column(column, overflow="fold", no_wrap=column == "verdict")
    for column in ("claimed", "measured", "interval"):
        table.add_column(column, justify="right", no_wrap=True)
    for finding in findings:
        marked = finding["contradicts"] and suite != _TARGETS
        table.add_row(*_cells(finding, " (unexpected)" if marked else ""))
    return table


def _witnesses(findings: Sequence[dict[str, Any]], results: Path | None) -> Iterator[str]:
    """Yield a witness and the command that replays it for the worst refuted claims."""
    refuted = [finding for finding in findings if finding["verdict"] == "REFUTED"]
    shown = refuted if len(refuted) <= _MOST_WITNESSES else refuted[:_FEW_WITNESSES]
    for finding in shown:
        yield f"{_one_line(finding['id'])} is refuted"
        if finding["witness"]:
            yield f"  witness: {_one_line(one_line(finding['witness'], limit=_WITNESS))}"
        if results is not None:
            command = finding["replay"].removesuffix(_PLACEHOLDER) + shlex.quote(str(results))
            yield f"  replay:  {_one_line(command)}"
    if shown and results is None:
        yield (
            "  replay:  with --report json=results.json, by dpcp-audit replay CLAIM results.json"
        )
    if hidden := len(refuted) - len(shown):
        yield f"... and {hidden} more refuted claims, whose witnesses the reports hold"


def _one_line(text: str) -> str:
    """Return a text that moves no cursor: on one line, without control characters."""
    return " ".join(printable(text).split())


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
    claims = "1 claim" if len(document["findings"]) == 1 else f"{len(document['findings'])} claims"
    return (
        f"{claims}: {counts or 'none'};{tail} false-alarm "
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
    head = [
        Text(verdict, style=_STYLES[finding["verdict"]]),
        Text(_one_line(finding["id"])),
    ]
    evidence = finding["evidence"]
    if evidence is None:
        return [*head, Text(_one_line(finding["error"])), Text(""), Text(""), Text("")]
    exact, digits = evidence["kind"] == "exact", telling_digits(evidence)
    how = (finding.get("proof") or {"method": "exact"})["method"]
    return [
        *head,
        Text(_one_line(named(evidence))),
        Text(number(evidence["claimed"], digits=digits)),
        Text(number(evidence["value"], digits=digits)),
        Text(how if exact else interval(evidence)),
    ]
