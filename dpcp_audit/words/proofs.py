"""Proofs: why a number is within a claim in every case that the statement speaks of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.plain import Number  # noqa: TC001  (resolved by pydantic)

if TYPE_CHECKING:
    from collections.abc import Mapping


class ProofMethod(StrEnum):
    """The method that covers every case of a statement."""

    CLOSED_FORM = "closed form"
    """A formula gives the number, or a bound of it, in the worst case."""
    ENUMERATION = "enumeration"
    """The number is computed for each of finitely many cases."""
    ARGUMENT = "argument"
    """An argument in words reduces the statement to its premises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Premise:
    """A comparison that a proof rests on: the left side is at most the right one.

    Parameters
    ----------
    says : str
        The comparison, as a formula or in words.
    left, right : tuple of float
        Lower and upper end of each side, rounded outward to doubles.
    holds : bool
        Whether the sides' enclosures decide it; what stays undecided does not hold.
    """

    says: str
    left: tuple[Number, Number]
    right: tuple[Number, Number]
    holds: bool

    def __post_init__(self) -> None:
        for name, (low, high) in {"left": self.left, "right": self.right}.items():
            if not low <= high:
                raise ValueError(f"{name} must be a lower and an upper end, got {(low, high)!r}")
        if self.holds and self.left[0] > self.right[1]:
            raise ValueError(f"a premise that its ends refute does not hold: {self.says}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The argument that a number is within a claim in every case of the statement.

    Parameters
    ----------
    method : ProofMethod
        How the cases are covered.
    argument : str
        What reduces the statement to its premises, in words.
    premises : tuple of Premise
        What was enclosed, the claim's own comparison among them.
    parameters : dict
        Whatever the proof fixes, as plain data; the statement names all of it.
    """

    method: ProofMethod
    argument: str
    premises: tuple[Premise, ...]
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _validate.choice(ProofMethod, method=self.method)
        if not self.argument or not self.premises:
            raise ValueError("a proof needs an argument and at least one premise")

    @property
    def sizes(self) -> str:
        """The numbers of records that it covers, in words (see ``sizes_proved``)."""
        return sizes_proved(self.parameters)

    @property
    def holds(self) -> bool:
        """True if every premise holds."""
        return all(premise.holds for premise in self.premises)


def sizes_proved(parameters: Mapping[str, Any]) -> str:
    """Return the numbers of records that a proof from the source covers; "" of another proof.

    Examples
    --------
    >>> sizes_proved({"n": [20, 100], "assumptions": []})
    'for n = 20, 100 alone'
    >>> sizes_proved({"n": [], "assumptions": []})
    'for every n ≥ 1'
    """
    if not {"n", "assumptions"} <= parameters.keys():
        return ""
    sizes = ", ".join(map(str, parameters["n"]))
    return f"for n = {sizes} alone" if sizes else "for every n ≥ 1"
