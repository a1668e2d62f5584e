"""The terminal's output: progress on stderr, a short summary at the end, and tables."""

from __future__ import annotations

import sys
import textwrap
import time
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from dpcp_audit.engine.tasks import (
    QUIET_SECONDS,
    CallsMade,
    CheckFinished,
    CheckStarted,
    Event,
    RunStarted,
    StillRunning,
)
from dpcp_audit.reports.document import replay_from
from dpcp_audit.reports.entry import WORST_FIRST, overall_of, recorded, sampled, told
from dpcp_audit.reports.terminal_findings import (
    console_of,
    plain_line,
    print_findings,
    print_indented,
    print_table,
)
from dpcp_audit.reports.witness import one_line, tables_of_finding
from dpcp_audit.words.formatting import counted, number, printable, wrapped
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from rich import progress as bars

    from dpcp_audit.words.results import PlainData


_FEW, _FEWER = 4, 2
"""So many findings are told in full; of more, those that ask for attention, or the first two."""
_WITNESS = 190
_PIPED = 140
"""The width where there is no terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """The amount of output of a command.

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
        """Return True if findings with this verdict are shown."""
        return not self.show or verdict in self.show


NORMAL = Display()


class Progress:
    """Shows the events of a run on stderr: a bar on a terminal, lines elsewhere.

    Parameters
    ----------
    seconds : float
        The least time between two lines that say how far a check has come.
    """

    def __init__(self, display: Display = NORMAL, *, seconds: float = QUIET_SECONDS) -> None:
        self._display = display
        self._seconds = seconds
        self._said = time.monotonic()
        self._console = Console(stderr=True)
        shown = self._console.is_terminal and not display.quiet
        self._bar = _bar_on(self._console) if shown else None
        self._task: bars.TaskID | None = None
        self._total = self._done = 0

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, RunStarted):
            self._total = len(event.ids)
            if self._bar is not None:
                self._task = self._bar.add_task("checking claims", total=self._total)
        elif isinstance(event, CheckStarted):
            self._describe(event.id)
        elif isinstance(event, CallsMade):
            self._describe(f"{event.counted}: {event.id}")
            self._say(str(event))
        elif isinstance(event, StillRunning):
            self._say(str(event))
        elif isinstance(event, CheckFinished):
            self._show_finding(event)

    def note(self, text: str) -> None:
        """Print a line of talk."""
        self._said = time.monotonic()
        print(text, file=sys.stderr)

    def _describe(self, text: str) -> None:
        """Show beside the bar which check runs, and how far it has come."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=plain_line(text))

    def _say(self, text: str) -> None:
        """Print a line where there is no bar, if nothing was printed for a while."""
        silent = self._console.is_terminal or self._display.quiet
        if not silent and time.monotonic() - self._said >= self._seconds:
            self.note(plain_line(text))

    def _show_finding(self, event: CheckFinished) -> None:
        self._done += 1
        finding = event.finding
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, completed=self._done, description=plain_line(finding.claim.id)
            )
        told = not (event.recorded or self._console.is_terminal or self._display.quiet)
        if told:
            self.note(
                f"[{self._done}/{self._total}] {plain_line(finding.claim.id)}: {finding.verdict} "
                f"({finding.seconds:.1f} s)"
            )


def _bar_on(console: Console) -> bars.Progress:
    from rich import progress as bars  # noqa: PLC0415  (slow to import)

    return bars.Progress(
        bars.BarColumn(bar_width=12),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn(
            "{task.description}",
            markup=False,  # ids hold brackets
            table_column=Column(no_wrap=True, overflow="ellipsis"),
        ),
        console=console,
        transient=True,
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
        The amount of output; a quiet display shows the sum alone.
    """
    console = console_of(stream, _PIPED)
    if not display.quiet:
        _print_body(document, console, results, display)
    for said in filter(None, (overall_of(document), summary_line(document))):
        console.print(Text("\n".join(wrapped(said, console.width))), soft_wrap=True)


def _print_body(
    document: dict[str, Any], console: Console, results: Path | None, display: Display
) -> None:
    findings = sorted(document["findings"], key=_worst_first)
    wanted = [finding for finding in findings if display.shows(finding["verdict"])]
    told = wanted if display.verbose else _told_first(wanted, document)
    if not wanted:
        console.print(Text(_nothing(findings, display)))
    elif display.show and len(wanted) > len(told):
        print_table(wanted, console, expected=recorded(document))
        told = []
    print_findings(told, console, expected=recorded(document), verbose=display.verbose)
    shown = wanted if display.show else told
    if hidden := len(findings) - len(shown):
        left = f"{counted(hidden, 'claim')} of other verdicts"
        if not display.show:
            left = f"{counted(hidden, 'more claim')}; -v shows them all"
        console.print(Text(f"... and {left}"))
    for line in _witnesses(told, results, verbose=display.verbose):
        console.print(Text(line), soft_wrap=True)
    for finding in told:
        written = finding["witness"].get("representation")
        if written and finding["verdict"] != Verdict.REFUTED:  # whose sentence says it
            text = plain_line(f"warning: {finding['id']}: {written}")
            console.print(Text(text, style="yellow"), soft_wrap=True)
    _print_skipped(document.get("skipped", []), console, verbose=display.verbose)


def _told_first(findings: list[dict[str, Any]], document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings that are told in full: all of a few, else what asks for attention."""
    if len(findings) <= _FEW:
        return findings
    alarming = [each for each in findings if each["verdict"] == "ERROR" or each["contradicts"]]
    if not recorded(document):
        alarming = [each for each in findings if each["verdict"] in {"ERROR", "REFUTED"}]
    return (alarming or findings)[: _FEW if alarming else _FEWER]


def _print_skipped(
    skipped: Sequence[Mapping[str, Any]], console: Console, *, verbose: bool
) -> None:
    most = len(skipped) if verbose else _FEWER
    for each in skipped[:most]:
        text = plain_line(f"skipped: {each['name']}: {each['reason']}")
        console.print(Text(text, style="yellow"), soft_wrap=True)
    if len(skipped) > most:
        console.print(Text(f"skipped: {len(skipped) - most} more; -v shows them all"))


def _nothing(findings: Sequence[dict[str, Any]], display: Display) -> str:
    if not findings:
        return "no check was finished: there is no verdict"
    return f"no claim is {' or '.join(verdict.lower() for verdict in display.show)}"


def _witnesses(
    findings: Sequence[dict[str, Any]], results: Path | None, *, verbose: bool
) -> Iterator[str]:
    """Yield the command that replays each refuted claim that is told; verbose, its witness too."""
    refuted = [finding for finding in findings if finding["verdict"] == "REFUTED"]
    for finding in refuted:
        if verbose and finding["witness"]:
            yield f"{plain_line(finding['id'])} is refuted"
            yield f"  witness: {plain_line(one_line(finding['witness'], limit=_WITNESS))}"
        if results is not None:
            yield f"  replay:  {plain_line(replay_from(finding['replay'], results))}"
    if refuted and results is None:
        yield "  replay:  add --report json=results.json; 'dpcp-audit replay' reads that file"


def summary_line(document: dict[str, Any]) -> str:
    """Return the run in one sentence."""
    summary = document["summary"]
    counts = ", ".join(f"{summary[v]} {v.lower()}" for v in WORST_FIRST if summary.get(v))
    parts = [
        f"{_finished(document)}: {counts or 'none'}",
        told(document),
        f"false-alarm probability of the run {document['false_alarm']:g}."
        if sampled(document)
        else "nothing was sampled.",
    ]
    return "; ".join(filter(None, parts))


def _finished(document: dict[str, Any]) -> str:
    """Return the number of claims; of a run that was stopped, also of how many."""
    count = len(document["findings"])
    if document["complete"]:
        return counted(count, "claim")
    return f"stopped: {count} of {counted(count + len(document['skipped']), 'claim')} finished"


def _worst_first(finding: dict[str, Any]) -> tuple[bool, int]:
    """Return the sort key; claims of one verdict stay in the order of their suite."""
    return (not finding["contradicts"], WORST_FIRST.index(finding["verdict"]))


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
    """Return the texts of a column's cells, each on one line; else its values as texts."""
    if column["texts"]:
        return [" ".join(printable(text).split()) for text in column["texts"]]
    return [NOTHING if value == "nan" else number(value) for value in column["values"]]


def lines(table: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a table's rows as texts."""
    return list(zip(*map(texts, table["columns"]), strict=True))


def numeric(column: Mapping[str, Any]) -> bool:
    """Return True if a column is set flush right."""
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
        for table in tables_of_finding(finding):
            yield finding["id"], table


_WIDTH = 170
"""The width of the output, in characters, without a terminal."""
_MARKED = "bold red"


def print_tables(document: Mapping[str, Any], *, stream: TextIO) -> None:
    """Print every table of a run, with its notes; a name that repeats is printed once."""
    console = console_of(stream, _WIDTH)
    for _, table in tables_of(document):
        console.print(Text(printable(table["title"]), style="italic"))
        console.print(_shown(table, console.width))
        for note in table["notes"]:
            print_indented(note, console)
        console.print()


def _narrow(name: str, room: int) -> str:
    """Return a column's name on lines no wider than its cells, or its longest word."""
    return textwrap.fill(name, max(room, *map(len, name.split()), 1))


def _shown(table: Mapping[str, Any], width: int) -> Table:
    """Return a table to print; where it is too wide, its heads are folded."""
    shown = Table(box=None, pad_edge=False)
    names = [printable(column["name"]) for column in table["columns"]]
    rooms = [max(map(len, texts(column)), default=1) for column in table["columns"]]
    if sum(map(max, map(len, names), rooms)) + 2 * len(names) > width:
        names = list(map(_narrow, names, rooms))
    for name, column in zip(names, table["columns"], strict=True):
        shown.add_column(
            Text(name, style="bold"),
            justify="right" if numeric(column) else "left",
            overflow="fold",
            min_width=max(map(len, name.split()), default=0),
        )
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
