"""The rows of the zoo: each specimen is tested for its claims by every check that applies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.extensions.audits import Scope
from dpcp_audit.extensions.claims import Claim, Computed, Outcome, Row, Source, Standing, Verdict
from dpcp_audit.extensions.targets import COVERAGE_SIZE, TargetCoverage, TargetPrivacy, TargetTrace
from dpcp_audit.extensions.theorems import CoverageAudit
from dpcp_ledger.zoo.coverage_specimens import coverage_specimens
from dpcp_ledger.zoo.privacy_specimens import privacy_specimens
from dpcp_ledger.zoo.specimen import Specimen, SpecimenCheck

if TYPE_CHECKING:
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
_CALLS = 64
_TRACED_PATHS = 100
_DETECT = 10.0
"""Calls are few, so that all bugs are tried soon: a twin that is not refuted says no more."""


@dataclass(frozen=True, slots=True)
class StrictCoverage:
    """The coverage of sets {y : score < threshold}, which ``dpcp-audit check`` does not assume."""

    specimen: Specimen

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

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
            StrictCoverage(specimen)
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
    """Return what the claim fixes, beside the specimen itself."""
    promised = (specimen.privacy, specimen.coverage)
    fixed: PlainData = {"check": str(column), "specimen": specimen.name}
    for guarantee in promised:
        fixed |= {} if guarantee is None else guarantee.parameters
    return fixed if specimen.alpha is None else {"alpha": specimen.alpha} | fixed


def _expected(specimen: Specimen, column: SpecimenCheck) -> Verdict | None:
    if column in specimen.hidden:
        return None
    return Verdict.REFUTED if column in specimen.caught_by else Verdict.CONSISTENT
