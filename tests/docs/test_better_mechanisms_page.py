"""The page on better mechanisms says what is computed."""

from __future__ import annotations

from pathlib import Path

import update_better_mechanisms
from measured_improvements import search_pairs

from dpcp_audit.laws.populations import Beta, Uniform

PAGE = update_better_mechanisms.PAGE.read_text(encoding="utf-8")


def test_exact_rows_are_those_of_the_page() -> None:
    """``python docs/update_better_mechanisms.py`` renews it."""
    cases = (("uniform", Uniform(), None), ("Beta(5, 0.2)", Beta(5.0, 0.2), None))
    rows = search_pairs(cases, n=11_080)
    for line in update_better_mechanisms._table(rows).splitlines():
        assert line in PAGE


def test_every_improvement_has_its_proof_and_its_table() -> None:
    assert PAGE.count("\n## ") == 7
    assert PAGE.count(update_better_mechanisms._HEAD) == 5
    assert Path(update_better_mechanisms.PAGE).name == "better_mechanisms.md"


def test_the_switch_to_another_channel_is_the_computed_one() -> None:
    assert update_better_mechanisms.switches() in PAGE
