"""A theorem on the worst scores that are known for it, whatever its constants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dpcp_audit.computed import Computed
from dpcp_audit.theorems.tightness import with_tightness

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.checks import Check
    from dpcp_audit.computed import Computation


class ScalableTheorem(Protocol):
    """A theorem whose correction can be multiplied."""

    @property
    def allowed_failure(self) -> float:
        """The δ that it allows."""
        ...

    @property
    def correction_name(self) -> str:
        """Its correction, as a letter."""
        ...

    def scaled(self, factor: float) -> Any:
        """Return it with its correction multiplied."""
        ...


class ExactTheorem(ScalableTheorem, Protocol):
    """One with a failure probability that is computed."""

    def failure_probability(self) -> float:
        """Compute its failure probability."""
        ...

    def exact(self) -> Computation:
        """Compute its failure probability, as evidence."""
        ...


T = TypeVar("T", bound=ScalableTheorem)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileTheorem(Generic[T]):
    """A theorem on scores that are chosen in view of its constants.

    A wrong constant is tested where it hurts most: the scores follow it.

    Parameters
    ----------
    theorem : theorem
        What is stated, planted errors included.
    worst : callable
        Returns the theorem on the worst scores known for it, or None where there are none.
    """

    theorem: T
    worst: Callable[[T], ExactTheorem | None]

    @property
    def allowed_failure(self) -> float:
        """The δ that the theorem allows."""
        return self.theorem.allowed_failure

    @property
    def correction_name(self) -> str:
        """The theorem's correction, as its letter."""
        return self.theorem.correction_name

    def scaled(self, factor: float) -> HostileTheorem[T]:
        """Return it with the correction multiplied, and with the scores for that."""
        return replace(self, theorem=self.theorem.scaled(factor))

    def with_errors(self, **errors: float) -> HostileTheorem[T]:
        """Return it with planted errors, such as ``correction=0.95`` or ``noise=1.05``.

        They are fields of the theorem.
        """
        return replace(self, theorem=replace(self.theorem, **errors))  # type: ignore[type-var]

    @property
    def case(self) -> ExactTheorem:
        """The theorem on the worst scores.

        Raises
        ------
        ValueError
            If there are no such scores for the theorem's parameters.
        """
        found = self.worst(self.theorem)
        if found is None:
            raise ValueError("theorem must have hostile scores, got none for its parameters")
        return found

    def failure_probability(self) -> float:
        """Compute the failure probability on the worst scores; 0 where the bound is vacuous."""
        found = self.worst(self.theorem)
        return 0.0 if found is None else found.failure_probability()

    def exact(self) -> Computation:
        """Compute the failure probability on the worst scores, as evidence."""
        return self.case.exact()

    def check(self) -> Check:
        """Return the check, which computes the failure probability and how tight the theorem is."""
        return Computed(partial(with_tightness, self))
