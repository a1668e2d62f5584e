"""Channels for labels: unbiased weights, exact privacy, variances by enumeration."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from channel_calibration import (
    KaryChannel,
    LabelChannel,
    MatrixChannel,
    UnaryChannel,
    channel_width,
    switch,
    width_switch,
)

from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_ledger.ldpcp.table_rows import crossing

K, EPSILON = 4, 1.5
KARY = KaryChannel(KaryRandomizedResponse(EPSILON, K))
MATRIX = MatrixChannel(np.exp([law.log_mass for law in KARY.response.laws()]))
UNARY = UnaryChannel.optimised(EPSILON, K)
CHANNELS = {"k-RR": KARY, "matrix": MATRIX, "unary": UNARY, "rappor": UnaryChannel.rappor(1.5, K)}


def reports(channel: LabelChannel, label: int) -> list[tuple[float, np.ndarray]]:
    """Return every report on a label, as its probability and its weights."""
    if isinstance(channel, UnaryChannel):
        chances = np.where(np.arange(K) == label, channel.keep, channel.flip)
        spread = channel.keep - channel.flip
        return [
            (float(np.where(bits, chances, 1 - chances).prod()), (bits - channel.flip) / spread)
            for bits in map(np.array, product((0, 1), repeat=K))
        ]
    weights = MATRIX._inverse
    return list(zip(MATRIX.matrix[label], weights, strict=True))


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
def test_weights_are_unbiased_and_their_variance_and_reach_bound_what_is_enumerated(
    channel: LabelChannel,
) -> None:
    for size in range(K + 1):
        most = furthest = 0.0
        for label, chosen in product(range(K), combinations(range(K), size)):
            table = reports(channel, label)
            sums = np.array([weights[list(chosen)].sum() for _, weights in table])
            chances = np.array([chance for chance, _ in table])
            mean = float(chances @ sums)
            assert mean == pytest.approx(float(label in chosen), abs=1e-12)
            most = max(most, float(chances @ (sums - mean) ** 2))
            furthest = max(furthest, float(np.abs(sums - mean).max()))
        assert channel.variance(size) >= most - 1e-12
        assert channel.reach(size) >= furthest - 1e-12
        if not isinstance(channel, MatrixChannel):
            assert channel.variance(size) == pytest.approx(most)


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
def test_the_exact_law_spends_the_stated_epsilon(channel: LabelChannel) -> None:
    assert channel.guarantee.epsilon == pytest.approx(EPSILON)
    assert channel.pair().max_divergence() == pytest.approx(EPSILON)
    assert channel.pair().reversed().max_divergence() == pytest.approx(EPSILON)


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
def test_drawn_reports_have_the_enumerated_means(channel: LabelChannel) -> None:
    draws = 40_000
    weights = channel.weights(np.full(draws, 2), rng=np.random.default_rng(1))
    bound = 7 * math.sqrt(max(channel.variance(1), channel.variance(K - 1)) / draws)
    assert weights.mean(axis=0) == pytest.approx(np.eye(K)[2], abs=bound)


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
