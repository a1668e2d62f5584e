"""A finding in plain text, for the formats that other tools read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcp_audit.reports.reading import Entry


def sentence(entry: Entry) -> str:
    """Return the verdict, what was expected and the number behind it, on one line."""
    expected = "" if entry.expected == entry.verdict else f" (expected {entry.expected})"
    if entry.error:
        return f"{entry.verdict}{expected}: {_line(entry.error)}"
    found = " ".join(part for part in (entry.measured, entry.interval) if part)
    claimed = f", claimed {entry.claimed}"
    return f"{entry.verdict}{expected}: {_line(entry.quantity)} {found}{claimed}"


def paragraphs(entry: Entry) -> str:
    """Return the claim, the evidence, the witness and how to run it again."""
    parts = [
        sentence(entry),
        entry.statement,
        f"Source: {entry.paper}, {entry.section}",
        entry.note,
        "\n".join(f"{name}: {value}" for name, value in entry.facts),
        f"Witness:\n{entry.witness}" if entry.witness else "",
        f"Run it again:\n{entry.replay}" if entry.replay else "",
    ]
    return "\n\n".join(part for part in parts if part)


def family(finding_id: str) -> str:
    """Return the claim's id without its variant.

    Examples
    --------
    >>> family("pcoqs.theorem-1[coverage=marginal]")
    'pcoqs.theorem-1'
    """
    return finding_id.partition("[")[0] or finding_id


def _line(text: str) -> str:
    return " ".join(text.split())
