"""The page on tightness is what its script writes; some of its numbers are computed again."""

from __future__ import annotations

import re
from pathlib import Path

import update_tightness

from dpcp_audit.papers.claims.tightest_cases import tight_cases
from dpcp_audit.theorems.tightness import tightness_of

DOCS = Path(update_tightness.__file__).parent
PAGE = (DOCS / "tightness.md").read_text(encoding="utf-8")


def test_every_case_has_a_line_and_some_are_computed_again() -> None:
    """``python docs/update_tightness.py`` renews the page."""
    cases = list(tight_cases())
    lines = [line for line in PAGE.splitlines() if re.match(r"\| (ldpcp|pcoqs)", line)]
    assert len(lines) == len(cases)
    for case, line in list(zip(cases, lines, strict=True))[::7]:
        assert line.startswith(f"| {case.name}")
        assert f"× {tightness_of(case.hostile).multiple:.3g} |" in line


def test_every_figure_is_there() -> None:
    for name in update_tightness.NAMES:
        assert f"]({name})" in PAGE
        assert (DOCS / name).read_text(encoding="utf-8").startswith("<svg")
