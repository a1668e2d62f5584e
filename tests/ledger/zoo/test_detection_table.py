"""The words of the zoo's table."""

from __future__ import annotations

from dpcp_ledger.zoo.zoo_suite import DetectionCell, Mark


def test_of_what_was_only_not_refuted_no_cell_says_that_it_holds() -> None:
    said = {mark: DetectionCell(mark=mark).text for mark in Mark}
    assert not any("hold" in text for text in said.values())
    assert said[Mark.STANDS] == "not refuted"
    assert said[Mark.OPEN] == "undecided"
    assert DetectionCell(mark=Mark.CAUGHT, draws=40_000).text == "✓ 40k"
