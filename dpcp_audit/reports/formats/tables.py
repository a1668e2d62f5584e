"""Markdown of the tables alone, all of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.document import ReportFormat
from dpcp_audit.reports.formats.markdown import escaped, markdown_table
from dpcp_audit.reports.terminal import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def render_tables(document: Mapping[str, Any]) -> str:
    """Render the tables of a results document as GitHub-flavoured Markdown."""
    parts = [part for id_, table in tables_of(document) for part in _parts(id_, table)]
    tool = document["tool"]
    foot = (
        f"{tool['name']} {tool['version']}, suite {document['suite']}, profile "
        f"{document['profile']}, seed {document['seed']}."
    )
    return "\n\n".join([*(parts or ["This run has no tables."]), escaped(foot)]) + "\n"


def _parts(id_: str, table: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {escaped(table['title'])}"
    if id_:
        yield f"Claim `{id_}`."
    yield "\n".join(markdown_table(table))
    if table["notes"]:
        yield "\n".join(f"- {escaped(note)}" for note in table["notes"])


FORMAT = ReportFormat(
    suffix=".tables.md", help="the tables alone, all of their rows", render=render_tables
)
