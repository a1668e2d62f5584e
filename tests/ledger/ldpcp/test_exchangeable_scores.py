"""One score for all: the failure that is computed, against the mechanisms themselves."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.local_scores import LDPCPScores
from dpcp_audit.words.results import Verdict
from dpcp_ledger.ldpcp.ldpcp_scores import common_label_failure, common_score_failure

CASE = {"n": 11_080, "alpha": 0.1, "epsilon": 4.0, "delta": 0.1, "rounds": 10}
THETAS = (np.arange(24) + 0.37) / 24


def test_the_released_threshold_is_below_the_score_so_often() -> None:
    """Run Algorithm 3 for each θ of a grid; the share that it misses is that of the bound."""
    found = common_score_failure(**CASE)
    assert found.verdict is Verdict.REFUTED
    mechanism = LDPCPScores(
        alpha=0.1, epsilon=4.0, rounds=10, window_width=found.witness["window_width"]
    )
    rng = np.random.default_rng(3)
    missed = [
        (mechanism.sample(np.full(11_080, theta), 4, rng=rng) < theta).mean() for theta in THETAS
    ]
    expected = [theta * 2**10 % 2 >= 1 for theta in THETAS]
    assert missed == pytest.approx(np.array(expected, dtype=float))


@pytest.mark.parametrize("rounds", [6, 10])
def test_a_point_drawn_by_itself_is_covered_too_seldom_as_often_as_said(rounds: int) -> None:
    """q is the coverage of such a point; below 1−α−Δ it is for each θ that is counted."""
    case = CASE | {"rounds": rounds}
    found = common_score_failure(**case)
    width = found.witness["window_width"]
    mechanism = LDPCPScores(alpha=0.1, epsilon=4.0, rounds=rounds, window_width=width)
    rng = np.random.default_rng(5)
    covered = np.array(
        [mechanism.sample(np.full(11_080, theta), 2, rng=rng) for theta in THETAS]
    ).max(axis=1)
    counted = found.witness["drawn_by_itself"] > THETAS
    assert counted.mean() > 0.7
    assert (covered[counted] < 1 - 0.1 - width).all()


def test_noise_lowers_the_share_that_is_counted() -> None:
    """At a small ε the rounds err; the bound then counts fewer cases, never more than half."""
    noisy = common_score_failure(**(CASE | {"epsilon": 0.7, "n": 1_000, "delta": 0.9}))
    assert noisy.value < 0.4
    assert common_score_failure(**CASE).value <= 0.5


def test_labels_of_one_person_fail_as_often() -> None:
    """Run Algorithm 2 on n copies of one person, for each θ below 7/8."""
    found = common_label_failure(n=2_000, k=10, alpha=0.1, epsilon=4.0, delta=0.1, rounds=8)
    mechanism = LDPCPLabels(
        alpha=0.1, epsilon=4.0, k=10, rounds=8, window_width=found.witness["window_width"]
    )
    rng = np.random.default_rng(4)
    thetas = THETAS[THETAS < 7 / 8]
    for theta in thetas:
        scores = np.full((2_000, 10), 1 - theta / 9)
        scores[:, 0] = theta
        released = mechanism.sample(scores, np.zeros(2_000, dtype=int), 2, rng=rng)
        assert ((released < theta) == (theta * 2**8 % 2 >= 1)).all(), theta
    assert found.value == pytest.approx(7 / 16, abs=1e-6)


@pytest.mark.known_bad
def test_a_bound_that_allows_half_is_not_refuted() -> None:
    assert common_score_failure(**(CASE | {"delta": 0.6})).verdict is not Verdict.REFUTED
