"""Channels for labels: unbiased weights, exact privacy, variances by enumeration."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from channel_calibration import KaryChannel, LabelChannel, MatrixChannel, UnaryChannel

from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse

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


@pytest.mark.known_bad
def test_a_channel_that_shows_a_label_has_no_privacy() -> None:
    shown = MatrixChannel(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))
    assert shown.pair().max_divergence() == math.inf


def test_channels_that_cannot_be_inverted_are_refused() -> None:
    with pytest.raises(ValueError, match="linearly independent"):
        MatrixChannel(np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match="flip must be below keep"):
        UnaryChannel(3, 0.2, 0.4)
