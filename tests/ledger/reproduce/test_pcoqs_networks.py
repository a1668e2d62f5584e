"""P-COQS's figures on networks, in kind."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.absences import output_without

from dpcp_audit.faces.cli.main import main
from dpcp_audit.laws.scores import hps, prediction_sets
from dpcp_ledger.reproduce import experiments
from dpcp_ledger.reproduce.pcoqs_networks import _pool_cells
from dpcp_ledger.reproduce.table_cells import Inputs

if TYPE_CHECKING:
    from pathlib import Path

    from dpcp_ledger.reproduce.table_cells import TableCell

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


@pytest.mark.statistical(false_alarm=1e-8)
def test_a_users_probabilities_take_the_place_of_imagenets(tmp_path: Path) -> None:
    """A file like that of ImageNet's validation set, of 400 images and 50 classes.

    Coverage is a mean over trials of n = 30,000: its standard error is below 0.001.
    """
    rng = np.random.default_rng(0)
    labels = rng.integers(50, size=400)
    logits = rng.gumbel(size=(400, 50))
    logits[np.arange(400), labels] += 4
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    pool, report = tmp_path / "imagenet val.npz", tmp_path / "cells.csv"
    np.savez(pool, probabilities=probabilities, labels=labels)
    command = ["reproduce", "pcoqs-figure-2", "--pool", str(pool), "--profile", "smoke"]
    assert main([*command, "--jobs", "1", "--report", f"cells={report}"]) == 0
    with report.open(encoding="utf-8", newline="") as stream:
        found = {(row["row"], row["number"]): row["as written"] for row in csv.DictReader(stream)}
    assert len(found) == 6 * (1 + 3 * 3)
    assert {row.partition(",")[0] for row, _ in found} == {"imagenet_val"}
    accuracy = (probabilities.argmax(axis=1) == labels).mean()
    assert float(found["imagenet_val, ε = 10", "accuracy"]) == pytest.approx(accuracy)
    own = np.sort(1 - probabilities[np.arange(400), labels])
    sizes = ((1 - probabilities) <= own[359]).sum(axis=1)  # at the 90 % quantile of the pool
    for method in ("Standard", "P-COQS"):
        row = f"imagenet_val, ε = 10, {method}"
        assert float(found[row, "coverage"]) == pytest.approx(0.9, abs=0.01)
        assert float(found[row, "size"]) == pytest.approx(sizes.mean(), rel=0.1)
    few, many = (float(found[f"imagenet_val, ε = {e}, ExponQ", "size"]) for e in ("0.1", "10"))
    assert few > many


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"probabilities": [[0.5, 0.5]]}, "lacks ['labels']"),
        ({"probabilities": [[0.5, 0.6]], "labels": [0]}, "probabilities must sum to 1"),
        ({"probabilities": [[0.5, 0.5]], "labels": [2]}, "labels must lie in 0..1"),
        ({"probabilities": [[0.5, 0.5]], "labels": [0, 1]}, "labels must have shape (1,)"),
    ],
)
def test_a_file_that_is_no_pool_is_refused_in_one_line(
    arrays: dict[str, list[float]], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = tmp_path / "broken.npz"
    np.savez(pool, **arrays)
    assert main(["reproduce", "pcoqs-figure-2", "--pool", str(pool)]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert said in error
    assert hint.startswith("hint: ")


def test_sizes_and_singletons_are_those_of_the_sets(monkeypatch) -> None:
    (build,) = experiments.DIGITS
    pool = build()
    monkeypatch.setattr(
        "dpcp_ledger.reproduce.pcoqs_networks._thresholds",
        lambda *_, **__: np.array([0.3, 0.9]),
    )
    found = {(cell.row, cell.column): cell for cell in _pool_cells(pool, 100, INPUTS)}
    sizes = np.array([prediction_sets(hps(pool.probabilities), q).sum(axis=1) for q in (0.3, 0.9)])
    row = f"{pool.name}, P-COQS"
    assert value(found[row, "size"]) == pytest.approx(sizes.mean())
    assert value(found[row, "informativeness"]) == pytest.approx((sizes == 1).mean())


def test_without_pytorch_the_cells_say_what_to_install(tmp_path) -> None:
    program = f"""
from {experiments.__name__} import experiments
from {Inputs.__module__} import Inputs
for cell in experiments()["pcoqs-figure-1"].reproduce(Inputs(seed=0, trials=4, pools=())).cells:
    print(cell.as_written, cell.note)"""
    missing = output_without("torch", program=program, folder=tmp_path).splitlines()
    assert missing
    assert all(cell.startswith("None ") and "dpcp-audit[dpsgd]" in cell for cell in missing)
