"""A comparison of two runs as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit._format import interval, number
from dpcp_audit.reports.differences.difference_text import headline, standing
from dpcp_audit.reports.findings.severity import named
from dpcp_audit.reports.formats.html import page_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

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
