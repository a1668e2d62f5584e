"""The page on proofs: what it prints is what a run prints."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "prove.md"


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_page_prints_what_a_run_prints() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 15
