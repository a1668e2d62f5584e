"""The suite of reproduced tables: its verdicts, its tables, and the trials behind them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.engine import tasks as encoding
from dpcp_audit.engine.run_settings import Profile
from dpcp_audit.words.checks import Chunked, Context
from dpcp_audit.words.evidence import Computation, Computed
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import EvidenceKind, Outcome, Verdict
from dpcp_ledger.claims import reproduced_tables
from dpcp_ledger.claims.reproduced_tables import Reproduced, WithPrivateModels
from dpcp_ledger.reproduce import experiments, simulation
from dpcp_ledger.reproduce.simulation import Effort, Measured, Metric, SimulatedMethod
from dpcp_ledger.reproduce.table_cells import (
    Experiment,
    Form,
    Printed,
    ReproducedNumber,
    TableCell,
    cell_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Judge = Callable[..., Outcome]

EXPERIMENTS = experiments.experiments()
PRINTED = Printed.parse("0.9005±0.0101")
ERROR = 0.0101 * math.sqrt(2 / 1000)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Return what judges cells as those of an experiment."""

    def outcome(
        *cells: TableCell,
        form: Form = Form.PUBLISHED,
        significance: float = 1e-3,
        profile: str = "ci",
    ) -> Outcome:
        made = Experiment(
            id="made",
            title="t",
            source="P, Table 0",
            compute=lambda _: list(cells),
            compared=tuple(Form),
        )
        monkeypatch.setattr(experiments, "experiments", lambda: {"made": made})
        effort = Profile(profile).effort
        context = Context(seed=0, name="made", significance=significance, effort=effort)
        return Reproduced(experiment="made", form=form)(context)

    return outcome


def cell(value: float, *, trials: int = 1000, spread: float = 0.0101, name: str = "r") -> TableCell:
    ours = ReproducedNumber(value=value, spread=spread, trials=trials)
    return TableCell(
        row=name, column="coverage X", printed=PRINTED, as_published=ours, as_written=ours
    )


@pytest.mark.parametrize("id_", EXPERIMENTS)
def test_what_is_said_to_be_compared_is_what_cells_compare(id_: str) -> None:
    experiment = EXPERIMENTS[id_]
    trials = np.full((3, len(SimulatedMethod), len(Metric)), 0.5)
    measured = {demand: Measured(trials, trials) for demand in experiment.demands}
    cells = experiment.compute(measured)
    compared = {form for form in Form if any(cell.compared(form) for cell in cells)}
    assert compared == set(experiment.compared)
    rows, numbers, *_ = cell_table(experiment, cells, level=1e-6).columns
    named = list(zip(rows.texts, numbers.texts, strict=True))
    assert 0 < len(named) == len(set(named)) == len(cells)


@pytest.mark.parametrize("profile", list(Profile))
def test_a_profile_is_the_same_extent_of_trials_as_that_of_the_command(profile: Profile) -> None:
    assert str(experiments.Extent.at(profile.effort)) == str(profile)


def test_numbers_that_agree_are_consistent(judge: Judge) -> None:
    found = judge(cell(0.9005), cell(0.9005 + 3 * ERROR))
    assert found.verdict is Verdict.CONSISTENT
    assert (found.evidence.value, found.evidence.lower, found.evidence.upper) == (0.0, 0.0, 1.0)
    assert found.evidence.kind is EvidenceKind.CERTIFIED
    assert found.evidence.confidence == 1 - 1e-3
    assert found.evidence.n_samples == 1000


@pytest.mark.known_bad
@pytest.mark.parametrize("form", list(Form))
def test_a_misprinted_number_is_found_and_named(judge: Judge, form: Form) -> None:
    found = judge(cell(0.9005), cell(0.9105, name="misprinted"), form=form)
    assert found.verdict is Verdict.REFUTED
    assert found.evidence.lower == found.evidence.value == 0.5
    first = found.witness["furthest"][0]
    assert (first["row"], first["printed"], first["ours"]) == ("misprinted", 0.9005, 0.9105)
    assert found.note.startswith("1 of the 2 printed numbers differ.")


def test_the_numbers_share_the_significance_of_the_check(judge: Judge) -> None:
    """At 1e-3, 3.8 errors are too much for one number and not for the largest of 60."""
    apart = cell(0.9005 + 3.8 * ERROR)
    assert judge(apart).verdict is Verdict.REFUTED
    assert judge(apart, *[cell(0.9005)] * 59).verdict is Verdict.CONSISTENT
    assert judge(apart, significance=1e-5).verdict is Verdict.CONSISTENT


def test_few_trials_as_written_say_nothing_unless_they_refute(judge: Judge) -> None:
    few = cell(0.9005, trials=10)
    assert judge(few, form=Form.WRITTEN).verdict is Verdict.INCONCLUSIVE
    assert "So few trials" in judge(few, form=Form.WRITTEN).note
    assert judge(few).verdict is Verdict.CONSISTENT
    assert judge(cell(0.9005), form=Form.WRITTEN).verdict is Verdict.CONSISTENT
    assert judge(cell(1.9, trials=10), form=Form.WRITTEN).verdict is Verdict.REFUTED


def test_a_few_equal_trials_are_not_taken_for_a_mean_without_error(judge: Judge) -> None:
    """Of a metric that is mostly 1 and sometimes 0.8, ten trials often show ones alone."""
    printed = Printed.parse("0.9900±0.0436")
    ones = ReproducedNumber.of(np.ones(10))
    found = judge(
        TableCell(row="r", column="c", printed=printed, as_written=ones), form=Form.WRITTEN
    )
    assert found.verdict is Verdict.INCONCLUSIVE


def test_what_cannot_be_compared_is_inconclusive_and_says_why(judge: Judge) -> None:
    missing = TableCell(row="r", column="c", printed=PRINTED, note="needs something")
    found = judge(missing)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "needs something" in found.note
    assert found.evidence.n_samples == 0


def test_chunks_give_the_numbers_of_all_trials_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks survive a journal, and add up to the trials of the study at the same seed."""
    monkeypatch.setattr(experiments.Extent, "effort", Effort(main=6, side=6, forest=1))
    monkeypatch.setattr(simulation, "_CHUNK", 4)
    check = Reproduced(experiment="pcoqs-table-15", form=Form.PUBLISHED)
    context = Context(seed=3, name="any", significance=1e-3, effort=0.5)
    assert isinstance(check, Chunked)
    assert check.chunks(context) == 2
    kept = [json.dumps(encoding.encode(check.chunk(context, index))) for index in (1, 0)]
    results = [json.loads(text) for text in reversed(kept)]
    experiment = EXPERIMENTS["pcoqs-table-15"]
    at_once = simulation.tasks(experiment.demands, Effort(main=6, side=6, forest=1), seed=3)
    measured = simulation.gathered(map(simulation.perform, at_once))
    cells = experiment.compute(measured)
    outcome = check.combine(context, results)
    assert outcome.tables == (cell_table(experiment, cells, level=outcome.witness["level"]),)
    assert outcome.evidence.n_samples == 6


def test_a_table_has_every_cell(judge: Judge) -> None:
    found = judge(cell(0.9005), cell(0.9105, name="misprinted"))
    (table,) = found.tables
    assert [column.name for column in table.columns] == [
        "row",
        "number",
        "published",
        "as published",
        "as written",
    ]
    assert table.columns[0].texts == ["r", "misprinted"]
    assert [column.marked for column in table.columns] == [[], [], [], [1], [1]]
    assert not judge(cell(0.9005), form=Form.WRITTEN).tables


@pytest.mark.parametrize(
    ("ids", "tables"), [(["reproduced.pcoqs-table-15"], 1), (["reproduced.ldpcp-table-1"], 0)]
)
def test_the_overview_says_what_as_published_means(ids: list[str], tables: int) -> None:
    found = reproduced_tables.overview({"findings": [{"id": id_} for id_ in ids]})
    assert len(found.tables) == tables


def test_without_private_models_their_rows_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(module: str) -> None:
        raise ImportError(module)

    check = WithPrivateModels(
        Computed(lambda: Computation(quantity=Quantity.VALUE, value=2.0, claimed=1.0))
    )
    context = Context(seed=0, name="any", significance=1e-3)
    monkeypatch.setattr("dpcp_ledger.reproduce.simulation._diffprivlib", absent)
    found = check(context)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "pip install 'dpcp-audit[targets]'" in found.note
    monkeypatch.setattr("dpcp_ledger.reproduce.simulation._diffprivlib", lambda _: None)
    assert check(context).verdict is Verdict.REFUTED
    assert not check.sampled
