"""What a terminal shows: progress on stderr while a run goes on, a summary at its end."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from dpcp_audit._format import counted
from dpcp_audit.engine.run_events import CheckFinished, CheckStarted, Event, RunStarted
from dpcp_audit.reports.findings.expectations import recorded, told
from dpcp_audit.reports.findings.witness import one_line
from dpcp_audit.reports.terminal_findings import plain_line, print_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

_MOST_WITNESSES, _FEW_WITNESSES = 5, 3
"""Of so many refuted claims the witnesses are printed; of more, those of the worst few."""
_WITNESS = 190
_PLACEHOLDER = "RESULTS.json"
"""How a document's replay command ends."""
_PIPED = 140
"""The width where there is no terminal."""
_WORST_FIRST = ("ERROR", "REFUTED", "INCONCLUSIVE", "CONSISTENT", "PROVED")


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """How much a command shows.

    Parameters
    ----------
    quiet : bool
        The sum alone, and no progress.
    verbose : bool
        Statement, note and power of each finding, and every witness.
    show : tuple of str
        The verdicts whose findings are shown; empty for all.
    """

    quiet: bool = False
    verbose: bool = False
    show: tuple[str, ...] = ()

    def shows(self, verdict: str) -> bool:
        """Tell whether findings with this verdict are shown."""
        return not self.show or verdict in self.show


NORMAL = Display()


class Progress:
    """Shows the events of a run on stderr: a bar on a terminal, lines elsewhere."""

    def __init__(self, display: Display = NORMAL) -> None:
        self._display = display
        self._console = Console(stderr=True)
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),  # ids hold brackets
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=display.quiet or not self._console.is_terminal,
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
            self._bar.update(self._task, description=plain_line(event.id))
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
                self._task, completed=self._done, description=plain_line(finding.claim.id)
            )
        told = not (event.recorded or self._console.is_terminal or self._display.quiet)
        if told:
            self.note(
                f"[{self._done}/{self._total}] {plain_line(finding.claim.id)}: {finding.verdict} "
                f"({finding.seconds:.1f} s)"
            )


def print_summary(
    document: dict[str, Any],
    *,
    stream: TextIO,
    results: Path | None = None,
    display: Display = NORMAL,
) -> None:
    """Print the findings, worst first, with witnesses, what was skipped and a sum.

    Parameters
    ----------
    results : Path, optional
        The results file that was written, for the commands that replay.
    display : Display
        How much is shown; of a quiet one, the sum alone.
    """
    console = Console(file=stream)
    if not console.is_terminal:
        console = Console(file=stream, width=_PIPED)
    if not display.quiet:
        _print_body(document, console, results, display)
    console.print(Text(summary_line(document)), soft_wrap=not console.is_terminal)


def _print_body(
    document: dict[str, Any], console: Console, results: Path | None, display: Display
) -> None:
    findings = sorted(document["findings"], key=_worst_first)
    shown = [finding for finding in findings if display.shows(finding["verdict"])]
    if shown:
        print_findings(shown, console, expected=recorded(document), verbose=display.verbose)
    else:
        console.print(Text(_nothing(findings, display)))
    if hidden := len(findings) - len(shown):
        console.print(Text(f"... and {counted(hidden, 'claim')} of other verdicts"))
    for line in _witnesses(shown, results, verbose=display.verbose):
        console.print(Text(line), soft_wrap=True)
    for skipped in document.get("skipped", []):
        text = plain_line(f"skipped: {skipped['name']}: {skipped['reason']}")
        console.print(Text(text, style="yellow"), soft_wrap=True)


def _nothing(findings: Sequence[dict[str, Any]], display: Display) -> str:
    if not findings:
        return "no check was finished: there is no verdict"
    return f"no claim is {' or '.join(verdict.lower() for verdict in display.show)}"


def _witnesses(
    findings: Sequence[dict[str, Any]], results: Path | None, *, verbose: bool
) -> Iterator[str]:
    """Yield a witness and the command that replays it for the worst refuted claims, or all."""
    refuted = [finding for finding in findings if finding["verdict"] == "REFUTED"]
    shown = refuted if verbose or len(refuted) <= _MOST_WITNESSES else refuted[:_FEW_WITNESSES]
    for finding in shown:
        yield f"{plain_line(finding['id'])} is refuted"
        if finding["witness"]:
            yield f"  witness: {plain_line(one_line(finding['witness'], limit=_WITNESS))}"
        if results is not None:
            command = finding["replay"]
            if command.endswith(_PLACEHOLDER):
                command = command.removesuffix(_PLACEHOLDER) + shlex.quote(str(results))
            yield f"  replay:  {plain_line(command)}"
    if shown and results is None:
        yield (
            "  replay:  with --report json=results.json, by dpcp-audit replay CLAIM results.json"
        )
    if hidden := len(refuted) - len(shown):
        yield f"... and {counted(hidden, 'more refuted claim')}, whose witnesses the reports hold"


def summary_line(document: dict[str, Any]) -> str:
    """Return the run in one sentence."""
    summary = document["summary"]
    counts = ", ".join(f"{summary[v]} {v.lower()}" for v in _WORST_FIRST if summary[v])
    parts = [
        f"{counted(len(document['findings']), 'claim')}: {counts or 'none'}",
        told(document),
        f"false-alarm probability of the run {document['false_alarm']:g}.",
    ]
    return "; ".join(filter(None, parts))


def _worst_first(finding: dict[str, Any]) -> tuple[bool, int, str]:
    return (
        not finding["contradicts"],
        _WORST_FIRST.index(finding["verdict"]),
        finding["id"],
    )
