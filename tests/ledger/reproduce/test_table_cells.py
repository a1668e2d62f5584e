"""A reproduction as a table: what its cells say, and what stands behind them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.reproduced_tables import Reproduced
from dpcp_ledger.reproduce import experiments
from dpcp_ledger.reproduce.table_cells import (
    Experiment,
    Form,
    Printed,
    ReproducedNumber,
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
MADE = Experiment(
    id="t", title="<script>", source="S", compute=lambda _: [], compared=(), notes=("n",)
)
TABLE = cell_table(MADE, CELLS, level=1e-6)


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
        "1 of 1 printed numbers compared, 0 differ, 1 of the 1 over all published runs come out "
        "to the printed digit, 1 of 1 differ from the algorithm as written."
    )
    assert TABLE.notes[2:] == ["n", "a <note>"]


def test_every_choice_of_the_published_computation_is_named() -> None:
    names, published, written, source = choices_table().columns
    assert "threshold rounding" in names.texts
    assert all(published.texts)
    assert all(written.texts)
    assert all(source.texts)


RUNS, SAMPLED_CELLS, SIGNIFICANCE = 600, 20, 0.1


def table(rng: np.random.Generator, *, trials: int) -> list[TableCell]:
    """Return cells whose printed numbers and ours have the same law."""
    printed = rng.normal(0.9, 0.01, size=(SAMPLED_CELLS, 1000))
    ours = rng.normal(0.9, 0.01, size=(SAMPLED_CELLS, trials))
    return [
        TableCell(
            row=str(place),
            column="coverage",
            printed=Printed(value=round(theirs.mean(), 6), spread=theirs.std(ddof=1), decimals=6),
            as_written=ReproducedNumber.of(here),
        )
        for place, (theirs, here) in enumerate(zip(printed, ours, strict=True))
    ]


def refuted(trials: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many of the runs are refuted."""
    rng = np.random.default_rng(seed)
    made = Experiment(
        id="made",
        title="t",
        source="P, Table 0",
        compute=lambda _: table(rng, trials=trials),
        compared=tuple(Form),
    )
    monkeypatch.setattr(experiments, "experiments", lambda: {"made": made})
    check = Reproduced(experiment="made", form=Form.WRITTEN)
    context = Context(seed=0, name="made", significance=SIGNIFICANCE)
    return sum(check(context).verdict is Verdict.REFUTED for _ in range(RUNS))


@pytest.mark.statistical(false_alarm=2e-7)
@pytest.mark.parametrize("trials", [5, 300])
def test_true_tables_are_refuted_no_more_often_than_promised(
    trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """False alarm 2e-7: two binomial tails of 1e-7, at the promised 10 %."""
    most = stats.binom.isf(1e-7, RUNS, SIGNIFICANCE)
    assert refuted(trials, trials, monkeypatch) <= most


@pytest.mark.statistical(false_alarm=1e-7)
def test_the_level_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarm 1e-7: at 300 trials both spreads are well known; half the level is expected."""
    least = stats.binom.ppf(1e-7, RUNS, SIGNIFICANCE / 2)
    assert refuted(300, 0, monkeypatch) >= max(1, least)
