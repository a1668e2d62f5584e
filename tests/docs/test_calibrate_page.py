"""The page on calibration: what it prints is what a run prints."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "calibrate.md"


def test_the_page_prints_what_a_run_prints() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 8
