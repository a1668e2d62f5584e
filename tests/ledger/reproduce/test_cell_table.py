"""A reproduction as a table: what its cells say, and what stands behind them."""

from __future__ import annotations

import math

from dpcp_ledger.reproduce.table_cells import (
    Printed,
    ReproducedNumber,
    Reproduction,
    TableCell,
    cell_table,
    choices_table,
)

CELLS = (
    TableCell(
        row="<b>|x",
        column="=1+1",
        printed=Printed.parse("0.9005±0.0101"),
        as_published=ReproducedNumber(value=0.9005, spread=0.0101, trials=1000, repeats=True),
        as_written=ReproducedNumber(value=0.95, spread=0.0101, trials=1000),
    ),
    TableCell(row="<b>|x", column="exact", as_written=ReproducedNumber(value=0.5), note="a <note>"),
)
TABLE = cell_table(
    Reproduction(id="t", title="<script>", source="S", cells=CELLS, notes=("n",)), level=1e-6
)


def test_cells_carry_errors_and_marks() -> None:
    _, _, published, as_published, as_written = TABLE.columns
    assert published.texts == ["0.9005 ± 0.0101", ""]
    assert as_published.texts == ["0.9005 ± 0.0101 (0.00032) =", ""]
    assert as_written.texts == ["0.9500 ± 0.0101 (0.00032) ≠", "0.5000"]
    assert (as_published.marked, as_written.marked) == ([], [0])


def test_the_numbers_are_there_in_full() -> None:
    *_, as_written = TABLE.columns
    assert as_written.values == [0.95, 0.5]
    assert as_written.details["standard error"][0] == 0.0101 / math.sqrt(1000)
    assert as_written.details["trials"][0] == 1000
    assert as_written.details["differs"][0] == 1
    assert math.isnan(as_written.details["differs"][1])


def test_the_notes_count_and_say_what_is_missing() -> None:
    assert TABLE.notes[0] == (
        "1 of 1 printed numbers reproduced, 0 differ, 1 of the 1 over all published runs come out "
        "to the printed digit, 1 of 1 differ from the algorithm as written."
    )
    assert TABLE.notes[2:] == ["n", "a <note>"]


def test_every_choice_of_the_published_computation_is_named() -> None:
    names, published, written, source = choices_table().columns
    assert "threshold rounding" in names.texts
    assert all(published.texts)
    assert all(written.texts)
    assert all(source.texts)
