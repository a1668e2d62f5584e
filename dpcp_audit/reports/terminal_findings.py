"""The findings of a run on a terminal, whatever its width: an id is never broken.

Ids are what one copies to ``--only`` and ``replay``. Where a table of whole ids does not fit, each
finding has two lines, the id on one of its own.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcp_audit.reports.sentences import sentence, shown_estimate, shown_numbers
from dpcp_audit.reports.severity import named
from dpcp_audit.targets.answers import NOT_PROVED
from dpcp_audit.words.formatting import number, printable, telling_digits
from dpcp_audit.words.quantities import Bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_STYLES = {
    "REFUTED": "bold red",
    "PROVED": "green",
    "CONSISTENT": "green",
    "VACUOUS": "yellow",
    "INCONCLUSIVE": "yellow",
    "ERROR": "bold magenta",
}
_COLUMNS = ("verdict", "claim", "quantity", "claimed", "measured", "interval")
_NARROWEST = 24
"""The fewest characters in which a quantity's name is folded."""
_GAP = 2


class _Line(NamedTuple):
    """The cells of a finding's line, in the order of the columns."""

    verdict: str
    claim: str
    quantity: str
    claimed: str = ""
    measured: str = ""
    interval: str = ""

    @property
    def style(self) -> str:
        return _STYLES[self.verdict.split()[0]]

    def sentence(self) -> str:
        """Return the evidence in a line."""
        if not self.measured:
            return self.quantity
        limits = (
            self.interval if self.interval[:1] in {"", "["} else f"({self.interval.strip('()')})"
        )
        found = f"{self.measured} {limits}".rstrip()
        return f"{self.quantity}: {found}, claimed {self.claimed}"


def print_findings(
    findings: Sequence[Mapping[str, Any]],
    console: Console,
    *,
    expected: bool = True,
    verbose: bool = False,
) -> None:
    """Print each finding in its order: verdict, id, and the sentence that says what was found.

    Parameters
    ----------
    expected : bool
        Whether a verdict that contradicts what was expected is marked.
    verbose : bool
        Whether each finding's statement and note follow it.
    """
    for finding in findings:
        line = _line(finding, expected=expected)
        console.print(Text(line.verdict, style=line.style), Text(line.claim), soft_wrap=True)
        print_indented(sentence(finding), console)
        _print_proof(finding, console)
        if finding["verdict"] == "INCONCLUSIVE" and not finding.get("power") and not verbose:
            print_indented(finding["note"] or "", console)
        if verbose:
            _print_details(finding, console)


def print_table(
    findings: Sequence[Mapping[str, Any]], console: Console, *, expected: bool = True
) -> None:
    """Print the findings in their order, a line each as a table where it fits."""
    _print_lines([_line(finding, expected=expected) for finding in findings], console)


def _print_lines(lines: Sequence[_Line], console: Console) -> None:
    needed = _width(lines)
    if not console.is_terminal:
        Console(file=console.file, width=max(console.width, needed)).print(_table(lines))
    elif needed <= console.width:
        console.print(_table(lines))
    else:
        for line in lines:
            _print_stacked(line, console)


def plain_line(text: str) -> str:
    """Return a text that moves no cursor: on one line, without control characters."""
    return " ".join(printable(text).split())


def _line(finding: Mapping[str, Any], *, expected: bool) -> _Line:
    verdict = finding["verdict"]
    if expected and finding["contradicts"]:
        verdict += " (unexpected)"
    if finding["evidence"] is None:
        return _Line(verdict, plain_line(finding["id"]), plain_line(finding["error"]))
    evidence = shown_estimate(finding)
    exact, digits = evidence["kind"] == "exact", telling_digits(evidence)
    measured, limits = shown_numbers(evidence)
    return _Line(
        verdict,
        plain_line(finding["id"]),
        plain_line(named(evidence)),
        _claimed(evidence, digits),
        measured,
        (finding.get("proof") or {"method": "exact"})["method"] if exact else limits,
    )


def _claimed(evidence: Mapping[str, Any], digits: int) -> str:
    if evidence["claimed"] is None:
        return number(None)
    return f"{Bound(evidence['bound']).sign} {number(evidence['claimed'], digits=digits)}"


def _width(lines: Sequence[_Line]) -> int:
    """Return the fewest characters in which the table breaks no id and no number."""
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *lines, strict=True)]
    quantity = _COLUMNS.index("quantity")
    words = max(len(word) for line in lines for word in line.quantity.split() or [""])
    widths[quantity] = min(widths[quantity], max(_NARROWEST, words))
    return sum(widths) + _GAP * (len(widths) - 1)


def _table(lines: Sequence[_Line]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column in _COLUMNS:
        words = column in ("verdict", "claim", "quantity")
        table.add_column(column, justify="left" if words else "right", no_wrap=column != "quantity")
    for line in lines:
        table.add_row(Text(line.verdict, style=line.style), *map(Text, line[1:]))
    return table


def _print_stacked(line: _Line, console: Console) -> None:
    head = Text(line.verdict, style=line.style)
    console.print(head, Text(line.claim), soft_wrap=True)
    print_indented(line.sentence(), console)


def _print_details(finding: Mapping[str, Any], console: Console) -> None:
    power = finding.get("power") or {}
    of = f"The power is of violations {power['detail']}." if power.get("detail") else ""
    for text in (finding["statement"], finding["note"] or "", of):
        print_indented(text, console)


def _print_proof(finding: Mapping[str, Any], console: Console) -> None:
    """Print the account and the assumptions of a proof from the source, or why there is none."""
    note, proof = finding["note"] or "", finding.get("proof")
    start = note.find(f"{NOT_PROVED.capitalize()}: ")
    if start >= 0:
        print_indented(note[start:], console)
    elif proof and "assumptions" in proof["parameters"]:
        print_indented(note, console)


def print_indented(text: str, console: Console) -> None:
    """Print a text as an indented paragraph, its words whole; an empty one not at all."""
    if not text:
        return
    margin = " " * 4
    filled = textwrap.fill(
        plain_line(text),
        width=max(console.width, 2 * _NARROWEST),
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    console.print(Text(filled), soft_wrap=True)
