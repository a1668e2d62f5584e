"""The rates of an attack: unbiased shares, their limits, and the lines of a guarantee."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from dpcp_audit.words.guarantees import PureDP
from dpcp_ledger.training.model_membership import RateLine, shares


def every_coin(n: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=n)))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_shares_are_unbiased_over_all_coins(n) -> None:
    """Of guesses that do not look at the coins: TPR = FPR = their share of "in"."""
    coins = every_coin(n)
    for said in every_coin(n):
        guesses = np.broadcast_to(said, coins.shape)
        for chosen in (coins, ~coins):
            values = shares(guesses, chosen)
            assert values.mean() == pytest.approx(said.mean())
            assert values.min() >= 0
    largest = max(shares(every_coin(n), every_coin(n)))
    assert 1 <= largest <= 2


def test_a_line_never_exceeds_what_a_mechanism_attains() -> None:
    """Randomised response of every coin, guessed as it answers, over all coins and answers."""
    epsilon, n = 0.7, 4
    keep = 1 / (1 + math.exp(-epsilon))
    coins, answers = (np.repeat(every_coin(n), 16, axis=0), np.tile(every_coin(n), (16, 1)))
    weights = np.where(coins == answers, keep, 1 - keep).prod(axis=1) / 16
    for slope in (0.0, 0.3, 0.7, 1.5):
        line = RateLine.of(PureDP(epsilon), slope, targets=n)
        gains = line.gains(answers, coins)
        assert weights @ gains == pytest.approx(keep - math.exp(slope) * (1 - keep))
        assert weights @ gains <= line.allowed + 1e-12
    assert weights @ line.gains(answers, coins) < 0


def test_the_line_of_the_advantage() -> None:
    line = RateLine.of(PureDP(1.0), 0.0, targets=50)
    assert line.allowed == pytest.approx(math.tanh(0.5))
    assert (line.quantity, line.at) == ("membership-advantage", {})
    tilted = RateLine.of(PureDP(1.0), 1.0, targets=50)
    assert (tilted.quantity, tilted.at) == ("delta", {"epsilon": 1.0})


def test_limits_of_a_perfect_attack_shrink_with_the_models() -> None:
    rng = np.random.default_rng(0)
    line = RateLine.of(PureDP(1.0), 0.0, targets=50)
    widths = []
    for models in (100, 1000):
        coins = rng.random((models, 50)) < 0.5
        gains = line.gains(coins, coins)
        lower, upper = line.limits(gains, significance=1e-3, pilot=gains)
        assert lower <= gains.mean() <= upper
        widths.append(upper - lower)
    assert widths[1] < widths[0] / 5
    assert lower > 0.95


def test_the_smallest_violation_is_refuted() -> None:
    """The promise, at the gain that it names; more models make it smaller."""
    rng = np.random.default_rng(0)
    line = RateLine.of(PureDP(1.0), 0.0, targets=40)

    def gains(advantage: float, models: int) -> np.ndarray:
        coins = rng.random((models, 40)) < 0.5
        kept = rng.random(coins.shape) < (1 + advantage) / 2
        return line.gains(coins == kept, coins)

    pilot = gains(0.55, 100)
    named = [
        line.smallest_violation(gains(0.5, models), significance=1e-3, pilot=pilot).smallest
        for models in (200, 2000)
    ]
    assert line.allowed < named[1] < named[0] < 0.7
    reached = [
        line.limits(gains(named[0], 200), significance=1e-3, pilot=pilot)[0] for _ in range(20)
    ]
    assert sum(lower > line.allowed for lower in reached) >= 17
