"""Exact checks: a statement "this number is at most that" is settled by computing it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcp_audit import _validate
from dpcp_audit.decisions import decide
from dpcp_audit.results import Evidence, Outcome, PlainData, Power, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.checks import Context
    from dpcp_audit.figures import Figure
    from dpcp_audit.quantities import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """A number that a claim bounds from above, with the case that attains it.

    Parameters
    ----------
    quantity : Quantity
        What the number is.
    value, claimed : float
        The largest value found, and the largest that the claim allows.
    slack : float
        How much larger the truth may be than ``value``.
    at, detail
        The quantity's parameters, and what else the number is of, in words.
    covers : str
        Why the value is the largest over every case of the statement; empty where it is the
        largest over the cases tried only.
    """

    quantity: Quantity
    value: float
    claimed: float
    slack: float = 0.0
    at: dict[str, float] = field(default_factory=dict[str, float])
    detail: str = ""
    covers: str = ""
    witness: PlainData = field(default_factory=dict[str, Any])
    note: str = ""
    figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        _validate.non_negative(slack=self.slack)
        for name in ("value", "claimed"):
            if math.isnan(getattr(self, name)):
                raise ValueError(f"{name} must be a number, got nan ({self.quantity})")

    @property
    def evidence(self) -> Evidence:
        """The number, with its slack."""
        return Evidence.exact(
            self.quantity,
            self.value,
            claimed=self.claimed,
            slack=self.slack,
            at=self.at,
            detail=self.detail,
        )

    @property
    def verdict(self) -> Verdict:
        """REFUTED above the claim, PROVED below it in every case, else CONSISTENT."""
        return decide(self.evidence, power=self.power, every_case=bool(self.covers))

    @property
    def power(self) -> Power:
        """Whatever exceeds the claim by more than the slack is refuted, with certainty."""
        return Power(
            quantity=self.quantity,
            smallest=self.claimed + self.slack,
            claimed=self.claimed,
            detection=1.0,
            at=self.at,
        )


@dataclass(frozen=True, slots=True)
class Computed:
    """Settle a claim by computation; ``compute`` does the work when the check runs."""

    compute: Callable[[], Computation]

    @property
    def sampled(self) -> bool:
        """No part of the verdict is left to chance."""
        return False

    def __call__(self, context: Context) -> Outcome:  # noqa: ARG002  (exact: nothing to draw)
        """Compute the number and test it against the claim."""
        result = self.compute()
        verdict, note = result.verdict, result.note
        if verdict is Verdict.PROVED:
            note = f"{note} Every case is covered: {result.covers}".strip()
        return Outcome(
            verdict=verdict,
            evidence=result.evidence,
            power=None if verdict is Verdict.REFUTED else result.power,
            witness=result.witness,
            note=note,
            figures=result.figures,
        )
