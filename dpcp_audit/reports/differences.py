"""A comparison of two runs as plain data and as Markdown.

A comparison of two runs on a terminal, whatever its width: an id is never broken.

A comparison of two runs as one self-contained HTML page.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcp_audit.reports.formats.html import page_environment
from dpcp_audit.reports.severity import named
from dpcp_audit.reports.terminal_findings import plain_line, print_indented
from dpcp_audit.reports.two_runs import Movement
from dpcp_audit.words.formatting import DASH, counted, interval, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from dpcp_audit.reports.two_runs import Change, RunDifferences
    from dpcp_audit.words.results import PlainData


_SPECIAL = str.maketrans({character: f"\\{character}" for character in r"\`*_[]~|$#"})


def comparison_data(comparison: RunDifferences) -> PlainData:
    """Return the comparison as JSON-ready data."""
    return {
        "comparison_version": "1.0",
        "summary": summary(comparison),
        "false_alarm": comparison.false_alarm,
        "strict": comparison.strict,
        "tests": comparison.tests,
        "complete": comparison.complete,
        "worsenings": [change.id for change in comparison.worsenings],
        "changes": [_change_data(change, comparison) for change in comparison.changes],
    }


def _change_data(change: Change, comparison: RunDifferences) -> PlainData:
    return {
        "id": change.id,
        "changed": change.changed,
        "counts_as_worsening": comparison.counts(change),
        "verdict": change.verdict,
        "number": change.number,
        "p_value": change.p_value,
        "differs": list(change.differs),
        "remark": change.remark,
        "old": _side(change.old),
        "new": _side(change.new),
    }


def _side(finding: PlainData | None) -> PlainData | None:
    if finding is None:
        return None
    return {key: finding[key] for key in ("verdict", "expected", "evidence", "error")}


def summary(comparison: RunDifferences) -> str:
    """Return the comparison in two sentences."""
    worse, changes = len(comparison.worsenings), comparison.changes
    moved = sum(change.changed for change in changes)
    claims = f"{counted(len(changes), 'claim')} compared"
    said = f"{worse} got worse" if worse else "none got significantly worse"
    ending = "" if comparison.complete else " The new run left claims unchecked."
    return (
        f"{claims}, {moved} changed, {said}. {counted(comparison.tests, 'number')} could be "
        "tested; if no mechanism had changed, any of them would be called moved with probability "
        f"at most {comparison.false_alarm:g}.{ending}"
    )


def render_markdown(data: Mapping[str, Any]) -> str:
    """Render the data of a comparison as GitHub-flavoured Markdown."""
    lines = [f"## {headline(data)}", "", data["summary"], ""]
    rows = [cells_of(row) for row in data["changes"] if row["changed"]]
    if rows:
        lines += [
            "| | Claim | Quantity | Old | New | p | Remark |",
            "|:--|:--|:--|:--|:--|--:|:--|",
        ]
        lines += [f"| {' | '.join(map(_escape, row))} |" for row in rows]
    return "\n".join(lines).rstrip() + "\n"


def headline(data: Mapping[str, Any]) -> str:
    """Return what the data of a comparison say, in a few words."""
    count = len(data["worsenings"])
    return f"{counted(count, 'claim')} got worse" if count else "No claim got significantly worse"


def _escape(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False).translate(_SPECIAL)


def cells_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what became of a claim, its id, quantity, numbers then and now, p-value and remark."""
    evidence: PlainData = (row["new"] or row["old"])["evidence"] or {}
    return (
        standing(row),
        row["id"],
        named(evidence) if evidence else "",
        _shown(row["old"]),
        _shown(row["new"]),
        DASH if row["p_value"] is None else number(row["p_value"], digits=2),
        row["remark"],
    )


def standing(row: Mapping[str, Any]) -> str:
    """Return what became of a claim, in a word or two."""
    if row["counts_as_worsening"]:
        return "worse"
    if row["old"] is None or row["new"] is None:
        return "new" if row["old"] is None else "gone"
    moved = {row["number"], row["verdict"]} & {Movement.WORSE, Movement.BETTER}
    if len(moved) != 1:
        return "changed"
    elsewhere = row["differs"] and row["verdict"] == Movement.NONE
    return f"{moved.pop()}{' elsewhere' if elsewhere else ''}"


def _shown(finding: Mapping[str, Any] | None) -> str:
    if finding is None:
        return DASH
    evidence = finding["evidence"]
    if evidence is None:
        return str(finding["verdict"])
    return f"{finding['verdict']} {number(evidence['value'])} {interval(evidence)}".strip()


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


_PARTS = {
    "Worse": {"worse"},
    "Otherwise worse: at another case, or as expected": {"worse elsewhere"},
    "Better": {"better", "better elsewhere"},
    "Changed": {"changed"},
    "In one run only": {"new", "gone"},
}


def render_page(data: Mapping[str, Any]) -> str:
    """Render the data of a comparison as an HTML page, the worsenings first.

    Parameters
    ----------
    data : mapping
        As ``comparison_data`` returns it.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    environment = page_environment()
    filters: dict[str, Any] = environment.filters
    filters["figure"] = _figure
    changed = [row for row in data["changes"] if row["changed"]]
    return environment.get_template("comparison.html.jinja").render(
        data=data,
        headline=headline(data),
        parts=[
            (title, [row for row in changed if _part(row) in names])
            for title, names in _PARTS.items()
        ],
        alike=[row for row in data["changes"] if not row["changed"]],
        interval=interval,
        quantity=_quantity,
    )


def _part(row: Mapping[str, Any]) -> str:
    """Return where a change stands; one that is worse but does not count is apart."""
    where = standing(row)
    if where == "worse" and not row["counts_as_worsening"]:
        return "worse elsewhere"
    return where


def _figure(value: object) -> str:
    return number(value, digits=4)


def _quantity(row: Mapping[str, Any]) -> str:
    evidence = (row["new"] or row["old"])["evidence"]
    return named(evidence) if evidence else ""
