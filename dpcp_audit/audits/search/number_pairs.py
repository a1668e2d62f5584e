"""Neighbours of a randomizer of numbers: any two values between the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from dpcp_audit import _validate
from dpcp_audit.audits.search.pair_space import Candidate, FixedPairs
from dpcp_audit.neighbours import Neighbours, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHARES = (0.0, 1.0, 0.5, 0.25, 0.75, 1 / 3, 0.1, 0.9, 0.01, 0.99)
"""Where the values lie between the bounds, that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPairs:
    """Pairs of one user's values between two bounds, on a grid.

    Parameters
    ----------
    limits : tuple of float
        The least and the largest value.

    Examples
    --------
    >>> NumberPairs(limits=(-1.0, 1.0)).candidates()[0].inputs
    (-1.0, 1.0)
    """

    limits: tuple[float, float]

    def __post_init__(self) -> None:
        _validate.bounds(self.limits, name="limits")

    @property
    def bounds(self) -> None:
        """None: a noisy value is no threshold."""
        return

    def candidates(self) -> list[Candidate]:
        """Return the pairs of the grid, each once, those that lie furthest apart first."""
        low, high = self.limits
        values = [low + (high - low) * share for share in _SHARES]
        pairs = sorted(combinations(values, 2), key=lambda pair: -abs(pair[1] - pair[0]))
        return [_candidate(*pair, family="two values") for pair in pairs]

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the pair of the bounds, then rounder values."""
        for places in (0, 1, 2):
            values = [round(float(each), places) for each in candidate.inputs]
            inside = all(self.limits[0] <= each <= self.limits[1] for each in values)
            if inside and values[0] != values[1] and tuple(values) != candidate.inputs:
                yield _candidate(values[0], values[1], family=candidate.family)

    balanced, untied = FixedPairs.balanced, FixedPairs.untied
    beside, nearby = FixedPairs.beside, FixedPairs.nearby


def _candidate(value: float, neighbour: float, *, family: str) -> Candidate:
    pair = Neighbours(relation=Relation.SUBSTITUTION, value=value, neighbour=neighbour)
    return Candidate(family=family, neighbours=pair)
