"""The page on tightness is what its script writes; some of its numbers are computed again."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import update_tightness
from tightness_maps import tightness_maps

from dpcp_audit.theorems.statement import tightness_of
from dpcp_ledger.claims.tightest_cases import tight_cases

DOCS = Path(update_tightness.__file__).parent
PAGE = (DOCS / "tightness.md").read_text(encoding="utf-8")


def test_every_case_has_a_line_and_some_are_computed_again() -> None:
    """``python docs/update_tightness.py`` renews the page."""
    cases = list(tight_cases())
    lines = [line for line in PAGE.splitlines() if re.match(r"\| (ldpcp|pcoqs)[^|]*,", line)]
    assert len(lines) == len(cases)
    for case, line in list(zip(cases, lines, strict=True))[::7]:
        assert line.startswith(f"| {case.name}")
        assert f"× {tightness_of(case.hostile).multiple:.3g} |" in line


def test_every_constant_is_seen_at_five_per_cent_or_the_page_says_why_not() -> None:
    """Shares of β and δ are not; constants that a theorem does not have are dashes."""
    found = re.findall(
        r"^\| (\w+\.[\w.-]+) \| (.+) \| (.+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE
    )
    assert {name for name, *_ in found} == {case.name for case in tight_cases()}
    for name, correction, windows, rounds, _ in found:
        seen = [correction] + [windows] * name.startswith("pcoqs")
        seen += [rounds] * (name.startswith("pcoqs") or name == "ldpcp.theorem-4")
        assert all(float(each.removeprefix("× ")) > 0.95 for each in seen), name
    assert "are seen by no row" in PAGE


def test_every_figure_is_there() -> None:
    for name in update_tightness.NAMES:
        assert f"]({name})" in PAGE
        assert (DOCS / name).read_text(encoding="utf-8").startswith("<svg")


def test_every_cell_needs_less_than_the_theorem_adds() -> None:
    for each in tightness_maps():
        small = replace(
            each,
            rows=(each.rows[0], each.rows[1][:2]),
            columns=(each.columns[0], each.columns[1][1:3]),
        )
        figure = small.figure()
        assert [len(series.y) for series in figure.series] == [2, 2]
        assert all(0.1 < cell < 1 for series in figure.series for cell in series.y)


def test_tau_is_tighter_at_a_smaller_beta() -> None:
    ranks = tightness_maps()[2]
    column = replace(ranks, columns=("ρ", (0.1,))).cells()
    multiples = [row[0].multiple for row in column]
    assert multiples == sorted(multiples)
