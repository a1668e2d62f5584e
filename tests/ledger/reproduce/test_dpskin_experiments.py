"""DP-SKIN's printed numbers that a formula or a count gives."""

from __future__ import annotations

import pytest

from dpcp_ledger.reproduce import experiments
from dpcp_ledger.reproduce.table_cells import Experiment, Form, Inputs, TableCell

LEVEL = 1e-6


def cells(id_: str) -> tuple[TableCell, ...]:
    (experiment,) = experiments.select([id_])
    return experiment.reproduce(Inputs(seed=0, trials=1, pools=experiments.DIGITS)).cells


@pytest.mark.parametrize("experiment", experiments.thesis_experiments(), ids=lambda e: e.id)
def test_every_printed_number_comes_out_as_published(experiment: Experiment) -> None:
    found = cells(experiment.id)
    assert all(cell.matches for cell in found)
    assert all(cell.differs(Form.PUBLISHED, level=LEVEL) is False for cell in found)


def test_one_count_of_parameters_is_another_than_the_convolutions() -> None:
    differ = [
        cell.row for cell in cells("dpskin-table-2.1") if cell.differs(Form.WRITTEN, level=LEVEL)
    ]
    assert differ == ["Conv_3x"]


@pytest.mark.known_bad
def test_another_noise_gives_another_budget() -> None:
    printed = [cell.printed for cell in cells("dpskin-epsilon")]
    ours = [cell.as_published for cell in reversed(cells("dpskin-epsilon"))]
    moved = [
        TableCell(row="r", column="ε", printed=p, as_published=o)
        for p, o in zip(printed, ours, strict=True)
    ]
    assert sum(bool(cell.differs(Form.PUBLISHED, level=LEVEL)) for cell in moved) == 4
