"""Where a condition turns, to the last digit; and the fewest of what it takes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom
from support.levels import mean_interval

from dpcp_audit.stats.rates import mean_violation
from dpcp_audit.stats.roots import (
    fewest,
    level_starts,
    turn,
    turns,
)


@pytest.mark.parametrize("root", [0.1, 2.0, 123.456])
def test_a_turn_is_found_to_the_last_digit_from_either_side(root: float) -> None:
    rising = turn(lambda x: x >= root, 0.0, 1000.0)
    assert (rising.fails, rising.holds) == (math.nextafter(root, 0), root)
    falling = turn(lambda x: x <= root, 1000.0, 0.0)
    assert (falling.fails, falling.holds) == (math.nextafter(root, math.inf), root)


def test_the_ends_are_not_asked() -> None:
    asked: list[float] = []

    def condition(x: float) -> bool:
        asked.append(x)
        return x >= 0.3

    turn(condition, 0.0, 1.0, steps=5)
    assert len(asked) == 5
    assert not {0.0, 1.0} & set(asked)


def test_it_ends_where_the_two_are_close_enough() -> None:
    found = turn(lambda x: x >= 3.0, 0.0, 10.0, relative=1e-3)
    assert found.fails < 3.0 <= found.holds
    assert found.holds - found.fails <= 1e-3 * found.holds


@pytest.mark.parametrize(("fails", "holds"), [(-1.0, 1.0), (1.0, -1.0), (-9.0, 0.0), (0.0, -9.0)])
def test_the_distance_of_ends_on_both_sides_of_0_is_what_is_close(fails, holds) -> None:
    """Halved until it is at most a hundredth of 1, and not until the last digit."""
    middle = (fails + holds) / 2 + 0.3
    found = turn(lambda x: (x >= middle) is (holds > fails), fails, holds, relative=1e-2)
    assert 5e-3 < abs(found.holds - found.fails) <= 1e-2 * max(1.0, abs(found.holds))
    assert min(found) <= middle <= max(found)


def test_many_turns_are_those_of_each() -> None:
    roots = np.array([0.0, 0.1, 0.5, 0.7, 1.0])
    fails, holds = turns(lambda x: x >= roots, np.zeros(5), np.ones(5), steps=40)
    each = [turn(lambda x, root=root: x >= root, 0.0, 1.0, steps=40) for root in roots]
    assert np.array_equal(np.transpose([fails, holds]), each)


def test_the_fewest_is_looked_for_up_to_2_to_the_50() -> None:
    assert fewest(lambda n: n >= 2**50) == 2**50
    assert fewest(lambda n: n > 2**50) is None
    assert fewest(lambda n: n >= 8, most=8) == 8
    assert fewest(lambda n: n > 8, most=8) is None
    assert fewest(lambda n: n >= 2, at_least=5) == 5


@pytest.mark.parametrize("least", [1, 2, 3, 1000, 2**20 + 1])
def test_the_fewest_is_the_least_that_holds(least: int) -> None:
    assert fewest(lambda n: n >= least) == least
    rough = fewest(lambda n: n >= least, share=100)
    assert rough is not None
    assert least <= rough <= 1.02 * least + 1


@pytest.mark.parametrize("increasing", [True, False])
def test_levels_differ_and_are_means_of_what_they_pool(increasing) -> None:
    rng = np.random.default_rng(1)
    values, weights = rng.random(500), rng.random(500) + 0.1
    starts = level_starts(values, weights, increasing=increasing)
    sums, masses = (np.add.reduceat(each, starts) for each in (values * weights, weights))
    steps = np.diff(sums / masses)
    assert np.all(steps > 0 if increasing else steps < 0)


def test_levels_that_are_equal_are_pooled_whatever_their_sums_round_to() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        weights = rng.integers(1, 3, size=100)
        hits = rng.binomial(weights, np.linspace(0.3, 0.7, 100))
        starts = level_starts(hits / weights, weights.astype(float), increasing=True)
        sums, masses = (np.add.reduceat(each, starts).tolist() for each in (hits, weights))
        levels = [Fraction(*each) for each in zip(sums, masses, strict=True)]
        assert levels == sorted(set(levels))


UNIT = (0.0, 1.0)


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_smallest_violation_is_refuted() -> None:
    """False alarm at most 1e-6, but for the normal approximation of a mean of 2000 values."""
    miss = mean_violation(1 / 12, 2000, bounds=UNIT, significance=0.01)
    samples = np.random.default_rng(0).random((400, 2000))
    high = mean_interval(samples, bounds=UNIT, significance=0.01)[1]
    assert (high < 0.5 + miss).sum() >= binom.ppf(1e-6, 400, 0.95)
    assert (high < 0.5 + miss / 2).sum() < 200


def test_a_wider_range_takes_more() -> None:
    narrow, wide = (
        mean_violation(0.01, 500, bounds=(0.0, end), significance=0.01) for end in (1.0, 4.0)
    )
    assert narrow < wide


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: mean_violation(-1.0, 10, bounds=UNIT, significance=0.1), "variance"),
        (lambda: mean_violation(1.0, 1, bounds=UNIT, significance=0.1), "count"),
        (lambda: mean_violation(1.0, 9, bounds=(1, 0), significance=0.1), "bounds"),
    ],
)
def test_bad_input_names_the_argument(call, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
