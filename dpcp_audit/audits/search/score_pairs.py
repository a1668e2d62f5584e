"""Neighbouring score arrays to search, from a catalogue of what breaks quantiles.

A catalogue crosses families (``score_families``) with sizes and with orders of the records. It
is listed as a hyperbolic cross, the pair of family i and size j by (i + 1)·(j + 1), so that a
search of few pairs has tried most families at the first sizes, and the first families at all; the
orders of the records take turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.search.exact_pairs import ScorePair, moved_pair, simpler_pairs
from dpcp_audit.audits.search.pair_space import Candidate, input_key
from dpcp_audit.audits.search.record_orders import RecordOrder
from dpcp_audit.audits.search.score_families import families
from dpcp_audit.audits.search.undecided_pairs import TurningPairs
from dpcp_audit.neighbours import Neighbours, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpcp_audit.audits.search.pair_space import Draw

T = TypeVar("T")
SMALL_SIZES = (1, 2, 3, 5, 10, 20)
ORDERS = tuple(RecordOrder)
_FEW_POSITIONS = 8
_MANY = 20
_ELSEWHERE = 0.15
"""The chance of another order of the records, and of another size."""
_BESIDE = (-1, 1, -2, 2)
_STEPS = 0.4
"""The share of local moves that move a few scores from one position to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePairs:
    """Pairs of score arrays that differ in one score.

    Parameters
    ----------
    bounds : tuple of float
        The interval of the scores.
    sizes : tuple of int
        The numbers of scores to try; the pair that every family starts with has the first.
    relation : Relation
        SUBSTITUTION, where n is public, or ADD_REMOVE, where the neighbour lacks one score.
    alpha : float or None
        The target's miscoverage level where it is known: its rank is ⌈(1−α)(n+1)⌉.
    """

    bounds: tuple[float, float] = (0.0, 1.0)
    sizes: tuple[int, ...] = (500, *SMALL_SIZES)
    relation: Relation = Relation.SUBSTITUTION
    alpha: float | None = None

    def __post_init__(self) -> None:
        _validate.bounds(self.bounds)
        _validate.choice(Relation, relation=self.relation)
        if self.relation not in {Relation.SUBSTITUTION, Relation.ADD_REMOVE}:
            raise ValueError(f"relation must be substitution or add-remove, got {self.relation!r}")
        least = 2 if self.relation is Relation.ADD_REMOVE else 1
        if not any(n >= least for n in self.sizes):
            raise ValueError(f"sizes must hold a number >= {least}, got {self.sizes!r}")
        for n in self.sizes:
            _validate.integer(sizes=n, at_least=1)
        if self.alpha is not None:
            _validate.open_unit(alpha=self.alpha)

    def candidates(self) -> list[Candidate]:
        """Return the catalogue, distinct pairs only."""
        catalogues = [families(n, self.bounds, alpha=self.alpha) for n in self._usable()]
        found: dict[object, Candidate] = {}
        for family, pair in crossed(catalogues):
            order = ORDERS[len(found) % len(ORDERS)]
            for way in self._ways(replace(pair, order=order)):
                self._keep(found, self.candidate(way, family))
        return list(found.values())

    def candidate(self, pair: ScorePair, family: str) -> Candidate:
        """Return the two arrays of a pair under the relation."""
        value, neighbour = pair.scores
        if self.relation is Relation.ADD_REMOVE:
            neighbour = np.delete(neighbour, pair.place)
        neighbours = Neighbours(relation=self.relation, value=value, neighbour=neighbour)
        return Candidate(family=family, neighbours=neighbours, scores=pair)

    def balanced(self, draw: Draw, *, outputs: int) -> Iterator[Candidate]:
        """Yield the pairs around the split where the output turns, for the first and large sizes.

        At smaller ones the catalogue has most splits.
        """
        usable = self._usable()
        found: list[list[tuple[str, ScorePair]]] = []
        share: float | None = None
        for n in (n for n in usable if n >= _MANY or n == usable[0]):
            near = None if share is None else round(share * n)
            turning = TurningPairs(draw=draw, n=n, bounds=self.bounds, outputs=outputs, near=near)
            found.append(list(turning.pairs()))
            share = None if turning.ends is None else turning.ends / n
        for rank, (family, pair) in enumerate(crossed(found)):
            yield self.candidate(replace(pair, order=ORDERS[rank % len(ORDERS)]), family)

    def beside(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the pairs with one or two scores moved from one position to the next."""
        pair = candidate.scores
        if pair is None or not 2 <= pair.positions.size <= _FEW_POSITIONS:
            return
        for step, at in product(_BESIDE, range(pair.positions.size - 1)):
            counts = pair.counts.copy()
            counts[[at, at + 1]] += np.array([step, -step])
            if counts.min() >= 0:
                yield self.candidate(replace(pair, counts=counts).tidy(), candidate.family)

    def nearby(self, candidate: Candidate, rng: np.random.Generator) -> Candidate | None:
        """Return the pair after one or a few local moves, now and then at another size."""
        pair = candidate.scores
        if pair is None:
            return None
        low, high = self.bounds
        for _ in range(1 + int(rng.integers(3))):
            if pair.positions.size > 1 and rng.random() < _STEPS:
                pair = _stepped(pair, rng)
            elif pair.positions.size == 0:
                source, target = rng.choice(
                    [low, high, (low + high) / 2, rng.uniform(low, high)], 2
                )
                pair = replace(pair, source=float(source), target=float(target))
            else:
                pair = moved_pair(pair, low, high, rng)
        if rng.random() < _ELSEWHERE:
            pair = replace(pair, order=ORDERS[rng.integers(len(ORDERS))])
        if rng.random() < _ELSEWHERE:
            pair = resized(pair, int(rng.choice(self._usable())))
        if pair.source == pair.target:
            pair = replace(pair, source=low, target=high)
        return self.candidate(pair, f"near: {candidate.family.removeprefix('near: ')}")

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield pairs with fewer scores, then fewer distinct ones, then rounder ones."""
        pair = candidate.scores
        if pair is None:
            return
        low, high = self.bounds
        if pair.order is not RecordOrder.LAST:
            yield self.candidate(replace(pair, order=RecordOrder.LAST), candidate.family)
        n = pair.size
        for smaller in sorted({*SMALL_SIZES, *self.sizes}):
            if smaller < n and smaller in self._usable():
                yield self.candidate(resized(pair, smaller), candidate.family)
        if pair.positions.size > _FEW_POSITIONS:
            for bins in (1, 2, 4):
                yield self.candidate(_coarse(pair, bins, low, high), candidate.family)
            return
        for simple in simpler_pairs(pair, low, high):
            if simple.source != simple.target:
                yield self.candidate(simple, candidate.family)

    def untied(self, candidate: Candidate) -> Candidate | None:
        """Return the pair with its ties spread; None where it has none."""
        pair = candidate.scores
        if pair is None or not pair.tied:
            return None
        return self.candidate(pair.untied(*self.bounds), f"untied: {candidate.family}")

    def _usable(self) -> list[int]:
        least = 2 if self.relation is Relation.ADD_REMOVE else 1
        return [n for n in dict.fromkeys(self.sizes) if n >= least]

    def _ways(self, pair: ScorePair) -> list[ScorePair]:
        """Return the pair; where a score is added, also the one that adds the other score."""
        if self.relation is Relation.SUBSTITUTION:
            return [pair]
        return [replace(pair, source=pair.target, target=pair.source), pair]

    def _keep(self, found: dict[object, Candidate], candidate: Candidate) -> None:
        """Add a pair, unless it is there in another order of the records or the other way."""
        keys = [input_key(np.sort(x)) for x in candidate.inputs]
        if keys[0] != keys[1]:
            found.setdefault(frozenset(keys), candidate)


def _stepped(pair: ScorePair, rng: np.random.Generator) -> ScorePair:
    """Return the pair with one to four scores moved between two positions side by side."""
    start = int(rng.integers(pair.positions.size - 1))
    order = np.array([start, start + 1])[:: rng.choice([-1, 1])]
    size = min(int(rng.integers(1, 5)), int(pair.counts[order[0]]))
    counts = pair.counts.copy()
    counts[order] += np.array([-size, size])
    return replace(pair, counts=counts).tidy()


def resized(pair: ScorePair, n: int) -> ScorePair:
    """Return the pair with n scores, the common ones thinned or repeated in proportion."""
    if n == 1 or pair.positions.size == 0:
        return replace(pair, positions=np.zeros(0), counts=np.zeros(0, dtype=np.int64))
    edges = np.concatenate([[0], np.cumsum(pair.counts)]) * (n - 1) / pair.counts.sum()
    counts = np.diff(np.floor(edges + 0.5)).astype(np.int64)
    return replace(pair, counts=counts).tidy()


def _coarse(pair: ScorePair, bins: int, low: float, high: float) -> ScorePair:
    """Return the pair with its common scores moved to the middles of equal bins."""
    share = (pair.positions - low) / (high - low)
    middles = (np.minimum(np.floor(share * bins), bins - 1) + 0.5) / bins
    return replace(pair, positions=low + (high - low) * middles).tidy()


def sizes_beside(asked: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes to try where some are asked for: those, small ones, and the first made odd.

    Examples
    --------
    >>> sizes_beside((100, 500))
    (100, 500, 1, 2, 3, 101, 5, 10, 20)
    """
    odd = asked[0] + 1 - asked[0] % 2
    return tuple(dict.fromkeys((*asked, *SMALL_SIZES[:3], odd, *SMALL_SIZES[3:])))


def crossed(lists: Sequence[Iterable[T]]) -> Iterator[T]:
    """Yield the items of several lists as a hyperbolic cross: item i of list j by (i + 1)·(j + 1).

    Examples
    --------
    >>> list(crossed(["abc", "de"]))
    ['a', 'b', 'd', 'c', 'e']
    """
    keyed = [
        ((i + 1) * (j + 1), j, item) for j, each in enumerate(lists) for i, item in enumerate(each)
    ]
    yield from (item for _, _, item in sorted(keyed, key=lambda entry: entry[:2]))
