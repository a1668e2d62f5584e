"""An auditor and a mechanism that meets its claim with equality: the unit of the level study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Check


class LevelTrial(Protocol):
    """Audits once, on random numbers of its own."""

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if the claim is refuted.

        Parameters
        ----------
        seed : int
            The same seed gives the same answer, in whatever process.
        level : float
            The auditor's significance.
        twice : bool
            Whether the mechanism loses, or fails, twice as much as is claimed.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCase:
    """One row of the study.

    Parameters
    ----------
    auditor : str
        What is measured.
    claim : str
        The claim, and the mechanism that meets it with equality.
    trial : LevelTrial
    at_twice : str
        What the mechanism of the power column does wrong.
    """

    auditor: str
    claim: str
    trial: LevelTrial
    at_twice: str = "twice the loss"

    @property
    def name(self) -> str:
        """The row's name, by which its results are kept."""
        return f"{self.auditor}: {self.claim}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTrial:
    """Runs a check on the mechanism at equality, or on the one of twice the loss."""

    tight: Check
    twice: Check

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Run it on the random streams of the seed."""
        context = Context(seed=seed, name="level", significance=level)
        check = self.twice if twice else self.tight
        return check(context).verdict is Verdict.REFUTED
