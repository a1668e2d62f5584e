"""Every pair that a space proposes is a pair of neighbours within its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcp_audit.audits.search.score_pairs import ScorePairs, resized
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Candidate


def distance(space: ScorePairs, candidate: Candidate) -> int:
    """How many records the two inputs differ in, as multisets."""
    value, neighbour = (list(scores) for scores in candidate.inputs)
    if space.relation is Relation.SUBSTITUTION:
        assert len(value) == len(neighbour)
    for score in list(value):
        if score in neighbour:
            value.remove(score)
            neighbour.remove(score)
    return max(len(value), len(neighbour))


spaces = st.builds(
    ScorePairs,
    bounds=st.sampled_from([(0.0, 1.0), (-3.0, 2.5), (0.0, 1e6)]),
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=3).map(tuple),
    relation=st.sampled_from([Relation.SUBSTITUTION, Relation.ADD_REMOVE]),
    alpha=st.none() | st.floats(0.01, 0.99),
)


@settings(max_examples=60, deadline=None)
@given(space=spaces, seed=st.integers(0, 2**32 - 1))
def test_every_proposal_is_a_pair_of_neighbours(space: ScorePairs, seed: int) -> None:
    rng = np.random.default_rng(seed)
    proposals = space.candidates()
    candidate = proposals[rng.integers(len(proposals))]
    for _ in range(8):
        candidate = space.nearby(candidate, rng)
        assert candidate is not None
        proposals += [candidate, *space.simpler(candidate)]
    low, high = space.bounds
    for proposal in proposals:
        assert distance(space, proposal) == 1
        assert len(proposal.inputs[0]) in space.sizes
        for scores in proposal.inputs:
            assert ((scores >= low) & (scores <= high)).all()


@given(space=spaces, n=st.integers(1, 300), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_resizing_gives_the_size_asked_for(space: ScorePairs, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    proposals = space.candidates()
    pair = proposals[rng.integers(len(proposals))].scores
    assert pair is not None
    assert resized(pair, n).scores[0].size in ({n} if pair.positions.size else {1})
