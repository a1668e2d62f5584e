"""Spaces of neighbours to search: what a black-box audit may try, try next, and try simpler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from dpcp_audit.words.guarantees import Neighbours, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.audits.search.score_arrays import ScorePair
    from dpcp_audit.words.validate import FloatArray


class Sampler(Protocol):
    """Draws ``size`` independent outputs, numbers or vectors, of a mechanism on one input."""

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> ArrayLike:
        """Return an array of shape (size,) or (size, d)."""
        ...


class Draw(Protocol):
    """Draws so many outputs of the target on one input."""

    def __call__(self, value: object, size: int, /) -> FloatArray:
        """Return an array of shape (size,) or (size, d)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """Two neighbours, and the family that they come from.

    Parameters
    ----------
    family : str
        The family of the pair in words, for the report.
    neighbours : Neighbours
    scores : ScorePair or None
        The scores behind the two inputs, where they are scores or made of them.
    """

    family: str
    neighbours: Neighbours[Any]
    scores: ScorePair | None = None

    @property
    def inputs(self) -> tuple[Any, Any]:
        """The two inputs."""
        return self.neighbours.value, self.neighbours.neighbour


class PairSpace(Protocol):
    """The neighbours that a search may try."""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval that a bisecting target would start from, where there is one."""
        ...

    def candidates(self) -> Sequence[Candidate]:
        """Return the pairs to try first, the likeliest to break a claim at the front."""
        ...

    def balanced(self, draw: Draw, /, *, outputs: int) -> Iterator[Candidate]:
        """Yield pairs on which the target is undecided, found with so many outputs a trial."""
        ...

    def untied(self, candidate: Candidate, /) -> Candidate | None:
        """Return the pair without equal scores, to try where it is refused; None if it has none."""
        ...

    def beside(self, candidate: Candidate, /) -> Iterator[Candidate]:
        """Yield the pairs one step from another, to climb by."""
        ...

    def nearby(self, candidate: Candidate, rng: np.random.Generator, /) -> Candidate | None:
        """Return a random pair near another; None where there are no such pairs."""
        ...

    def simpler(self, candidate: Candidate, /) -> Iterator[Candidate]:
        """Yield simpler pairs than another, the simplest first."""
        ...


class ListedPairs:
    """A pair space of which ``candidates`` lists all there is: nothing lies beside them."""

    __slots__ = ()

    def balanced(self, draw: Draw, *, outputs: int) -> Iterator[Candidate]:
        """Yield nothing."""
        del draw, outputs
        return iter(())

    def untied(self, candidate: Candidate) -> Candidate | None:
        """Return None: the pairs stand as they are."""
        del candidate
        return None

    def beside(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield nothing."""
        del candidate
        return iter(())

    def nearby(self, candidate: Candidate, rng: np.random.Generator) -> Candidate | None:
        """Return None: the list is all there is."""
        del candidate, rng
        return None

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield nothing: the pairs stand as they are."""
        del candidate
        return iter(())


@dataclass(frozen=True, slots=True)
class FixedPairs(ListedPairs):
    """Pairs that the caller names; nothing else is tried.

    Parameters
    ----------
    pairs : tuple of Neighbours
        At least one.
    bounds : tuple of float or None
        The interval that a bisecting target would start from, for events on its bits.
    """

    pairs: tuple[Neighbours[Any], ...]
    bounds: tuple[float, float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not self.pairs:
            raise ValueError("pairs must hold at least one pair of neighbours, got none")

    def candidates(self) -> list[Candidate]:
        """Return the given pairs."""
        return [Candidate(family="given", neighbours=pair) for pair in self.pairs]


def input_key(value: object) -> object:
    """Return a hashable key of an input: arrays and numbers by what they hold, tuples by parts."""
    if isinstance(value, tuple):
        return tuple(map(input_key, cast("tuple[object, ...]", value)))
    array = np.asarray(value)
    return array.dtype.str, array.shape, array.tobytes()


def input_as_data(value: object) -> Any:
    """Return an input as plain data: a number, nested lists, or for a tuple a list of those."""
    if isinstance(value, tuple):
        return {"parts": [input_as_data(part) for part in cast("tuple[object, ...]", value)]}
    return np.asarray(value).tolist()


def input_from_data(data: dict[str, Any] | list[Any] | float) -> Any:
    """Return the input that ``input_as_data`` wrote; lists become arrays."""
    if isinstance(data, dict):
        return tuple(map(input_from_data, data["parts"]))
    if not isinstance(data, list):
        return data
    return np.asarray(data) if data else np.zeros(0)


def neighbours_of(
    relation: Relation, value: object, neighbour: object, *, family: str
) -> Candidate:
    """Build a candidate from its two inputs."""
    return Candidate(
        family=family,
        neighbours=Neighbours(relation=relation, value=value, neighbour=neighbour),
    )
