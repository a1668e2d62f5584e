"""What releases cost together, against closed forms."""

from __future__ import annotations

import math

import pytest

from dpcp_audit.audits.traced_privacy import composed_delta_below
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair, LaplacePair
from dpcp_audit.laws.losses import guarantee_pair
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, PureDP

EPSILONS = (0.0, 0.5, 1.0)


def test_gaussians_are_one_of_the_root_sum_of_their_shifts() -> None:
    closed = GaussianPair(math.hypot(0.9, 0.8))
    for epsilon in (*EPSILONS, 4.0):
        found = composed_delta_below([GaussianPair(0.9), GaussianPair(0.8)], epsilon)
        assert found <= closed.delta_at(epsilon)
        assert found == pytest.approx(closed.delta_at(epsilon), rel=1e-2, abs=1e-4)


def test_two_laplace_coordinates_are_two_noises() -> None:
    pair = LaplacePair((0.5, 0.7))
    for epsilon in EPSILONS:
        found = [
            composed_delta_below(pairs, epsilon)
            for pairs in ([pair], [LaplacePair((0.5,)), LaplacePair((0.7,))])
        ]
        assert found[0] == pytest.approx(found[1], abs=1e-9)
        assert found[0] <= pair.delta_at(epsilon)
        assert found[0] == pytest.approx(pair.delta_at(epsilon), abs=2e-4)


@pytest.mark.parametrize("guarantee", [PureDP(1.0), ApproxDP(1.0, 1e-3), ApproxDP(0.0, 0.1)])
def test_the_pair_of_a_guarantee_has_its_largest_profile(guarantee) -> None:
    pair = guarantee_pair(guarantee)
    for epsilon in EPSILONS:
        assert pair.delta_at(epsilon) == pytest.approx(guarantee.delta_at(epsilon), abs=1e-15)
        reverse = pair.reversed().delta_at(epsilon)
        assert reverse == pytest.approx(guarantee.delta_at(epsilon), abs=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: composed_delta_below([], 1.0), "pairs must hold at least one pair"),
        (
            lambda: composed_delta_below([FinitePair(*[FiniteLaw.from_mass([1.0])] * 2)], 1.0),
            "pairs must hold GaussianPair or LaplacePair",
        ),
        (lambda: guarantee_pair(ZCDP(1.0)), "guarantee must be PureDP"),
    ],
)
def test_bad_input_is_named(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
