"""Crowds of scores closer than Δ: what a search does beside them, and which constants they test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from constants_seen import parts_of
from scipy.stats import norm

from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    NoiseBound,
    ScoreTheorem,
    noise_rank_error,
)
from dpcp_audit.mechanisms.local_scores import hoeffding_width
from dpcp_ledger.pcoqs.hostile_scores import (
    CrowdedCoverage,
    CrowdedRankError,
    coverage_on_crowd,
    crowd_place,
    crowded,
    heaped,
    rank_on_crowd,
)

MECHANISM = PCOQS(alpha=0.6, rho=0.5)


def coverage(*, corrected: bool) -> CrowdedCoverage:
    return CrowdedCoverage(
        mechanism=MECHANISM,
        n=800,
        beta=0.01,
        reading=CoverageReading.MARGINAL,
        corrected=corrected,
        crowd=400,
        window_count=400,
    )


def test_a_crowd_stands_where_it_is_asked_for() -> None:
    scores = crowded(50, crowd=20, first=11, place=0.4, width=1e-9)
    assert scores.size == 50
    assert np.all(np.diff(scores) > 0)
    assert np.sum(scores < 0.4) == 10
    assert np.sum((scores >= 0.4) & (scores < 0.4 + 1e-9)) == 20


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("resolution", [1e-10, 2.0**-20, 1e-3])
def test_a_search_without_noise_ends_on_the_side_that_is_asked_for(
    before: bool, resolution: float
) -> None:
    mechanism = PCOQS(alpha=0.5, rho=1e18, resolution=resolution)
    place = crowd_place(mechanism, before=before)
    scores = crowded(400, crowd=200, first=100, place=place, width=1e-6 * resolution)
    (threshold,) = mechanism.sample(scores, 1, rng=0)
    assert np.sum(scores <= threshold) == (99 if before else 299)


def test_m_delta_of_the_scores_is_the_crowd() -> None:
    rank = CrowdedRankError(mechanism=MECHANISM, scores=np.linspace(0, 1, 800), beta=0.01)
    assert rank_on_crowd(rank).window_count == 400
    finite = coverage_on_crowd(coverage(corrected=False))
    spread = np.diff(finite.scores)
    assert np.sum(spread < MECHANISM.resolution) == 399


def test_heaps_have_so_many_ties() -> None:
    values, counts = np.unique(heaped(10, ties=3), return_counts=True)
    assert counts.tolist() == [3, 3, 3, 1]
    assert values.tolist() == [0.125, 0.375, 0.625, 0.875]


def test_factors_are_ratios_of_the_corrections_themselves() -> None:
    """N in τ*, with the union bound and the Gaussian quantile, and T in Δ_S, by other formulas."""
    score = ScoreTheorem(population=Uniform(), n=10_000, epsilon=1.0, delta=1e-20, rounds=10)
    fewer, right = (
        hoeffding_width(n=10_000, epsilon=1.0, rounds=rounds, delta=1e-20) for rounds in (5, 10)
    )
    assert parts_of(score).with_rounds(0.5) == pytest.approx(fewer / right, rel=1e-12)
    for bound, tail in (
        (NoiseBound.UNION, lambda p: math.sqrt(2 * math.log(1 / p))),
        (NoiseBound.GAUSSIAN, lambda p: float(norm.isf(p))),
    ):
        theorem = CrowdedRankError(
            mechanism=MECHANISM, scores=np.linspace(0, 1, 9), beta=1e-9, noise_bound=bound
        )
        parts = parts_of(theorem)
        rounds = MECHANISM.rounds
        right = noise_rank_error(MECHANISM, beta=1e-9, bound=bound)
        wrong = math.sqrt(rounds / 2 / (2 * MECHANISM.rho)) * tail(1e-9 / rounds)
        assert parts.with_rounds(0.5) == pytest.approx(wrong / right, rel=1e-9)
        assert parts.rounds_at(parts.with_rounds(0.9)) == pytest.approx(0.9)
        half = tail(1e-9 / rounds) / tail(1e-9 / (2 * rounds))
        assert parts.share_at(half) == pytest.approx(0.5, rel=1e-6)
