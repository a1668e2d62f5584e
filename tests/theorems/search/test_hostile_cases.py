"""Hostile scores are within the hypotheses, and lie just past the bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcp_audit.laws.populations import Uniform
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.catalogue import largest_interval_mass
from dpcp_audit.theorems.ldpcp import ScoreTheorem
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.theorems.statement import tightness_of
from dpcp_ledger.pcoqs.hostile_scores import (
    HostileTheorem,
    clustered,
    on_staircase,
    split_scores,
    staircase,
    undercovered,
)

MECHANISM = PCOQS(alpha=0.1, rho=0.5)
SCORES = ScoreTheorem(population=Uniform(), n=100_000, epsilon=4.0, delta=0.01)


def coverage(n: int) -> CoverageTheorem:
    return CoverageTheorem(mechanism=MECHANISM, n=n, beta=0.01, reading=CoverageReading.MARGINAL)


def test_split_scores_are_further_apart_than_the_resolution() -> None:
    scores = split_scores(MECHANISM, 200, below=60)
    assert scores.size == 200
    assert np.diff(scores).min() > 1.5 * MECHANISM.resolution
    assert (scores < 0.5).sum() == 60
    with pytest.raises(ValueError, match="below must be at most n = 3, got 4"):
        split_scores(MECHANISM, 3, below=4)


def test_one_score_more_would_be_within_the_bound() -> None:
    found = undercovered(coverage(500))
    assert found is not None
    below = (found.scores < 0.5).sum()
    lower = found.bounds["lower bound"]
    assert below / 501 < lower <= (below + 1) / 501


def test_a_vacuous_bound_has_no_hostile_scores() -> None:
    assert undercovered(coverage(5)) is None
    with pytest.raises(ValueError, match="must have hostile scores"):
        HostileTheorem(theorem=coverage(5), worst=undercovered).exact()


def test_the_staircase_is_admissible_and_just_below() -> None:
    law = staircase(SCORES)
    assert law is not None
    width = SCORES.mechanism.window_width
    assert largest_interval_mass(law, 2.0**-SCORES.rounds) <= width
    assert law.cdf(np.array(0.5)) == pytest.approx(0.9 - width, abs=1e-8)
    assert law.cdf(np.array(0.5)) < 0.9 - width


def test_it_fares_worse_than_uniform_scores() -> None:
    hostile = HostileTheorem(theorem=SCORES, worst=on_staircase)
    assert hostile.failure_probability() > 1e4 * SCORES.failure_probability()


def test_no_staircase_no_case() -> None:
    wide = replace(SCORES, n=20, epsilon=0.1)
    assert staircase(wide) is None
    assert on_staircase(wide) is None
    assert HostileTheorem(theorem=wide, worst=on_staircase).failure_probability() == 0


def test_a_staircase_fails_at_more_than_no_correction() -> None:
    """There is none without Δ_S, and the multiple that would do lies where the law crosses δ."""
    theorem = ScoreTheorem(
        population=Uniform(), n=2832, epsilon=0.415, delta=0.5, alpha=0.5, rounds=12
    )
    hostile = HostileTheorem(theorem=theorem, worst=on_staircase)
    multiple = tightness_of(hostile).multiple
    assert 0.5 < multiple < 0.6
    assert hostile.scaled(multiple).failure_probability() <= 0.5
    assert hostile.scaled(multiple - 2 / 512).failure_probability() > 0.5


def test_clusters_that_overlap_are_no_case() -> None:
    """At a resolution of 2^(−7) the scores of three clusters lie on those of the next."""
    coarse = replace(MECHANISM, resolution=2.0**-7)
    theorem = replace(coverage(30), mechanism=coarse)
    assert undercovered(theorem) is not None
    assert clustered(3)(theorem) is None
    assert clustered(3)(replace(theorem, window_count=2)) is not None
    assert clustered(2)(coverage(500)) is not None
