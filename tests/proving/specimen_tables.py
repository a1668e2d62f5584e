"""The rows of the tables of functions that must not be proved, and of functions that are right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit import PureDP
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

N = 20
ONE = PureDP(1.0)


def one_moves(n: int = N, low: float = 0.0, high: float = 1.0) -> tuple[Any, Any]:
    """Return scores that are all ``low``, and the same with the last one at ``high``."""
    scores = np.full(n, low)
    neighbour = scores.copy()
    neighbour[-1] = high
    return scores, neighbour


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """A function, its claim, and for a broken one the reason and a witness.

    ``loss`` is the true loss, or a lower bound of it, in the claim's own currency. ``event``
    holds of the outputs of one input of ``pair`` so much more often than of the other that the
    claim is refuted by counting.
    """

    function: Callable[..., Any]
    claim: Any
    reason: str
    family: str
    loss: float = math.inf
    n: int = N
    bounds: tuple[float, float] = (0.0, 1.0)
    neighbours: Relation = Relation.SUBSTITUTION
    pair: tuple[Any, Any] | None = None
    event: Callable[[Any], bool] | None = None

    @property
    def name(self) -> str:
        """The name of the function, in its family."""
        return f"{self.family}-{self.function.__name__}"


class Table(list[Specimen]):
    """The specimens of one file."""

    def __init__(self, family: str) -> None:
        super().__init__()
        self.family = family

    def add(self, function: Callable[..., Any], reason: str, claim: Any = ONE, **rest: Any) -> None:
        """Add one function; an event without a pair is one of ``one_moves``."""
        if "event" in rest and "pair" not in rest:
            rest["pair"] = one_moves(rest.get("n", N))
        rest.setdefault("family", self.family)
        self.append(Specimen(function=function, claim=claim, reason=reason, **rest))

    def attack(self, reason: str, claim: Any = ONE, **rest: Any) -> Callable[..., Any]:
        """Add the function that this decorates."""

        def added(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add(function, reason, claim, **rest)
            return function

        return added
