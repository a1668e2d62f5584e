"""The experiments: what is printed, the rule of difference, and what each needs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.words.errors import UsageError
from dpcp_ledger.reproduce import experiments, pcoqs_experiments, simulation
from dpcp_ledger.reproduce.simulation import Model, ModelKind
from dpcp_ledger.reproduce.table_cells import (
    Form,
    Printed,
    ReproducedNumber,
    TableCell,
)

LEVEL = 1e-3 / 1810
"""Two-sided, where c is 5.0 for a normal mean."""


def repeated(value: float, spread: float, trials: int) -> TableCell:
    ours = ReproducedNumber(value=value, spread=spread, trials=trials, repeats=True)
    return TableCell(row="r", column="c", printed=Printed.parse("0.9005±0.0101"), as_published=ours)


def test_printed_numbers_are_read_with_spread_and_decimals() -> None:
    assert Printed.parse("0.9005±0.0101") == Printed(value=0.9005, spread=0.0101, decimals=4)
    assert Printed.parse("0.038") == Printed(value=0.038, decimals=3)


def test_all_published_draws_must_come_out_to_the_printed_digit() -> None:
    assert repeated(0.90054, 0.01014, 1000).matches is True
    assert repeated(0.90054, 0.01014, 1000).differs(Form.PUBLISHED, level=LEVEL) is False
    assert repeated(0.90056, 0.01014, 1000).matches is False
    assert repeated(0.90056, 0.01014, 1000).differs(Form.PUBLISHED, level=LEVEL) is True
    assert repeated(0.90054, 0.01026, 1000).matches is False  # the spread


def test_some_of_the_published_draws_are_allowed_their_error() -> None:
    error = 0.0101 * math.sqrt(1 / 100 - 1 / 1000)
    assert repeated(0.9005, 0.01, 100).matches is None
    assert repeated(0.9005 + 5.0 * error, 0.01, 100).differs(Form.PUBLISHED, level=LEVEL) is False
    assert repeated(0.9005 + 5.3 * error, 0.01, 100).differs(Form.PUBLISHED, level=LEVEL) is True


@pytest.mark.parametrize(("trials", "c"), [(1000, 5.17), (10, 12.4)])
def test_the_algorithm_as_written_is_compared_within_both_errors(trials: int, c: float) -> None:
    error = math.hypot(0.0101 / math.sqrt(1000), 0.02 / math.sqrt(trials))

    def cell(distance: float) -> TableCell:
        ours = ReproducedNumber(value=0.9005 + distance * error, spread=0.02, trials=trials)
        return TableCell(
            row="r", column="c", printed=Printed.parse("0.9005±0.0101"), as_written=ours
        )

    assert cell(c * 0.97).differs(Form.WRITTEN, level=LEVEL) is False
    assert cell(c * 1.03).differs(Form.WRITTEN, level=LEVEL) is True
    assert cell(0).differs(Form.PUBLISHED, level=LEVEL) is None


def test_what_is_not_comparable_is_not_compared() -> None:
    ours = ReproducedNumber(value=3.0, spread=0.1, trials=10)
    printed = Printed.parse("0.0040±0.0031")
    cell = TableCell(row="r", column="c", printed=printed, as_written=ours, comparable=False)
    assert cell.differs(Form.WRITTEN, level=LEVEL) is None


def test_what_is_printed_and_not_compared_says_why() -> None:
    """Of Table 1 of LDP-CP fifteen numbers follow from formulas; the others are of other data."""
    cells = experiments.experiments()["ldpcp-table-1"].compute({})
    aside = [cell for cell in cells if all(cell.compared(form) is None for form in Form)]
    assert (len(cells), len(aside)) == (105, 90)
    assert all(cell.note for cell in aside)


def test_every_printed_number_is_there() -> None:
    printed = sum(
        len(text.split())
        for table in pcoqs_experiments.published().values()
        for text in table["rows"].values()
    )
    printed += sum(1 + 4 * len(entry["rows"]) for entry in experiments.published_table().values())
    assert printed == 905


def test_printed_efficiency_and_informativeness_add_up_to_two() -> None:
    """As published, every set has size 1 or 2, so a misread digit shows."""
    for number in (*range(1, 4), *range(5, 10), *range(11, 14)):
        for text in pcoqs_experiments.published()[str(number)]["rows"].values():
            values = [Printed.parse(cell).value for cell in text.split()]
            sums = np.add(values[3:6], values[6:9])
            assert np.all(np.abs(sums - 2) <= 1.01e-4), (number, text)


def test_every_row_knows_its_trials() -> None:
    nine = pcoqs_experiments.published()["11"]["rows"]
    assert list(nine) == ["0.1", "0.5", "1", "2", "5", "10"]
    experiment = experiments.experiments()["pcoqs-table-11"]
    assert [demand.model.epsilon for demand in experiment.demands] == [0.1, 0.5, 1, 2, 5, 10]
    table_4 = experiments.experiments()["pcoqs-table-4"].demands
    assert {demand.condition.published_rho for demand in table_4} == {1.0, 0.5}


def test_unknown_ids_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no experiment has the id 'pcoqs-table-17'"):
        experiments.select(["pcoqs-table-17"])
    chosen = experiments.select(["ldpcp-table-1", "ldpcp-table-1"])
    assert [experiment.id for experiment in chosen] == ["ldpcp-table-1"]
    assert len(experiments.select(["all"])) == 17


def test_a_model_that_cannot_be_fitted_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr("dpcp_ledger.reproduce.simulation._diffprivlib", absent)
    (experiment,) = experiments.select(["pcoqs-table-14"])
    assert not simulation.tasks(experiment.demands, experiments.Extent.SMOKE.effort, seed=0)
    found = experiment.compute({})
    assert all(cell.as_published is None and cell.as_written is None for cell in found)
    assert {cell.note for cell in found} == {
        "needs diffprivlib, pip install 'dpcp-audit[targets]' (models)"
    }
    assert not Model(kind=ModelKind.NAIVE_BAYES).missing
