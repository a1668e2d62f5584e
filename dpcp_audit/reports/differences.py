"""A comparison of two runs or more as plain data, Markdown, terminal text and an HTML page.

All of them print the cells of ``cells_of``; on a terminal of whatever width no id is broken.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from dpcp_audit.engine.run_settings import end_of_run
from dpcp_audit.reports.formats.html import page_environment
from dpcp_audit.reports.formats.markdown import inline, rows_of
from dpcp_audit.reports.sentences import sentence, shown_estimate, shown_numbers
from dpcp_audit.reports.severity import named
from dpcp_audit.reports.summary import run_facts
from dpcp_audit.reports.terminal_findings import (
    console_of,
    plain_line,
    print_indented,
    print_rows,
)
from dpcp_audit.reports.two_runs import Movement
from dpcp_audit.words.formatting import DASH, counted, number, to_float
from dpcp_audit.words.quantities import Bound
from dpcp_audit.words.results import EvidenceKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import TextIO

    from dpcp_audit.reports.two_runs import Change, RunDifferences
    from dpcp_audit.words.results import PlainData


_P_VALUE = "p, adjusted"
_BARS = "▁▂▃▄▅▆▇█"


def comparison_data(
    comparison: RunDifferences,
    documents: Sequence[Mapping[str, Any]] = (),
    files: Sequence[Path] = (),
) -> PlainData:
    """Return the comparison as JSON-ready data, with when and how each document was made.

    The documents were read from the ``files``, where these are given.
    """
    made = [dict(run_facts(document)) for document in documents]
    for file, facts in zip(files, made, strict=False):
        digest = sha256(file.read_bytes()).hexdigest()
        facts |= {"File": file.as_posix(), "SHA-256 of the file": digest}
    finished, command = end_of_run()
    return {
        "comparison_version": "1.4",
        "finished": finished,
        "command": command,
        "summary": summary(comparison),
        "origins": made,
        "runs": list(comparison.runs),
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
        "asked": list(change.asked),
        "fixed": change.fixed,
        "remark": change.remark,
        "old": _side(change.old),
        "between": [_side(each) for each in change.between],
        "new": _side(change.new),
    }


def _side(finding: PlainData | None) -> PlainData | None:
    """Return a run's finding of a claim; its evidence is the estimate that every report shows."""
    if finding is None:
        return None
    evidence = shown_estimate(finding) if finding["evidence"] else None
    kept = {key: finding.get(key) for key in ("verdict", "expected", "error", "assumptions")}
    return kept | {"evidence": evidence, "sentence": sentence(finding)}


def summary(comparison: RunDifferences) -> str:
    """Return the comparison in two sentences."""
    runs = f" in {len(comparison.runs)} runs" if len(comparison.runs) > 2 else ""
    claims = f"{counted(len(comparison.changes), 'claim')} compared{runs}"
    said = _counts([_change_data(change, comparison) for change in comparison.changes])
    ending = "" if comparison.complete else " The new run left claims unchecked."
    return (
        f"{claims}: {said}. {counted(comparison.tests, 'number')} could be "
        "tested; if no mechanism has changed, the probability of calling any of them moved is at "
        f"most {comparison.false_alarm:g}.{ending}"
    )


def _counts(changes: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of claims with each change: "1 worse, 2 fixed, 3 unchanged"."""
    found = Counter(standing(row) if row["changed"] else "unchanged" for row in changes)
    order = sorted(found, key=lambda each: (each == "unchanged", each != "worse", each != "fixed"))
    none = [] if found["worse"] else ["none worse"]
    return ", ".join([*none, *(f"{found[each]} {each}" for each in order if found[each])])


def headline(data: Mapping[str, Any]) -> str:
    """Return the result of a comparison in a few words."""
    changes = data["changes"]
    return f"{counted(len(changes), 'claim')}: {_counts(changes)}"


def columns_of(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the cells that ``cells_of`` returns, one for each run among them."""
    runs = data["runs"]
    trend = ["trend"] if len(runs) > 2 else []
    return ("", "claim", "quantity", *runs, *trend, _P_VALUE, "remark")


def cells_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a claim's change, id, quantity, numbers, p-value and remark."""
    sides = sides_of(row)
    trend = [_trend(sides)] if len(sides) > 2 else []
    return (
        standing(row),
        row["id"],
        _quantity_of(row),
        *(_shown_side(side, row) for side in sides),
        *trend,
        DASH if row["p_value"] is None else number(row["p_value"], digits=2),
        row["remark"],
    )


def sides_of(row: Mapping[str, Any]) -> list[PlainData | None]:
    """Return the finding of a claim in each run, the oldest first; None where there is none."""
    return [row["old"], *row["between"], row["new"]]


def _quantity_of(row: Mapping[str, Any]) -> str:
    """Return the quantity of the numbers; "" where nothing was measured."""
    finding: Mapping[str, Any] = row["new"] or row["old"] or {}
    evidence = finding.get("evidence")
    return named(evidence) if evidence else ""


def standing(row: Mapping[str, Any]) -> str:
    """Return the change of a claim in a word or two."""
    if row["counts_as_worsening"]:
        return "worse"
    if row["old"] is None or row["new"] is None:
        return "new" if row["old"] is None else "gone"
    if row["fixed"]:
        return "fixed"
    if row["verdict"] == Movement.BETTER:
        return "no longer refuted"
    moved = {row["number"], row["verdict"]} & {Movement.WORSE, Movement.BETTER}
    if len(moved) != 1:
        return "asked otherwise" if row["asked"] and not moved else "changed"
    elsewhere = row["differs"] and row["verdict"] == Movement.NONE
    return f"{moved.pop()}{' elsewhere' if elsewhere else ''}"


def _shown_side(side: Mapping[str, Any] | None, row: Mapping[str, Any]) -> str:
    """Return a run's verdict on a claim and its number; a dash where it has none."""
    return DASH if side is None else " ".join([side["verdict"], *numbers_of(side, row)])


def numbers_of(side: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """Return a run's number and its interval; beside them its quantity, where the row has another.

    A number that only indicates is called so.
    """
    evidence = side["evidence"]
    if not evidence:
        return []
    of = named(evidence)
    other = "" if of == _quantity_of(row) else f"({evidence.get('detail') or of})"
    guess = "(an indication)" if evidence["kind"] == EvidenceKind.INDICATIVE else ""
    return list(filter(None, [*shown_numbers(evidence), other, guess]))


def _trend(sides: Sequence[Mapping[str, Any] | None]) -> str:
    """Return the numbers as bars between the least and the largest, and which way is worse."""
    evidence = [side["evidence"] if side else None for side in sides]
    values = [to_float(each["value"]) if each else math.nan for each in evidence]
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    low, room = min(finite), max(finite) - min(finite) or 1.0
    share = [(value - low) / room for value in values]
    bars = "".join(
        _BARS[round(min(1.0, each) * (len(_BARS) - 1))] if each >= 0 else " " for each in share
    )
    newest = next(each for each in reversed(evidence) if each)
    return f"{bars} {'↓' if newest.get('bound') == Bound.AT_LEAST else '↑'} is worse"


def render_markdown(data: Mapping[str, Any]) -> str:
    """Render the data of a comparison as GitHub-flavoured Markdown."""
    lines = [f"## {headline(data)}", "", data["summary"], ""]
    changed = [row for row in data["changes"] if row["changed"]]
    rows = [cells_of(row) for row in changed]
    if rows:
        heads = {
            name if name == _P_VALUE else name.capitalize(): "--:" if name == _P_VALUE else ":--"
            for name in columns_of(data)
        }
        lines += rows_of(heads, (map(inline, row) for row in rows))
        lines += [
            "",
            *(f"- {inline(row['id'])}: {inline(ground_of(row))}" for row in changed),
            "",
        ]
    lines += [f"Compared {data['finished']}: {inline(data['command'])}", ""]
    for name, facts in zip(titles_of(data), data["origins"], strict=False):
        lines += [f"<details><summary>{html.escape(name)}</summary>", ""]
        lines += [*(f"- {key}: {inline(value)}" for key, value in facts.items()), "", "</details>"]
    return "\n".join(lines).rstrip() + "\n"


def titles_of(data: Mapping[str, Any]) -> list[str]:
    """Return a title for each run: its name, and the file of its results, where it is known."""
    runs, files = data["runs"], [facts.get("File") for facts in data["origins"]]
    names = [name.capitalize() if name.startswith("run ") else f"The {name} run" for name in runs]
    files += [None] * (len(runs) - len(files))
    return [f"{name}: {file}" if file else name for name, file in zip(names, files, strict=True)]


def ground_of(row: Mapping[str, Any]) -> str:
    """Return the newest finding of a claim, with its evidence."""
    side: Mapping[str, Any] = row["new"] or next(filter(None, reversed(sides_of(row))))
    assumed = f" Assumes: {side['assumptions']}." if side["assumptions"] else ""
    return f"{side['sentence']}{assumed}"


_FOLDED = {"quantity", "remark"}
_WIDTH = 180
"""The width of the output, in characters, without a terminal."""


def print_comparison(comparison: RunDifferences, *, stream: TextIO) -> None:
    """Print what changed, worst first, and the summary; as a table where it fits."""
    console = Console(file=stream)
    data = comparison_data(comparison)
    columns = columns_of(data)
    rows = [tuple(map(plain_line, cells_of(row))) for row in data["changes"] if row["changed"]]
    if rows:
        wide = console_of(stream, _WIDTH)
        print_rows(columns, rows, wide, folded=_FOLDED, style=_style, stacked=_print_stacked)
    console.print(Text(summary(comparison)), soft_wrap=not console.is_terminal)


def _print_stacked(row: tuple[str, ...], console: Console) -> None:
    standing, claim, quantity, *runs, p_value, remark = row
    console.print(Text(standing, style=_style(standing)), Text(claim), soft_wrap=True)
    trend = f" {runs.pop()}" if len(runs) > 2 else ""
    tested = "" if p_value == DASH else f" (p = {p_value})"
    print_indented(f"{quantity or 'verdict'}: {' -> '.join(runs)}{trend}{tested}", console)
    if remark:
        print_indented(remark, console)


def _style(standing: str) -> str:
    return "bold red" if standing.startswith("worse") else ""


_PARTS = {
    "Worse": {"worse"},
    "Otherwise worse: at another case, or as expected": {"worse elsewhere"},
    "Fixed": {"fixed"},
    "No longer refuted, but not shown to be fixed": {"no longer refuted"},
    "Better": {"better", "better elsewhere"},
    "Changed": {"changed"},
    "Asked with other options, so that the runs do not compare": {"asked otherwise"},
    "In one run only": {"new", "gone"},
}


def render_page(data: Mapping[str, Any]) -> str:
    """Render the data of a comparison as an HTML page, the worsenings first.

    Parameters
    ----------
    data : mapping
        The data that ``comparison_data`` returns.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    changed = [row for row in data["changes"] if row["changed"]]
    return (
        page_environment()
        .get_template("comparison.html.jinja")
        .render(
            data=data,
            headline=headline(data),
            parts=[
                (title, [row for row in changed if _part(row) in names])
                for title, names in _PARTS.items()
            ],
            alike=[row for row in data["changes"] if not row["changed"]],
            cells=cells_of,
            numbers=numbers_of,
            sides=sides_of,
            ground=ground_of,
            titles=titles_of(data),
        )
    )


def _part(row: Mapping[str, Any]) -> str:
    """Return the group of a change; one that is worse but does not count is apart."""
    where = standing(row)
    if where == "worse" and not row["counts_as_worsening"]:
        return "worse elsewhere"
    return where
