"""``dpcp-audit compare-calibrators``: a suite that prints its tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpcp_audit.engine import suites
from dpcp_audit.faces.cli.main import main
from dpcp_ledger.claims import compared_calibrators
from dpcp_ledger.claims.compared_calibrators import Compared

if TYPE_CHECKING:
    from pathlib import Path

POOL = "digits-logistic"
OLD = ["compare-calibrators", "--jobs", "1", "--profile", "smoke"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of one case on one pool; the checks carry it to their processes."""
    grid = replace(
        compared_calibrators.QUICK,
        methods=("split", "exponq-full", "histlap"),
        subjects=(POOL,),
        sizes=(1000,),
        epsilons=(4.0,),
        trials=40,
        delta=1e-3,
    )

    class Small(Compared):
        def grid(self, *, effort: float, seed: int) -> object:
            assert effort
            return replace(
                grid,
                subjects=(self.subject,),
                seed=seed,
                alphas=self.alphas or grid.alphas,
                delta=self.delta or grid.delta,
            )

    monkeypatch.setattr(compared_calibrators, "QUICK", grid)
    monkeypatch.setattr(compared_calibrators, "Compared", Small)
    suites._default_rows.cache_clear()
    yield
    suites._default_rows.cache_clear()


@pytest.mark.usefixtures("quick")
def test_tables_go_to_stdout_and_progress_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(OLD) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Every calibrator on digits-logistic")
    assert "HistLap" in out
    assert err.startswith("[1/1] compared[scores=digits-logistic]: ")


@pytest.mark.usefixtures("quick")
def test_other_levels_are_options_of_the_suite(tmp_path: Path) -> None:
    results, cells = tmp_path / "r.json", tmp_path / "cells.csv"
    command = [*OLD, "--delta", "1e-2", "--alpha", "0.2", "--report", f"json={results}"]
    assert main([*command, "--report", f"cells={cells}"]) == 0
    document = json.loads(results.read_text(encoding="utf-8"))
    assert document["suite"] == "comparison"
    assert document["options"] == {"alphas": [0.2], "delta": 0.01}
    assert "HistLap" in cells.read_text(encoding="utf-8")


@pytest.mark.usefixtures("quick")
def test_a_run_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "journal"
    assert main([*OLD, "--delta", "1e-2", "--journal", str(journal)]) == 0
    first = capsys.readouterr().out
    assert main(["compare-calibrators", "--resume", str(journal)]) == 0
    assert capsys.readouterr().out == first
    assert main(["compare-calibrators", "--delta", "1e-3", "--resume", str(journal)]) == 2
    assert "the resumed run was begun with {'delta': 0.01}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pool", "absent.npz"], "error: pool: path must name a readable .npz file"),
        (["--pool", "absent.csv"], "error: pool: name must be one of"),
    ],
)
def test_bad_options_are_usage_errors(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["compare-calibrators", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("alpha", ["1.5", "0", "nan", "-1", "small"])
def test_an_alpha_that_is_no_probability_names_its_option(
    capsys: pytest.CaptureFixture[str], alpha: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["compare-calibrators", "--alpha", alpha])
    assert "argument --alpha: " in capsys.readouterr().err
