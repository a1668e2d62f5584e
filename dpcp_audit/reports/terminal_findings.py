"""The findings of a run on a terminal, whatever its width: an id is never broken.

Ids are what one copies to ``--only`` and ``replay``. Where a table of whole ids does not fit, each
finding has two lines, the id on one of its own.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcp_audit.reports.entry import LABELS, OWN
from dpcp_audit.reports.sentences import (
    note_of,
    sentence,
    shown_estimate,
    shown_numbers,
    undecided_by_proof,
    unsaid_stop,
)
from dpcp_audit.reports.severity import named, rules_of, source_of
from dpcp_audit.words.formatting import number, printable, telling_digits, wrapped
from dpcp_audit.words.quantities import Bound
from dpcp_audit.words.results import Standing, source_listing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import TextIO


R = TypeVar("R", bound=tuple[str, ...])
_STYLES = {
    "REFUTED": "bold red",
    "PROVED": "green",
    "CONSISTENT": "green",
    "VACUOUS": "yellow",
    "INCONCLUSIVE": "yellow",
    "ERROR": "bold magenta",
}
_COLUMNS = ("verdict", "claim", "quantity", "claimed", "measured", "interval")
_NUMBERS = frozenset({"claimed", "measured", "interval"})
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
        True if a verdict that contradicts what was expected is marked.
    verbose : bool
        True if each finding's statement and note follow it.
    """
    for finding in findings:
        line = _line(finding, expected=expected)
        head = Text(line.verdict, style=_style(line.verdict))
        console.print(head, Text(line.claim), soft_wrap=True)
        print_indented(f"{_apart(finding)}{sentence(finding)}", console)
        if not verbose:
            _print_proof(finding, console)
        unsaid = not finding.get("power") and not undecided_by_proof(finding)
        if finding["verdict"] == "INCONCLUSIVE" and unsaid and not verbose:
            print_indented(finding["note"] or "", console)
        if verbose:
            _print_details(finding, console)


def _apart(finding: Mapping[str, Any]) -> str:
    """Return whose claim it is, of one that is counted separately."""
    standing = Standing(finding["standing"])
    return "" if standing in OWN else f"{LABELS[standing].capitalize()}. "


def print_table(
    findings: Sequence[Mapping[str, Any]], console: Console, *, expected: bool = True
) -> None:
    """Print the findings in their order, a line each as a table where it fits."""
    lines = [_line(finding, expected=expected) for finding in findings]
    print_rows(_COLUMNS, lines, console, folded={"quantity"}, style=_style, stacked=_print_stacked)


def print_rows(
    columns: Sequence[str],
    rows: Sequence[R],
    console: Console,
    *,
    folded: Collection[str],
    style: Callable[[str], str],
    stacked: Callable[[R, Console], None],
) -> None:
    """Print rows as a table where it fits the terminal without breaking an id or a number.

    Parameters
    ----------
    folded : collection of str
        The columns whose words may be put on several lines.
    style : callable
        Returns the style of a row's first cell.
    stacked : callable
        Prints a row where the table does not fit.
    """
    needed = _needed(columns, rows, folded)
    fixed = console.is_terminal or "COLUMNS" in os.environ
    if fixed and needed > console.width:
        for row in rows:
            stacked(row, console)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column in columns:
        right = column in _NUMBERS
        table.add_column(column, justify="right" if right else "left", no_wrap=column not in folded)
    for first, *others in rows:
        table.add_row(Text(first, style=style(first)), *map(Text, others))
    if not console.is_terminal:
        console = Console(file=console.file, width=max(console.width, needed))
    console.print(table)


def console_of(stream: TextIO, width: int) -> Console:
    """Return a console for a stream, of a width where there is neither a terminal nor COLUMNS."""
    console = Console(file=stream)
    known = console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return console if known else Console(file=stream, width=width)


def plain_line(text: str) -> str:
    """Return a text that moves no cursor: on one line, without control characters."""
    return " ".join(printable(text).split())


def _line(finding: Mapping[str, Any], *, expected: bool) -> _Line:
    verdict = finding["verdict"]
    if expected and finding["contradicts"]:
        verdict += " (unexpected)"
    if finding["evidence"] is None:
        return _Line(verdict, plain_line(finding["id"]), plain_line(sentence(finding)))
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


def _needed(
    columns: Sequence[str], rows: Sequence[tuple[str, ...]], folded: Collection[str]
) -> int:
    """Return the fewest characters in which the table breaks no id and no number."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for place, name in enumerate(columns):
        if name in folded:
            words = max((len(word) for row in rows for word in row[place].split()), default=0)
            widths[place] = min(widths[place], max(_NARROWEST, words))
    return sum(widths) + _GAP * (len(widths) - 1)


def _style(verdict: str) -> str:
    return _STYLES[verdict.split(maxsplit=1)[0]]


def _print_stacked(line: _Line, console: Console) -> None:
    head = Text(line.verdict, style=_style(line.verdict))
    console.print(head, Text(line.claim), soft_wrap=True)
    print_indented(line.sentence(), console)


def _print_details(finding: Mapping[str, Any], console: Console) -> None:
    assumed = f"Assumes: {finding['assumptions']}." if finding["assumptions"] else ""
    rules = rules_of(finding["proof"]) if finding.get("proof") else []
    by = f"Rules: {'; '.join(rules)}." if rules else ""
    for text in (finding["statement"], note_of(finding), by, assumed):
        print_indented(text, console)
    for line in source_listing(source_of(finding)):
        console.print(Text(f"    {printable(line)}"), soft_wrap=True)


def _print_proof(finding: Mapping[str, Any], console: Console) -> None:
    """Print the account of a proof from the source, or why there is none."""
    proof, note = finding.get("proof"), finding["note"] or ""
    print_indented(unsaid_stop(finding), console)
    if proof and "assumptions" in proof["parameters"]:
        many = len(proof["parameters"]["assumptions"])
        print_indented(f"{note} The proof rests on {many} assumptions: -v lists them.", console)


def print_indented(text: str, console: Console) -> None:
    """Print a text as an indented paragraph, its words whole; an empty one not at all."""
    if not text:
        return
    margin = " " * 4
    filled = wrapped(
        plain_line(text),
        max(console.width, 2 * _NARROWEST),
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    console.print(Text("\n".join(filled)), soft_wrap=True)
