"""The guessing game's test: its law against every observer, its exact size, bounds and power."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import binom

from dpcp_audit.stats.rates import (
    GuessingTest,
    delta_bound,
    epsilon_bound,
    filled,
    guess_share,
)
from dpcp_audit.words.guarantees import GaussianDP

LEVEL = 0.05


@pytest.mark.parametrize(("guesses", "epsilon"), [(1, 0.0), (20, 1.0), (500, 0.3), (77, 5.0)])
def test_without_delta_the_law_is_binomial(guesses: int, epsilon: float) -> None:
    test = GuessingTest(rounds=3 * guesses, guesses=guesses, epsilon=epsilon)
    expected = binom.sf(np.arange(guesses + 1) - 1, guesses, test.share)
    found = [test.p_value(right) for right in range(guesses + 1)]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_a_guess_is_right_as_often_as_a_response_keeps() -> None:
    """Odds of e^ε to 1 against every other input: of two inputs where nothing else is said."""
    assert guess_share(math.log(3)) == pytest.approx(3 / 4)
    assert guess_share(math.log(3), 3) == pytest.approx(3 / 5)
    assert guess_share(0.0, 8) == pytest.approx(1 / 8)
    assert GuessingTest(rounds=9, guesses=9, epsilon=1.0).share == guess_share(1.0)


@pytest.mark.parametrize(
    ("rounds", "guesses", "shown"),
    [(1000, 1000, (6, 194)), (1000, 150, (6, 150)), (100, 100, (0, 51)), (1000, 6, (6, 6))],
)
def test_the_shown_coins_that_matter(rounds, guesses, shown) -> None:
    """Bernstein's inequality at e^−36 around a tenth of the rounds, up to the guesses."""
    first, last = shown
    test = GuessingTest(rounds=rounds, guesses=guesses, epsilon=1.0, delta=0.1)
    counts, mass, left_out = test._shown()
    assert (counts[0], counts[-1]) == shown
    expected = binom.pmf(counts, rounds, 0.1)
    if last == guesses:
        expected[-1] = binom.sf(last - 1, rounds, 0.1)
    assert mass == pytest.approx(expected, rel=1e-9)
    assert left_out == pytest.approx(2 * math.exp(-36) if first < guesses else 0.0)


def best_observer(test: GuessingTest, needed: int) -> float:
    """Return the largest probability of ``needed`` right guesses, over all online observers.

    A round is spent on what it may at most be, by backward induction: the coin is shown with
    probability δ, and the observer guesses it or not; elsewhere it guesses or abstains.
    """

    @cache
    def chance(rounds: int, guessed: int, right: int) -> float:
        if rounds == 0:
            return float(right >= needed)
        skip = chance(rounds - 1, guessed, right)
        if guessed == test.guesses:
            return skip
        hit = chance(rounds - 1, guessed + 1, right + 1)
        miss = chance(rounds - 1, guessed + 1, right)
        blind = max(skip, test.share * hit + (1 - test.share) * miss)
        return test.delta * max(skip, hit) + (1 - test.delta) * blind

    return chance(test.rounds, 0, 0)


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2, 0.7])
@pytest.mark.parametrize(("rounds", "guesses", "epsilon"), [(12, 5, 0.0), (10, 10, 1.0), (9, 3, 2)])
def test_no_observer_beats_the_law_and_one_attains_it(
    rounds: int, guesses: int, epsilon: float, delta: float
) -> None:
    """The observer may hold guesses back for coins that are shown; it knows nothing in advance.

    One who knows in advance which coins are shown attains the law exactly, one who does not can
    wait as long as the remaining rounds allow; with a guess for every round both are the same.
    """
    test = GuessingTest(rounds=rounds, guesses=guesses, epsilon=epsilon, delta=delta)
    for needed in range(guesses + 1):
        best, law = best_observer(test, needed), test.p_value(needed)
        assert best <= law + 1e-12
        if rounds == guesses or delta == 0:
            assert best == pytest.approx(law, abs=1e-12)


def size_at_contact(epsilon: float, rounds: int) -> float:
    """Return the exact size of the test of 1-GDP by its tangent at ε, for N(1, 1) against N(0, 1).

    The observer guesses where the loss exceeds ε in size; missing guesses are filled.
    """
    right, wrong = float(ndtr(0.5 - epsilon)), float(ndtr(-0.5 - epsilon))
    often = right + wrong
    guesses = min(rounds, int(rounds * often + math.sqrt(rounds * often * (1 - often))))
    test = GuessingTest(
        rounds=rounds, guesses=guesses, epsilon=epsilon, delta=GaussianDP(1.0).delta_at(epsilon)
    )
    critical, total = test.critical(LEVEL), 0.0
    for count in range(rounds + 1):
        weight = float(binom.pmf(count, rounds, often))
        if weight > 1e-12:
            made = min(count, guesses)
            own = np.arange(made + 1)
            tail = binom.sf(critical - own - 1, guesses - made, test.share)
            total += weight * float(binom.pmf(own, made, right / often) @ tail)
    return total


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_the_exact_size_of_a_concave_power_curve_is_nearly_the_level(epsilon: float) -> None:
    assert 0.04 <= size_at_contact(epsilon, 1500) <= LEVEL + 1e-6


def test_bounds_invert_the_test() -> None:
    test = GuessingTest(rounds=2000, guesses=800, epsilon=0.7, delta=0.05)
    epsilon = epsilon_bound(test, 620, significance=LEVEL)
    delta = delta_bound(test, 620, significance=LEVEL)
    for shift, refuted in ((-1e-4, True), (1e-4, False)):
        moved = GuessingTest(rounds=2000, guesses=800, epsilon=epsilon + shift, delta=0.05)
        assert (moved.p_value(620) <= LEVEL) is refuted
        moved = GuessingTest(rounds=2000, guesses=800, epsilon=0.7, delta=delta + shift)
        assert (moved.p_value(620) <= LEVEL) is refuted
    assert epsilon_bound(test, 300, significance=LEVEL) == -math.inf
    assert delta_bound(test, 300, significance=LEVEL) == -math.inf


def test_the_critical_number_is_the_least_whose_p_value_is_as_small() -> None:
    test = GuessingTest(guesses=40, rounds=40, epsilon=1.0)
    for right in (28, 31, 35):
        p_value = test.p_value(right)
        assert test.critical(p_value) == right
        assert test.critical(np.nextafter(p_value, 0.0)) == right + 1


def test_power_where_the_best_rule_is_known_is_at_the_limit() -> None:
    """Samples of each input for 90 % of ε at 95 %, against the limits 976 and 598."""
    laplace = (1 + math.exp(-1)) / 2  # the share of rounds where the loss is ±1
    response = (math.exp(2) + 1) / (math.exp(2) + 9)
    for claimed, true, share, wanted in ((0.9, 1.0, laplace, 1060), (1.8, 2.0, response, 640)):
        for samples, enough in ((wanted, True), (0.9 * wanted, False)):
            guesses = int(2 * share * samples)
            powers = [
                GuessingTest(rounds=each, guesses=each, epsilon=claimed).power(
                    float(expit(true)), significance=LEVEL
                )
                for each in range(guesses - 5, guesses + 1)  # whole counts leave a ripple
            ]
            assert (max(powers) >= 0.5) is enough
    assert GuessingTest(rounds=3, guesses=3, epsilon=5.0).power(1.0, significance=LEVEL) == 0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"guesses": 0}, "guesses"),
        ({"guesses": 11}, "guesses"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 51.0}, "epsilon"),
        ({"delta": 1.5}, "delta"),
    ],
)
def test_bad_input_is_named(changes: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        GuessingTest(**({"rounds": 10, "guesses": 5, "epsilon": 1.0} | changes))  # type: ignore[arg-type]


def test_impossible_counts_are_named() -> None:
    with pytest.raises(ValueError, match="right"):
        GuessingTest(rounds=10, guesses=5, epsilon=1.0).p_value(6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": 1}, "inputs must be an integer"),
        ({"inputs": 3, "delta": 0.1}, "delta must be 0"),
    ],
)
def test_odd_numbers_of_inputs_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GuessingTest(rounds=50, guesses=40, epsilon=1.5, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", [0, 5, 40])
def test_every_epsilon_below_the_bound_is_refuted(missing: int) -> None:
    rng = np.random.default_rng(missing)
    test, coins = GuessingTest(rounds=200, guesses=100, epsilon=1.0), rng.random(missing)
    right = 100 - missing - 2
    bound = epsilon_bound(test, right, significance=LEVEL, coins=coins)

    def p_value(epsilon: float) -> float:
        counted = right + filled(coins, guess_share(epsilon))
        return GuessingTest(rounds=200, guesses=100, epsilon=epsilon).p_value(counted)

    assert bound > 0.1
    assert all(p_value(each) <= LEVEL for each in np.linspace(0.0, bound, 2_000).tolist())
    assert p_value(bound + 2e-6) > LEVEL


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-7, 1e-3])
def test_guesses_that_are_all_right_refute_the_smallest_claims(epsilon: float) -> None:
    test = GuessingTest(rounds=1000, guesses=500, epsilon=epsilon)
    share = 0.01 ** (1 / 500)
    expected = math.log(share / (1 - share))
    assert epsilon_bound(test, 500, significance=0.01) == pytest.approx(expected, abs=2e-6)
