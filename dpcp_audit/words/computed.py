"""Exact checks: a statement "this number is at most that" is settled by computing it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import decide
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import ROUNDING, Evidence, Outcome, PlainData, Power, Proof, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Figure, Premise, ProofMethod, Table


_SAME = 1e-6
"""Relative distance of a value and an end of its interval up to which they are one number."""


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
    error : float
        Relative numerical error of the value on both sides; 0 where it is a whole number.
    lower, upper : float or None
        Rigorous ends, rounded outward, in the place of what value, slack and error give; a value
        outside of them by rounding is moved onto the nearer end.
    at, detail
        The quantity's parameters, and what else the number is of, in words. That the value is one
        end of a wider interval, "from below" or "from above", is added to them.
    proof : Proof or None
        Why the number is within the claim in every case of the statement.
    """

    quantity: Quantity
    value: float
    claimed: float
    slack: float = 0.0
    error: float = ROUNDING
    lower: float | None = None
    upper: float | None = None
    at: dict[str, float] = field(default_factory=dict[str, float])
    detail: str = ""
    proof: Proof | None = None
    witness: PlainData = field(default_factory=dict[str, Any])
    note: str = ""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()

    def __post_init__(self) -> None:
        _validate.non_negative(slack=self.slack, error=self.error)
        for name in ("value", "claimed"):
            if math.isnan(getattr(self, name)):
                raise ValueError(f"{name} must be a number, got nan ({self.quantity})")

    @classmethod
    def counted(
        cls,
        number: int,
        *,
        detail: str,
        witness: PlainData,
        note: str = "",
        claimed: int = 0,
        tables: tuple[Table, ...] = (),
    ) -> Computation:
        """Return the computation of a whole number, which is without error; ``claimed`` is 0.

        Examples
        --------
        >>> Computation.counted(2, detail="tables that repeat others", witness={}).verdict
        <Verdict.REFUTED: 'REFUTED'>
        """
        return cls(
            quantity=Quantity.COUNT,
            detail=detail,
            value=float(number),
            claimed=float(claimed),
            error=0.0,
            witness=witness,
            note=note,
            tables=tables,
        )

    @property
    def evidence(self) -> Evidence:
        """The number between its ends."""
        found = Evidence.exact(
            self.quantity,
            self.value,
            claimed=self.claimed,
            slack=self.slack,
            error=self.error,
            at=self.at,
            detail=self.detail,
        )
        lower = found.lower if self.lower is None else self.lower
        upper = found.upper if self.upper is None else self.upper
        value = min(max(self.value, lower), upper)
        said = [words for words in (self.detail, _side(value, lower, upper)) if words]
        return replace(found, value=value, lower=lower, upper=upper, detail=", ".join(said))

    def between(
        self,
        compared: Premise,
        *further: Premise,
        method: ProofMethod,
        argument: str,
        parameters: PlainData,
    ) -> Computation:
        """Return the computation with the ends that a comparison encloses, and its proof.

        Parameters
        ----------
        compared : Premise
            The number against the claim. Where it holds between exact numbers, its ends may round
            beyond the claim; the upper end is then the claim.
        *further : Premise
            What else the argument rests on.
        """
        lower, upper = compared.left
        return replace(
            self,
            lower=max(lower, 0.0) if self.value >= 0 else lower,
            upper=min(upper, self.claimed) if compared.holds else upper,
            proof=Proof(
                method=method,
                argument=argument,
                premises=(compared, *further),
                parameters=parameters,
            ),
        )

    @property
    def verdict(self) -> Verdict:
        """REFUTED beyond the claim, PROVED with a proof within it; else the power decides."""
        return decide(self.evidence, power=self.power, proof=self.proof)

    @property
    def power(self) -> Power:
        """Whatever exceeds the claim by more than the interval's width is refuted for certain."""
        found = self.evidence
        width = found.upper - found.lower if found.upper > found.lower else 0.0
        return Power(
            quantity=self.quantity,
            smallest=self.claimed + width,
            claimed=self.claimed,
            detection=1.0,
            at=self.at,
        )


def _side(value: float, lower: float, upper: float) -> str:
    """Return which end of its interval a value is, where the interval is wider than an error."""
    room = _SAME * max(abs(value), _SAME)
    at_lower, at_upper = value - lower <= room, upper - value <= room
    if math.isinf(value) or at_lower == at_upper:
        return ""
    return "from below" if at_lower else "from above"


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
        verdict = result.verdict
        return Outcome(
            verdict=verdict,
            evidence=result.evidence,
            power=None if verdict is Verdict.REFUTED else result.power,
            proof=result.proof if verdict is Verdict.PROVED else None,
            witness=result.witness,
            note=result.note,
            figures=result.figures,
            tables=result.tables,
        )
