"""The loss beside bets: by samples of fixed size, never by the rounds that stopped them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.blackbox import laplace_mean
from support.samplers import context, gaussian, laplace, pair

from dpcp_audit.audits.estimates import shown_losses as stopped_loss
from dpcp_audit.audits.estimates.shown_losses import StoppedLoss
from dpcp_audit.audits.search.pair_race import Bank
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.audits.sequential import SequentialPrivacy
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, LocalDP, PureDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Evidence, EvidenceKind, Verdict

ONE = FixedPairs((pair(0, 1),))
LOSS = StoppedLoss(guarantee=PureDP(1.0), bounds=None, stages=1)


def audited(sample: Any, guarantee: Any, pairs: Any = ONE, draws: int = 20_000) -> Any:
    check = SequentialPrivacy(sample=sample, guarantee=guarantee, pairs=pairs, draws=draws)
    return check(context(0, significance=1e-6))


@pytest.mark.parametrize(
    ("sample", "guarantee", "quantity", "true"),
    [
        (laplace(1.0), PureDP(1.0), Quantity.EPSILON, 1.0),
        (laplace(0.5), PureDP(1.0), Quantity.EPSILON, 2.0),
        (gaussian(1.0), ZCDP(0.5), Quantity.RHO, 0.5),
        (gaussian(1.0), ApproxDP(1.0, 0.127), Quantity.EPSILON, 1.0),
    ],
)
@pytest.mark.statistical(false_alarm=1e-6)
def test_every_finding_has_the_loss_in_the_claims_unit(sample, guarantee, quantity, true) -> None:
    """Intervals at 95 %, widened by 0.3 of the loss either way: by five standard errors or more.

    False alarm below 1e-6.
    """
    (found,) = audited(sample, guarantee).estimates
    assert found.quantity is quantity
    assert found.lower < 1.3 * true
    assert 0.7 * true < found.value < 1.5 * true
    assert found.value <= found.partition_upper < found.upper == math.inf
    assert found.confidence == 0.95


def test_a_search_over_pairs_has_it_too() -> None:
    for scale, verdict in ((0.5, Verdict.REFUTED), (1.0, Verdict.CONSISTENT)):
        outcome = audited(laplace_mean(scale), PureDP(1.0), ScorePairs(sizes=(1, 2)))
        assert outcome.verdict is verdict
        (found,) = outcome.estimates
        assert found.lower > 0.3


@pytest.mark.parametrize("scale", [0.5, 1.0], ids=["refuted", "not refuted"])
def test_no_output_that_chose_the_partition_or_stopped_the_bets_is_counted(
    monkeypatch, scale
) -> None:
    given: list[Any] = []

    def watched(_: object, pilot: Any, counted: Any, **settings: Any) -> tuple[()]:
        given.extend((pilot, counted))
        return ()

    monkeypatch.setattr(stopped_loss, "claimed_loss", watched)
    outcome = audited(laplace(scale), PureDP(1.0), draws=3000)
    pilot, counted = (set(np.concatenate(each).tolist()) for each in given)
    assert not pilot & counted
    if outcome.verdict is Verdict.REFUTED:  # all that was bet on has chosen, all else is counted
        assert len(pilot) > 0.8 * outcome.evidence.n_samples
        assert len(counted) == 600


def test_where_no_outputs_are_left_the_loss_is_bounded_from_below_alone() -> None:
    bank = Bank(sample=laplace(0.5), context=context(0))
    bank.spent = 950
    evidence = Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=Quantity.EPSILON,
        value=1.5,
        lower=1.2,
        upper=math.inf,
        claimed=1.0,
        confidence=0.999,
    )
    (candidate,) = ONE.candidates()
    (found,) = LOSS.of_refuted(bank, candidate, draws=1000, evidence=evidence)
    assert (found.value, found.lower, found.upper, found.confidence) == (1.5, 1.2, math.inf, 0.999)
    assert "no outputs are left" in found.label
    assert bank.spent == 950


def test_a_stage_of_a_few_outputs_shows_nothing() -> None:
    assert LOSS.of_stage((np.zeros(0), np.zeros(0))) == ()
    assert LOSS.of_stage((np.arange(50.0), np.arange(50.0))) == ()


def test_the_partition_is_chosen_by_outputs_that_are_not_counted(monkeypatch) -> None:
    seen: list[Any] = []

    def watched(*given: Any, **settings: Any) -> tuple[()]:
        seen.append((given, settings))
        return ()

    monkeypatch.setattr(stopped_loss, "claimed_loss", watched)
    first, second = np.arange(400.0), np.arange(1000.0, 1600.0)
    StoppedLoss(guarantee=LocalDP(1.0), bounds=None, stages=4).of_stage((first, second))
    ((_, pilot, counted), settings) = seen[0]
    assert [np.concatenate(both).tolist() for both in zip(pilot, counted, strict=True)] == [
        first.tolist(),
        second.tolist(),
    ]
    assert [len(each) for each in pilot] == [100, 150]
    assert settings["significance"] == pytest.approx(0.05 / 8)  # two kinds, four stages
