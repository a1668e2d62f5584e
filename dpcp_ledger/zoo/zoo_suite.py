"""The suite of the zoo: its rows, and which check catches which planted bug."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.audits import Scope
from dpcp_audit.extensions.claims import (
    Claim,
    Computed,
    Figure,
    FigureKind,
    Outcome,
    Overview,
    Quantity,
    Row,
    Sampled,
    Series,
    Source,
    Standing,
    Suite,
    Table,
    TableColumn,
    Verdict,
    clipped,
    is_list,
    number,
)
from dpcp_audit.extensions.targets import COVERAGE_SIZE, TargetCoverage, TargetPrivacy, TargetTrace
from dpcp_audit.extensions.theorems import CoverageAudit
from dpcp_ledger.zoo.coverage_specimens import coverage_specimens
from dpcp_ledger.zoo.privacy_specimens import privacy_specimens
from dpcp_ledger.zoo.specimen import Specimen, SpecimenCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpcp_audit.extensions.claims import Check, Context, PlainData


def specimens() -> tuple[Specimen, ...]:
    """Return all specimens, each mutant after its twin."""
    return (*privacy_specimens(), *coverage_specimens())


def mutants() -> tuple[Specimen, ...]:
    """Return the broken ones."""
    return tuple(specimen for specimen in specimens() if specimen.twin)


def twins() -> tuple[Specimen, ...]:
    """Return the correct ones."""
    return tuple(specimen for specimen in specimens() if not specimen.twin)


_STATEMENTS = {
    SpecimenCheck.BLACK_BOX: "is {privacy}; seen from outside",
    SpecimenCheck.TRACED: "pays for {privacy} with its noise; followed",
    SpecimenCheck.COVERAGE: "covers at least {coverage:.4g}; seen from outside",
    SpecimenCheck.EXACT: "keeps its promise; computed",
    SpecimenCheck.THEOREM: "keeps the theorem's bounds on uniform scores",
    SpecimenCheck.PIPELINE: "covers at least {coverage:.4g} of fresh rows",
}
_TRACED_PATHS = 100
_DETECT = 10.0
"""Calls are few, so that all bugs are tried soon: a twin that is not refuted says no more."""


@dataclass(frozen=True, slots=True)
class _StrictCoverage(Sampled):
    """The coverage of sets {y : score < threshold}, which ``dpcp-audit check`` does not assume."""

    specimen: Specimen

    def __call__(self, context: Context) -> Outcome:
        """Open the target and audit its coverage."""
        coverage = self.specimen.coverage
        assert coverage is not None  # noqa: S101  (for the type checker)
        with self.specimen.spec.target.open() as target:
            audit = CoverageAudit(
                calibrate=target,
                kind=self.specimen.kind,
                guarantee=coverage,
                n=self.specimen.sizes or (COVERAGE_SIZE,),
                draws=self.specimen.calls,
                strict=True,
            )
            return audit(context)


def rows() -> list[Row]:
    """Return the rows of all specimens."""
    return [row for specimen in specimens() for row in rows_of(specimen)]


def rows_of(specimen: Specimen) -> list[Row]:
    """Return a row for each check that applies to a specimen."""
    return [
        Row(claim=_claim(specimen, column), check=check)
        for column, check in _checks(specimen).items()
        if check is not None
    ]


def row_id(specimen: Specimen, column: SpecimenCheck) -> str:
    """Return the id of a finding."""
    return f"zoo.{specimen.name}[check={column}]"


def _checks(specimen: Specimen) -> dict[SpecimenCheck, Check | None]:
    spec, privacy, coverage = specimen.spec, specimen.privacy, specimen.coverage
    covered: Check | None = None
    outside = replace(spec, trace=False, detect=_DETECT)
    private = None if privacy is None else TargetPrivacy(spec=outside, guarantee=privacy)
    if coverage is not None:
        covered = (
            _StrictCoverage(specimen)
            if specimen.strict
            else TargetCoverage(spec=replace(spec, draws=specimen.calls), guarantee=coverage)
        )
    traced: Check | None = None
    if specimen.traced and privacy is not None:
        traced = TargetTrace(
            spec=spec, guarantee=privacy, scope=Scope.TRANSCRIPT, paths=_TRACED_PATHS
        )
    return {
        SpecimenCheck.BLACK_BOX: private,
        SpecimenCheck.TRACED: traced,
        SpecimenCheck.COVERAGE: covered,
        SpecimenCheck.EXACT: specimen.exact and Computed(specimen.exact),
        SpecimenCheck.THEOREM: specimen.theorem,
        SpecimenCheck.PIPELINE: specimen.pipeline,
    }


def _claim(specimen: Specimen, column: SpecimenCheck) -> Claim:
    statement = _STATEMENTS[column].format(
        privacy=specimen.privacy, coverage=specimen.coverage and specimen.coverage.at_least
    )
    kind = "a planted bug" if specimen.twin else "a correct twin"
    false = column in specimen.caught_by | specimen.hidden
    return Claim(
        id=row_id(specimen, column),
        statement=f"'{specimen.words}' {statement}.",
        source=Source(paper="The zoo", section=kind),
        expected=_expected(specimen, column),
        subject="The zoo of planted bugs" if false else "The zoo, claims that are true",
        standing=Standing.CONTROL if false else Standing.STATED,
        parameters=_parameters(specimen, column),
    )


def _parameters(specimen: Specimen, column: SpecimenCheck) -> PlainData:
    """Return the parameters of the claim, beside the specimen itself."""
    promised = (specimen.privacy, specimen.coverage)
    fixed: PlainData = {"check": str(column), "specimen": specimen.name}
    for guarantee in promised:
        fixed |= {} if guarantee is None else guarantee.parameters
    return fixed if specimen.alpha is None else {"alpha": specimen.alpha} | fixed


def _expected(specimen: Specimen, column: SpecimenCheck) -> Verdict | None:
    if column in specimen.hidden:
        return None
    return Verdict.REFUTED if column in specimen.caught_by else Verdict.CONSISTENT


_LONGEST_WITNESS = 80


class Mark(StrEnum):
    """The result of one check of one specimen."""

    CAUGHT = "caught"
    """A false claim is refuted."""
    MISSED = "MISSED"
    """A false claim that the check is meant to see is not refuted."""
    STANDS = "not refuted"
    """A true claim is not refuted, with the power that is asked for."""
    OPEN = "undecided"
    """A true claim is not refuted, by too few calls to say more."""
    ALARM = "FALSE ALARM"
    """A true claim is refuted."""
    BLIND = "cannot see"
    """The bug is not of the kind that the check sees; the catalogue says why."""
    FAILED = "FAILED"
    """A check of a true claim could not be completed."""
    ABSENT = ""
    """There is no such check, or it was not run."""


WRONG = frozenset({Mark.MISSED, Mark.ALARM, Mark.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionCell:
    """A check of a specimen: what came of it, and at which budget."""

    mark: Mark
    draws: int | None = None

    @property
    def text(self) -> str:
        """The mark with the number of calls, where it caught the bug."""
        if self.mark is Mark.CAUGHT:
            return "✓" if self.draws is None else f"✓ {_thousands(self.draws)}"
        return "–" if self.mark is Mark.BLIND else str(self.mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A specimen's line of the table."""

    specimen: Specimen
    cells: Mapping[SpecimenCheck, DetectionCell]
    truth: str
    witness: str


def lines_of(document: Mapping[str, Any], *, of: tuple[Specimen, ...]) -> list[_Line]:
    """Return a line for each of some specimens of which the document holds a finding."""
    findings = {finding["id"]: finding for finding in document["findings"]}
    lines: list[_Line] = []
    for specimen in of:
        own = {
            column: findings[row_id(specimen, column)]
            for column in SpecimenCheck
            if row_id(specimen, column) in findings
        }
        if own:
            cells = {c: _cell(specimen, c, own[c]) if c in own else _NOTHING for c in SpecimenCheck}
            lines.append(
                _Line(
                    specimen=specimen, cells=cells, truth=_truth(own), witness=_witness(cells, own)
                )
            )
    return lines


def failures(document: Mapping[str, Any]) -> list[str]:
    """Return the failures, a line each: bugs that were missed, true claims refuted."""
    return [
        f"{line.specimen.name}: {column}: {cell.mark}"
        for line in (*lines_of(document, of=mutants()), *lines_of(document, of=twins()))
        for column, cell in line.cells.items()
        if cell.mark in WRONG
    ]


def reasons(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reason why a check cannot see a mutant, for each that cannot."""
    for line in lines_of(document, of=mutants()):
        for column, why in line.specimen.unseen.items():
            yield f"{line.specimen.name}, {column}: {why}."


def heat_map(document: Mapping[str, Any]) -> Figure:
    """Return mutant × check as a heat map: 1 where the bug is caught, 2 where it is missed."""
    lines = lines_of(document, of=mutants())
    values = {Mark.CAUGHT: 1.0, Mark.MISSED: 2.0, Mark.ALARM: 2.0, Mark.FAILED: 2.0}
    caught = sum(any(c.mark is Mark.CAUGHT for c in line.cells.values()) for line in lines)
    return Figure(
        kind=FigureKind.HEATMAP,
        title="The zoo: which check catches which planted bug",
        x_label="check",
        y_label="planted bug",
        series=[
            Series(
                name=line.specimen.name,
                x=[float(place) for place in range(len(SpecimenCheck))],
                y=[values.get(line.cells[column].mark, 0.0) for column in SpecimenCheck],
                texts=[line.cells[column].text for column in SpecimenCheck],
            )
            for line in lines
        ],
        marks={"missed": 1.5},
        columns=[str(column) for column in SpecimenCheck],
        description=(
            f"{caught} of {len(lines)} mutants are caught by at least one check. A tick says "
            "caught, with the number of calls; a dash says that the check cannot see such a bug."
        ),
    )


_NOTHING = DetectionCell(mark=Mark.ABSENT)


def _cell(specimen: Specimen, column: SpecimenCheck, finding: Mapping[str, Any]) -> DetectionCell:
    verdict = finding["verdict"]
    if column in specimen.caught_by:
        mark = Mark.CAUGHT if verdict == "REFUTED" else Mark.MISSED
    elif verdict == "REFUTED":
        mark = Mark.CAUGHT if column in specimen.hidden else Mark.ALARM
    elif verdict == "ERROR":
        mark = Mark.FAILED
    elif verdict == "INCONCLUSIVE":
        mark = Mark.OPEN
    else:
        mark = Mark.BLIND if specimen.twin and column in specimen.unseen else Mark.STANDS
    evidence: PlainData = finding["evidence"] or {}
    witness: PlainData = finding["witness"]
    draws = witness.get("spent", witness.get("calls", evidence.get("n_samples")))
    return DetectionCell(mark=mark, draws=draws)


def _truth(own: Mapping[SpecimenCheck, Mapping[str, Any]]) -> str:
    """Return the true loss of a specimen and its claim, where they were computed."""
    evidence = own.get(SpecimenCheck.EXACT, {}).get("evidence")
    if not evidence:
        return ""
    return f"{number(evidence['value'], digits=3)} for {number(evidence['claimed'], digits=3)}"


def _witness(
    cells: Mapping[SpecimenCheck, DetectionCell], own: Mapping[SpecimenCheck, Mapping[str, Any]]
) -> str:
    """Return the witness of the first check that caught the bug, in a few words."""
    order = [column for column in SpecimenCheck if column is not SpecimenCheck.EXACT] + [
        SpecimenCheck.EXACT
    ]
    for column in order:
        if cells[column].mark is Mark.CAUGHT:
            return clipped(_said(own[column]), _LONGEST_WITNESS)
    return ""


def _said(finding: Mapping[str, Any]) -> str:
    witness: PlainData = finding["witness"]
    evidence: PlainData = finding["evidence"] or {}
    if "family" in witness:
        value = witness["value"]
        size = f", n = {len(value)}" if is_list(value) else ""
        pair = "" if size else f" {value} and {witness['neighbour']}"
        return f"{witness['family']}{pair}{size}"
    if "guesses" in witness:
        return f"two values {witness['value']} and {witness['neighbour']}"
    if "law" in witness:
        return str(evidence["detail"])
    return finding["note"] if "calls" in witness or not evidence else _quantity(evidence)


def _quantity(evidence: Mapping[str, Any]) -> str:
    return Quantity(evidence["quantity"]).described(evidence["at"], evidence["detail"])


def _thousands(count: int) -> str:
    if count < 1000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1000:.2g}k" if count < 10_000 else f"{count / 1000:.0f}k"
    return f"{count / 1e6:.2g}M"


def overview(document: Mapping[str, Any]) -> Overview:
    """Return a figure and a table of the bugs that each check catches, and of the twins."""
    bad, good = (lines_of(document, of=of) for of in (mutants(), twins()))
    wrong, blind = failures(document), list(reasons(document))
    tables = [
        _table("planted bug", bad, notes=[*wrong, *blind, summary(document)]) if bad else None,
        _table("correct twin", good, notes=[] if bad else wrong) if good else None,
    ]
    return Overview(
        figures=(heat_map(document),) if bad else (),
        tables=tuple(table for table in tables if table is not None),
        headline=_headline(bad, good),
        summary=f"{summary(document)} {_counted(document)}",
    )


def _headline(bad: Sequence[_Line], good: Sequence[_Line]) -> str:
    caught = sum(map(_caught, bad))
    alarmed = sum(_has(line, Mark.ALARM) for line in good)
    refuted = f"{alarmed or 'none'} of {len(good)} correct twins is refuted"
    return f"{caught} of {len(bad)} planted bugs are caught; {refuted}"


def _counted(document: Mapping[str, Any]) -> str:
    """Return the sentence on how checks are counted: each bug and each twin has several."""
    checks = len(document["findings"])
    refuting = sum(finding["verdict"] == Verdict.REFUTED for finding in document["findings"])
    return f"Each is tried by several checks, {checks} in all, of which {refuting} refute."


def _caught(line: _Line) -> bool:
    return _has(line, Mark.CAUGHT) and not _has(line, Mark.MISSED)


def summary(document: Mapping[str, Any]) -> str:
    """Return the run in a sentence."""
    bad, good = (lines_of(document, of=of) for of in (mutants(), twins()))
    caught = sum(map(_caught, bad))
    alarmed = sum(_has(line, Mark.ALARM) for line in good)
    return (
        f"{caught} of {len(bad)} planted bugs are caught by every check that is meant to see them; "
        f"of {len(good)} correct twins, {alarmed or 'none'} {'are' if alarmed > 1 else 'is'} "
        f"refuted (profile `{document['profile']}`, seed {document['seed']}, false-alarm "
        f"probability {document['false_alarm']:g})."
    )


def _table(what: str, lines: Sequence[_Line], *, notes: list[str]) -> Table:
    shown = [
        check
        for check in SpecimenCheck
        if any(line.cells[check].mark is not Mark.ABSENT for line in lines)
    ]
    witness = TableColumn(name="witness", texts=[line.witness for line in lines])
    words = "what is wrong" if what == "planted bug" else "what it is"
    return Table(
        title=f"Which check sees which {what}",
        columns=[
            TableColumn(name=what, texts=[line.specimen.name for line in lines]),
            TableColumn(name=words, texts=[line.specimen.words for line in lines]),
            TableColumn(name="true, for claimed", texts=[line.truth for line in lines]),
            *(_column(check, lines) for check in shown),
            *([witness] if any(witness.texts) else []),
        ],
        notes=notes,
    )


def _column(check: SpecimenCheck, lines: Sequence[_Line]) -> TableColumn:
    cells = [line.cells[check] for line in lines]
    return TableColumn(
        name=check,
        texts=[cell.text for cell in cells],
        marked=[place for place, cell in enumerate(cells) if cell.mark in WRONG],
    )


def _has(line: _Line, mark: Mark) -> bool:
    return any(cell.mark is mark for cell in line.cells.values())


SUITE = Suite(
    summary="Planted bugs and their correct twins: what the checks detect, and what they do not.",
    rows=rows,
    overview=overview,
)
