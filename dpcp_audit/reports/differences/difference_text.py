"""A comparison of two runs as plain data and as Markdown."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import DASH, counted, interval, number
from dpcp_audit.reports.differences.two_runs import Movement
from dpcp_audit.reports.findings.severity import named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.reports.differences.two_runs import Change, RunDifferences
    from dpcp_audit.results import PlainData

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
