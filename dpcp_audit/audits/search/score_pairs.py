"""Neighbouring arrays of scores: families of what breaks quantiles, the likeliest first.

A catalogue crosses families (``score_families``) with sizes and with orders of the records. It
is listed as a hyperbolic cross, the pair of family i and size j by (i + 1)·(j + 1), so that a
search of few pairs has tried most families at the first sizes, and the first families at all; the
orders of the records take turns.

A private quantile aims at a rank that only its author knows: the conformal one, or one with a
margin for the noise. Scores on two positions show where it lies, by the split at which the
output turns from the lower to the upper one; found by a few outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dpcp_audit.audits.search.pair_space import (
    Candidate,
    PairSpace,
    RecordOrder,
    ScorePair,
    input_key,
    neighbours_of,
    random_pair,
    simpler_pairs,
)
from dpcp_audit.targets.answers import DegenerateTargetError
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpcp_audit.audits.search.pair_space import Draw
    from dpcp_audit.words.validate import FloatArray


_ENDS = "split where the output turns"
CROWD = "a crowd in the middle that one score crosses"
ISOLATED = "a single score inside moves to an end"
STEP = "one score steps to the next cell of a histogram"
_OFFSETS = (-1, 0, -2, 1, -3, 3, -5)
"""The number of common scores that lie below, relative to the split at which the output is low."""
_BESIDE_TURN = (0, -1, 1)
_CELLS = (0.15, 0.075, 0.3, 0.0375)
"""Steps from an end of the range, as shares of it. A step of h leads to the next of k equal cells
where 1/h <= k < 2/h, so that steps that halve miss no k between 4 and 53."""


def two(n: int, positions: tuple[float, float], k: int, move: tuple[float, float]) -> ScorePair:
    """Return k scores at the first position, n−1−k at the second, and one that moves."""
    return ScorePair(
        positions=np.array(positions),
        counts=np.array([k, n - 1 - k], dtype=np.int64),
        source=move[0],
        target=move[1],
    ).tidy()


@dataclass(slots=True, kw_only=True)
class _TurningPairs:
    """Pairs of n scores around the split at which the output turns.

    Parameters
    ----------
    draw : Draw
    n : int
    bounds : tuple of float
        The interval of the scores.
    outputs : int
        Outputs drawn at a split, whose median says on which side it lies.
    near : int or None
        About where it turns, if that is known.
    ends : int or None
        The split at which it turns with scores at the two ends, once that is found.
    scattered : int
        Inputs on which all outputs differed.
    """

    draw: Draw
    n: int
    bounds: tuple[float, float]
    outputs: int
    near: int | None = None
    ends: int | None = None
    scattered: int = 0

    def pairs(self) -> Iterator[tuple[str, ScorePair]]:
        """Yield the pairs with their families: first one of each, then those beside them.

        Scores at the two ends; a single score inside between them; a crowd in the middle that
        one score crosses; an even spread, in which the score that comes out moves half a
        step, or to an end; and scores at the ends of which one moves a little way inside, to the
        next cell of a histogram whose cells nobody knows. None where the output is a vector.
        """
        low, high = self.bounds
        middle, little = (low + high) / 2, (high - low) / 64
        self.ends = ends = self._turn((low, high), middle, near=self.near)
        if ends is None:
            return
        below = self._turn((low, middle), middle - little, near=ends)
        above = self._turn((middle, high), middle + little, near=ends)
        found = [
            self._around(ends, _ENDS, (low, high), (low, high)),
            self._around(ends, ISOLATED, (low, high), (middle, high)),
            self._released_score(),
            self._around(below, CROWD, (low, middle), (high, low)),
            self._around(above, CROWD, (middle, high), (low, high)),
            self._around(ends, ISOLATED, (low, high), (middle, low)),
            self._steps(low, high, near=ends),
            self._steps(high, low, near=ends),
        ]
        for each in zip_longest(*found):
            yield from (pair for pair in each if pair is not None)

    def _around(
        self,
        turn: int | None,
        family: str,
        positions: tuple[float, float],
        move: tuple[float, float],
    ) -> Iterator[tuple[str, ScorePair]]:
        """Yield splits of two positions around that with a low output."""
        if turn is None:
            return
        for k in (turn + offset for offset in _OFFSETS):
            if 0 <= k <= self.n - 1:
                yield family, two(self.n, positions, k, move)

    def _steps(self, end: float, other: float, *, near: int) -> Iterator[tuple[str, ScorePair]]:
        """Yield splits of the ends, and a score that leaves one of them for a cell beside it.

        Around the split at which the output stops being what it is with all scores at that end;
        none where outputs scatter, also those of a bisection whose every round is a coin, so that
        there are no cells.
        """
        if self.n == 1 or self.scattered > 1:
            return
        last = float(np.median(self._outputs(np.full(self.n, end))))
        turn = last if end < other else math.nextafter(last, -math.inf)
        split = self._turn(self.bounds, turn, near=near)
        for offset, step in product(_BESIDE_TURN, _CELLS):
            if split is not None and 0 <= split + offset <= self.n - 1:
                move = end, end + step * (other - end)
                yield STEP, two(self.n, self.bounds, split + offset, move)

    def _turn(self, positions: tuple[float, float], turn: float, *, near: int | None) -> int | None:
        """Return the fewest scores at the first position with which the output is low.

        That is where the median of a few outputs falls below ``turn``; found by bisection, at
        first around ``near``. None where outputs are vectors.
        """
        first, last, step = 0, self.n, 2
        while last - first > 1:
            k = (first + last) // 2
            if near is not None and (first == 0 or last == self.n):
                k = min(last - 1, max(first + 1, near - step if last < self.n else near + step))
                step *= 4
            scores = np.full(self.n, positions[1], dtype=np.float64)
            scores[:k] = positions[0]
            outputs = self._outputs(scores)
            if outputs.ndim != 1:
                return None
            self.scattered += np.unique(outputs).size == outputs.size
            turned = float(np.median(outputs)) <= turn
            first, last = (first, k) if turned else (k, last)
        return last

    def _released_score(self) -> Iterator[tuple[str, ScorePair]]:
        low, high = self.bounds
        step = (high - low) / self.n
        scores = np.asarray(low + step * (np.arange(self.n) + 0.5), dtype=np.float64)
        if self.n == 1:
            return
        released = float(np.median(self._outputs(scores)))
        at = int(np.argmin(np.abs(scores - released)))
        counts = np.ones(self.n - 1, dtype=np.int64)
        for target in (float(scores[at]) + step / 2, low):
            pair = ScorePair(
                positions=np.delete(scores, at),
                counts=counts,
                source=float(scores[at]),
                target=target,
            )
            yield "the score that comes out moves", pair.tidy()

    def _outputs(self, scores: FloatArray) -> FloatArray:
        """Return outputs on scores; where the target refuses them, on scores without ties."""
        try:
            return self.draw(scores, self.outputs)
        except DegenerateTargetError:
            raise
        except Exception:  # noqa: BLE001  (a target may raise anything)
            return self.draw(self._untied(scores), self.outputs)

    def _untied(self, scores: FloatArray) -> FloatArray:
        positions, counts = np.unique(scores[:-1], return_counts=True)
        last = float(scores[-1])
        pair = ScorePair(positions=positions, counts=counts, source=last, target=last)
        return pair.untied(*self.bounds).scores[0]


_SHARES = (0.5, 0.9, 0.1, 0.75, 0.25, 0.95, 0.05, 0.99)
_ATOMS = np.array([1 / 8, 3 / 8, 5 / 8, 7 / 8])
_UNEVEN = (0.3131, 0.8242)
"""Places of which one is odd and the other even, rounded to one, two, three or four decimals."""
_DYADIC = np.array([1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8])


def families(
    n: int, bounds: tuple[float, float], *, alpha: float | None
) -> Iterator[tuple[str, ScorePair]]:
    """Yield pairs of n scores, each with the words for its family.

    Parameters
    ----------
    bounds : tuple of float
        The interval of the scores.
    alpha : float or None
        The target's miscoverage level where it is known: its rank is ⌈(1−α)(n+1)⌉.
    """
    low, high = bounds
    middle, span = (low + high) / 2, high - low
    ranks = _ranks(n, alpha)
    yield "split at the rank, one score from end to end", two(n, bounds, ranks[0], bounds)
    yield "all at the lower bound but one", two(n, bounds, n - 1, bounds)
    yield ISOLATED, two(n, bounds, ranks[0], (middle, high))
    yield "even spread, one score from end to end", _even(n, low, high)
    uneven = (low + _UNEVEN[0] * span, low + _UNEVEN[1] * span)
    yield "values of many digits", two(n, uneven, ranks[0], uneven)
    yield "all at the upper bound but one", two(n, bounds, 0, bounds)
    yield "several atoms, one score from one to another", _several(n, low, high)
    for k in ranks[1:3]:
        yield "split near the rank, one score from end to end", two(n, bounds, k, bounds)
    yield ISOLATED, two(n, bounds, ranks[min(1, len(ranks) - 1)], (middle, low))
    inner = (low + span / 4, high - span / 4)
    yield "split at the rank, inside of the bounds", two(n, inner, ranks[0], inner)
    for k in ranks[:2]:
        yield CROWD, two(n, (low, middle), k, (high, low))
    yield "ties at the middle, one score to the end", two(n, (middle, high), n - 1, bounds)
    leaving = two(n, (middle, high), n - 1, (middle, high))
    yield "one score leaves the ties at the middle", leaving
    crowd = low + 0.4 * span
    yield "an outlier sets the range", two(n, (crowd, high), n - 1, (crowd, high))
    yield "an outlier sets the range", two(n, (crowd, high), n - 1, (crowd, low))
    close = (low + 0.121 * span, low + 0.124 * span)
    yield "scores that differ in the third decimal", two(n, close, ranks[0], close)
    for k in ranks[3:]:
        yield "split, one score from end to end", two(n, bounds, k, bounds)
    around = (middle - span / 64, middle + span / 64)
    yield "dyadic midpoints, one score crosses", two(n, around, ranks[0], around)
    yield "dyadic midpoints, one score crosses", _dyadic(n, low, high)
    tiny = (middle - 1e-6 * span, middle + 1e-6 * span)
    yield "scores a millionth apart", two(n, tiny, ranks[0], tiny)


def _ranks(n: int, alpha: float | None) -> list[int]:
    """Return the numbers of the n−1 common scores that lie below, the likeliest splits first."""
    if alpha is not None:
        rank = math.ceil((1 - alpha) * (n + 1))
        wanted = [rank - 1, rank, rank - 2, *(math.floor(s * n) for s in _SHARES[:3])]
    else:
        wanted = [math.floor(share * n) for share in _SHARES]
    return list(dict.fromkeys(min(max(k, 0), n - 1) for k in wanted))


def _even(n: int, low: float, high: float) -> ScorePair:
    positions = np.linspace(low, high, n + 1)[1:-1]
    counts = np.ones(n - 1, dtype=np.int64)
    return ScorePair(positions=positions, counts=counts, source=low, target=high).tidy()


def _several(n: int, low: float, high: float) -> ScorePair:
    """Return scores on four atoms, as even as they can be; one moves between the inner two."""
    at = low + (high - low) * _ATOMS
    return _spread(n, at, source=float(at[1]), target=float(at[2]))


def _dyadic(n: int, low: float, high: float) -> ScorePair:
    """Return scores just beyond 1/2, 1/4, 3/4, … of the way, as even as they can be."""
    at = np.minimum(high, np.sort(low + (high - low) * _DYADIC) + 1e-9 * (high - low))
    return _spread(n, at, source=low, target=high)


def _spread(n: int, at: np.ndarray, *, source: float, target: float) -> ScorePair:
    counts = np.bincount(np.arange(n - 1) % at.size, minlength=at.size).astype(np.int64)
    return ScorePair(positions=at, counts=counts, source=source, target=target).tidy()


T = TypeVar("T")
SMALL_SIZES = (1, 2, 3, 5, 10, 20)
ORDERS = tuple(RecordOrder)
_FEW_POSITIONS = 8
_MANY = 20
_ELSEWHERE = 0.15
"""The chance of another size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePairs(PairSpace):
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

    bounds: tuple[float, float] = (0.0, 1.0)  # pyright: ignore[reportIncompatibleMethodOverride]
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
        return neighbours_of(self.relation, value, neighbour, family=family, scores=pair)

    def balanced(self, draw: Draw, *, outputs: int) -> Iterator[Candidate]:
        """Yield the pairs around the split where the output turns, for the first and large sizes.

        At smaller ones the catalogue has most splits.
        """
        usable = self._usable()
        found: list[list[tuple[str, ScorePair]]] = []
        share: float | None = None
        for n in (n for n in usable if n >= _MANY or n == usable[0]):
            near = None if share is None else round(share * n)
            turning = _TurningPairs(draw=draw, n=n, bounds=self.bounds, outputs=outputs, near=near)
            found.append(list(turning.pairs()))
            share = None if turning.ends is None else turning.ends / n
        for rank, (family, pair) in enumerate(crossed(found)):
            yield self.candidate(replace(pair, order=ORDERS[rank % len(ORDERS)]), family)

    def at_random(self, like: Candidate, rng: np.random.Generator) -> Candidate | None:
        """Return a pair of scores at random, mostly of the size of another."""
        if like.scores is None:
            return None
        other = rng.random() < _ELSEWHERE
        n = int(rng.choice(self._usable())) if other else like.scores.size
        return self.candidate(random_pair(n, *self.bounds, rng), "at random")

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
