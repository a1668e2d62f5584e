"""What was learned of a check before it ran, as its data holds it: no options."""

from __future__ import annotations

from dpcp_audit.words import options
from dpcp_audit.words.plain import is_sequence
from dpcp_audit.words.results import SourceLocation
from dpcp_audit.words.values import KeywordTable, Text, Whole, is_whole, wrong

LEARNED = ("location", "planned")
"""The keys of a check's data."""


def location_of(place: object) -> SourceLocation | None:
    """Return where a target is written."""
    if place is None:
        return None
    table = KeywordTable().read(place, "location")
    options.require_known(table, ("file", "line"))
    return SourceLocation(
        file=Text().read(table.get("file"), "file"), line=Whole().read(table.get("line"), "line")
    )


def planned_of(data: object, claims: int) -> tuple[int, ...]:
    """Return the calls that were planned for each of so many claims."""
    calls = tuple(data) if is_sequence(data) else ()
    if (calls or data) and (len(calls) != claims or not all(is_whole(n) and n > 0 for n in calls)):
        raise wrong("planned", f"{claims} whole numbers", data)
    return calls
