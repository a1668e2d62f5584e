"""Rows for the reproduced tables: whether the printed numbers come out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import (
    Claim,
    Evidence,
    EvidenceKind,
    Outcome,
    Overview,
    PlainData,
    Power,
    Quantity,
    Row,
    Sampled,
    Source,
    Standing,
    Suite,
    Verdict,
    conclude,
    decide,
    whole,
)
from dpcp_ledger.pcoqs import published_tables
from dpcp_ledger.reproduce import experiments as catalogue
from dpcp_ledger.reproduce import simulation
from dpcp_ledger.reproduce.simulation import Model, ModelKind
from dpcp_ledger.reproduce.table_cells import Form, cell_table, choices_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpcp_audit.extensions.claims import Check, Context
    from dpcp_ledger.reproduce.simulation import Demand, Effort, Measured, SimulationTask
    from dpcp_ledger.reproduce.table_cells import (
        Experiment,
        Printed,
        ReproducedNumber,
        TableCell,
    )


_SHOWN = 5
_REFUTED = "ldpcp-table-1"
"""Its coverages under a star are not 1−α+Δ_L throughout, at the δ that explains most of them.

The paper states neither δ nor T, so that the procedure is a reading.
"""
_AS_WRITTEN = "The printed tables, against the algorithms as written"
_REPRODUCED = {
    "P-COQS": "P-COQS, tables reproduced",
    "LDP-CP": "LDP-CP, tables reproduced",
}


def rows() -> list[Row]:
    """Return one row or two an experiment, and those on private models."""
    experiments = catalogue.experiments().values()
    return [
        *(row for experiment in experiments for row in _rows(experiment)),
        *(replace(row, check=WithPrivateModels(row.check)) for row in published_tables.models.rows),
    ]


def _rows(experiment: Experiment) -> Iterator[Row]:
    what = f"{experiment.source} ({experiment.title})"
    yield _row(
        experiment,
        Form.PUBLISHED,
        f"The printed numbers of {what} are reproduced by the published procedure.",
        Verdict.REFUTED if experiment.id == _REFUTED else Verdict.CONSISTENT,
    )
    if Form.WRITTEN in experiment.compared:
        yield _row(
            experiment,
            Form.WRITTEN,
            f"The algorithms, as they are written, give the printed numbers of {what}.",
            Verdict.REFUTED,
        )


def _row(experiment: Experiment, form: Form, statement: str, expected: Verdict) -> Row:
    paper, section = experiment.source.split(", ")
    claim = Claim(
        id=row_id(experiment, form),
        statement=statement,
        source=Source(paper=paper, section=section),
        expected=expected,
        subject=_AS_WRITTEN if form is Form.WRITTEN else _REPRODUCED[paper],
        standing=_standing(experiment, form),
        parameters={"form": str(form)},
    )
    return Row(claim=claim, check=Reproduced(experiment=experiment.id, form=form))


def _standing(experiment: Experiment, form: Form) -> Standing:
    """Return whose claim it is: nobody says that the algorithms as written give the numbers."""
    if form is Form.WRITTEN:
        return Standing.PRACTICE
    return Standing.READING if experiment.id == _REFUTED else Standing.PAPER


def row_id(experiment: Experiment, form: Form = Form.PUBLISHED) -> str:
    """Return the id of a claim on an experiment."""
    return f"reproduced.{experiment.id}" + ("[form=written]" if form is Form.WRITTEN else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced(Sampled):
    """Test every printed number of an experiment against ours.

    The trials' streams are keyed by the seed, the sample size, the trial, the model and the
    condition, not by the finding, so that tables of the same trials share their numbers.

    :Null hypothesis: Every printed number of the experiment is that of its algorithm, rounded to
        the printed digits.
    :Statistic: For each number, its distance to ours over c standard errors of the difference and
        half a unit of the last digit (``TableCell.differs``).
    :Level: At most the significance, shared equally by the numbers that are compared. Nominal: c is
        a normal or Student quantile.
    :Power: A single number that differs by more than errors and rounding explain; none where there
        are too few trials to see that.
    :Reference: The experiment's own paper.

    Parameters
    ----------
    experiment : str
        Id of the experiment (see ``catalogue.experiments``).
    form : Form
        The form of the algorithm whose numbers the printed ones are compared with. As written,
        naive Bayes runs as few trials at n = 10,000 as elsewhere: what differs does so by many
        errors.
    """

    experiment: str
    form: Form

    def __call__(self, context: Context) -> Outcome:
        """Run all trials and compare."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        """Return the number of chunks of trials; 1 where the cells need none."""
        return max(1, len(self._tasks(context)))

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run some trials of every demand."""
        tasks = self._tasks(context)
        measured = simulation.perform(tasks[index]) if tasks else {}
        demands = self._experiment.demands
        return {
            "measured": [
                [demands.index(demand), found.published.tolist(), found.written.tolist()]
                for demand, found in measured.items()
            ]
        }

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Compute the cells and compare."""
        measured = simulation.gathered(map(self._measured, results))
        return self._judged(self._experiment.compute(measured), context)

    @property
    def _experiment(self) -> Experiment:
        return catalogue.experiments()[self.experiment]

    def _extent(self, context: Context) -> catalogue.Extent:
        return catalogue.Extent.at(context.effort)

    def _tasks(self, context: Context) -> list[SimulationTask]:
        return simulation.tasks(self._experiment.demands, self._effort(context), seed=context.seed)

    def _effort(self, context: Context) -> Effort:
        effort = self._extent(context).effort
        return effort if self.form is Form.PUBLISHED else replace(effort, main=effort.side)

    def _measured(self, result: PlainData) -> dict[Demand, Measured]:
        demands = self._experiment.demands
        return {
            demands[place]: simulation.Measured(np.asarray(published), np.asarray(written))
            for place, published, written in result["measured"]
        }

    def _judged(self, cells: Sequence[TableCell], context: Context) -> Outcome:
        compared = _compared(cells, self.form)
        printed = sum(cell.printed is not None for cell in cells)
        level = context.significance / max(1, len(compared))
        strains = [_strain(cell, self.form, level) for cell, _, _ in compared]
        differ = sum(strain > 1 for strain in strains)
        worst = sorted(zip(strains, compared, strict=True), key=lambda pair: -pair[0])
        return conclude(
            _evidence(differ, printed, compared, significance=context.significance),
            lambda: self._power(printed, compared),
            detect=math.inf,
            witness={
                "experiment": self.experiment,
                "form": self.form,
                "profile": self._extent(context),
                "seed": context.seed,
                "level": level,
                "furthest": [_told(strain, *triple) for strain, triple in worst[:_SHOWN]],
            },
            note=self._note(cells, differ, printed, compared),
            tables=(cell_table(self._experiment, cells, level=level),)
            if self.form is Form.PUBLISHED
            else (),
        )

    def _power(self, printed: int, compared: Sequence[_Compared]) -> Power:
        """Return the power: one number that differs, if there are enough trials to see it."""
        blind = not compared or (self.form is Form.WRITTEN and _few_trials(compared))
        return Power(
            quantity=Quantity.MISPRINTS,
            smallest=math.inf if blind else 1 / printed,
            claimed=0.0,
            detail="by more than errors and rounding explain",
        )

    def _note(
        self, cells: Sequence[TableCell], differ: int, printed: int, compared: Sequence[_Compared]
    ) -> str:
        reasons = dict.fromkeys(cell.note for cell in cells if cell.note)
        said = f"{differ} of the {printed} printed numbers differ."
        if len(compared) < printed:
            said = f"{differ} of {len(compared)} compared numbers differ; {printed} are printed."
        if not compared:
            said = f"None of the {printed} printed numbers was compared."
        in_full = [cell.matches for cell, _, _ in compared if cell.matches is not None]
        if in_full and self.form is Form.PUBLISHED:
            said += (
                f" Of the {len(in_full)} over all published runs, {sum(in_full)} come out to the "
                "printed digit."
            )
        if compared and not differ and self.form is Form.WRITTEN and _few_trials(compared):
            said += " So few trials show large differences only."
        rule = (
            "A number differs where the errors of both and the rounding of print do not explain "
            "the distance, at a significance shared by all compared, means taken as normal."
        )
        return " ".join([said, *([rule] if compared else []), *reasons, *self._experiment.notes])


_Compared = tuple["TableCell", "Printed", "ReproducedNumber"]


def _compared(cells: Sequence[TableCell], form: Form) -> list[_Compared]:
    """Return the cells that are compared, each with what is printed and with ours."""
    pairs = ((cell, cell.printed, cell.compared(form)) for cell in cells)
    return [
        (cell, printed, ours)
        for cell, printed, ours in pairs
        if printed is not None and ours is not None
    ]


def _strain(cell: TableCell, form: Form, level: float) -> float:
    strain = cell.strain(form, level=level)
    return 0.0 if strain is None else strain


def _few_trials(compared: Sequence[_Compared]) -> bool:
    return any(
        ours.trials is not None and ours.trials < printed.runs for _, printed, ours in compared
    )


def _evidence(
    differ: int, printed: int, compared: Sequence[_Compared], *, significance: float
) -> Evidence:
    """Return the share that differs: at least those marked do, those left out may."""
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=Quantity.MISPRINTS,
        value=differ / printed,
        lower=differ / printed,
        upper=1.0,
        claimed=0.0,
        confidence=1 - significance,
        n_samples=max((ours.trials or each.runs for _, each, ours in compared), default=0),
    )


def _told(strain: float, cell: TableCell, printed: Printed, ours: ReproducedNumber) -> PlainData:
    return {
        "row": cell.row,
        "column": cell.column,
        "printed": printed.value,
        "ours": ours.value,
        "standard_error": ours.standard_error,
        "trials": ours.trials,
        "distance_over_allowance": strain,
    }


@dataclass(frozen=True, slots=True)
class WithPrivateModels:
    """A claim that needs private models, decided by its ``check`` where they can be fitted."""

    check: Check

    @property
    def sampled(self) -> bool:
        """True if the check itself is sampled."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check, if it can be run."""
        missing = Model(kind=ModelKind.PRIVATE_NAIVE_BAYES).missing
        if not missing:
            return self.check(context)
        evidence = Evidence(
            kind=EvidenceKind.INDICATIVE,
            quantity=Quantity.MISPRINTS,
            value=0.0,
            lower=0.0,
            upper=1.0,
            n_samples=None,
        )
        return Outcome(
            verdict=decide(evidence),
            evidence=evidence,
            note=f"Nothing was measured: the check {missing}.",
        )


def overview(document: Mapping[str, Any]) -> Overview:
    """Return an explanation of "as published", if a table of P-COQS is among the findings."""
    chosen = {row_id(each) for each in catalogue.experiments().values() if each.demands}
    found = {finding["id"] for finding in document["findings"]}
    return Overview(tables=(choices_table(),) if chosen & found else ())


SUITE = Suite(
    summary="The papers' tables, reproduced: as published and as written.",
    rows=rows,
    overview=overview,
)
