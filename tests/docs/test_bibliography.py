"""Every work that a docstring or a page cites by author and year stands in the bibliography."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_NAME = r"[A-Z][\w'-]+"
_CITED = re.compile(
    rf"({_NAME})(?:,\s+{_NAME})*(?:,?\s+and\s+{_NAME}|\s+et\s+al\.)?(?:['’]s)?,?\s\(?"
    r"((?:19|20)\d\d)(?:\)|[,;]|\s\()"
)
"""Names, then a year: 'Bun and Steinke (2016)', '(Warner 1965; …', 'Li et al. 2022,'."""
_MONTHS = {"January", "February", "March", "April", "May", "June", "July", "August"}


def cited(text: str) -> set[tuple[str, str]]:
    """Return the first author and the year of each citation."""
    found = ((name.removesuffix("'s"), year) for name, year in _CITED.findall(text))
    return {(name, year) for name, year in found if name not in _MONTHS}


def listed(name: str, year: str, lines: list[str]) -> bool:
    heads = (line.rpartition(f"({year})")[0] for line in lines)
    return any(name in head for head in heads)


def test_every_cited_work_is_listed() -> None:
    lines = (ROOT / "docs" / "bibliography.md").read_text("utf-8").splitlines()
    code = [each for name in ("dpcp_audit", "dpcp_ledger") for each in (ROOT / name).rglob("*.py")]
    pages = [*code, *(ROOT / "docs").rglob("*.md")]
    missing = {
        f"{name} {year}": str(page.relative_to(ROOT))
        for page in pages
        for name, year in cited(page.read_text("utf-8"))
        if not listed(name, year, lines)
    }
    assert missing == {}


@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("(Bun and Steinke 2016, Proposition 3)", {("Bun", "2016")}),
        ("Dong, Roth and Su (2022)", {("Dong", "2022")}),
        ("ghost clipping (Li et al. 2022, Section 4)", {("Li", "2022")}),
        ("n = 2000, and 2016 of them", set()),
    ],
)
def test_citations_are_seen(text: str, works: set[tuple[str, str]]) -> None:
    assert cited(text) == works
