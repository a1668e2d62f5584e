from __future__ import annotations

import math

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.mechanisms.quantiles import _shares, conformal_rank
from dpcp_ledger.mechanisms.histlap import SplitConformal


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


def test_shares_of_bins_are_of_the_scores_up_to_the_first_edge() -> None:
    """Bins 3, 2 and 1 of 0.1, 0.2, 0.3 and 0.4, down from edge 3; no bin ends at edge 0."""
    mass = np.array([0.1, 0.2, 0.3, 0.4])
    within = np.append(0.0, np.cumsum(mass))
    shares = _shares(mass, within, np.array([3, 2, 1, 0]))
    assert shares == pytest.approx([3 / 6, 2 / 6, 1 / 6, 0.0, 0.0])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: conformal_rank(0, alpha=0.1), "n"),
        (lambda: conformal_rank(2.0, alpha=0.1), "n"),
        (lambda: conformal_rank(5, alpha=1.0), "alpha"),
        (lambda: conformal_rank(5, alpha=-0.1), "alpha"),
        (lambda: conformal_rank(5, alpha=math.nan), "alpha"),
        (lambda: conformal_rank(5, alpha="0.1"), "alpha"),
        (lambda: SplitConformal(alpha=0.1).threshold([]), "scores"),
        (lambda: SplitConformal(alpha=0.1).threshold([0.1, math.nan]), "scores"),
    ],
)
def test_bad_input_names_the_argument(call, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()


SCORES = np.random.default_rng(0).random(1000)


def test_a_threshold_comes_with_what_is_proved_of_it() -> None:
    found = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.ZCDP(0.5), rng=1)
    assert 0.88 < found.threshold < 0.95
    assert (found.guarantee, found.coverage) == (dp.ZCDP(0.5), dp.Coverage(0.9))
    assert not found.every_label
    again = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.ZCDP(0.5), rng=1)
    assert again.threshold == found.threshold
    sure = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.ZCDP(0.5), confidence=0.99, rng=1)
    assert sure.coverage == dp.Coverage(0.9, confidence=0.99)
    assert sure.calibrator.rank > found.calibrator.rank


@pytest.mark.parametrize("guarantee", [dp.ZCDP(0.5), dp.PureDP(1.0), dp.LocalDP(3.0)])
def test_the_choice_does_not_look_at_the_scores(guarantee) -> None:
    """Nor does the reason: only the threshold differs."""
    found = [
        dp.calibrate(scores, alpha=0.2, guarantee=guarantee, rng=0)
        for scores in (SCORES, np.zeros(1000), SCORES**20)
    ]
    assert len({each.reason for each in found}) == 1
    assert len({each.calibrator for each in found}) == 1


def test_the_reason_names_the_others_and_the_price_of_privacy() -> None:
    found = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.ZCDP(0.5), rng=0)
    assert found.reason.startswith("P-COQS, upper end, was chosen: it aims at rank 907 of 1000")
    assert "ExponQ, full budget: 911.1; without privacy: 901" in found.reason
    pure = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.PureDP(1.0), rng=0)
    assert pure.reason.startswith("ExponQ, full budget, was chosen")
    assert "P-COQS" not in pure.reason


def test_too_few_scores_return_the_bound_and_say_so() -> None:
    found = dp.calibrate([2.0] * 50, alpha=0.1, guarantee=dp.ZCDP(0.5), bounds=(0, 5), rng=0)
    assert (found.threshold, found.every_label, found.coverage) == (5.0, True, dp.Coverage(1.0))
    assert "sets hold every label" in found.reason


def test_scores_beyond_the_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scores must lie in \[0, 1\]"):
        dp.calibrate([0.5, 1.5], alpha=0.1, guarantee=dp.ZCDP(0.5))


@pytest.mark.parametrize("rng", ["x", -1, 1.5])
def test_a_seed_that_is_none_is_refused_even_where_nothing_is_drawn(rng) -> None:
    with pytest.raises(ValueError, match="rng must be"):
        dp.calibrate([0.5] * 50, alpha=0.1, guarantee=dp.ZCDP(0.5), rng=rng)
