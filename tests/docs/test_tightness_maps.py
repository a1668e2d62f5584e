"""The maps of tightness over two parameters."""

from __future__ import annotations

from dataclasses import replace

from tightness_maps import tightness_maps


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
