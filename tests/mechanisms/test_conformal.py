from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.mechanisms.quantiles import SplitConformal, conformal_rank


@pytest.mark.parametrize(
    ("n", "alpha", "rank"),
    [(9, 0.1, 9), (9, 0.7, 3), (99, 0.05, 95), (2400, 0.1, 2161), (1, 0.1, 2), (5, 0.0, 6)],
)
def test_rank(n, alpha, rank) -> None:
    assert conformal_rank(n, alpha=alpha) == rank


def test_rank_reads_alpha_as_a_decimal() -> None:
    """With binary floats (1−α)(n+1) exceeds the whole number k in some of these."""
    for n in (9, 99, 999, 9999):
        for percent in range(1, 100):
            expected = -(-(100 - percent) * (n + 1) // 100)
            assert conformal_rank(n, alpha=percent / 100) == expected


def test_rank_at_huge_n() -> None:
    assert conformal_rank(10**15 - 1, alpha=0.1) == 9 * 10**14


def test_threshold_is_the_order_statistic() -> None:
    scores = np.array([0.5, 0.1, 0.9, 0.3])
    assert SplitConformal(alpha=0.4).threshold(scores) == 0.5
    assert SplitConformal(alpha=0.2).threshold(scores) == 0.9
    assert SplitConformal(alpha=0.1).threshold(scores) == math.inf
    assert scores.tolist() == [0.5, 0.1, 0.9, 0.3]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: conformal_rank(0, alpha=0.1), "n"),
        (lambda: conformal_rank(2.0, alpha=0.1), "n"),
        (lambda: conformal_rank(5, alpha=1.0), "alpha"),
        (lambda: conformal_rank(5, alpha=-0.1), "alpha"),
        (lambda: conformal_rank(5, alpha=math.nan), "alpha"),
        (lambda: conformal_rank(5, alpha="0.1"), "alpha"),
        (lambda: SplitConformal(alpha=0.0), "alpha"),
        (lambda: SplitConformal(alpha=0.1).threshold([]), "scores"),
        (lambda: SplitConformal(alpha=0.1).threshold([0.1, math.nan]), "scores"),
    ],
)
def test_bad_input_names_the_argument(call, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
