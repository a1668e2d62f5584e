"""Experts: what they believe after a few thousand rounds, and of what they have not seen."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import betabinom

from dpcp_audit.audits.guesser import (
    LogOdds,
    _of,
    _shrunk,
    distinct_rows,
    distinct_values,
    experts_for,
    half_lines,
    linear_score,
    quantile_cells,
    smoothed,
    smoothed_experts,
)
from dpcp_audit.audits.search.event_search import ScalarValue

RNG = np.random.default_rng(0)
COINS = RNG.random(4000) < 0.5
VALUE = ScalarValue()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_half_lines_rise_or_fall_with_the_value(sign: float) -> None:
    """Laplace noise of scale 1 around 0 and 1: the log-odds are −1 and 1 beyond either."""
    outputs = sign * (COINS + RNG.laplace(size=COINS.size))
    rule = half_lines(VALUE, outputs, COINS)
    scores = rule(sign * np.array([-3.0, 0.0, 0.5, 1.0, 4.0]))
    assert scores == pytest.approx([-1.0, -1.0, 0.0, 1.0, 1.0], abs=0.6)


def test_every_distinct_value_has_odds_of_its_own_and_others_have_none() -> None:
    listed = np.array([-np.inf, 0.0, 1.0, np.nextafter(1.0, 2.0), 7.0, np.inf])
    likelier = np.array([True, False, True, False, True, False])
    place = RNG.integers(listed.size, size=COINS.size)
    flip = RNG.random(COINS.size) < 0.2
    rule = distinct_values(VALUE, listed[place], likelier[place] ^ flip)
    assert (np.sign(rule(listed)) == np.where(likelier, 1, -1)).all()
    assert np.abs(rule(listed)) == pytest.approx(math.log(4), abs=0.5)
    assert not rule(np.array([-1.0, 0.5, 3.0, 1e300])).any()


def test_values_that_never_come_twice_say_nothing() -> None:
    rule = distinct_values(VALUE, RNG.normal(size=COINS.size), COINS)
    assert not rule(RNG.normal(size=50)).any()


def test_small_counts_are_shrunk_the_more_the_less_values_differ() -> None:
    few = RNG.integers(2000, size=COINS.size).astype(float)
    blind = distinct_values(VALUE, few, COINS)
    telling = distinct_values(VALUE, few, few % 2 == 0)
    assert np.abs(blind.steps).max() < 0.5 < np.abs(telling.steps).max()


def test_cells_see_a_spread_that_half_lines_do_not() -> None:
    outputs = RNG.normal(scale=np.where(COINS, 1.0, 3.0))
    scores = quantile_cells(VALUE, outputs, COINS)(np.array([-6.0, 0.0, 6.0]))
    assert (np.sign(scores) == [-1, 1, -1]).all()


def test_vectors_are_told_apart_by_their_rows_and_by_a_linear_score() -> None:
    rows = RNG.integers(3, size=(COINS.size, 4)).astype(float)
    coins = rows.sum(axis=1) % 2 == 0
    same = distinct_rows(rows, coins)(rows) > 0
    assert (same == coins).mean() > 0.99
    shifted = RNG.normal(size=(COINS.size, 20)) + 0.3 * COINS[:, None]
    right = (linear_score(shifted, COINS)(shifted) > 0) == COINS
    assert right.mean() > 0.7


@pytest.mark.parametrize("columns", [0, 3])
def test_every_expert_bears_one_coin_and_infinite_outputs(columns: int) -> None:
    single = np.array([-np.inf, 0.0, 0.25, np.inf, 0.25, 1e308])
    outputs = np.tile(single[:, None], columns) if columns else single
    for expert in experts_for(outputs):
        rule = expert(outputs, np.ones(6, dtype=bool))
        assert np.isfinite(rule(outputs)).all()
        assert (rule(outputs) >= 0).all()


def test_log_odds_of_counts_by_hand() -> None:
    """The widest prior is the likeliest for alike counts, the narrowest for ones far apart."""
    ten = np.array([10, 10])
    assert _shrunk(np.array([5.0, 6.0]), ten) == pytest.approx([0.0, math.log(38 / 36)])
    assert _shrunk(np.array([10.0, 0.0]), ten) == pytest.approx(
        [math.log(10.25 / 0.25), -math.log(10.25 / 0.25)]
    )


def test_what_lies_below_all_values_seen_has_even_odds() -> None:
    rule = distinct_values(
        VALUE, np.array([1.0, 1.0, 2.0, 2.0]), np.array([1, 1, 0, 0], dtype=bool)
    )
    assert rule(np.array([0.0, 1.5, 3.0])).tolist() == [0.0, 0.0, 0.0]
    assert rule(np.array([1.0, 2.0])) == pytest.approx([math.log(9), -math.log(9)])


@pytest.mark.parametrize("rising", [True, False])
def test_half_lines_of_eight_rounds_by_hand(rising) -> None:
    """Of 0 and 1 one and three coins of four are true: rates 3/8 and 5/8 with the prior's."""
    outputs = np.repeat([0.0, 1.0], 4)
    coins = np.array([1, 0, 0, 0, 1, 1, 1, 0], dtype=bool)
    rule = half_lines(VALUE, outputs, coins if rising else coins[::-1])
    odds = math.log(5 / 3)
    assert rule.cuts.tolist() == [0.0]
    assert rule.steps == pytest.approx([-odds, odds] if rising else [odds, -odds])


@pytest.mark.parametrize("hits", [(8, 2), (7, 4), (9, 5), (10, 3), (9, 1), (6, 5)])
def test_the_likeliest_prior_by_the_definition(hits) -> None:
    """Beta priors with half of 0.5, 2, 4, 16 or 64 counts on either side."""
    first, trials = np.array(hits, dtype=float), np.array([10, 10])

    def evidence(prior: float) -> float:
        return float(betabinom.logpmf(first, trials, prior / 2, prior / 2).sum())

    prior = max((0.5, 2.0, 4.0, 16.0, 64.0), key=evidence)
    odds = np.log((first + prior / 2) / (trials - first + prior / 2))
    assert _shrunk(first, trials) == pytest.approx(odds)


RULE = LogOdds(
    feature=ScalarValue(),
    cuts=np.array([0.0, 1.0, 2.0, 3.0]),
    steps=np.array([-2.0, 0.1, -0.1, 1.234, 1.231]),
)
OUTPUTS = np.array([-np.inf, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, np.inf])


def test_cells_are_open_to_the_left_and_closed_to_the_right() -> None:
    expected = [-2.0, -2.0, -2.0, 0.1, 0.1, -0.1, -0.1, 1.234, 1.234, 1.231, 1.231]
    assert RULE(OUTPUTS).tolist() == expected


def test_what_is_below_the_threshold_is_left_out_and_equal_cells_are_merged() -> None:
    above = RULE.above(0.5)
    assert above(OUTPUTS).tolist() == [-2.0] * 3 + [0.0] * 4 + [1.23] * 4
    assert above.cuts.tolist() == [0.0, 2.0]


POINTS = np.linspace(-2, 3, 101)


def rounds(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    coins = rng.random(size) < 0.5
    return np.where(coins, 0.0, 1.0) + rng.laplace(size=size), coins


def test_averages_are_nearer_to_the_truth() -> None:
    """On 20 samples that are fixed, where the mean squared error falls by more than a quarter."""
    truth, plain, smooth = np.clip(1 - 2 * POINTS, -1, 1), 0.0, 0.0
    expert = partial(half_lines, ScalarValue())
    for seed in range(20):
        seen = rounds(1000, seed)
        plain += float(((expert(*seen)(POINTS) - truth) ** 2).mean())
        smooth += float(((smoothed(expert, *seen)(POINTS) - truth) ** 2).mean())
    assert smooth < 0.75 * plain


def test_what_is_flat_stays_flat() -> None:
    outputs, coins = np.arange(40.0), np.ones(40, dtype=np.bool_)
    rule = smoothed(partial(half_lines, ScalarValue()), outputs, coins)
    assert np.ptp(rule(POINTS)) == pytest.approx(0)
    assert rule(POINTS)[0] > 0


def test_equal_outputs_have_equal_log_odds_and_the_rule_can_be_written() -> None:
    outputs, coins = rounds(300, 0)
    rule = smoothed(partial(half_lines, ScalarValue()), np.round(outputs), coins)
    assert (np.diff(rule.cuts) > 0).all()
    assert rule.cuts.size <= 20
    again = LogOdds.from_data(json.loads(json.dumps(rule.as_data())))
    assert (again(POINTS) == rule(POINTS)).all()


def test_only_experts_that_know_an_order_are_smoothed() -> None:
    for shape, orders in (((5,), [half_lines]), ((5, 2), [linear_score, half_lines, half_lines])):
        experts = smoothed_experts(np.zeros(shape), bounds=None)
        smooth = [each for each in experts if isinstance(each, partial) and each.func is smoothed]
        assert [_of(each.args[0]) for each in smooth] == orders
