"""The reproduced tables: what is printed, the rule of difference, and every format."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.errors import UsageError
from dpcp_audit.frontends.cli.main import main
from dpcp_audit.papers.reproduce import experiments, ldpcp_experiments, pcoqs_experiments
from dpcp_audit.papers.reproduce.simulation import Model, ModelKind
from dpcp_audit.papers.reproduce.simulation_study import Condition, Demand
from dpcp_audit.papers.reproduce.table_cells import (
    COMPARISONS,
    Cell,
    Estimate,
    Printed,
    Reproduction,
)
from dpcp_audit.reports.reproduction.rendering import (
    lines,
    render_csv,
    render_html,
    render_markdown,
    summary,
)
from dpcp_audit.reports.reproduction.reproduction_data import dump, to_data

if TYPE_CHECKING:
    from pathlib import Path


def repeated(value: float, spread: float, trials: int) -> Cell:
    ours = Estimate(value=value, spread=spread, trials=trials, repeats=True)
    return Cell(row="r", column="c", printed=Printed.parse("0.9005±0.0101"), as_published=ours)


def test_printed_numbers_are_read_with_spread_and_decimals() -> None:
    assert Printed.parse("0.9005±0.0101") == Printed(value=0.9005, spread=0.0101, decimals=4)
    assert Printed.parse("0.038") == Printed(value=0.038, decimals=3)


def test_all_published_draws_must_come_out_to_the_printed_digit() -> None:
    assert repeated(0.90054, 0.01014, 1000).matches is True
    assert repeated(0.90054, 0.01014, 1000).published_differs is False
    assert repeated(0.90056, 0.01014, 1000).matches is False
    assert repeated(0.90056, 0.01014, 1000).published_differs is True
    assert repeated(0.90054, 0.01026, 1000).matches is False  # the spread


def test_some_of_the_published_draws_are_allowed_their_error() -> None:
    error = 0.0101 * math.sqrt(1 / 100 - 1 / 1000)
    assert repeated(0.9005, 0.01, 100).matches is None
    assert repeated(0.9005 + 5.0 * error, 0.01, 100).published_differs is False
    assert repeated(0.9005 + 5.3 * error, 0.01, 100).published_differs is True


@pytest.mark.parametrize(("trials", "c"), [(1000, 5.17), (10, 12.4)])
def test_the_algorithm_as_written_is_compared_within_both_errors(trials: int, c: float) -> None:
    error = math.hypot(0.0101 / math.sqrt(1000), 0.02 / math.sqrt(trials))

    def cell(distance: float) -> Cell:
        ours = Estimate(value=0.9005 + distance * error, spread=0.02, trials=trials)
        return Cell(row="r", column="c", printed=Printed.parse("0.9005±0.0101"), as_written=ours)

    assert cell(c * 0.97).written_differs is False
    assert cell(c * 1.03).written_differs is True
    assert cell(0).published_differs is None


def test_what_is_not_comparable_is_not_compared() -> None:
    ours = Estimate(value=3.0, spread=0.1, trials=10)
    printed = Printed.parse("0.0040±0.0031")
    cell = Cell(row="r", column="c", printed=printed, as_written=ours, comparable=False)
    assert cell.written_differs is None


def test_the_family_covers_every_printed_number() -> None:
    printed = sum(
        len(text.split())
        for table in pcoqs_experiments.published().values()
        for text in table["rows"].values()
    )
    printed += sum(1 + 4 * len(entry["rows"]) for entry in ldpcp_experiments.published().values())
    assert 2 * printed <= COMPARISONS
    assert 2 * printed > 0.95 * COMPARISONS


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
    chosen = experiments.select(["ldpcp-figure-5", "ldpcp-figure-5"])
    assert [experiment.id for experiment in chosen] == ["ldpcp-figure-5"]
    assert len(experiments.select(["all"])) == 23


def test_a_model_that_cannot_be_fitted_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr("dpcp_audit.papers.reproduce.simulation._diffprivlib", absent)
    chosen = experiments.select(["pcoqs-table-14"])
    (found,) = experiments.reproduce(chosen, extent=experiments.Extent.SMOKE, seed=0, jobs=1)
    assert all(cell.as_published is None and cell.as_written is None for cell in found.cells)
    assert {cell.note for cell in found.cells} == {
        "needs diffprivlib, pip install 'dpcp-audit[targets]' (models)"
    }
    assert not Model(kind=ModelKind.NAIVE_BAYES).missing


def document() -> dict[str, object]:
    cells = (
        Cell(
            row="<b>|x",
            column="=1+1",
            printed=Printed.parse("0.9005±0.0101"),
            as_published=Estimate(value=0.9005, spread=0.0101, trials=1000, repeats=True),
            as_written=Estimate(value=0.95, spread=0.0101, trials=1000),
        ),
        Cell(row="<b>|x", column="exact", as_written=Estimate(value=0.5), note="a <note>"),
    )
    found = Reproduction(id="t", title="<script>", source="S", cells=cells, notes=("n",))
    return to_data([found], extent=experiments.Extent.SMOKE, seed=4)


def test_plain_data_counts_and_survives_json() -> None:
    data = document()
    assert json.loads(dump(data)) == data
    (experiment,) = data["experiments"]
    assert experiment["summary"] == {
        "printed": 1,
        "reproduced": 1,
        "in_full": 1,
        "to_the_digit": 1,
        "differ_as_published": 0,
        "compared_as_written": 1,
        "differ_as_written": 1,
    }
    assert summary(experiment) == (
        "1 of 1 printed numbers reproduced, 0 differ, 1 of the 1 over all published runs come out "
        "to the printed digit, 1 of 1 differ from the algorithm as written."
    )


def test_lines_carry_errors_and_marks() -> None:
    first, second = lines(document()["experiments"][0])
    assert first.as_published == "0.9005 ± 0.0101 (0.00032) ="
    assert first.as_written == "0.9500 ± 0.0101 (0.00032) ≠"
    assert (second.printed, second.as_published, second.as_written) == ("", "", "0.5000")


def test_every_format_escapes() -> None:
    data = document()
    page = render_html(data)
    assert "<script>" not in page
    assert "<b>|x" not in page
    assert "http" not in page.replace("http-equiv", "")
    markdown = render_markdown(data)
    assert "| \\<b\\>\\|x | =1+1 |" in markdown
    assert "\\<script\\>" in markdown
    table = list(csv.reader(io.StringIO(render_csv(data))))
    assert table[1][:3] == ["t", "<b>|x", "'=1+1"]
    assert len({len(row) for row in table}) == 1


def test_the_command_lists_and_reproduces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0].startswith("pcoqs-table-1\tP-COQS, Table 1\t")
    path = tmp_path / "r.json"
    assert main(["reproduce", "ldpcp-figure-5", "--jobs", "1", "--report", f"json={path}"]) == 0
    assert "Δ_S/Δ_L against n" in capsys.readouterr().out
    (experiment,) = json.loads(path.read_text(encoding="utf-8"))["experiments"]
    ratios = {
        (cell["row"], cell["column"]): cell["as_written"]["value"] for cell in experiment["cells"]
    }
    assert ratios["k = 8, n = 1,000", "ε = 4"] == pytest.approx(
        ratios["k = 8, n = 10,000,000", "ε = 4"]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "no experiment has the id 'nope'"),
        (["ldpcp-figure-6", "--data", "missing.npz"], "--data: path must name a readable .npz"),
        (["ldpcp-figure-5", "--report", "junit=x.xml"], "unknown format 'junit'"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_users_pool_takes_the_place_of_digits(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    probabilities = rng.dirichlet(np.ones(3), size=200)
    path = tmp_path / "mine.npz"
    np.savez(path, probabilities=probabilities, labels=rng.integers(3, size=200))
    chosen = experiments.select(["ldpcp-figure-6"])
    (found,) = experiments.reproduce(
        chosen, extent=experiments.Extent.SMOKE, seed=0, jobs=1, data=[str(path)]
    )
    assert all(cell.row.startswith("mine, ε = ") for cell in found.cells)
    sizes = [cell.as_written.value for cell in found.cells if cell.column == "size"]
    assert max(sizes) <= 3


def test_demands_hash_by_value() -> None:
    model = Model(kind=ModelKind.NAIVE_BAYES)
    assert len({Demand(model, 100, Condition()), Demand(model, 100, Condition())}) == 1
