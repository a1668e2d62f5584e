"""The law of a noisy bisection: what one comparison may lose."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp
from scipy.stats import norm

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.mechanisms.pcoqs import largest_bit_divergence, search_laws

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("noise_scale", "alpha"), [(0.3, 1.5), (1.0, 2.0), (5.0, 8.0), (2.0, 30.0)]
)
def test_the_largest_divergence_of_one_bit_is_over_all_counts(noise_scale, alpha) -> None:
    """By the definition of D_α, over every count within 500 of the rank."""
    z = np.arange(-500, 501) / noise_scale
    logs = np.stack([log_ndtr(z), log_ndtr(-z)])
    both = [(logs[:, 1:], logs[:, :-1]), (logs[:, :-1], logs[:, 1:])]
    found = max(logsumexp(alpha * p + (1 - alpha) * q, axis=0).max() for p, q in both)
    expected = float(found) / (alpha - 1)
    assert largest_bit_divergence(noise_scale, alpha) == pytest.approx(expected, rel=1e-12)


def enumerated(scores: Sequence[float], rank: int, rounds: int, resolution: float) -> np.ndarray:
    """Return the probabilities of all bits, by the definition of the search on [0, 1]."""
    masses = []
    for bits in product((0, 1), repeat=rounds):
        left, right, mass = 0.0, 1.0, 1.0
        for bit in bits:
            mid = (left + right) / 2
            z = (rank - sum(score <= mid for score in scores)) / 1.5
            mass *= norm.cdf(z if bit else -z)
            left, right = (mid + resolution, right) if bit else (left, mid)
        masses.append(mass)
    return np.array(masses)


@pytest.mark.parametrize("resolution", [0.0, 0.05])
@pytest.mark.parametrize("other", [[0.2, 0.3, 0.9], [0.2, 0.3], [0.2, 0.3, 0.62, 0.7]])
def test_neighbours_are_told_apart_wherever_a_score_of_either_lies(other, resolution) -> None:
    """By enumeration of 2⁶ sequences of bits; also where one has no score and the other has one."""
    scores, rounds = ([0.2, 0.3, 0.35], other), 6
    laws = search_laws(
        [np.array(each) for each in scores],
        ranks=[2, 3],
        noise_scale=1.5,
        rounds=rounds,
        bounds=(0.0, 1.0),
        resolution=resolution,
    )
    masses = [enumerated(x, r, rounds, resolution) for x, r in zip(scores, (2, 3), strict=True)]
    for pair, (p, q) in ((FinitePair(*laws), masses), (FinitePair(*laws[::-1]), masses[::-1])):
        for epsilon in (0.0, 0.3, 1.0):
            delta = np.maximum(p - np.exp(epsilon) * q, 0).sum()
            assert pair.delta_at(epsilon) == pytest.approx(delta, abs=1e-14)
