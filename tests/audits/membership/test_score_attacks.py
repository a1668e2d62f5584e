"""Scores of membership attacks, and their p-values, in cases that are worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.audits.release_membership import (
    CellLikelihood,
    _cell_shares,
    _cuts,
    membership_pvalues,
)
from dpcp_ledger.mechanisms.releases import BisectionBits


def test_few_releases_are_cells_of_their_own() -> None:
    assert _cuts(np.array([3.0, 1.0, 2.0, 1.0]), 3).tolist() == [1.0, 2.0]


def test_the_outermost_of_many_cells_are_halved_again_and_again() -> None:
    """Of 4096 releases in two cells: cuts at 1/4, 1/8, …, 1/1024 of them at either end."""
    cuts = _cuts(np.arange(1.0, 4097.0), 2)
    tail = 0.5 ** np.arange(1, 15) / 2 * 4096
    expected = {1.0, *np.ceil(tail), 2048.0, *np.ceil(4096 - tail)}
    assert set(cuts.tolist()) <= expected
    assert {1024.0, 512.0, 256.0, 2048.0, 3072.0, 3584.0, 3840.0} <= set(cuts.tolist())


def test_half_an_observation_is_added_to_each_cell() -> None:
    shares = _cell_shares(np.array([0.0, 1.0, 1.0, 5.0]), np.array([0.0, 1.0]))
    assert shares == pytest.approx([1.5 / 5.5, 2.5 / 5.5, 1.5 / 5.5])


def test_the_score_is_the_log_ratio_of_the_cells() -> None:
    score = CellLikelihood().fit(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0]))
    assert score(np.array([0.0, 1.0])) == pytest.approx([math.log(1.5 / 3.5), math.log(2.5 / 0.5)])
    doubled = CellLikelihood(feature=lambda releases: releases % 2)
    score = doubled.fit(np.array([2.0, 3.0, 5.0]), np.array([4.0, 6.0, 8.0]))
    assert score(np.array([10.0, 11.0])) == pytest.approx(
        [math.log(1.5 / 3.5), math.log(2.5 / 0.5)]
    )
    assert CellLikelihood().name == "likelihood ratio of cells of the release"
    assert doubled.name == "likelihood ratio of cells of a feature of the release"
    with pytest.raises(ValueError, match="^cells must be an integer >= 2"):
        CellLikelihood(cells=1)


def test_bits_of_a_bisection_by_hand() -> None:
    """With left ← mid + 1/8: 0.6 lies above 1/2, below 13/16 and below 23/32."""
    attack = BisectionBits(bounds=(0.0, 1.0), rounds=3, resolution=0.125)
    releases = np.array([0.6, 0.2, 0.9, 0.5])
    assert attack.bits(releases).astype(int).T.tolist() == [
        [1, 0, 0],
        [0, 0, 1],
        [1, 1, 0],
        [0, 1, 1],
    ]
    assert attack.ones(releases).tolist() == [1.0, 1.0, 2.0, 2.0]


def test_the_score_of_one_bit_by_hand() -> None:
    attack = BisectionBits(bounds=(0.0, 1.0), rounds=1)
    score = attack.fit(np.array([0.7, 0.8, 0.9, 0.1]), np.array([0.1, 0.2, 0.9]))
    p, q = 3.5 / 5, 1.5 / 4
    expected = [math.log(p / q), math.log((1 - p) / (1 - q))]
    assert score(np.array([0.6, 0.4])) == pytest.approx(expected)


def test_pvalues_by_hand() -> None:
    """Of four reference scores one lies above 2, and two are 2: (1 + 3·U)/5."""
    reference = np.array([2.0, 1.0, 3.0, 2.0])
    found = membership_pvalues(np.array([2.0, 4.0, 0.0]), reference, rng=7)
    coins = np.random.default_rng(7).random(3)
    assert found == pytest.approx((np.array([1, 0, 4]) + coins * np.array([3, 1, 1])) / 5)
