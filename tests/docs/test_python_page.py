"""The page on Python: its examples run, and what it names is there."""

from __future__ import annotations

import doctest
from pathlib import Path

import dpcp_audit as dp

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_every_example_gives_what_the_page_says() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 8


def test_every_public_name_is_on_the_page_or_in_the_reference() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = {name for name in dp.__all__ if f"dp.{name}" in text}
    assert set(dp.__all__) - shown == {"__version__"}
