"""P-COQS's figures on networks, in kind."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.data.scores import hps, prediction_sets
from dpcp_audit.papers.reproduce import experiments
from dpcp_audit.papers.reproduce.experiment import Inputs
from dpcp_audit.papers.reproduce.pcoqs_networks import _pool_cells

if TYPE_CHECKING:
    from dpcp_audit.papers.reproduce.table_cells import TableCell

INPUTS = Inputs(seed=0, trials=4, pools=experiments.DIGITS)


def cells(id_: str) -> dict[tuple[str, str], TableCell]:
    found = experiments.experiments()[id_].reproduce(INPUTS).cells
    return {(cell.row, cell.column): cell for cell in found}


def value(cell: TableCell) -> float:
    assert cell.as_written is not None
    return cell.as_written.value


def test_a_private_network_is_less_accurate_and_has_larger_sets() -> None:
    found = cells("pcoqs-figure-3")
    plain, private = "digits-adam-logistic", "digits-dp-adam-logistic-eps8"
    assert value(found[plain, "accuracy"]) > value(found[private, "accuracy"])
    for method in ("Standard", "P-COQS"):
        first, second = (value(found[f"{name}, {method}", "size"]) for name in (plain, private))
        assert first < second
        assert value(found[f"{plain}, {method}", "coverage"]) == pytest.approx(0.9, abs=0.05)


def test_imagenet_is_computed_from_the_pool_that_is_given_at_every_budget() -> None:
    found = cells("pcoqs-figure-2")
    name = experiments.DIGITS[0]().name
    assert len(found) == 6 * (1 + 3 * 3)
    for epsilon in ("0.1", "10"):
        covered = value(found[f"{name}, ε = {epsilon}, P-COQS", "coverage"])
        assert covered == pytest.approx(0.9, abs=0.02)
    exponq = [value(found[f"{name}, ε = {e}, ExponQ", "size"]) for e in ("0.1", "10")]
    assert exponq[0] > exponq[1]


def test_sizes_and_singletons_are_those_of_the_sets(monkeypatch) -> None:
    (build,) = experiments.DIGITS
    pool = build()
    monkeypatch.setattr(
        "dpcp_audit.papers.reproduce.pcoqs_networks._thresholds",
        lambda *_, **__: np.array([0.3, 0.9]),
    )
    found = {(cell.row, cell.column): cell for cell in _pool_cells(pool, 100, INPUTS)}
    sizes = np.array([prediction_sets(hps(pool.probabilities), q).sum(axis=1) for q in (0.3, 0.9)])
    row = f"{pool.name}, P-COQS"
    assert value(found[row, "size"]) == pytest.approx(sizes.mean())
    assert value(found[row, "informativeness"]) == pytest.approx((sizes == 1).mean())


def test_without_pytorch_the_cells_say_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    missing = [cell for cell in cells("pcoqs-figure-1").values() if cell.note]
    assert missing
    assert all("dpcp-audit[dpsgd]" in cell.note and cell.as_written is None for cell in missing)
