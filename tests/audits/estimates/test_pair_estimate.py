"""Estimates on a pair: exact, traced and from outputs alone, in one table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.blackbox import laplace_mean

from dpcp_audit.audits.loss_bracket import Asked
from dpcp_audit.audits.pair_estimate import LossEstimation, estimate_pair, exact_estimate
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.targets.answers import DegenerateTargetError
from dpcp_audit.tracing.pair_traces import trace_target
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.checks import Check, Context
from dpcp_audit.words.guarantees import ZCDP, Neighbours, PureDP, Relation
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Verdict

ADVANTAGE = Asked(Quantity.ADVANTAGE, {})


def _outputs() -> Any:
    """Return outputs that choose a partition, and others that are counted."""
    rng = np.random.default_rng(0)
    return [(rng.laplace(size=8000), rng.laplace(size=8000) + 1) for _ in range(2)]


def _noisy(x: Any, *, rng: Any) -> Any:
    return sum(x) + rng.laplace(scale=1.0)


def _flip(x: Any, *, rng: Any) -> Any:
    return x ^ int(rng.random() < 0.25)


def test_outputs_alone_speak_of_a_partition() -> None:
    found = estimate_pair(*_outputs(), None, significance=0.05)
    table = found.table(PureDP(1.0))
    columns = {column.name: column for column in table.columns}
    assert set(columns["of"].texts) == {"partition"}
    assert columns["measure"].texts[0] == "privacy loss ε"
    assert columns["claimed"].values[0] == 1.0
    ends = columns["estimate"].details
    assert all(low <= high for low, high in zip(ends["lower"], ends["upper"], strict=True))
    assert any("may exceed" in note for note in table.notes)
    assert [each.title for each in found.figures][1] == "Privacy loss log(P/Q) along the threshold"


def test_a_trace_gives_upper_ends_of_the_release() -> None:
    target = TracedTarget.of(_noisy, {})
    trace = trace_target(target, [0, 0], [0, 1], draws=1000, rng=0)
    found = estimate_pair(*_outputs(), trace, significance=0.05)
    advantage = found.estimate(ADVANTAGE)
    assert advantage.detail == "of the release"
    assert advantage.lower < 1 - math.exp(-0.5) < advantage.upper < 0.5
    assert "partition" in found.estimate(Asked(Quantity.RHO, {})).detail


def test_an_enumerated_law_is_exact_and_needs_no_outputs() -> None:
    trace = trace_target(TracedTarget.of(_flip, {}), 0, 1, draws=10, rng=0)
    assert trace.exact is not None
    found = exact_estimate(trace.exact)
    assert found.confidence == 1
    assert found.estimate(Asked(Quantity.EPSILON, {})).value == pytest.approx(math.log(3))
    table = found.table(ZCDP(0.01))
    columns = {column.name: column for column in table.columns}
    assert set(columns["of"].texts) == {"exact"}
    assert 0 in columns["claimed"].marked  # ρ is larger than claimed


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
