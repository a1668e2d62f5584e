"""Black-box privacy audits: budget, repetition, witness, and targets that cannot be audited."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.blackbox import gaussian_mean, laplace_mean, search

from dpcp_audit.audits.blackbox import BlackBoxPrivacy, confirm
from dpcp_audit.audits.guessing_game import Twin
from dpcp_audit.audits.search.event_search import DecimalPlaces, Event
from dpcp_audit.audits.search.moment_test import MomentTest
from dpcp_audit.audits.search.pair_race import Bank
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.pilot_hypotheses import EventTest, choose_pair_test
from dpcp_audit.audits.search.record_pairs import ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.audits.search.stages import shown_by_interval, stage_plan
from dpcp_audit.laws.laws import LaplacePair
from dpcp_audit.targets.answers import DegenerateTargetError, Randomness
from dpcp_audit.words.checks import Check, Context
from dpcp_audit.words.evidence import decide
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    LocalDP,
    Neighbours,
    PureDP,
    Relation,
    RenyiDP,
)
from dpcp_audit.words.results import Verdict

SMALL = ScorePairs(sizes=(20, 2))


class Counting:
    """A target that counts the outputs drawn from it."""

    def __init__(self, sample) -> None:
        self.sample, self.drawn, self.largest = sample, 0, 0

    def __call__(self, value, size, *, rng) -> np.ndarray:
        self.drawn += size
        self.largest = max(self.largest, size)
        return self.sample(value, size, rng=rng)


@pytest.mark.parametrize("draws", [600, 2000, 20_000])
def test_no_more_outputs_are_drawn_than_asked_for(draws: int) -> None:
    target = Counting(laplace_mean(1.0))
    outcome = search(target, PureDP(1.0), SMALL, draws=draws)
    assert 0.5 * draws < target.drawn <= draws
    assert f"{target.drawn:,} outputs drawn" in outcome.note
    assert outcome.extent is not None
    assert (outcome.extent.calls, outcome.extent.planned) == (target.drawn, draws)
    assert outcome.extent.sizes == ((2, 20) if draws > 600 else (20,))
    assert ("families, at n = 2 and 20; " in outcome.note) == (draws > 600)
    assert "Certified on this pair, at the level of the verdict: ε ≥ " in outcome.note


@pytest.mark.parametrize("draws", [2000, 20_000])
def test_a_refutation_stops_early_and_shrinks_within_the_budget(draws: int) -> None:
    target = Counting(laplace_mean(0.2))
    outcome = search(target, PureDP(1.0), SMALL, draws=draws)
    assert outcome.verdict is Verdict.REFUTED
    assert target.drawn <= max(draws, 8000)
    assert target.drawn <= draws


@pytest.mark.parametrize("growth", [2, 4, 6])
@pytest.mark.parametrize("draws", [600, 20_000, 200_000, 10**8])
def test_the_stages_share_the_significance_and_the_budget(draws: int, growth: int) -> None:
    budgets, shares = zip(*stage_plan(draws, 0.01, growth=growth), strict=True)
    assert 0.95 * draws <= sum(budgets) <= draws
    assert list(budgets) == sorted(budgets)
    assert sum(shares) == pytest.approx(0.009)  # the rest is of what follows
    early, last = shares[:-1], shares[-1]
    assert sum(early) == pytest.approx(0.0018 if early else 0.0)
    assert last == pytest.approx(0.0072 if early else 0.009)
    assert len(set(early)) <= 1


@pytest.mark.parametrize(("draws", "stages"), [(2000, 1), (20_000, 2), (131_072, 3)])
def test_of_a_given_pair_nearly_all_outputs_judge(draws: int, stages: int) -> None:
    target = Counting(lambda value, size, *, rng: value + rng.laplace(size=size))
    given = FixedPairs((Neighbours(relation=Relation.SUBSTITUTION, value=1.0, neighbour=0.0),))
    outcome = search(target, PureDP(1.0), given, draws=draws)
    assert outcome.verdict is not Verdict.REFUTED
    assert outcome.witness["stage"] == stages
    assert 0.95 * draws < target.drawn <= draws
    assert 2 * outcome.witness["n_samples"] > 0.6 * draws


def test_large_samples_are_drawn_in_pieces() -> None:
    target = Counting(lambda value, size, *, rng: rng.laplace(value, size=size))
    bank = Bank(sample=target, context=Context(seed=0, name="x", significance=0.1))
    assert bank.fresh(0.0, 2**18 + 5).shape == (2**18 + 5,)
    assert (bank.spent, target.drawn, target.largest) == (2**18 + 5, 2**18 + 5, 2**18)


def test_the_same_seed_gives_the_same_outcome() -> None:
    runs = [search(gaussian_mean(0.7), ZCDP(0.5), SMALL, draws=6000, seed=5) for _ in range(2)]
    assert runs[0] == runs[1]
    assert search(gaussian_mean(0.7), ZCDP(0.5), SMALL, draws=6000, seed=6) != runs[0]


@pytest.mark.parametrize(
    ("sample", "guarantee"),
    [
        (laplace_mean(0.5), PureDP(1.0)),
        (laplace_mean(0.3), ApproxDP(1.0, 0.01)),
        (gaussian_mean(0.5), ZCDP(0.5)),
        (gaussian_mean(0.5), RenyiDP(2.0, 1.0)),
    ],
)
def test_a_witness_survives_json_and_is_confirmed_by_other_seeds(sample, guarantee) -> None:
    outcome = search(sample, guarantee, SMALL)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.lower > outcome.evidence.claimed
    witness = json.loads(json.dumps(outcome.witness))
    context = Context(seed=77, name="again", significance=1e-3)
    again = confirm(witness, sample, guarantee=guarantee, context=context)
    assert again.verdict is Verdict.REFUTED
    assert again.witness["seed"] == 77


def test_confirming_says_what_a_witness_lacks() -> None:
    context = Context(seed=0, name="x", significance=0.1)
    with pytest.raises(ValueError, match=r"witness must hold .* lacks \['n_samples', 'neighbour'"):
        confirm({"value": 1}, laplace_mean(1.0), guarantee=PureDP(1.0), context=context)


def test_the_witness_of_a_plain_bug_is_one_score() -> None:
    witness = search(laplace_mean(0.2), PureDP(1.0), ScorePairs(sizes=(50, 1, 5))).witness
    assert (len(witness["value"]), len(witness["neighbour"])) == (1, 1)
    assert {*witness["value"], *witness["neighbour"]} == {0.0, 1.0}
    (low, high), *others = witness["event"]
    assert not others
    assert all(np.isinf(end) or round(end, 2) == end for end in (low, high))


def test_different_constants_on_two_inputs_are_refuted() -> None:
    def plain(scores, size, *, rng) -> np.ndarray:
        return np.full(size, np.quantile(scores, 0.9))

    for guarantee in (PureDP(1.0), ZCDP(0.5), ApproxDP(3.0, 1e-6), RenyiDP(3.0, 0.5)):
        outcome = search(plain, guarantee, SMALL, draws=3000, randomness=Randomness.NONE)
        assert outcome.verdict is Verdict.REFUTED


def test_inputs_that_the_target_refuses_are_skipped_and_counted() -> None:
    right = laplace_mean(0.3)

    def picky(scores, size, *, rng) -> np.ndarray:
        if len(scores) < 10:
            raise RuntimeError("need n >= 10")
        return right(scores, size, rng=rng)

    outcome = search(picky, PureDP(1.0), ScorePairs(sizes=(2, 20, 5)))
    assert outcome.verdict is Verdict.REFUTED
    assert len(outcome.witness["value"]) == 20
    assert "first: RuntimeError: need n >= 10" in outcome.note
    with pytest.raises(DegenerateTargetError, match=r"the target raised on all .* need n >= 10"):
        search(picky, PureDP(1.0), ScorePairs(sizes=(2, 5)))


def test_a_constant_pair_is_skipped_where_another_is_random() -> None:
    def top_or_noise(scores, size, *, rng) -> np.ndarray:
        low = np.mean(scores) < 0.9
        return laplace_mean(0.3)(scores, size, rng=rng) if low else np.ones(size)

    outcome = search(top_or_noise, PureDP(1.0), SMALL)
    assert outcome.verdict is Verdict.REFUTED


def test_the_figure_shows_the_stages_and_the_claim() -> None:
    outcome = search(laplace_mean(1.0), PureDP(1.0), SMALL)
    certified, claimed = outcome.figures[0].series
    assert len(certified.x) == len(certified.y) >= 3
    assert claimed.y == [1.0, 1.0]
    assert max(certified.y) <= 1.0


def test_a_check_names_its_bad_arguments() -> None:
    pairs = ValuePairs(n_values=3)
    check = BlackBoxPrivacy(sample=laplace_mean(1.0), guarantee=LocalDP(1.0), pairs=pairs)
    assert isinstance(check, Check)
    assert check.sampled
    with pytest.raises(ValueError, match="draws must be an integer >= 600, got 599"):
        BlackBoxPrivacy(sample=laplace_mean(1.0), guarantee=LocalDP(1.0), pairs=pairs, draws=599)


def test_a_moment_of_few_outputs_is_inconclusive() -> None:
    rng = np.random.default_rng(0)
    claim = ZCDP(0.5)
    pilot = [rng.normal(mean, 1.0, 4000) for mean in (1.3, 0.0)]
    pair_test = choose_pair_test(claim, *pilot, bounds=None, seed=0)
    assert isinstance(pair_test, MomentTest)
    x, y = (rng.normal(mean, 1.0, 4000) for mean in (0.5, 0.0))
    verdicts = [
        decide(
            pair_test.judge(claim, x[:size], y[:size], significance=1e-3).evidence,
            power=pair_test.smallest_violation(claim, size, significance=1e-3),
        )
        for size in (100, 4000)
    ]
    assert verdicts == [Verdict.INCONCLUSIVE, Verdict.CONSISTENT]


def shown_beside(pair_test: Any, first: np.ndarray, second: np.ndarray) -> Any:
    """Return the interval shown beside a test, of a pilot that the judged outputs repeat."""
    samples = first, second
    stage: Any = SimpleNamespace(pair_test=pair_test, pilot=samples, fresh=samples, size=first.size)
    return shown_by_interval(PureDP(1.0), stage)


def counting(event: Event) -> EventTest:
    return EventTest(event=event, swapped=False, complement=False, promise=1.0)


MANY_DECIMALS = Event(np.array([1.0]), np.array([False, True]), DecimalPlaces())
"""Outputs with two decimals or more."""


def test_beside_a_test_of_no_interval_the_interval_is_shown_that_shows_as_much() -> None:
    first, second = np.tile([0.25, 1.0], 500), np.ones(1000)
    odds = shown_beside(counting(MANY_DECIMALS), first, second)
    assert (odds.value, odds.neighbour, odds.trials) == (0.5, 0.0, 1000)
    assert odds.event == [[math.nextafter(0.25, 0.0), 0.25]]
    interval = Event(np.array([0.5]), np.array([True, False]))
    assert shown_beside(counting(interval), first, second) is None


def test_no_interval_is_shown_that_shows_less_than_the_test() -> None:
    """One decimal on one input and two on the other, on the same range."""
    first, second = np.tile(np.arange(1, 51) / 10, 20), np.tile(np.arange(1, 51) / 10 + 0.05, 20)
    assert shown_beside(counting(MANY_DECIMALS), first, second) is None


def test_beside_a_moment_that_refutes_an_interval_is_shown() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.normal(mean, 1.0, 4000) for mean in (1.3, 0.0))
    moment = choose_pair_test(ZCDP(0.5), first, second, bounds=None, seed=0)
    assert isinstance(moment, MomentTest)
    odds = shown_beside(moment, first, second)
    (low, high), *more = odds.event
    assert not more
    assert odds.value == np.mean((first > low) & (first <= high))
    assert odds.value > 2 * odds.neighbour > 0 or odds.neighbour > 2 * odds.value > 0


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_the_loss_of_the_shown_pair_has_a_lower_end_and_that_of_its_partition_an_upper_one(
    scale: float,
) -> None:
    outcome = search(laplace_mean(scale), ApproxDP(1.0, 0.1), SMALL)
    (loss,) = outcome.estimates
    assert (loss.quantity, loss.at) == (outcome.evidence.quantity, {"delta": 0.1})
    assert loss.lower <= loss.value <= loss.partition_upper < loss.upper == math.inf
    worst = LaplacePair((1 / scale,)).epsilon_at(0.1)
    assert loss.lower <= worst + 1e-9  # a partition of one pair shows no more
    assert loss.value > 0.5 * worst
    assert "over a partition into" in loss.detail


def test_no_power_is_stated_for_fewer_than_six_hundred_outputs(monkeypatch) -> None:
    check = BlackBoxPrivacy(sample=laplace_mean(1.0), guarantee=PureDP(1.0), pairs=SMALL, draws=600)
    stated: list[int] = []
    monkeypatch.setattr(Twin, "power", lambda _, draws, **__: stated.append(draws))
    check.smallest_violation(Context(name="", seed=0, significance=0.05))
    assert stated == [600]
    monkeypatch.setattr(Twin, "calls_for", lambda _, violation, **__: 1.5 * violation)
    assert check.draws_needed(100.0, significance=0.05) == 600
    assert check.draws_needed(1001.0, significance=0.05) == 1502


@pytest.mark.known_bad
def test_an_earlier_stage_s_outputs_are_not_counted_twice() -> None:
    """Read only where the same outputs had won, stage by stage, the bound would err more often."""
    audit = BlackBoxPrivacy(
        sample=laplace_mean(1.0), guarantee=PureDP(1.0), pairs=ScorePairs(sizes=(20,)), draws=2400
    )
    spent: Any = SimpleNamespace(bank=SimpleNamespace(spent=2400))
    stage: Any = SimpleNamespace(size=500)
    assert audit._bounded(spent, stage, 2400, 0.01, again=False) is stage
    with pytest.raises(AttributeError):  # the outputs are asked for
        audit._bounded(spent, stage, 2400, 0.01, again=True)
