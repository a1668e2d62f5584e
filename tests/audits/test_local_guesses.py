"""The rules of local guessing games: which inputs are in play, and which outputs are guessed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom

from dpcp_audit.audits.local import (
    ABSTAINS,
    _both,
    _crowd,
    _duels,
    _prefix,
    channel_loss,
    choose_rule,
)
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse


def halves(channel: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray]:
    counts = np.round(np.asarray(channel) * draws).astype(int)
    return counts, counts


def test_of_two_inputs_every_output_that_tells_them_apart_is_guessed() -> None:
    rule = choose_rule(halves([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]], 1000), epsilon=1.0)
    assert rule.inputs == (0, 1)
    assert rule.guesses.tolist() == [0, 1, ABSTAINS]
    assert rule.share == pytest.approx(0.9)


def test_where_all_inputs_are_alike_all_are_in_play() -> None:
    laws = KaryRandomizedResponse(2.0, 6).laws()
    channel = np.exp([law.log_mass for law in laws])
    rule = choose_rule(halves(channel, 2000), epsilon=1.0)
    assert rule.inputs == tuple(range(6))
    assert_array_equal(rule.guesses, np.arange(6))
    assert rule.share == 1.0


def test_where_one_input_stands_out_it_is_in_play_and_only_what_it_betrays_is_guessed() -> None:
    channel = np.full((8, 8), 1 / 8)
    channel[5] = [0.01, *np.full(7, 0.99 / 7)]
    rule = choose_rule(halves(channel, 4000), epsilon=1.0)
    other = next(x for x in rule.inputs if x != 5)
    assert 5 in rule.inputs
    assert rule.guesses.tolist() == [other, *[ABSTAINS] * 7]


def test_what_only_one_half_shows_is_not_guessed() -> None:
    """Each half has outputs of its own, which the other one contradicts."""
    one = np.array([[90, 10, 450, 450], [10, 90, 450, 450]])
    other = np.array([[10, 90, 700, 200], [90, 10, 200, 700]])
    rule = choose_rule((one, other), epsilon=0.5)
    assert rule.guesses[:2].tolist() == [ABSTAINS] * 2


def test_of_two_halves_the_mean_is_taken() -> None:
    one = np.array([[90, 10, 50], [10, 90, 50]]), np.array([[80, 20, 50], [30, 80, 40]])
    there, back = (
        _prefix(_crowd(*pair), epsilon=0.5, inputs=2, rounds=300) for pair in (one, one[::-1])
    )
    found = _both(one, _crowd, epsilon=0.5, inputs=2)
    assert found.merit == pytest.approx((there.merit + back.merit) / 2)
    assert found.share == pytest.approx((there.share + back.share) / 2)
    assert found.merit > 0 < found.share


def test_each_duel_by_hand() -> None:
    """Log-odds ±log 5/2 of two outputs; nothing of the third, which tells nothing, is counted."""
    learned, judged = np.array([[4, 1, 2], [1, 4, 2]]), np.array([[3, 2, 5], [1, 6, 7]])
    shown = _duels(learned, judged, first=0)
    assert shown.size == pytest.approx(np.log([[2.5, 2.5, 1.0]]))
    assert_array_equal(shown.right, [[3, 6, 0]])
    assert_array_equal(shown.made, [[4, 8, 0]])


@pytest.mark.parametrize(("shift", "inputs"), [(50, tuple(range(30))), (75, (0, 1))])
def test_a_pair_must_stand_out_from_the_best_of_as_many(shift, inputs) -> None:
    """Of 30 inputs: √(2 log 30) = 2.6 standard errors are what the best of equals shows."""
    counts = np.full((30, 4), 1000)
    counts[:2, :2] += shift * np.array([[1, -1], [-1, 1]])
    assert choose_rule((counts, counts), epsilon=0.05).inputs == inputs


_SIGNIFICANCE, _REPETITIONS = 0.3, 300


def _response(epsilon: float, k: int) -> np.ndarray:
    own = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    return np.full((k, k), (1 - own) / (k - 1)) + np.eye(k) * (own - (1 - own) / (k - 1))


def _halves(channel: np.ndarray, size: int, rng: np.random.Generator) -> tuple:
    return tuple(np.stack([rng.multinomial(size, row) for row in channel]) for _ in range(2))


def _misses(epsilon: float, k: int, size: int) -> int:
    rng, missed = np.random.default_rng(k), 0
    for _ in range(_REPETITIONS):
        found = channel_loss(_halves(_response(epsilon, k), size, rng), significance=_SIGNIFICANCE)
        missed += not found.lower <= epsilon <= found.upper
    return missed


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 2), (2.0, 10)])
def test_the_loss_lies_within_the_interval(epsilon: float, k: int) -> None:
    """An interval that errs as often as allowed fails here with probability below 1e-7."""
    assert _misses(epsilon, k, 300) <= binom.isf(1e-7, _REPETITIONS, _SIGNIFICANCE)


def test_the_interval_is_narrow_and_the_estimate_near_on_counts_as_they_are_expected() -> None:
    counts = np.rint(20_000 * _response(1.0, 4)).astype(np.int64)
    found = channel_loss((counts, counts), significance=0.05)
    assert found.value == pytest.approx(1.0, abs=0.01)
    assert 0.9 < found.lower < 1.0 < found.upper < 1.1
    assert found.confidence == 0.95


@pytest.mark.statistical(false_alarm=1.1e-6)
def test_the_estimate_is_not_the_largest_of_many_ratios() -> None:
    """Of 40 outputs without loss. False alarm: 1e-6 of the mean (100 of sd below 0.3), 1e-7."""
    rng, same = np.random.default_rng(3), np.full((8, 40), 1 / 40)
    found = [channel_loss(_halves(same, 800, rng), significance=0.05) for _ in range(100)]
    assert np.mean([each.value for each in found]) < 0.3
    assert sum(each.lower > 0 for each in found) <= binom.isf(1e-7, 100, 0.05)


def test_an_output_that_was_never_seen_on_an_input_leaves_the_upper_end_open() -> None:
    counts = np.array([[300, 0], [250, 50]])
    found = channel_loss((counts, counts), significance=0.05)
    assert math.isinf(found.upper)
    assert math.isfinite(found.value)
    assert found.lower > 1.0
