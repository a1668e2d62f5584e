"""The Markdown report, made for pull requests: a banner, a table, details where they matter."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.reading import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.reports.reading import Entry, Reading

_SPECIAL = re.compile(r"([\\`*_\[\]~|$#])")
_LINE_START = re.compile(r"^(\d*)([-+=.)])")
_HEAD = "| Claim | Verdict | Expected | Quantity | Claimed | Measured | Kind |"
_RULE = "|:--|:--|:--|:--|--:|--:|:--|"


def render_markdown(document: Mapping[str, Any]) -> str:
    """Render a results document as Markdown.

    Parameters
    ----------
    document : mapping
        The results document, as :func:`dpcp_audit.reports.document.load` returns it.

    Returns
    -------
    str
        GitHub-flavoured Markdown: the banner, the table worst first, and a collapsible part for
        every claim that is refuted, contradicts its expectation or could not be checked.

    Raises
    ------
    ValueError
        If the document is of another schema version.
    """
    reading = read(document)
    parts = [*_banner(reading), _table(reading)]
    parts += [_details(entry) for entry in reading.entries if entry.needs_attention]
    tool = document["tool"]
    parts.append(
        f"<sub>{_text(tool['name'])} {_text(tool['version'])}, profile "
        f"{_text(document.get('profile'))}, seed {_text(document.get('seed'))}</sub>"
    )
    return "\n\n".join(parts) + "\n"


def _banner(reading: Reading) -> list[str]:
    standing = f"**{reading.standing}**" if reading.contradicting else reading.standing
    tally = ", ".join(f"{count} {verdict.lower()}" for verdict, count in reading.tally)
    claims = f"Claims of {_text(reading.papers)}: {tally or 'none'}."
    lines = [f"## {reading.headline}", f"{standing} {claims}"]
    if not reading.complete:
        lines.append("**The run was stopped before its end;** other claims were not tried.")
    return [*lines, f"{reading.meaning} {reading.assurance}"]


def _table(reading: Reading) -> str:
    return "\n".join([_HEAD, _RULE, *(_row(entry) for entry in reading.entries)])


def _row(entry: Entry) -> str:
    verdict = f"**{entry.verdict}**" if entry.needs_attention else str(entry.verdict)
    if entry.contradicts:
        verdict += " (contradicts)"
    cells = (
        _code(entry.id),
        verdict,
        str(entry.expected),
        _text(entry.quantity),
        entry.claimed,
        f"{entry.measured} {_text(entry.interval)}".strip(),
        entry.kind,
    )
    return f"| {' | '.join(cells)} |"


def _details(entry: Entry) -> str:
    # Markdown takes the line of an HTML block as it is: escape HTML there, and nothing else.
    summary = f"<code>{html.escape(entry.id)}</code>: {entry.verdict}, expected {entry.expected}"
    parts = [
        f"<details><summary>{summary}</summary>",
        _text(entry.statement),
        _code(entry.formula) if entry.formula else "",
        f"Source: {_text(entry.paper)}, {_text(entry.section)}.",
        _text(entry.note),
        "\n".join(f"- {name}: {_text(value)}" for name, value in entry.facts),
        f"What went wrong:\n\n{_block(entry.error)}" if entry.error else "",
        f"Witness:\n\n{_block(entry.witness, 'text')}" if entry.witness else "",
        f"Run it again:\n\n{_block(entry.replay, 'sh')}" if entry.replay else "",
        "</details>",
    ]
    return "\n\n".join(part for part in parts if part)


def _text(text: object) -> str:
    """Escape a text so that Markdown and HTML print it as it is, on one line."""
    flat = " ".join(str(text).split())
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LINE_START.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", flat))


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _block(text: str, language: str = "") -> str:
    """Return a fenced block whose fence is longer than any run of backticks within."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
