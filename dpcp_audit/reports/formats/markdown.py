"""The Markdown report, made for pull requests: what is wrong first, the rest folded away.

Markdown of the tables alone, all of their rows.
"""

from __future__ import annotations

import bisect
import html
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.document import ReportFormat
from dpcp_audit.reports.summary import ORIGIN, SIGN_OFF, read, run_facts
from dpcp_audit.reports.terminal import lines, numeric, tables_of
from dpcp_audit.words.formatting import clipped, counted, printable
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dpcp_audit.reports.entry import Entry
    from dpcp_audit.reports.families import Family
    from dpcp_audit.reports.summary import Reading


_MOST_CHARACTERS = 65_000
"""GitHub takes 65,536 in a comment."""
_SPECIAL = re.compile(r"([\\`*_\[\]~|$#])")
_LINE_START = re.compile(r"^(\d*)([-+=.)])")
_COLUMNS = {
    "Claim": ":--",
    "Verdict": ":--",
    "Expected": ":--",
    "Quantity": ":--",
    "Claimed": "--:",
    "Measured": "--:",
    "Kind": ":--",
}
_BROKEN = {
    "Refuted, worst first": ":--",
    "What breaks": ":--",
    "Promised": "--:",
    "Found": "--:",
}
# Characters, but for the number of refuted claims up to which each is detailed.
_CELL, _PARAGRAPH, _BLOCK, _TABLE, _FOLDED_TABLE = 240, 1500, 4000, 16_000, 24_000
_MOST_DETAILED = 10


def render_markdown(document: Mapping[str, Any]) -> str:
    """Render a results document as Markdown.

    Parameters
    ----------
    document : mapping
        The results document, as :func:`dpcp_audit.reports.document.load` returns it.

    Returns
    -------
    str
        GitHub-flavoured Markdown of at most 65,000 characters: the banner, what contradicts its
        expectation or could not be checked, what is refuted, worst first, and, folded, the tables
        of all other claims, the details of what contradicts and of few refutations, and the
        tables. What does not fit is left out, and a line says so.

    Raises
    ------
    ValueError
        If the document is of another schema version.
    """
    reading = read(document)
    known = dict(run_facts(document))
    facts = "\n".join(f"- {name}: {inline(value)}" for name, value in known.items())
    origin = "; ".join(f"{name}: {inline(known[name])}" for name in ORIGIN if name in known)
    run = f"<details><summary>This run</summary>\n\n{facts}\n\n</details>"
    tables = [
        run,
        _sign_off(reading),
        *(_folded_table(id_, table) for id_, table in tables_of(document)),
    ]
    tool = document["tool"]
    foot = (
        f"<sub>{escaped(tool['name'])} {escaped(tool['version'])}, profile "
        f"{escaped(document.get('profile'))}, seed {escaped(document.get('seed'))}</sub>"
    )
    return (
        "\n\n".join(
            [
                *_fitting([*_parts(reading, origin), *tables], _MOST_CHARACTERS - len(foot) - 200),
                foot,
            ]
        )
        + "\n"
    )


def _parts(reading: Reading, origin: str) -> list[str]:
    alarming = [e for e in reading.entries if _alarms(e)]
    parts = _banner(reading, origin)
    if alarming:
        parts.append(_table(alarming))
    if reading.broken or reading.apart or reading.controls:
        parts.append(_broken(reading))
    parts += [_details(entry) for entry in alarming]
    as_expected = " as expected" if reading.expectations else ""
    undecided = [e for e in reading.entries if e.verdict is Verdict.INCONCLUSIVE]
    if undecided:
        parts.append(f"**Not decided:**\n\n{_list(undecided)}")
    refuted = [e for e in reading.entries if e.refuted and not _alarms(e)]
    rest = [e for e in reading.entries if not e.refuted and not _alarms(e)]
    parts += _folded(refuted, f"{counted(len(refuted), 'claim')} refuted{as_expected}")
    parts += _folded(rest, f"{counted(len(rest), 'claim')} not refuted")
    if len(refuted) <= _MOST_DETAILED:
        parts += [_details(entry) for entry in refuted]
    limits = "\n".join(f"- {limit}" for limit in reading.limits)
    head = "<details><summary>What a clean result does not mean</summary>"
    sources = [_source(entry) for entry in rest if entry.source][:_MOST_DETAILED]
    return [*parts, *_grounds(rest), *sources, f"{head}\n\n{limits}\n\n</details>"]


def _sign_off(reading: Reading) -> str:
    """Return the place for a reviewer's name, decision and signature, folded."""
    rows = "\n".join(f"| {each} | |" for each in SIGN_OFF)
    scope = _paragraph(reading.scope)
    head = "<details><summary>Sign-off</summary>"
    return f"{head}\n\n{scope}\n\n| | |\n|:--|:--|\n{rows}\n\n</details>"


def _grounds(rest: Sequence[Entry]) -> list[str]:
    """Return the finding of each claim, with the rules and assumptions of its proof, folded."""
    decided = [entry for entry in rest if entry.verdict is not Verdict.INCONCLUSIVE]
    if not decided:
        return []
    head = "<details><summary>The findings, each with its evidence</summary>"
    return [f"{head}\n\n{_list(decided)}\n\n</details>"]


def _list(entries: Iterable[Entry]) -> str:
    """Return a line for each entry: what was found, why it is open, and what it rests on."""
    lines: list[str] = []
    for entry in entries:
        rules = "; ".join(value for name, value in entry.facts if name == "Rule")
        assumed = dict(entry.facts).get("Assumptions", "")
        grounds = {"Tried": entry.tried, "Rules": rules, "Assumes": assumed}
        said = [entry.sentence, *filter(None, [entry.reason])]
        said += [f"{name}: {of}." for name, of in grounds.items() if of]
        lines.append(f"- <code>{_cell(entry.id)}</code>: {_paragraph(' '.join(said))}")
    return _shortened(lines, _TABLE)


def _alarms(entry: Entry) -> bool:
    return entry.contradicts or entry.verdict is Verdict.ERROR


def _fitting(parts: Iterable[str], most: int) -> list[str]:
    """Return the parts that fit, in their order, and a line on how many do not."""
    kept: list[str] = []
    left_out = length = 0
    for part in parts:
        if length + len(part) <= most and not left_out:
            kept.append(part)
            length += len(part) + 2
        else:
            left_out += 1
    if left_out:
        parts_are = "part of this report is" if left_out == 1 else "parts of this report are"
        kept.append(f"**{left_out} {parts_are} left out for its length;** the HTML report has all.")
    return kept


def _banner(reading: Reading, origin: str) -> list[str]:
    bold = "**" if reading.contradicting else ""
    standing = f"{bold}{reading.expectations}{bold} " if reading.expectations else ""
    counted = [f"{count} {verdict.lower()}" for verdict, count in reading.tally]
    if reading.caught:
        counted.append(f"{reading.caught} caught: controls, known to be false")
    apart, refuted = reading.counted_apart
    counted += [f"{apart} counted separately ({refuted} refuted)"] if apart else []
    claims = f"Claims of {escaped(reading.papers)}: {', '.join(counted)}." if counted else ""
    overall = [escaped(reading.overall)] if reading.overall else []
    lines = [f"## {reading.headline}", *overall, origin, f"{standing}{claims}"]
    if not reading.complete:
        lines.append("**The run was stopped before its end.**")
    lines = [*filter(None, lines), f"{reading.meaning} {reading.assurance}"]
    if reading.skipped:
        names = [f"- {escaped(each.name)}: {escaped(each.reason)}" for each in reading.skipped]
        lines.append("**Not run here:**\n\n" + _shortened(names, _CELL * 10))
    return lines


def _broken(reading: Reading) -> str:
    rows = [row for family in reading.broken for row in _promises(family)]
    rows += [row for each in reading.apart for row in _promises(each, " (counted separately)")]
    rows += [row for family in reading.controls for row in _promises(family, " (a control)")]
    return _shortened(rows_of(_BROKEN, rows), _TABLE)


def _promises(family: Family, remark: str = "") -> Iterator[tuple[str, ...]]:
    """Yield a row for each broken promise."""
    for entry in family.broken:
        yield (
            f"**{_cell(family.name)}**{remark}",
            f"{entry.breach.consequence}: {_cell(entry.statement)}{_tried(entry)}",
            f"{entry.breach.promised}<br>{_cell(entry.breach.quantity)}".removesuffix("<br>"),
            f"**{entry.breach.found}**, {entry.breach.surety}",
        )


def _tried(entry: Entry) -> str:
    return f"<br>Tried: {_cell(entry.tried)}." if entry.tried else ""


def _folded(entries: Sequence[Entry], summary: str) -> list[str]:
    if not entries:
        return []
    return [
        f"<details><summary>{summary}</summary>\n\n{_table(entries, _FOLDED_TABLE)}\n\n</details>"
    ]


def _folded_table(id_: str, table: Mapping[str, Any]) -> str:
    of = f": <code>{html.escape(clipped(id_, _CELL))}</code>" if id_ else ""
    head = f"<details><summary>{html.escape(clipped(table['title'], _CELL))}{of}</summary>"
    notes = "\n".join(f"- {_paragraph(note)}" for note in table["notes"])
    parts = [head, _shortened(markdown_table(table), _TABLE), notes, "</details>"]
    return "\n\n".join(part for part in parts if part)


def markdown_table(table: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table of the document."""
    columns = table["columns"]
    heads = {inline(column["name"]): "--:" if numeric(column) else ":--" for column in columns}
    return rows_of(heads, (map(inline, row) for row in lines(table)))


def rows_of(heads: Mapping[str, str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table, of escaped cells; ``heads`` has the side that each is set to."""
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    lines.insert(1, f"|{'|'.join(heads.values())}|")
    return lines


def _table(entries: Sequence[Entry], most: int = _TABLE) -> str:
    """Return the table of entries; where nothing is expected, without that column."""
    expected = any(entry.expected for entry in entries)
    heads = {name: side for name, side in _COLUMNS.items() if expected or name != "Expected"}
    rows = [dict(zip(_COLUMNS, _row(entry), strict=True)) for entry in entries]
    return _shortened(rows_of(heads, ([row[name] for name in heads] for row in rows)), most)


def _shortened(lines: Sequence[str], most: int) -> str:
    """Return the lines of a table that fit, and how many do not."""
    ends = list(accumulate(len(line) + 1 for line in lines))
    kept = max(bisect.bisect_right(ends, most), 3)
    left_out = len(lines) - kept
    if left_out > 0:
        more = f"… and {counted(left_out, 'claim')} more, in the HTML report."
        return "\n".join([*lines[:kept], "", more])
    return "\n".join(lines[:kept])


def _row(entry: Entry) -> tuple[str, ...]:
    """Return the cells of all columns."""
    verdict = f"**{entry.verdict}**" if entry.needs_attention else str(entry.verdict)
    if entry.contradicts:
        verdict += f" ({'worse' if entry.worse else 'contradicts'})"
    return (
        f"<code>{_cell(entry.id)}</code>",
        verdict,
        entry.expected,
        _cell(entry.quantity),
        entry.claimed,
        f"{entry.measured} {escaped(entry.interval)}".strip(),
        entry.kind,
    )


def _details(entry: Entry) -> str:
    # Markdown takes the line of an HTML block as it is: escape HTML there, and nothing else.
    name = html.escape(clipped(" ".join(entry.id.split()), _CELL))
    verdict = f"{entry.verdict}, {entry.against}" if entry.against else entry.verdict
    summary = f"<code>{name}</code>: {verdict}"
    parts = [
        f"<details><summary>{summary}</summary>",
        _paragraph(entry.statement),
        f"<code>{_paragraph(entry.formula)}</code>" if entry.formula else "",
        f"Source: {_cell(entry.paper)}, {_cell(entry.section)}{_standing(entry)}.",
        "" if entry.error else f"**{_paragraph(entry.sentence)}**",
        "\n".join(f"- {name}: {_cell(value)}" for name, value in _facts(entry)),
        f"What went wrong:\n\n{_block(entry.error)}" if entry.error else "",
        _source(entry),
        f"<details><summary>How it was found</summary>\n\n{_paragraph(entry.note)}\n\n</details>"
        if entry.note
        else "",
        f"Witness{_cut(entry)}:\n\n{_block(entry.witness, 'text')}" if entry.witness else "",
        f"Run it again:\n\n{_block(entry.replay, 'sh')}" if entry.replay else "",
        "</details>",
    ]
    return "\n\n".join(part for part in parts if part)


def _source(entry: Entry) -> str:
    """Return the source that a proof has read, folded; "" where none was read."""
    if not entry.source:
        return ""
    of = html.escape(clipped(" ".join(entry.id.split()), _CELL))
    head = f"<details><summary>The source, line by line: <code>{of}</code></summary>"
    return f"{head}\n\n{_block(entry.source, 'python')}\n\n</details>"


def _facts(entry: Entry) -> list[tuple[str, str]]:
    return [("Tried", entry.tried), *entry.facts] if entry.tried else list(entry.facts)


def _cut(entry: Entry) -> str:
    whole = len(entry.witness) <= _BLOCK
    return "" if whole else ", cut off; the JSON results have all of it (`--report json=FILE`)"


def _standing(entry: Entry) -> str:
    return f" ({entry.label})" if entry.label else ""


def _cell(text: str) -> str:
    return escaped(clipped(text, _CELL))


def _paragraph(text: str) -> str:
    return escaped(clipped(text, _PARAGRAPH))


def escaped(text: object) -> str:
    """Escape a text so that Markdown and HTML print it as it is, on one line."""
    return _LINE_START.sub(r"\1\\\2", inline(text))


def inline(text: object) -> str:
    """Escape a text that stands within a line."""
    flat = " ".join(printable(text).split())
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", flat)


def _block(text: str, language: str = "") -> str:
    """Return a fenced block whose fence is longer than any run of backticks within."""
    shown = clipped(text, _BLOCK)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def render_tables(document: Mapping[str, Any]) -> str:
    """Render the tables of a results document as GitHub-flavoured Markdown."""
    parts = [part for id_, table in tables_of(document) for part in _table_parts(id_, table)]
    tool = document["tool"]
    foot = (
        f"{tool['name']} {tool['version']}, suite {document['suite']}, profile "
        f"{document['profile']}, seed {document['seed']}."
    )
    return "\n\n".join([*(parts or ["This run has no tables."]), escaped(foot)]) + "\n"


def _table_parts(id_: str, table: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {escaped(table['title'])}"
    if id_:
        yield f"Claim `{id_}`."
    yield "\n".join(markdown_table(table))
    if table["notes"]:
        yield "\n".join(f"- {escaped(note)}" for note in table["notes"])


FORMATS = {
    "markdown": ReportFormat(
        suffix=".md", help="a summary for comments on pull requests", render=render_markdown
    ),
    "tables": ReportFormat(
        suffix=".tables.md", help="the tables alone, all of their rows", render=render_tables
    ),
}
