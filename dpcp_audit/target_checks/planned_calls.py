"""The calls that test a target's claim: how many there are, and how long they may take.

The number follows from the claim and the violation to detect; no clock has a say in it. A budget
is kept by asking a target for no more outputs once its time is over.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from dpcp_audit.laws.losses import loss_of
from dpcp_audit.targets.answers import OutOfTimeError
from dpcp_audit.words.evidence import DETECT, reaches, violation_by
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    import numpy as np

    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.source_proofs import SourceProof
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.answers import Drawable, Randomness
    from dpcp_audit.words.checks import Check, Context, Planned
    from dpcp_audit.words.results import Outcome, PlainData, Power
    from dpcp_audit.words.validate import FloatArray


SIGNIFICANCE = 1e-6
"""At which calls are planned: that of a check among fifty tests of a session of pytest."""
MOST, MOST_UNASKED = 2**22, 2**20
"""The most calls of a plan: with ``detect`` below its default, and otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimAudit(ABC):
    """The calls that test a target's claim where its source does not decide it.

    Attributes
    ----------
    few : int
        Calls for which an audit can be made, where its power at others is asked for.
    """

    spec: CheckSpec
    guarantee: Any

    few: ClassVar[int] = 600

    @property
    @abstractmethod
    def fewest(self) -> int:
        """The calls that are planned at least."""

    @abstractmethod
    def of(self, calls: int) -> Planned:
        """Return the audit of so many calls, of a target that is not open yet."""

    @abstractmethod
    def on(self, target: Any, calls: int) -> Check:
        """Return the audit of an opened target."""

    @abstractmethod
    def sampled(self, target: Target, context: Context) -> Outcome:
        """Return what the planned calls of an opened target say."""

    @abstractmethod
    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test a witness on the code as it is."""

    def violation(self, factor: float) -> float:
        """Return the value at which the claim is broken by a factor of the noise; here, a loss."""
        loss = loss_of(self.guarantee)
        return violation_by(factor, loss.quantity, loss.claimed)

    @property
    def calls(self) -> int:
        """The calls that were planned, or asked for."""
        return self.spec.calls(self.guarantee)

    def planned(self) -> Self:
        """Return the audit with the calls that it takes, where none are planned."""
        if self.spec.draws is not None or self.spec.planned:
            return self
        alone = replace(self.spec, guarantees=(self.guarantee,), planned=(calls_for(self),))
        return replace(self, spec=alone)

    def beside(self, proof: SourceProof | None, target: Target, context: Context) -> Outcome:
        """Return what they say, and why a proof leaves the claim open, where one was tried."""
        outcome = self.sampled(target, context)
        return outcome if proof is None else replace(outcome, unproved=proof.unproved())

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest violation that the calls refute with probability 0.95."""
        return self.of(self.calls).smallest_violation(context)

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return the calls that refute a violation, likewise."""
        return self.of(self.few).draws_needed(violation, significance=significance)


def closed(value: object, size: int = 1, /, *, rng: object) -> NoReturn:
    """Stand in for a target of which no output is asked."""
    del value, size, rng
    raise RuntimeError("the target is not open: its power is asked for, and no output")


def calls_for(audit: ClaimAudit) -> int:
    """Return the calls that refute the violation to detect with probability 0.95.

    A power of two, and never fewer than are planned for every claim of the kind: those are
    made in seconds, and find more than the twin that power is stated of. Where too many would
    be needed, as many as are planned at most: who asks for more never gets fewer calls.
    """
    try:
        needed = audit.draws_needed(audit.violation(audit.spec.detect), significance=SIGNIFICANCE)
    except ValueError:  # no number of calls suffices
        needed = math.inf
    most = MOST if audit.spec.detect < DETECT else MOST_UNASKED
    if needed > most:
        return most
    return max(audit.fewest, int(2 ** math.ceil(math.log2(needed))))


def cut_words(audit: ClaimAudit, calls: int) -> str:
    """Return the sentence on calls that a budget has cut; "" where it has not."""
    spec = audit.spec
    if spec.draws is not None or spec.budget is None:
        return ""
    wanted = calls_for(audit)
    if calls >= wanted:
        return ""
    return f"The budget of {spec.budget:g} s has cut {wanted:,} calls to {calls:,}."


def with_cut(audit: ClaimAudit, outcome: Outcome) -> Outcome:
    """Say beside an outcome that a budget has cut its calls, where it does not refute."""
    cut = "" if outcome.verdict is Verdict.REFUTED else cut_words(audit, audit.calls)
    return replace(outcome, note=f"{outcome.note} {cut}") if cut else outcome


def short_words(detect: float, power: Power) -> str:
    """Return the sentence on calls that cannot detect the factor; "" where they can."""
    if reaches(power, detect):
        return ""
    return (
        f"They cannot detect noise that is too small by the factor {detect:g}: if only the outputs "
        "decide, and they do not refute, the verdict will be INCONCLUSIVE."
    )


_ASKED, _SHARE = 0.85, 0.95
"""Shares of the budget: after the first no call begins; after the second the check's process
is ended. The rest went into its planning."""
clock = time.perf_counter


@dataclass(slots=True, kw_only=True)
class _Timed:
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
                f"{self.target.name}: the budget of {self.seconds:g} s was spent "
                f"after {self._made:,} of {self.planned:,} calls, because the machine was busier "
                "than during planning: give a larger budget, or draws"
            )
        self._made += size
        return self.target(value, size, rng=rng)

    @property
    def randomness(self) -> Randomness:
        """The source of the target's random numbers."""
        return self.target.randomness


def within(target: Target, spec: CheckSpec, calls: int) -> Drawable:
    """Return an opened target that keeps to the budget of its check, where it has one."""
    if seconds_of(spec) is None or spec.budget is None:
        return target
    return _Timed(target=target, seconds=_ASKED * spec.budget, planned=calls)


def seconds_of(spec: CheckSpec) -> float | None:
    """Return the time limit of one check of a target, in seconds; None without a budget."""
    return None if spec.budget is None or spec.draws is not None else _SHARE * spec.budget
