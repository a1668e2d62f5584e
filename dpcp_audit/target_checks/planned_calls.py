"""From a claim, and the violation to detect, to a number of calls: no clock has a say in it.

A budget kept: a target that is not asked for outputs any more once its time is over.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from dpcp_audit.targets.degenerate import OutOfTimeError
from dpcp_audit.words.checks import Planned
from dpcp_audit.words.evidence import DETECT, reaches
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    import numpy as np

    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.degenerate import Randomness
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.results import Outcome, Power


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


_ASKED, _SHARE = 0.85, 0.95
"""Of the budget, when a target is not asked any more, and what a check may take in all: its process
is ended then. The rest went into its planning."""
clock = time.perf_counter


@dataclass(slots=True, kw_only=True)
class Timed:
    """An opened target with a time limit, that is looked at before each batch of calls.

    Parameters
    ----------
    target : Target
    seconds : float
        The limit, from the first call on: the traces before it are none of the calls that a
        budget was cut to.
    planned : int
        The calls that were to be made.
    """

    target: Target
    seconds: float
    planned: int
    _made: int = 0
    _started: float | None = None

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` outputs on one input.

        Raises
        ------
        OutOfTimeError
            If the time is over.
        """
        now = clock()
        if self._started is None:
            self._started = now
        if now - self._started > self.seconds:
            raise OutOfTimeError(
                f"{self.target.name}: the budget of {self.seconds:g} s was over after "
                f"{self._made:,} of {self.planned:,} calls, as the machine was busier than when "
                "they were planned: give a larger budget, or draws"
            )
        self._made += size
        return self.target(value, size, rng=rng)

    @property
    def randomness(self) -> Randomness:
        """Where the target draws its random numbers."""
        return self.target.randomness


def within(target: Target, spec: CheckSpec, calls: int) -> Target | Timed:
    """Return an opened target that keeps to the budget of its check, where it has one."""
    if seconds_of(spec) is None or spec.budget is None:
        return target
    return Timed(target=target, seconds=_ASKED * spec.budget, planned=calls)


def seconds_of(spec: CheckSpec) -> float | None:
    """Return how long one check of a target may take; None without a budget."""
    return None if spec.budget is None or spec.draws is not None else _SHARE * spec.budget
