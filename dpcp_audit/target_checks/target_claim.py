"""What the checks of a target's claims have in common: the target is opened where they run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

from dpcp_audit.decisions import violation_by

if TYPE_CHECKING:
    from dpcp_audit.checks import Check, Context
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import Outcome, PlainData, Power
    from dpcp_audit.target_checks.check_spec import CheckSpec


class Powered(Protocol):
    """An audit that can say what it would refute."""

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest violation that is refuted with probability 0.95."""
        ...

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return the calls that refute a violation, likewise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetClaim(ABC):
    """A claim of a target; its witness can be tested alone, without a search.

    Attributes
    ----------
    few : int
        Calls for which an audit can be made, where its power at others is asked for.
    """

    spec: CheckSpec
    guarantee: Any

    few: ClassVar[int] = 100

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget, where no law is enumerated."""
        return True

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest violation that the calls refute with probability 0.95."""
        return self._unopened(self.spec.calls(self.guarantee)).smallest_violation(context)

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return the calls that refute a violation, likewise."""
        return self._unopened(self.few).draws_needed(violation, significance=significance)

    @property
    @abstractmethod
    def fewest(self) -> int:
        """The calls that are planned at least."""

    @abstractmethod
    def __call__(self, context: Context) -> Outcome:
        """Open the target, and test the claim."""

    @abstractmethod
    def audit(self, target: Any, calls: int) -> Check:
        """Return the audit of an opened target."""

    @abstractmethod
    def violation(self, factor: float) -> float:
        """Return the value at which the claim is broken by a factor of the noise."""

    @abstractmethod
    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test a witness on the code as it is."""

    @abstractmethod
    def _unopened(self, calls: int) -> Powered:
        """Return the audit of so many calls, of a target that is not open yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyClaim(TargetClaim):
    """A claim of privacy; a violation is a loss, shown by a planted twin."""

    guarantee: PrivacyGuarantee

    few: ClassVar[int] = 600

    def violation(self, factor: float) -> float:
        """Return the loss at which the claim is broken by a factor of the noise."""
        from dpcp_audit.audits.loss_bounds import event_loss  # noqa: PLC0415  (slow to import)

        loss = event_loss(self.guarantee)
        return violation_by(factor, loss.quantity, loss.claimed_at(0.5))


def closed(value: object, size: int, /, *, rng: object) -> NoReturn:
    """Stand in for a target of which no output is asked."""
    del value, size, rng
    raise RuntimeError("the target is not open: its power is asked for, and no output")
