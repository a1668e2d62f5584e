"""Spaces of neighbours to search: what a black-box audit may try, try next, and try simpler.

A pair of score arrays holds n scores on a few positions, and one score that moves between two of
them. A private function of a data set should not depend on the order of its records; code that
does, such as one that weighs the first record or works in batches, leaks at some places only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from dpcp_audit.words.guarantees import Neighbours, Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray, IntArray


_APART = 1e-3
"""The share of the range within which tied scores are spread."""
_EARLY = 17
_UNEVEN = 0.5
"""The parameter of the shares of the positions of a random pair: most have few of the scores."""


class RecordOrder(StrEnum):
    """The position of the changed score, and the order of the others."""

    LAST = "last"
    """After the others, which increase."""
    FIRST = "first"
    """Before the others, which increase."""
    EARLY = "at index 17"
    """After 17 others, or last; all increase."""
    MIDDLE = "in the middle"
    """At index n // 2; the others increase."""
    FALLING = "before decreasing ones"
    """Before the others, which decrease."""
    SHUFFLED = "among shuffled ones"
    """All in an arbitrary order, the same for every array of a size."""

    def permutation(self, n: int) -> IntArray:
        """Return the order of the n−1 increasing scores and, as number n−1, the one that moves.

        Examples
        --------
        >>> RecordOrder.MIDDLE.permutation(5).tolist()
        [0, 1, 4, 2, 3]
        """
        others = np.arange(n - 1)
        match self:
            case RecordOrder.FALLING:
                return np.arange(n)[::-1]
            case RecordOrder.SHUFFLED:
                return np.random.default_rng(n).permutation(n)
            case RecordOrder.FIRST:
                place = 0
            case RecordOrder.EARLY:
                place = min(_EARLY, n - 1)
            case RecordOrder.MIDDLE:
                place = n // 2
            case RecordOrder.LAST:
                place = n - 1
        return np.insert(others, place, n - 1)

    def place(self, n: int) -> int:
        """Return the index of the score that moves, of n scores."""
        return int(np.flatnonzero(self.permutation(n) == n - 1)[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScorePair:
    """Two neighbouring score arrays: n−1 scores in common, on few positions, and one that moves.

    Parameters
    ----------
    positions : ndarray, shape (k,)
        Increasing.
    counts : ndarray, shape (k,)
        The common scores at each.
    source, target : float
        The differing score on the two inputs.
    order : RecordOrder
        The position of that score in the arrays.
    """

    positions: FloatArray
    counts: IntArray
    source: float
    target: float
    order: RecordOrder = RecordOrder.LAST

    @property
    def size(self) -> int:
        """The number n of scores in either array."""
        return int(self.counts.sum()) + 1

    @property
    def place(self) -> int:
        """The index of the differing score."""
        return self.order.place(self.size)

    @property
    def scores(self) -> tuple[FloatArray, FloatArray]:
        """The two arrays, each of shape (n,)."""
        common = np.repeat(self.positions, self.counts)
        order = self.order.permutation(self.size)
        return np.append(common, self.source)[order], np.append(common, self.target)[order]

    @property
    def tied(self) -> bool:
        """True if some of the scores are equal."""
        first, second = (np.unique(x).size for x in self.scores)
        return min(first, second) < self.size

    def untied(self, low: float, high: float) -> ScorePair:
        """Return the pair with all scores distinct, those of a position close to each other."""
        if not self.counts.sum():
            return self
        tied = self.tidy()
        ends = np.array([self.source, self.target])
        known = np.unique(np.concatenate([tied.positions, ends, [low, high]]))
        gap = min(_APART * (high - low), float(np.diff(known).min()) / 3)
        starts = np.cumsum(tied.counts) - tied.counts
        within = np.arange(tied.size - 1) - np.repeat(starts, tied.counts)
        offsets = (within + 1) / (np.repeat(tied.counts, tied.counts) + 1)
        inward = np.where(np.repeat(tied.positions, tied.counts) < high, gap, -gap)
        positions = np.repeat(tied.positions, tied.counts) + inward * offsets
        return replace(self, positions=positions, counts=np.ones(positions.size, dtype=np.int64))

    def tidy(self) -> ScorePair:
        """Return the pair without empty positions, equal ones merged, in order."""
        used, back = np.unique(self.positions[self.counts > 0], return_inverse=True)
        counts = np.bincount(back, self.counts[self.counts > 0], used.size).astype(np.int64)
        return replace(self, positions=used, counts=counts)

    def as_data(self) -> PlainData:
        """Return the pair as plain data."""
        return {
            "positions": self.positions.tolist(),
            "counts": self.counts.tolist(),
            "source": self.source,
            "target": self.target,
        }


def _points(size: int, low: float, high: float, rng: np.random.Generator) -> FloatArray:
    """Return points anywhere between the bounds, or, one in two, at one of them."""
    inner = rng.uniform(low, high, size)
    return np.where(rng.random(size) < 0.5, inner, rng.choice([low, high], size))


def random_pair(n: int, low: float, high: float, rng: np.random.Generator) -> ScorePair:
    """Return n − 1 scores on up to three positions, and one that moves between two others."""
    positions = _points(int(rng.integers(1, 4)), low, high, rng)
    shares = rng.dirichlet(np.full(positions.size, _UNEVEN))
    source, target = _points(2, low, high, rng).tolist()
    return ScorePair(
        positions=positions,
        counts=rng.multinomial(n - 1, shares).astype(np.int64),
        source=source,
        target=target if target != source else high if source == low else low,
        order=list(RecordOrder)[rng.integers(len(RecordOrder))],
    ).tidy()


def simpler_pairs(pair: ScorePair, low: float, high: float) -> Iterator[ScorePair]:
    """Yield pairs with fewer positions, and pairs with one value rounder."""
    k = pair.positions.size
    for start in range(k):
        for end in range(k):
            if start != end:
                positions = pair.positions.copy()
                positions[start] = positions[end]
                yield replace(pair, positions=positions).tidy()
    for value in _rounder(pair.source, low, high):
        yield replace(pair, source=value)
    for value in _rounder(pair.target, low, high):
        yield replace(pair, target=value)
    for index in range(k):
        for value in _rounder(pair.positions[index], low, high):
            positions = pair.positions.copy()
            positions[index] = value
            yield replace(pair, positions=positions).tidy()


def _rounder(value: float, low: float, high: float) -> Iterator[float]:
    """Yield rounder values: the bounds, then k/2, k/4, …, k/64 of the way between them."""
    if value in {low, high}:
        return
    yield from (low, high)
    share = (value - low) / (high - low)
    for parts in (2, 4, 8, 16, 32, 64):
        if share * parts == round(share * parts):
            return
        yield low + (high - low) * round(share * parts) / parts


class Sampler(Protocol):
    """Draws ``size`` independent outputs, numbers or vectors, of a mechanism on one input."""

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> ArrayLike:
        """Return an array of shape (size,) or (size, d)."""
        ...


Draw: TypeAlias = "Callable[[object, int], FloatArray]"
"""Draws so many outputs of the target on one input, an array of shape (size,) or (size, d)."""


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


class PairSpace(ABC):
    """The neighbours that a search may try; ``candidates`` lists all of them, unless said."""

    __slots__ = ()

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval that a bisecting target would start from, where there is one."""
        return None

    @abstractmethod
    def candidates(self) -> Sequence[Candidate]:
        """Return the pairs to try first, the likeliest to break a claim at the front."""

    def balanced(self, draw: Draw, /, *, outputs: int) -> Iterator[Candidate]:
        """Yield pairs on which the target is undecided, found with so many outputs a trial."""
        del draw, outputs
        return iter(())

    def untied(self, candidate: Candidate, /) -> Candidate | None:
        """Return the pair without equal scores, to try where it is refused; None if it has none."""
        del candidate
        return None

    def at_random(self, like: Candidate, rng: np.random.Generator, /) -> Candidate | None:
        """Return a random pair, mostly of the size of another; None where all are listed."""
        del like, rng
        return None

    def simpler(self, candidate: Candidate, /) -> Iterator[Candidate]:
        """Yield simpler pairs than another, the simplest first."""
        del candidate
        return iter(())


@dataclass(frozen=True, slots=True)
class FixedPairs(PairSpace):
    """Pairs that the caller names; nothing else is tried.

    Parameters
    ----------
    pairs : tuple of Neighbours
        The pairs to try, at least one.
    bounds : tuple of float or None
        The interval that a bisecting target would start from, for events on its bits.
    """

    pairs: tuple[Neighbours[Any], ...]
    bounds: tuple[float, float] | None = field(  # pyright: ignore[reportIncompatibleMethodOverride]
        default=None, kw_only=True
    )

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


def pair_as_data(pair: Neighbours[Any]) -> PlainData:
    """Return two neighbours as plain data, as a witness holds them."""
    return {
        "relation": str(pair.relation),
        "value": input_as_data(pair.value),
        "neighbour": input_as_data(pair.neighbour),
    }


def pair_from_data(data: PlainData) -> Neighbours[Any]:
    """Return the neighbours that ``pair_as_data`` wrote; other keys are left alone."""
    return Neighbours(
        relation=Relation(data["relation"]),
        value=input_from_data(data["value"]),
        neighbour=input_from_data(data["neighbour"]),
    )


def neighbours_of(
    relation: Relation,
    value: object,
    neighbour: object,
    *,
    family: str,
    scores: ScorePair | None = None,
) -> Candidate:
    """Build a candidate from its two inputs."""
    neighbours = Neighbours(relation=relation, value=value, neighbour=neighbour)
    return Candidate(family=family, neighbours=neighbours, scores=scores)
