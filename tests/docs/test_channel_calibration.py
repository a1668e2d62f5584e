"""Noise-aware calibration over any channel covers what its theorem says, on any scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from channel_calibration import ChannelCalibration, KaryChannel, UnaryChannel, channel_width

from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse

if TYPE_CHECKING:
    from dpcp_audit.words.validate import FloatArray, IntArray

K, N = 20, 4000


def users(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Confident predictions, some of them wrong; half of the scores heaped up at 1."""
    logits = rng.gumbel(size=(n, K))
    logits[np.arange(n), 0] += 6
    labels = np.where(rng.random(n) < 0.93, 0, rng.integers(1, K, size=n))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return 1 - probabilities, labels


def calibration(channel: UnaryChannel, scores: np.ndarray) -> ChannelCalibration:
    width = channel_width(channel, scores, rounds=8, delta=0.1)
    return ChannelCalibration(alpha=0.3, rounds=8, window_width=width, channel=channel)


@pytest.mark.statistical(false_alarm=1e-8)
def test_every_release_covers_the_level() -> None:
    """Each fails with a probability of 0.1 at most, and really of far less than 1e-10."""
    rng = np.random.default_rng(0)
    scores, labels = users(N, rng)
    mechanism = calibration(UnaryChannel.optimised(4.0, K), scores)
    found = mechanism.sample(scores, labels, 40, rng=rng)
    fresh, true = users(200_000, rng)
    own = np.sort(fresh[np.arange(len(true)), true])
    coverage = np.searchsorted(own, found, side="right") / own.size
    assert coverage.min() >= 0.7
    assert coverage.max() < 1
    assert mechanism.guarantee.epsilon == pytest.approx(4.0)


def test_over_k_rr_it_is_the_papers_search() -> None:
    rng = np.random.default_rng(2)
    scores, labels = users(300, rng)
    response = KaryRandomizedResponse(5.0, K)
    settings = {"alpha": 0.2, "rounds": 8, "window_width": 0.05}
    ours = ChannelCalibration(**settings, channel=KaryChannel(response), starred=False)
    paper = LDPCPLabels(**settings, epsilon=5.0, k=K, on_miss=ours.on_miss)
    noisy = response.sample(labels, rng=np.random.default_rng(7))
    found = ours.sample(scores, labels, 1, rng=np.random.default_rng(7))
    assert found == pytest.approx(paper.from_noisy(scores, noisy))


def test_more_labels_than_three_times_the_odds_favour_unary_encoding() -> None:
    scores, _ = users(N, np.random.default_rng(1))
    widths = {
        epsilon: [
            channel_width(channel, scores, rounds=8, delta=0.1)
            for channel in (
                UnaryChannel.optimised(epsilon, K),
                KaryChannel(KaryRandomizedResponse(epsilon, K)),
            )
        ]
        for epsilon in (4.0, 8.0)
    }
    assert widths[4.0][0] > widths[8.0][0]
    assert widths[8.0][1] < widths[8.0][0]


@pytest.mark.known_bad
def test_noise_that_is_not_taken_out_is_seen() -> None:
    """Bits without their offset count labels that nobody has: the threshold is too low."""

    class Raw(UnaryChannel):
        def weights(self, labels: IntArray, *, rng: np.random.Generator) -> FloatArray:
            offset = self.flip / (self.keep - self.flip)
            return UnaryChannel.weights(self, labels, rng=rng) + offset

    rng = np.random.default_rng(4)
    scores, labels = users(N, rng)
    found = calibration(Raw.optimised(1.0, K), scores).sample(scores, labels, 5, rng=rng)
    own = scores[np.arange(N), labels]
    assert (own[:, None] <= found).mean(axis=0).min() < 0.65


def test_arguments_are_checked() -> None:
    scores, labels = users(10, np.random.default_rng(1))
    mechanism = calibration(UnaryChannel.optimised(4.0, K), scores)
    with pytest.raises(ValueError, match="labels must have shape"):
        mechanism.sample(scores, labels[:-1], 1)
    with pytest.raises(ValueError, match="scores must have k"):
        mechanism.sample(scores[:, 1:], labels, 1)
