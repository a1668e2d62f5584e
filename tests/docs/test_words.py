"""What people read is said in the field's terms: phrases that are not are named, with the file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_OURS = (
    "as (is|if) by default",
    "bites",
    "cling(s|ing)? together",
    "foreign",
    r"\bh(o|e)lds? [^.\n]{0,60} against",
    "how it was had",
    "left away",
    "nobody here wrote",
    r"speaks? loud",
    "yardstick",
)
"""In their place: third-party, Method, positive control, has the largest likelihood ratio …"""
_FOLDERS = ("dpcp_audit", "docs", "examples", "benchmarks", ".github")
_SUFFIXES = {".py", ".md", ".toml", ".yml", ".jinja", ".html", ".json"}


def pages() -> list[Path]:
    inside = (path for folder in _FOLDERS for path in (ROOT / folder).rglob("*"))
    kept = [path for path in inside if path.suffix in _SUFFIXES and "_build" not in path.parts]
    return sorted([*kept, *ROOT.glob("*.md")])


def found(text: str) -> list[str]:
    """Return the phrases of a text that are not the field's."""
    return [hit[0] for hit in re.finditer("|".join(NOT_OURS), text, re.IGNORECASE)]


def test_every_text_is_in_the_terms_of_the_field() -> None:
    said = {str(path.relative_to(ROOT)): found(path.read_text("utf-8")) for path in pages()}
    assert {path: hits for path, hits in said.items() if hits} == {}


@pytest.mark.parametrize(
    "text",
    [
        "Audit foreign code.",
        "Hold a guarantee against samples.",
        "targets may cling\ntogether",
        "the yardstick that the attack bites",
        "domain must be left away for a quantile",
    ],
)
def test_a_phrase_that_is_not_the_fields_is_found(text: str) -> None:
    assert found(" ".join(text.split()))


def test_standard_terms_pass() -> None:
    assert not found("A third-party target is tested against its claim; the attack has power.")
