"""Smoothed log-odds: nearer to the truth than the fit, flat where it is flat, and written down."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from dpcp_audit.audits.guessing.experts import (
    LogOdds,
    _of,
    half_lines,
    linear_score,
    smoothed,
    smoothed_experts,
)
from dpcp_audit.audits.search.features import ScalarValue

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
