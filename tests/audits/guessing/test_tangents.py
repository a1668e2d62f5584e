"""Tangents: they lie above the power curve, and touch it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.audits.guessing.game import _supremum, tangents_of
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    LocalDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)


@pytest.mark.parametrize("guarantee", [GaussianDP(1.0), ZCDP(0.3), RenyiDP(3.0, 0.8)])
def test_they_bound_the_curve_and_are_tight(guarantee: PrivacyGuarantee) -> None:
    rates = np.linspace(1e-4, 0.6, 300)
    power = guarantee.power(rates)
    tangents = tangents_of(guarantee)
    assert len(tangents) > 2
    for epsilon, delta in tangents:
        above = math.exp(epsilon) * rates + delta - power
        assert above.min() >= -1e-9
        assert above.min() <= 2e-3 * delta + 1e-4


@pytest.mark.parametrize("guarantee", [PureDP(1.0), LocalDP(1.0), ApproxDP(1.0, 1e-3)])
def test_a_linear_claim_is_its_own(guarantee: PureDP | ApproxDP) -> None:
    delta = guarantee.delta if isinstance(guarantee, ApproxDP) else 0.0
    assert tangents_of(guarantee) == ((1.0, delta),)


@pytest.mark.parametrize("guarantee", [PureDP(60.0), ApproxDP(1.0, 1.0)])
def test_what_no_game_can_refute_has_none(guarantee: PrivacyGuarantee) -> None:
    assert tangents_of(guarantee) == ()


@pytest.mark.parametrize(
    ("values", "bound"),
    [
        ([0.0, 0.3, 0.5, 0.4, 0.1], 0.7),
        ([0.0, 0.4, 0.5, 0.3, 0.1], 0.7),
        ([0.1, 0.2, 0.1], 0.3),
        ([0.0, 0.7, 0.9, 0.8], 1.0),
        ([0.1, 0.2, 0.3], 1.0),
        ([0.3, 0.2, 0.1], 1.0),
    ],
)
def test_a_concave_function_rises_no_more_beyond_its_largest_value(values, bound) -> None:
    """Than from a neighbour to it: 0.5 + (0.5 − 0.3); at an end nothing is known, and 1 is most."""
    assert _supremum(np.array(values)) == pytest.approx(bound)
