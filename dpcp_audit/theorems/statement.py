"""What a theorem object says of itself: its words, formula, source, assumptions and bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcp_audit.quantities import Quantity
from dpcp_audit.theorems.theorem import FailureRate

if TYPE_CHECKING:
    from dpcp_audit.results import Source
    from dpcp_audit.theorems.theorem import Theorem


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A theorem in words.

    Parameters
    ----------
    words, formula : str
        What it says.
    source : Source
        Where it is stated.
    assumptions : str
        On what it rests; outside of them the checks report what happens.
    bound : str
        The bound as a function of the parameters, with its unit and explicit constant.
    """

    words: str
    formula: str
    source: Source
    assumptions: str
    bound: str


class Stated:
    """A theorem object: a statement, and the check that puts it to the test."""

    __slots__ = ()
    about: ClassVar[Statement]

    @property
    def failure(self) -> Quantity:
        """What the failure probability is of: a coverage, unless a theorem says otherwise."""
        return Quantity.COVERAGE_FAILURE

    def check(self: Theorem, *, n_trials: int = 20_000) -> FailureRate:
        """Return the check of the failure probability on ``n_trials`` trials at effort 1."""
        return FailureRate(theorem=self, n_trials=n_trials)
