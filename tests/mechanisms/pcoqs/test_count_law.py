"""The windows of counts at which a noisy comparison may go either way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from dpcp_audit.mechanisms.pcoqs.count_law import CountLaw


@pytest.mark.parametrize(
    ("n", "rank", "first", "last"), [(100, 50, 31, 70), (100, 95, 76, 101), (10, 3, 0, 11)]
)
def test_counts_within_nine_and_a_half_deviations_matter(n, rank, first, last) -> None:
    law = CountLaw.over_noise(2.0, n=n, rank=rank, rounds=3)
    assert (law.first, law.last, law.cases) == (first, last, 1)
    assert law.counts.tolist() == list(range(first, last))
    expected = np.broadcast_to(norm.cdf((rank - law.counts) / 2), (3, 1, last - first))
    assert law.answers == pytest.approx(expected)


def test_where_the_noise_is_known_the_answers_are_too() -> None:
    """Below the rank of 5 with noise −1.5, 0 and 2: counts below 7, 5 and 3."""
    law = CountLaw.given_noise(np.array([[-1.5], [0.0], [2.0]]), n=10, rank=5)
    assert (law.first, law.last) == (3, 7)
    assert law.answers[:, 0].astype(int).tolist() == [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]
    single = CountLaw.given_noise(np.array([[0.0]]), n=10, rank=5)
    assert (single.first, single.last, single.answers.ravel().tolist()) == (5, 6, [0.0])
