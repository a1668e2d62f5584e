"""The law of a noisy bisection: what one comparison may lose."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

from dpcp_audit.mechanisms.pcoqs.search_law import largest_bit_divergence


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
