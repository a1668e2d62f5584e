"""A predictor's claim on the size of its sets; the target is opened where the check runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.target_checks.row_data import rows_for
from dpcp_audit.target_checks.target_claim import TargetClaim, closed
from dpcp_audit.target_checks.time_limits import within
from dpcp_audit.target_checks.units import COVERAGE_SIZE
from dpcp_audit.theorems.coverage.set_size_audit import SetSizeAudit

if TYPE_CHECKING:
    from dpcp_audit.checks import Context
    from dpcp_audit.guarantees import SetSize
    from dpcp_audit.results import Outcome, PlainData
    from dpcp_audit.target_checks.time_limits import Timed
    from dpcp_audit.targets import Target

_AGAIN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSetSize(TargetClaim):
    """A target's claim on the mean size of its sets."""

    guarantee: SetSize

    @property
    def fewest(self) -> int:
        """As many calls as settle a mean to a few hundredths of a label."""
        return 2**10

    def __call__(self, context: Context) -> Outcome:
        """Open the target, and fit and predict with it on fresh rows."""
        with self.spec.target.open() as target:
            calls = self.spec.calls(self.guarantee)
            return self.audit(within(target, self.spec, calls), calls)(context)

    def audit(self, target: Target | Timed, calls: int) -> SetSizeAudit:
        """Return the audit of an opened target."""
        return replace(self._unopened(calls), calibrate=target)

    def violation(self, factor: float) -> float:
        """Return the mean size at which the claim is broken by a factor, at most half-way to K."""
        claimed = self.guarantee.at_most
        return min(factor * claimed, (claimed + self._labels) / 2)

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test the claim at the size of a witness on fresh calls of the code as it is."""
        with self.spec.target.open() as target:
            audit = self.audit(target, _AGAIN * witness["calls"] + 100)
            again = replace(audit, n=(witness["n"],))
            return again(replace(context, effort=1.0))

    @property
    def _labels(self) -> int:
        labels = self.spec.target.domain
        return rows_for(self.spec.target.kind, self.spec.data).classes if labels is None else labels

    def _unopened(self, calls: int) -> SetSizeAudit:
        return SetSizeAudit(
            calibrate=closed,
            guarantee=self.guarantee,
            pool=rows_for(self.spec.target.kind, self.spec.data),
            labels=self._labels,
            n=self.spec.n or (COVERAGE_SIZE,),
            draws=calls,
            detect=self.spec.detect,
        )
