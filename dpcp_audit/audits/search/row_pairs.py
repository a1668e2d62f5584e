"""Neighbouring data sets of rows, and neighbouring lists of clients' scores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.search.pair_space import Candidate, ListedPairs, neighbours_of
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.laws.pools import RowPool
    from dpcp_audit.words.validate import FloatArray, IntArray


SIZES = (30, 5, 2, 100)
_NEW_ROWS = 7
_LEVELS = (0.1, 0.05)
"""Miscoverage levels that libraries take where none is given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowPairs(ListedPairs):
    """Pairs of data sets that differ in one row.

    The others are as many of each of two labels of one row as leave the conformal rank between
    them, or are spread over the pool, or all alike, or all of one class; the row that differs
    is at an end of the features, moves to the other end, changes its label, or both.

    Parameters
    ----------
    pool : RowPool
    sizes : tuple of int
        The numbers of rows to try.
    relation : Relation
        SUBSTITUTION, ADD_REMOVE or ONE_LABEL.
    whole : bool
        True if labels are classes.
    alpha : float or None
        The miscoverage level that the target aims at; None tries usual ones.
    """

    pool: RowPool
    sizes: tuple[int, ...] = SIZES
    relation: Relation = Relation.SUBSTITUTION
    whole: bool = True
    alpha: float | None = None

    def __post_init__(self) -> None:
        for n in self.sizes:
            _validate.integer(sizes=n, at_least=1)

    @property
    def bounds(self) -> None:
        """None: predictions are no thresholds."""
        return

    def candidates(self) -> list[Candidate]:
        """Return the pairs, all families at the first size in front."""
        least = 2 if self.relation is Relation.ADD_REMOVE else 1
        return [
            each
            for n in self.sizes
            if n >= least
            for each in (
                *self._at_rank(n),
                *(
                    self._pair(family, rows, rows, moved)
                    for family, rows in self._others(n - 1)
                    for moved in self._moves()
                ),
            )
        ]

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the pairs of fewer rows."""
        size = len(candidate.inputs[0][1])
        yield from (each for each in self.candidates() if len(each.inputs[0][1]) < size)

    def _at_rank(self, n: int) -> Iterator[Candidate]:
        """Yield pairs whose one row moves the conformal rank from one label's score to another's.

        Which of the two labels has the lower score, the target knows: both orders are tried.
        """
        middle = len(self.pool.labels) // 2
        differs = np.flatnonzero(self.pool.labels != self.pool.labels[middle])
        if not differs.size:
            return
        other = int(differs[-1])
        for level in _LEVELS if self.alpha is None else (self.alpha,):
            rank = ceil((1 - level) * (n + 1))
            for low, high in ((middle, other), (other, middle)):
                if rank <= n:
                    labels = np.repeat([low, high], [rank - 1, n - rank])
                    rows, moved = np.full(n - 1, middle), ((middle, high), (middle, low))
                    yield self._pair("others at the conformal rank", rows, labels, moved)

    def _others(self, n: int) -> Iterator[tuple[str, IntArray]]:
        """Yield n rows of the pool that both data sets have."""
        m = len(self.pool.labels)
        yield "others spread", np.linspace(0, m - 1, n).round().astype(np.int64)
        if n:
            yield "others all alike", np.full(n, m // 2)
            yield "others of the first labels", np.arange(n) % max(1, m // 3)

    def _moves(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Yield what differs: the places in the pool of its features and label, on either side."""
        first, last = self._ends()
        middle = len(self.pool.labels) // 2
        if self.relation is not Relation.ONE_LABEL:
            yield (first, 0), (last, -1)
            yield (last, 0), (first, -1)
        yield (first, 0), (first, -1)
        yield (last, 0), (last, -1)
        yield (middle, 0), (middle, -1)
        if self.relation is not Relation.ONE_LABEL:
            yield (first, middle), (last, middle)

    def _ends(self) -> tuple[int, int]:
        total = self.pool.features.sum(axis=1)
        return int(total.argmin()), int(total.argmax())

    def _pair(
        self,
        family: str,
        rows: IntArray,
        of_labels: IntArray,
        moved: tuple[tuple[int, int], tuple[int, int]],
    ) -> Candidate:
        value, neighbour = (self._data(rows, of_labels, *each) for each in moved)
        if self.relation is Relation.ADD_REMOVE:
            features, labels, new = value
            neighbour = features[:-1], labels[:-1], new
        return neighbours_of(self.relation, value, neighbour, family=family)

    def _data(
        self, rows: IntArray, of_labels: IntArray, features: int, label: int
    ) -> tuple[FloatArray, np.ndarray, FloatArray]:
        table = self.pool.features[[*rows, features]]
        labels = self.pool.labels[[*of_labels, label]]
        return table, labels.astype(np.int64) if self.whole else labels, self._new()

    def _new(self) -> FloatArray:
        """Return the rows that predictions are asked of: the ends, the middle, and others.

        At the middle a label is in the set just if the threshold is its score or more.
        """
        m = len(self.pool.labels)
        spread = np.linspace(0, m - 1, min(m, _NEW_ROWS - 3)).round().astype(np.int64)
        return self.pool.features[[*self._ends(), m // 2, *spread]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPairs(ListedPairs):
    """Pairs of lists of clients' scores, made of pairs of score arrays that are cut in parts.

    Parameters
    ----------
    scores : ScorePairs
        The scores of all clients together; its relation is that of the records, or of the clients.
    clients : int
        At least 1.
    of_clients : bool
        True if the neighbour differs in all scores of a client, in place of one of them.
    """

    scores: ScorePairs = field(default_factory=ScorePairs)
    clients: int = 5
    of_clients: bool = False

    def __post_init__(self) -> None:
        _validate.integer(clients=self.clients, at_least=1)

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval of the scores."""
        return self.scores.bounds

    def candidates(self) -> list[Candidate]:
        """Return the pairs whose scores suffice for a record of every client."""
        found = (self._cut(each) for each in self.scores.candidates())
        return [each for each in found if each is not None]

    def nearby(self, candidate: Candidate, rng: np.random.Generator) -> Candidate | None:
        """Return lists near others."""
        near = self.scores.nearby(candidate, rng)
        return None if near is None else self._cut(near)

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield simpler lists."""
        found = (self._cut(each) for each in self.scores.simpler(candidate))
        yield from (each for each in found if each is not None)

    def _cut(self, candidate: Candidate) -> Candidate | None:
        pair = candidate.scores
        if pair is None or pair.size < self.clients:
            return None
        value, other = pair.scores
        first, second = self._parts(value), self._parts(other)
        place = next(k for k, part in enumerate(second) if not np.array_equal(part, first[k]))
        relation = self.scores.relation
        if self.of_clients:
            low, high = self.bounds
            far = high if first[place].mean() < (low + high) / 2 else low
            second = list(first)
            second[place] = np.full_like(first[place], far)
            if relation is Relation.ADD_REMOVE:
                del second[place]
        elif relation is Relation.ADD_REMOVE:
            index = pair.place - sum(len(part) for part in first[:place])
            second = list(first)
            second[place] = np.delete(first[place], index)
        if not second or min(map(len, second)) == 0:
            return None
        found = neighbours_of(relation, tuple(first), tuple(second), family=candidate.family)
        return replace(found, scores=pair)

    def _parts(self, scores: FloatArray) -> list[FloatArray]:
        return list(np.array_split(scores, self.clients))
