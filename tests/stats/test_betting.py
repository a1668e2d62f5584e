"""Bets on guesses: fair on the boundary of a claim, losing inside it, and quick beyond it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from dpcp_audit.stats.betting import (
    LEVELS,
    GuessBets,
    epsilon_bound,
    levels_of,
    mixture_wealth,
)


def mean_factors(bets: GuessBets, level: int, right: float, wrong: float) -> np.ndarray:
    table = bets.log_factors()
    rest = (1 - right - wrong) * np.exp(table[:, 0, 0])
    return wrong * np.exp(table[:, level, 0]) + right * np.exp(table[:, level, 1]) + rest


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("level", [20, 105, 180, LEVELS - 1])
def test_a_bet_is_fair_at_a_tight_claim_and_loses_inside(epsilon: float, level: int) -> None:
    bets = GuessBets(epsilon=epsilon)
    share = float(expit(epsilon))
    assert mean_factors(bets, level, share, 1 - share) == pytest.approx(np.ones(4), abs=1e-12)
    assert (mean_factors(bets, level, 0.9 * share, 1 - 0.9 * share) <= 1 + 1e-12).all()
    grows = mean_factors(bets, level, expit(epsilon + 1), expit(-epsilon - 1)) > 1
    assert (grows == (level > 100 * epsilon)).all()


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.1), (0.0, 0.3), (2.0, 1e-3)])
def test_with_a_delta_the_rule_that_gains_most_is_fair_for_the_largest_stakes(
    epsilon: float, delta: float
) -> None:
    """The hardest pair: with probability δ the coin is shown, else it is flipped as under ε-DP."""
    bets = GuessBets(epsilon=epsilon, delta=delta)
    shown = delta + (1 - delta) * float(expit(epsilon))
    assert mean_factors(bets, LEVELS - 1, shown, 1 - shown) == pytest.approx(np.ones(4), abs=1e-12)
    for guessed in np.linspace(0, 1, 5):  # fewer guesses, of those that are never wrong first
        right = delta + guessed * (1 - delta) * float(expit(epsilon))
        wrong = guessed * (1 - delta) * float(expit(-epsilon))
        for level in (10, 110, 250, LEVELS - 1):
            assert (mean_factors(bets, level, right, wrong) <= 1 + 1e-12).all()


def test_rates_that_two_laws_of_the_claim_allow_never_win() -> None:
    """Any split of outputs into stakes, on random pairs of laws that are just (ε, δ)-close."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        epsilon = rng.uniform(0, 2)
        laws = rng.dirichlet(np.ones(5) * 0.5, size=2)
        delta = max(
            float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in (laws, laws[::-1])
        )
        if not delta < 1:
            continue
        table = np.exp(GuessBets(epsilon=epsilon, delta=delta).log_factors())
        levels, first = rng.integers(0, 400, size=5), rng.random(5) < 0.5
        right, wrong = np.where(first, laws, laws[::-1])
        mean = (table[:, levels, 1] @ right + table[:, levels, 0] @ wrong) / 2
        assert (mean <= 1 + 1e-12).all()


def test_paths_are_those_of_the_counts() -> None:
    rng = np.random.default_rng(0)
    levels, right = levels_of(rng.normal(size=300)), rng.random(300) < 0.7
    bets = GuessBets(epsilon=0.5, delta=0.01)
    counts = np.zeros((LEVELS, 2), dtype=np.int64)
    np.add.at(counts, (levels, right.astype(int)), 1)
    paths = bets.log_paths(levels, right)
    assert paths.shape == (4, 300)
    assert paths[:, -1] == pytest.approx(bets.log_wealth(counts))
    assert mixture_wealth(paths)[-1] == pytest.approx(mixture_wealth(bets.log_wealth(counts)))
    assert mixture_wealth(np.zeros(4)) == pytest.approx(0)


def test_the_bound_is_the_largest_claim_that_is_refuted() -> None:
    counts = np.zeros((LEVELS, 2), dtype=np.int64)
    counts[250] = 100, 900
    bound = epsilon_bound(counts, significance=0.01)
    refuted = [
        mixture_wealth(GuessBets(epsilon=e).log_wealth(counts)) >= -math.log(0.01)
        for e in (bound, bound * 1.02)
    ]
    assert refuted == [True, False]
    assert 1.8 < bound < math.log(9)
    assert epsilon_bound(counts, delta=0.05, significance=0.01) < bound
    assert epsilon_bound(counts[:, ::-1], significance=0.01) == -math.inf


def test_levels_are_hundredths_of_log_odds() -> None:
    assert levels_of(np.array([0.0, -0.509, 1.0, -np.inf, 30.0])).tolist() == [
        0,
        50,
        100,
        LEVELS - 1,
        LEVELS - 1,
    ]


def test_what_is_no_claim_is_refused() -> None:
    with pytest.raises(ValueError, match="delta must be below 1"):
        GuessBets(epsilon=1.0, delta=1.0)
    with pytest.raises(ValueError, match="counts must be >= 0"):
        epsilon_bound(np.ones((3, 2)), significance=0.1)
    with pytest.raises(ValueError, match="^right must"):
        GuessBets(epsilon=1.0).rounds_needed(1.5, 0.0, significance=0.1)


@pytest.mark.parametrize("right", [0.9, 0.8])
def test_the_rounds_needed_suffice_and_are_at_most_half_too_many(right) -> None:
    """The power of bets of the largest belief, over all numbers of right guesses."""
    bets = GuessBets(epsilon=1.0)
    wrong_factor, right_factor = np.moveaxis(bets.log_factors()[:, -1], -1, 0)

    def power(rounds: int) -> float:
        hits = np.arange(rounds + 1)
        wealth = mixture_wealth(
            np.outer(right_factor, hits) + np.outer(wrong_factor, rounds - hits)
        )
        return float(binom.pmf(hits, rounds, right)[wealth >= math.log(100)].sum())

    needed = bets.rounds_needed(right, 1 - right, significance=0.01)
    assert power(int(needed)) >= 0.95 > power(int(needed / 1.5))
