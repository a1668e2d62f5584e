"""Estimates by a search: the worst pair, a given one, verdicts, targets that say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from support.blackbox import laplace_mean

from dpcp_audit.audits.estimates.pair_estimate import LossEstimation
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.targets.answers import DegenerateTargetError
from dpcp_audit.words.checks import Check, Context
from dpcp_audit.words.guarantees import Neighbours, PureDP, Relation
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Verdict

PAIRS = ScorePairs(sizes=(20, 2))
CONTEXT = Context(seed=0, name="estimate", significance=0.05)


def test_the_search_finds_a_pair_without_a_claim() -> None:
    check = LossEstimation(sample=laplace_mean(1.0), pairs=PAIRS, draws=20_000)
    assert isinstance(check, Check)
    outcome = check(CONTEXT)
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.evidence.quantity is Quantity.ADVANTAGE
    assert outcome.evidence.claimed is None
    assert outcome.evidence.lower > 0.33  # of 0.3935 on the worst pair
    assert len(outcome.figures) == 2
    assert np.shape(outcome.witness["value"]) == np.shape(outcome.witness["neighbour"])


@pytest.mark.known_bad
def test_half_the_noise_is_refuted_and_the_right_noise_is_not() -> None:
    for scale, verdict in ((0.5, Verdict.REFUTED), (1.0, Verdict.INCONCLUSIVE)):
        check = LossEstimation(
            sample=laplace_mean(scale), pairs=PAIRS, guarantee=PureDP(1.0), draws=20_000
        )
        outcome = check(CONTEXT)
        assert outcome.verdict is verdict
        assert outcome.evidence.claimed == 1.0


def test_a_given_pair_is_the_one_that_is_estimated() -> None:
    pair = Neighbours(
        relation=Relation.SUBSTITUTION, value=np.array([0.0, 0.5]), neighbour=np.array([0.5, 0.5])
    )
    check = LossEstimation(sample=laplace_mean(1.0), pairs=FixedPairs((pair,)), draws=20_000)
    outcome = check(CONTEXT)
    assert outcome.witness["neighbour"] == [0.5, 0.5]
    assert outcome.evidence.lower < 1 - np.exp(-0.25) < outcome.evidence.partition_upper < 0.3


def test_a_target_that_returns_one_value_has_no_loss_to_estimate() -> None:
    def constant(value: object, size: int, *, rng: object) -> np.ndarray:
        return np.ones(size)

    with pytest.raises(DegenerateTargetError, match="returned the same value in all"):
        LossEstimation(sample=constant, pairs=PAIRS, draws=2000)(CONTEXT)
