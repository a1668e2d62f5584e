"""The race of pairs: which ones are tried, and when."""

from __future__ import annotations

import numpy as np
from support.samplers import laplace

from dpcp_audit.audits.search.pair_race import Bank, PairRace
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.targets.answers import Randomness
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import Neighbours, PureDP, Relation


def test_no_pair_of_the_list_is_left_out_where_a_round_ends() -> None:
    """The pair for which a round has no outputs left is the next round's first.

    So it is at any seed: which pairs of a list are tried does not depend on random outputs. The
    pair left out may be the only one that breaks a claim.
    """
    listed = tuple(
        Neighbours(relation=Relation.SUBSTITUTION, value=float(x), neighbour=float(x + 1))
        for x in range(0, 400, 2)
    )
    bank = Bank(sample=laplace(1.0), context=Context(seed=0, name="list", significance=0.05))
    race = PairRace(
        bank=bank,
        guarantee=PureDP(1.0),
        pairs=FixedPairs(listed),
        randomness=Randomness.GENERATOR,
    )
    for number in range(4):
        race.round(2000, np.random.default_rng(number))
    tried = [arm.candidate.neighbours.value for arm in race.arms]
    assert 8 < len(tried) < len(listed)
    assert tried == [pair.value for pair in listed[: len(tried)]]
