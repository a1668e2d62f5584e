"""From a claim, and the violation to detect, to a number of calls: no clock has a say in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Protocol

from dpcp_audit.checks import Planned

if TYPE_CHECKING:
    from dpcp_audit.target_checks.check_spec import CheckSpec

SIGNIFICANCE = 1e-6
"""At which calls are planned: that of a check among fifty tests of a session of pytest."""
MOST = 2**22
"""Where not even these suffice, the fewest are made."""


class ClaimCheck(Planned, Protocol):
    """A check of one claim of a target; ``fewest`` calls are planned at least."""

    fewest: ClassVar[int]

    @property
    def spec(self) -> CheckSpec:
        """The target, and how it is tried."""
        ...

    def violation(self, factor: float) -> float:
        """Return the value at which the claim is broken by a factor of the noise."""
        ...


def calls_for(check: ClaimCheck) -> int:
    """Return the calls that refute the violation to detect with probability 0.95.

    A power of two, and never fewer than are planned for every claim of the kind: those are
    made in seconds, and find more than the twin that power is stated of.
    """
    try:
        needed = check.draws_needed(check.violation(check.spec.detect), significance=SIGNIFICANCE)
    except ValueError:  # no number of calls suffices
        needed = math.inf
    if needed > MOST:
        return check.fewest
    return max(check.fewest, int(2 ** math.ceil(math.log2(needed))))


def cut_words(check: ClaimCheck, calls: int) -> str:
    """Return what is said of calls that a budget has cut; "" where it has not."""
    spec = check.spec
    if spec.draws is not None or spec.budget is None:
        return ""
    wanted = calls_for(check)
    if calls >= wanted:
        return ""
    return f"The budget of {spec.budget:g} s has cut {wanted:,} calls to {calls:,}."
