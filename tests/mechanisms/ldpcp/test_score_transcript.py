from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.fixed_users import threshold_law_of, threshold_pair
from support.levels import disagreeing_cells

from dpcp_audit.mechanisms.local_scores import Blocks, Debiasing, LDPCPScores, OnMiss, Window
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
)
from dpcp_audit.words.results import Verdict
from dpcp_ledger.ldpcp.reports import threshold_leak
from dpcp_ledger.mechanisms.shuffled_response import ShuffledBinaryResponse, decision_laws

VARIANTS = [
    {},
    {"on_miss": OnMiss.UPPER_END, "window": Window.PREPRINT},
    {"blocks": Blocks.PRINTED, "starred": True},
    {"debiasing": Debiasing.PRINTED},
]
SCORES = np.array([0.1, 0.3, 0.2, 0.7, 0.55, 0.4, 0.9, 0.05])


def search(**variant: Any) -> LDPCPScores:
    return LDPCPScores(alpha=0.4, epsilon=1.2, rounds=3, window_width=0.2, **variant)


def all_reports_law(mechanism: LDPCPScores, scores: np.ndarray) -> dict[float, float]:
    """Return the law of the threshold by going through every answer of every user asked."""
    blocks, keep = mechanism.blocks_of(scores.size), mechanism.response.keep_probability
    bottom, top = mechanism.limits

    def walk(j: int, low: float, high: float, last: float) -> dict[float, float]:
        if j == mechanism.rounds:
            return {high if mechanism.on_miss is OnMiss.UPPER_END else last: 1.0}
        q, result = (low + high) / 2, {}
        for lies in itertools.product([False, True], repeat=blocks[j].size):
            bits = (scores[blocks[j]] < q) ^ np.array(lies, dtype=bool)
            chance = np.prod([1 - keep if lie else keep for lie in lies])
            z = float(mechanism.debias(int(bits.sum()), asked=blocks[j].size, n=scores.size))
            if bottom <= z <= top:
                ends = {q: 1.0}
            else:
                ends = walk(j + 1, low, q, q) if z > top else walk(j + 1, q, high, q)
            for end, mass in ends.items():
                result[end] = result.get(end, 0.0) + chance * mass
        return result

    return walk(0, 0.0, 1.0, 0.0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_law_is_that_of_all_answers(variant) -> None:
    mechanism = search(**variant)
    for scores in (SCORES, np.where(np.arange(8) == 3, 0.2, SCORES)):
        expected = all_reports_law(mechanism, scores)
        for threshold, mass in threshold_law_of(mechanism, scores).items():
            assert mass == pytest.approx(expected.pop(threshold, 0.0), abs=1e-13)
        assert sum(expected.values()) < 1e-13


@pytest.mark.parametrize("user", [0, 3, 5])
def test_the_threshold_leaks_no_more_than_one_decision_nor_than_the_shuffled_count(user) -> None:
    """q̂ is a function of the decisions, and one user moves one of them."""
    mechanism = search()
    moved = SCORES.copy()
    moved[user] = 0.999 if SCORES[user] < 0.5 else 0.0
    pair = threshold_pair(mechanism, SCORES, moved)
    asked = max(mechanism.block_sizes(8))
    counts = [ShuffledBinaryResponse(1.2).pair(asked, ones) for ones in range(asked)]
    for epsilon in (0.0, 0.2, 0.5, 1.0):
        delta = max(pair.delta_at(epsilon), pair.reversed().delta_at(epsilon))
        assert delta <= max(count.delta_at(epsilon) for count in counts) + 1e-13
    assert 0 < pair.max_divergence() <= 1.2 + 1e-12


def test_the_last_blocks_answers_change_nothing_where_the_last_midpoint_is_returned() -> None:
    """Its users pay ε for a threshold that does not depend on them."""
    moved = np.where(np.arange(8) == 7, 0.999, SCORES)
    plain = threshold_pair(search(), SCORES, moved)
    upper = threshold_pair(search(on_miss=OnMiss.UPPER_END), SCORES, moved)
    assert plain.total_variation() < 1e-15
    assert upper.total_variation() > 0.01


def test_decisions_are_masses_and_one_more_one_never_helps_to_go_right() -> None:
    steps = np.exp(decision_laws(search(), asked=20, n=60))
    assert steps.shape == (21, 3)
    np.testing.assert_allclose(steps.sum(axis=1), 1.0, atol=1e-12)
    assert (np.diff(steps[:, 0]) < 0).all()
    assert (np.diff(steps[:, 2]) > 0).all()


def test_the_leak_of_one_decision_bounds_all_thresholds_and_is_attained() -> None:
    mechanism = search()
    found = threshold_leak(mechanism, n=30, delta=1e-3)
    assert found.verdict is Verdict.PROVED
    largest = found.witness["epsilon_at_delta_0.001"]
    assert 0 < found.witness["rho"] < 1.2**2 / 2
    attained = 0.0
    for ones in range(10):
        scores = np.concatenate([np.where(np.arange(10) < ones, 0.0, 0.9), np.full(20, 0.3)])
        moved = np.where(np.arange(30) == ones, 0.0, scores)
        pair = threshold_pair(mechanism, scores, moved)
        attained = max(attained, pair.epsilon_at(1e-3), pair.reversed().epsilon_at(1e-3))
    assert attained == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("planted", [0.9, 1 - 1e-12])
def test_bits_that_are_flipped_less_often_are_not_proved(
    monkeypatch: pytest.MonkeyPatch, planted: float
) -> None:
    less = BinaryRandomizedResponse(search().epsilon).flip_probability * planted
    monkeypatch.setattr(BinaryRandomizedResponse, "flip_probability", property(lambda _: less))
    assert threshold_leak(search(), n=30, delta=1e-3).verdict is not Verdict.PROVED


LEVEL, TRIALS = 1e-7, 50_000
DRAWN_SCORES = np.random.default_rng(3).random(43)


def released_cells(mechanism: LDPCPScores, law: dict[float, float]) -> np.ndarray:
    """Return how often each threshold of a law is released."""
    released = mechanism.sample(DRAWN_SCORES, TRIALS, rng=1)
    cells = np.array([(released == q).sum() for q in law])
    assert cells.sum() == TRIALS
    return cells


@pytest.mark.statistical(false_alarm=1e-07)
@pytest.mark.parametrize(
    "variant",
    [
        {"on_miss": OnMiss.UPPER_END, "window": Window.PREPRINT, "blocks": Blocks.PRINTED},
        {"starred": True},
    ],
)
def test_thresholds_of_fixed_users_have_the_exact_law(variant) -> None:
    """False alarm: at most 1e-7."""
    mechanism = LDPCPScores(alpha=0.3, epsilon=1.5, rounds=4, window_width=0.08, **variant)
    law = threshold_law_of(mechanism, DRAWN_SCORES)
    cells, expected = released_cells(mechanism, law), np.array([*law.values()])
    assert disagreeing_cells(cells, expected, trials=TRIALS, level=LEVEL).size == 0
