"""What a privacy budget buys: proved over all neighbours, and not wasteful."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from update_comparison import spending

from dpcp_audit.laws.laws import FinitePair, GaussianPair
from dpcp_audit.mechanisms import pcoqs_budget as privacy_budget
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.pcoqs_budget import (
    claimed_rho,
    game_delta,
    proven_rho,
    worst_known_pair,
)
from dpcp_audit.words.guarantees import ZCDP, ApproxDP
from dpcp_ledger.comparison.method import (
    full_budget_exponq,
    shuffled_local_epsilon,
    tuned_exponq,
)
from dpcp_ledger.ldpcp.shuffling import epsilon_below
from dpcp_ledger.mechanisms.releases import worst_log_ratio
from dpcp_ledger.mechanisms.shuffled_response import ShuffledBinaryResponse

EPSILONS = (0.0, 0.3, 1.0, 3.0)


def both_ways(pair: FinitePair, epsilon: float) -> float:
    return max(pair.delta_at(epsilon), pair.reversed().delta_at(epsilon))


@pytest.mark.parametrize("noise_scale", [0.7, 2.0, 6.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_round_is_the_worst_single_bit(noise_scale, epsilon) -> None:
    z = np.arange(-60, 61) / noise_scale
    p, q = ndtr(z), ndtr(z + 1 / noise_scale)
    ways = [(p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)]
    exact = max(float(np.max(a - math.exp(epsilon) * b)) for a, b in ways)
    found = game_delta(noise_scale=noise_scale, rounds=1, epsilon=epsilon)
    assert exact * (1 - 0.003) <= found <= 1.05 * exact + 1e-14


@pytest.mark.parametrize(("noise_scale", "rounds", "epsilon"), [(45.0, 6, 0.1), (61.0, 3, 0.02)])
def test_counts_between_those_tried_add_nothing(
    noise_scale, rounds, epsilon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A polygon outside of the curve of counts stands for all of them, and wastes 2 % at most."""
    polygon = privacy_budget.game_delta(noise_scale=noise_scale, rounds=rounds, epsilon=epsilon)
    monkeypatch.setattr(privacy_budget, "_SPACING", 0.0)
    game_delta.cache_clear()
    every = game_delta(noise_scale=noise_scale, rounds=rounds, epsilon=epsilon)
    game_delta.cache_clear()
    assert every <= polygon <= 1.02 * every


@pytest.mark.parametrize("seed", range(12))
def test_no_pair_of_neighbours_beats_the_game(seed) -> None:
    rng = np.random.default_rng(seed)
    mechanism = PCOQS(alpha=0.4, rho=float(rng.choice([0.2, 1.0, 4.0])), resolution=1 / 64)
    scores = rng.random(6).round(int(rng.integers(1, 4)))
    neighbour = scores.copy()
    neighbour[0] = rng.choice([0.0, rng.random(), 1.0])
    pair = FinitePair(*mechanism.laws(scores, neighbour))
    for epsilon in EPSILONS:
        bound = game_delta(
            noise_scale=mechanism.noise_scale, rounds=mechanism.rounds, epsilon=epsilon
        )
        assert both_ways(pair, epsilon) <= bound * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("rounds", "noise_scale"), [(34, 8.0), (10, 3.0), (5, 0.8)])
def test_the_game_lies_between_the_known_worst_pair_and_the_noisy_counts(
    rounds, noise_scale
) -> None:
    pair = worst_known_pair(noise_scale=noise_scale, rounds=rounds)
    counts = GaussianPair(math.sqrt(rounds) / noise_scale)
    for epsilon in EPSILONS:
        bound = game_delta(noise_scale=noise_scale, rounds=rounds, epsilon=epsilon)
        assert both_ways(pair, epsilon) * (1 - 0.003) <= bound
        assert bound <= 1.03 * counts.delta_at(epsilon) + 1e-13


def test_the_known_worst_pair_is_that_of_the_mechanism() -> None:
    mechanism = PCOQS(alpha=0.1, rho=0.5)
    law, neighbour = mechanism.laws(*mechanism.worst_pair(40))
    known = worst_known_pair(noise_scale=mechanism.noise_scale, rounds=mechanism.rounds)
    for epsilon in EPSILONS:
        assert both_ways(known, epsilon) == pytest.approx(
            both_ways(FinitePair(law, neighbour), epsilon), abs=1e-12
        )


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_budget_buys_as_much_noise_as_it_needs_and_no_more(epsilon) -> None:
    budget = ApproxDP(epsilon, 1e-5)
    rho = claimed_rho(budget)
    assert ZCDP(rho).delta_at(epsilon) <= budget.delta < ZCDP(1.01 * rho).delta_at(epsilon)
    proved = proven_rho(budget, rounds=10)

    def spent(value: float) -> float:
        return game_delta(noise_scale=math.sqrt(5 / value), rounds=10, epsilon=epsilon)

    assert spent(proved) <= budget.delta < spent(1.03 * proved)
    assert proved > 1.2 * rho


def test_the_published_noise_spends_more_than_it_says() -> None:
    at = spending(ApproxDP(1.0, 1e-6), resolution=1e-6)
    assert at.published < at.least < at.proved < at.claimed
    assert at.published_epsilon > 2
    pair = worst_known_pair(noise_scale=at.least, rounds=20)
    assert both_ways(pair, 1.0) == pytest.approx(1e-6, rel=0.05)


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 300), (4.0, 60)])
def test_exponq_spends_its_whole_budget(epsilon, n) -> None:
    budget = ApproxDP(epsilon, 1e-6)
    mechanism = full_budget_exponq(budget, n=n, alpha=0.2)
    assert 0.98 * epsilon <= mechanism.log_ratio_bound(n) <= epsilon
    assert worst_log_ratio(mechanism, n).log_ratio <= epsilon
    assert tuned_exponq(epsilon, n=n, alpha=0.2).log_ratio_bound(n) < 0.8 * epsilon


def test_exponq_has_as_many_candidates_as_scores_can_tell_apart() -> None:
    sizes = [tuned_exponq(1.0, n=n, alpha=0.1).n_candidates for n in (2, 100, 10**6)]
    assert sizes == [10, 50, 2000]


@pytest.mark.parametrize(("epsilon", "users"), [(0.5, 60), (1.0, 90)])
def test_shuffled_bits_fit_the_budget_whatever_the_others_hold(epsilon, users) -> None:
    budget = ApproxDP(epsilon, 1e-4)
    local = shuffled_local_epsilon(budget, users=users)
    assert local > 1.05 * epsilon
    pairs = [ShuffledBinaryResponse(local).pair(users, ones) for ones in range(users)]
    assert max(both_ways(pair, epsilon) for pair in pairs) <= budget.delta
    louder = ShuffledBinaryResponse(1.5 * local).pair(users, users - 1)
    assert epsilon_below(louder, budget.delta) > epsilon


def test_a_single_user_hides_behind_nobody() -> None:
    assert shuffled_local_epsilon(ApproxDP(1.0, 1e-6), users=1) == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise_scale": 0.0, "rounds": 3, "epsilon": 1.0}, "noise_scale must be finite and > 0"),
        ({"noise_scale": 1.0, "rounds": 0, "epsilon": 1.0}, "rounds must be an integer >= 1"),
        ({"noise_scale": 1.0, "rounds": 3, "epsilon": -1.0}, "epsilon must be finite and >= 0"),
    ],
)
def test_bad_input_is_refused(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        game_delta(**arguments)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (1.0, 0.0), (1.0, 1.0)])
def test_gaussian_noise_needs_a_positive_epsilon_and_delta(epsilon, delta) -> None:
    with pytest.raises(ValueError, match="must"):
        claimed_rho(ApproxDP(epsilon, delta))
    with pytest.raises(ValueError, match="must"):
        proven_rho(ApproxDP(epsilon, delta), rounds=3)
