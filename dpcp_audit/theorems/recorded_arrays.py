"""A check of scores at hand, whose witness holds them: no results file could name them else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcp_audit.checks import Check, Context
    from dpcp_audit.results import Outcome, PlainData


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedArrays:
    """A check that runs in one piece, and adds the arrays that it ran on to its witness."""

    check: Check
    arrays: PlainData

    @property
    def sampled(self) -> bool:
        """Whether the check itself is sampled."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check."""
        outcome = self.check(context)
        return replace(outcome, witness=outcome.witness | self.arrays)
