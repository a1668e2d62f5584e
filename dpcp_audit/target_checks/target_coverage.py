"""A target's claim of coverage; the target is opened where the check runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.decisions import violation_by
from dpcp_audit.target_checks.planned_calls import with_cut
from dpcp_audit.target_checks.row_data import rows_for
from dpcp_audit.target_checks.target_claim import TargetClaim, closed
from dpcp_audit.target_checks.time_limits import within
from dpcp_audit.target_checks.units import COVERAGE_SIZE
from dpcp_audit.targets import Takes
from dpcp_audit.theorems.coverage import coverage_audit
from dpcp_audit.theorems.coverage.coverage_audit import CoverageAudit
from dpcp_audit.theorems.coverage.row_laws import RowLaws
from dpcp_audit.theorems.coverage.trial_laws import LawCatalogue
from dpcp_audit.theorems.coverage.worst_law import sides

if TYPE_CHECKING:
    from dpcp_audit.checks import Context
    from dpcp_audit.guarantees import Coverage
    from dpcp_audit.results import Outcome, PlainData
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.time_limits import Timed
    from dpcp_audit.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCoverage(TargetClaim):
    """A target's coverage claim; the target is opened where the check runs."""

    guarantee: Coverage

    @property
    def fewest(self) -> int:
        """As many calls as find more than the miss that power is stated of."""
        return 2**14

    def __call__(self, context: Context) -> Outcome:
        """Open the target and calibrate with it on fresh scores."""
        with self.spec.target.open() as target:
            calls = self.spec.calls(self.guarantee)
            outcome = self.audit(within(target, self.spec, calls), calls)(context)
            return with_cut(self, outcome, calls)

    def audit(self, target: Target | Timed, calls: int) -> CoverageAudit:
        """Return the audit of an opened target."""
        return replace(self._unopened(calls), calibrate=target)

    def violation(self, factor: float) -> float:
        """Return the coverage, or rate of failures, at which the claim is broken by a factor."""
        side = sides(self.guarantee)[0]
        return violation_by(factor, side.quantity, side.bounded, side.bound)

    def _unopened(self, calls: int) -> CoverageAudit:
        return CoverageAudit(
            calibrate=closed,
            kind=self.spec.target.kind,
            guarantee=self.guarantee,
            n=self.spec.n or (COVERAGE_SIZE,),
            draws=calls,
            bounds=self.spec.target.bounds,
            laws=_laws(self.spec, self.guarantee),
            strict=self.spec.open_sets,
            tolerance=self.spec.tolerance,
            detect=self.spec.detect,
        )

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test the law of a witness on fresh calls of the code as it is."""
        with self.spec.target.open() as target:
            return coverage_audit.confirm(
                witness, target, seed=context.seed, significance=context.significance
            )


def _laws(spec: CheckSpec, guarantee: Coverage) -> LawCatalogue | RowLaws:
    kind = spec.target.kind
    if kind.takes is not Takes.ROWS:
        return LawCatalogue(
            ties=spec.ties,
            per_class=guarantee.per_class,
            classes=spec.target.domain,
            clients=spec.clients if kind.takes is Takes.CLIENTS else 0,
        )
    pool = rows_for(kind, spec.data)
    return RowLaws(pool=pool, per_class=guarantee.per_class)
