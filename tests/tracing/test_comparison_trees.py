"""Probabilities of comparisons that form a tree, against closed forms and counts."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from dpcp_audit.tracing.comparison_trees import joint_log_probability
from dpcp_audit.tracing.draws import DrawRegion, JoinedBit, NoiseDraw, Ordering
from dpcp_audit.tracing.noise_laws import EXPONENTIAL, GUMBEL, LAPLACE, NORMAL, UNIFORM
from dpcp_audit.tracing.source_lines import NeedsValuesError

LAWS = (NORMAL, LAPLACE, EXPONENTIAL, GUMBEL, UNIFORM)
OFFSETS = (0.3, 0.9, 0.1, 1.2, 0.5, 0.7)


def draws_of(law, count=6) -> list[NoiseDraw]:
    return [NoiseDraw(index=i, law=law, name=law.name, line=("", i)) for i in range(count)]


def above(draws, first, second, offsets=OFFSETS) -> JoinedBit:
    """Return that one noisy number is larger than another."""
    terms = ((draws[first], 1.0), (draws[second], -1.0))
    return JoinedBit(offset=offsets[first] - offsets[second], terms=terms, how=Ordering.GREATER)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_any_order_of_equal_numbers_is_as_likely(law) -> None:
    draws = draws_of(law)
    chain = [above(draws, i, i + 1, (0.0,) * 6) for i in range(5)]
    assert joint_log_probability(chain)[1] == pytest.approx(-math.lgamma(7), abs=1e-9)


def test_an_order_of_gumbel_numbers_is_that_of_plackett_and_luce() -> None:
    draws, order = draws_of(GUMBEL), (5, 3, 1, 0)
    bits = [above(draws, *pair) for pair in pairwise(order)]
    weights = np.exp([OFFSETS[each] for each in order])
    expected = sum(math.log(weights[i] / weights[i:].sum()) for i in range(4))
    assert joint_log_probability(bits)[1] == pytest.approx(expected, abs=1e-9)


def test_comparisons_that_others_imply_change_nothing() -> None:
    draws = draws_of(LAPLACE)
    chain = [above(draws, *pair) for pair in ((5, 3), (3, 1), (1, 0))]
    implied = [above(draws, *pair) for pair in ((5, 0), (5, 1), (3, 0))]
    alone, together = (joint_log_probability(bits)[1] for bits in (chain, [*implied, *chain]))
    assert together == pytest.approx(alone, abs=1e-12)


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_running_largest_is_as_likely_as_counted(law) -> None:
    """Six standard errors of 10⁶ draws: a false alarm with probability 2e-9."""
    draws = draws_of(law)
    records = [(1, 0), (1, 2), (3, 1), (3, 4), (5, 3)]
    found = math.exp(joint_log_probability([above(draws, *pair) for pair in records])[1])
    rng, count = np.random.default_rng(0), 1_000_000
    method = getattr(rng, law.name)
    numbers = [offset + method(size=count) for offset in OFFSETS]
    seen = np.all([numbers[i] > numbers[j] for i, j in records], axis=0).mean()
    assert abs(seen - found) <= 6 * math.sqrt(found / count)


def test_what_earlier_bits_leave_of_a_draw_narrows_its_integral() -> None:
    draws = draws_of(UNIFORM, 3)
    draws[1].region = DrawRegion(0.5, 0.75)
    bits = [above(draws, 0, 1, (0.0,) * 3), above(draws, 1, 2, (0.0,) * 3)]
    expected = math.log((0.75**2 - 0.5**2) / 2 - (0.75**3 - 0.5**3) / 3)
    assert joint_log_probability(bits)[1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.known_bad
def test_what_cannot_be_is_not_given_a_probability() -> None:
    draws = draws_of(LAPLACE)
    ring = [above(draws, *pair) for pair in ((0, 1), (1, 2), (2, 0))]
    with pytest.raises(NeedsValuesError):
        joint_log_probability(ring)
