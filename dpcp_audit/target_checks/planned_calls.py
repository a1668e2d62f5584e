"""From a claim, and the violation to detect, to a number of calls: no clock has a say in it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from dpcp_audit.checks import Planned
from dpcp_audit.decisions import DETECT, reaches
from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.results import Outcome, Power
    from dpcp_audit.target_checks.check_spec import CheckSpec

SIGNIFICANCE = 1e-6
"""At which calls are planned: that of a check among fifty tests of a session of pytest."""
MOST, MOST_UNASKED = 2**22, 2**20
"""What is planned at most: where less than the default factor is asked for, and where it is not."""


class ClaimCheck(Planned, Protocol):
    """A check of one claim of a target."""

    @property
    def fewest(self) -> int:
        """The calls that are planned at least."""
        ...

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
    made in seconds, and find more than the twin that power is stated of. Where too many would
    be needed, as many as are planned at most: who asks for more never gets fewer calls.
    """
    try:
        needed = check.draws_needed(check.violation(check.spec.detect), significance=SIGNIFICANCE)
    except ValueError:  # no number of calls suffices
        needed = math.inf
    most = MOST if check.spec.detect < DETECT else MOST_UNASKED
    if needed > most:
        return most
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


def with_cut(check: ClaimCheck, outcome: Outcome, calls: int) -> Outcome:
    """Say beside an outcome that a budget has cut its calls, where it does not refute."""
    cut = "" if outcome.verdict is Verdict.REFUTED else cut_words(check, calls)
    return replace(outcome, note=f"{outcome.note} {cut}") if cut else outcome


def short_words(check: ClaimCheck, power: Power) -> str:
    """Return what is said of outputs that cannot show the factor to detect; "" where they can."""
    detect = check.spec.detect
    if reaches(power, detect):
        return ""
    return (
        f"Noise that is too small by the factor {detect:g} is beyond them: where the outputs alone "
        "decide and do not refute, the verdict will be INCONCLUSIVE."
    )
