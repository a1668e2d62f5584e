from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.mechanisms.randomized_response import hidden_laws
from dpcp_ledger.ldpcp.shuffling import (
    amplification,
    clones_closed_form,
    clones_pair,
    epsilon_above,
    epsilon_below,
    stronger_clones_closed_form,
)
from dpcp_ledger.mechanisms.shuffled_response import (
    Others,
    ShuffledBinaryResponse,
    ShuffledKaryResponse,
)


@settings(max_examples=40, deadline=None)
@given(
    epsilon=st.floats(0.2, 5.0),
    k=st.integers(2, 6),
    n=st.integers(1, 80),
    log_delta=st.floats(-8, -2),
)
def test_bounds_stand_in_order_above_what_is_attained(epsilon, k, n, log_delta) -> None:
    row = amplification(ShuffledKaryResponse(epsilon, k), n=n, delta=10**log_delta)
    assert 0 <= row.attained <= row.blanket * (1 + 1e-9) + 1e-12
    assert row.blanket <= row.clones * (1 + 1e-9) + 1e-12
    assert row.clones <= row.closed_form * (1 + 1e-9) <= epsilon * (1 + 2e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-8])
def test_closed_forms_are_valid_and_not_vacuous(epsilon, delta) -> None:
    n = 8000
    pair = ShuffledBinaryResponse(epsilon).pair(n, n - 1)
    attained = epsilon_below(pair, delta)
    first = clones_closed_form(epsilon, n=n, delta=delta)
    second = stronger_clones_closed_form(epsilon, n=n, delta=delta)
    assert epsilon_above(clones_pair(epsilon, n=n), delta) <= first
    assert attained < second < first < epsilon
    assert first < 10 * attained


def test_the_blanket_of_k_rr_is_tight_and_clones_are_within_a_factor() -> None:
    row = amplification(ShuffledKaryResponse(2.0, 3), n=200, delta=1e-5)
    assert row.blanket < 1.02 * row.attained
    assert row.clones < 2 * row.attained


def test_the_2023_pair_for_a_bit_is_the_blanket() -> None:
    """C ~ Bin(n−1, 2/(e^ε+1)) in place of e^−ε."""
    clone, keep = 1 / (math.exp(1.5) + 1), 1 / (1 + math.exp(-1.5))
    users = [[keep, 1 - keep, 0.0], [1 - keep, keep, 0.0]]
    pair = FinitePair(*hidden_laws(40, [clone, clone, 1 - 2 * clone], users))
    blanket = ShuffledKaryResponse(1.5, 2).blanket_pair(40)
    for epsilon in np.linspace(0, 1.4, 5):
        assert pair.delta_at(epsilon) == pytest.approx(blanket.delta_at(epsilon), abs=1e-13)


@pytest.mark.known_bad
def test_clones_counted_twice_are_caught() -> None:
    """A clone of each label with probability e^−ε, in place of e^−ε/2, is no upper bound."""
    epsilon, n, delta = 1.0, 300, 1e-6
    attained = epsilon_below(ShuffledKaryResponse(epsilon, 3).pair(n), delta)
    clone, keep = math.exp(-epsilon), 1 / (1 + math.exp(-epsilon))
    users = [[keep, 1 - keep, 0.0], [1 - keep, keep, 0.0]]
    doubled = FinitePair(*hidden_laws(n, [clone, clone, 1 - 2 * clone], users))
    assert epsilon_above(doubled, delta) < attained
    assert epsilon_above(clones_pair(epsilon, n=n), delta) >= attained


@pytest.mark.known_bad
def test_two_counts_of_k_rr_are_no_upper_bound() -> None:
    """The counts of a and b alone are a post-processing of the histogram, and tell less."""
    mechanism = ShuffledKaryResponse(1.0, 6)
    keep, flip = mechanism.local.keep_probability, mechanism.local.beta / 6
    users = [[keep, flip, 4 * flip], [flip, keep, 4 * flip]]
    two = FinitePair(*hidden_laws(20, [flip, flip, 1 - 2 * flip], users, tail=0.0))
    attained = mechanism.pair(20, Others.THIRD, tail=0.0)
    assert two.delta_at(0.3) < attained.delta_at(0.3)
    assert mechanism.blanket_pair(20, tail=0.0).delta_at(0.3) >= attained.delta_at(0.3)


def test_pruned_mass_counts_as_revealed() -> None:
    law = FiniteLaw(np.log([0.5, 0.5]), np.zeros(2), slack=1e-3)
    pair = FinitePair(law, FiniteLaw(np.log([0.4, 0.6]), np.zeros(2), slack=1e-3))
    assert epsilon_above(pair, 1e-3) == math.inf
    assert epsilon_above(pair, 0.01) > epsilon_below(pair, 0.01)
    assert epsilon_below(pair, 0.01) == pytest.approx(
        max(pair.epsilon_at(0.01), pair.reversed().epsilon_at(0.01))
    )


def test_outside_its_condition_a_closed_form_says_the_local_epsilon() -> None:
    assert clones_closed_form(4.0, n=2452, delta=1e-6) == 4.0
    assert stronger_clones_closed_form(4.0, n=2452, delta=1e-6) == 4.0
