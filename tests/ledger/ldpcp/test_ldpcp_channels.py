"""From how many labels on unary encoding has less noise: by formulas, and by Δ of the mechanism."""

from __future__ import annotations

import math

import numpy as np
import pytest
from channel_calibration import KaryChannel, UnaryChannel, channel_width, width_switch

from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_ledger.ldpcp.channels import crossing, switch


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0])
def test_of_one_label_and_of_all_sets_by_their_formulas(epsilon: float) -> None:
    """3e^ε + 2, and the root of (k − 1 + e^ε)² = 16·k·e^ε: the variances where they are largest."""
    grown = math.exp(epsilon)
    assert crossing(epsilon) == math.floor(3 * grown + 2)
    half = 7 * grown + 1
    root = half + math.sqrt(half**2 - (grown - 1) ** 2)
    found = switch(epsilon)
    assert found is not None
    assert found == pytest.approx(root, rel=0.03, abs=2)
    assert 13 * grown < found < 16 * grown


def test_delta_of_the_mechanism_crosses_there() -> None:
    """On features at whose midpoints sets of every size stand, at ε = 1 and k = 43 or 32.

    Many users stand for a whole column of 100,000 by the same term: the widths are compared.
    """
    users = 100_000
    assert width_switch(1.0, users) == 43
    for labels, better in ((43, True), (32, False)):
        row = (np.arange(labels) + 0.5) / labels
        scores = np.broadcast_to(row, (users, labels))
        unary, kary = (
            channel_width(channel, scores, rounds=10, delta=0.1)
            for channel in (
                UnaryChannel.optimised(1.0, labels),
                KaryChannel(KaryRandomizedResponse(1.0, labels)),
            )
        )
        assert (unary < kary) is better


def test_few_users_may_have_no_switch() -> None:
    """At n = 1,000 and ε = 3 a report's range decides, which grows with the labels."""
    assert width_switch(3.0, 1000) is None
