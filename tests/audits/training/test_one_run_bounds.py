"""Bounds of one run: valid where their assumption holds, and not vacuous."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from training_cases import GaussianRun, surest_guesses

from dpcp_audit.audits.training.canary_games import (
    Guesses,
    epsilon_lower_bound,
    p_value,
    trade_off_bound,
)
from dpcp_audit.words.guarantees import ApproxDP, GaussianDP, PureDP

LEVEL, DELTA = 0.05, 1e-5


def test_the_surest_guesses_are_of_either_kind() -> None:
    log_odds = np.array([3.0, -2.0, 1.0, -0.5])
    coins = np.array([True, True, False, False])
    assert surest_guesses(log_odds, coins, guesses=2) == Guesses(correct=1, guesses=2, canaries=4)
    assert surest_guesses(-log_odds, ~coins, guesses=2).correct == 1
    assert surest_guesses(log_odds, log_odds > 0, guesses=4).correct == 4


def test_what_is_assumed_makes_a_bound_sharper_and_both_hold_on_a_typical_run() -> None:
    log_odds, coins = GaussianRun(mu=1.0, canaries=10_000)(np.random.default_rng(0))
    claim, whole = GaussianDP(1.0), GaussianDP(1.0).epsilon_at(DELTA)
    seen = surest_guesses(log_odds, coins, guesses=300)
    bounds = [
        epsilon_lower_bound(seen, delta=DELTA, significance=1e-3),
        trade_off_bound(claim, seen, delta=DELTA, significance=1e-3),
    ]
    assert 0.3 * whole < bounds[0] < bounds[1] <= whole


def test_the_family_is_scaled_by_its_noise() -> None:
    seen = Guesses(correct=900, guesses=1200, canaries=1200)
    kwargs = {"delta": 0.0, "significance": 0.05}
    near, far = (trade_off_bound(PureDP(e), seen, **kwargs) for e in (1.0, 0.3))
    assert near == pytest.approx(far, rel=0.03)


def test_the_region_is_nearly_all_that_can_be_refuted_without_independence() -> None:
    """A mechanism that shows c canaries with probability τ at the largest losses is μ-GDP.

    It shows so many right guesses with probability τ/2 or so, and no p-value may be smaller.
    """
    m, c, tau = 20_000, 2000, 0.05
    rare, mu = tau * c / m, 1.0
    grid = np.linspace(0.0, 9.0, 90_001)
    tail = ndtr(mu / 2 - grid) + ndtr(-mu / 2 - grid)
    right = float(ndtr(mu / 2 - np.interp(-rare, -tail, grid))) / rare
    limit = Guesses(correct=round(c * right), guesses=c, canaries=m)
    assert tau / 2.2 <= p_value(GaussianDP(mu), limit) <= 1.5 * tau
    assert p_value(ApproxDP(20.0, 0.0), limit) == 1


COUNTS = st.tuples(st.integers(1, 60), st.integers(0, 40), st.integers(0, 400))
EPSILONS = st.floats(0.01, 6.0)
DELTAS = st.floats(1e-9, 0.2)
TWO_PERCENT = 1.03


@settings(max_examples=40, deadline=None)
@given(COUNTS, EPSILONS, DELTAS)
def test_one_more_right_guess_is_stronger_evidence(
    counts: tuple[int, int, int], epsilon: float, delta: float
) -> None:
    correct, wrong, silent = counts
    made = correct + wrong
    fewer = Guesses(correct=correct - 1, guesses=made, canaries=made + silent)
    more = Guesses(correct=correct, guesses=made, canaries=made + silent)
    claim = ApproxDP(epsilon, delta)
    assert p_value(claim, more) <= p_value(claim, fewer) * TWO_PERCENT
    assert 0 < p_value(claim, more) <= 1


@settings(max_examples=40, deadline=None)
@given(COUNTS, EPSILONS, DELTAS, st.floats(0.0, 2.0), st.floats(1.0, 3.0))
def test_a_weaker_claim_has_the_larger_p_value(
    counts: tuple[int, int, int], epsilon: float, delta: float, more: float, times: float
) -> None:
    correct, wrong, silent = counts
    guesses = Guesses(correct=correct, guesses=correct + wrong, canaries=correct + wrong + silent)
    strong, weak = ApproxDP(epsilon, delta), ApproxDP(epsilon + more, delta * times)
    assert p_value(strong, guesses) <= p_value(weak, guesses) * TWO_PERCENT
