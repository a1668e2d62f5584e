"""Where a condition turns, to the last digit; and the fewest of what it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.stats.bisection import fewest, turn, turns


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


def test_many_turns_are_those_of_each() -> None:
    roots = np.array([0.0, 0.1, 0.5, 0.7, 1.0])
    fails, holds = turns(lambda x: x >= roots, np.zeros(5), np.ones(5), steps=40)
    each = [turn(lambda x, root=root: x >= root, 0.0, 1.0, steps=40) for root in roots]
    assert np.array_equal(np.transpose([fails, holds]), each)


@pytest.mark.parametrize("least", [1, 2, 3, 1000, 2**20 + 1])
def test_the_fewest_is_the_least_that_holds(least: int) -> None:
    assert fewest(lambda n: n >= least) == least
    rough = fewest(lambda n: n >= least, share=100)
    assert rough is not None
    assert least <= rough <= 1.02 * least + 1


def test_the_fewest_starts_where_it_is_told_to_and_ends_there_too() -> None:
    assert fewest(lambda n: n >= 5, at_least=20) == 20
    assert fewest(lambda _: False, most=2**10) is None
