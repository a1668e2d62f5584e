"""Neighbouring lists of clients' scores: one record differs, or all of one client's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.search.pair_space import Candidate, FixedPairs, neighbours_of
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.neighbours import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit._types import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPairs:
    """Pairs of lists of clients' scores, made of pairs of score arrays that are cut in parts.

    Parameters
    ----------
    scores : ScorePairs
        Of all clients' scores together; its relation is that of the records, or of the clients.
    clients : int
        At least 1.
    of_clients : bool
        Whether the neighbour differs in all scores of a client, in place of one of them.
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

    balanced, untied, beside = FixedPairs.balanced, FixedPairs.untied, FixedPairs.beside

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
