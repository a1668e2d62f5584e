"""Black-box audits of code with a planted bug, and of its correct twin."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.blackbox import gaussian_mean, gaussian_sum, laplace_mean, search
from support.leaks import scattered

from dpcp_audit.audits.blackbox import confirm
from dpcp_audit.audits.search.record_pairs import RecordPairs, ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.mechanisms.exponential_quantile import ExponQ, Normaliser
from dpcp_audit.mechanisms.histlap import HistLap
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, LocalDP, PureDP, Relation
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Sampler

pytestmark = pytest.mark.known_bad

FIXED = ScorePairs(sizes=(100, 1, 2, 3, 5, 10, 20))
ADDED = ScorePairs(sizes=(50, 2, 5), relation=Relation.ADD_REMOVE)
SEARCH = PCOQS(alpha=0.1, rho=0.5)
EXPONQ = ExponQ(alpha=0.1, epsilon=1.0, n_candidates=200, gamma=0.01)
LAPLACE, GAUSSIAN = laplace_mean(1.0), gaussian_mean(1.0)
HISTLAP = HistLap(alpha=0.5, epsilon=1.0, n_bins=2)


def falls_back(scores, size, *, rng) -> np.ndarray:
    """Without privacy where there are few scores."""
    if len(scores) < 20:
        return np.full(size, np.quantile(scores, 0.9))
    return SEARCH.sample(scores, size, rng=rng)


def rounded(scores, size, *, rng) -> np.ndarray:
    """Rounding what is released already loses no privacy."""
    return np.round(SEARCH.sample(scores, size, rng=rng), 2)


def own_range(scores, size, *, rng) -> np.ndarray:
    """Clips to the least and largest score, in place of public bounds."""
    noisy = laplace_mean(1.0)(scores, size, rng=rng)
    return np.clip(noisy, np.min(scores), np.max(scores))


def response(kept_as: int) -> Sampler:
    """Randomised response over ten values with the keep probability of ``kept_as``."""
    keep = math.e / (math.e + kept_as - 1)

    def sample(value, size, *, rng) -> np.ndarray:
        other = (value + rng.integers(1, 10, size)) % 10
        return np.where(rng.random(size) < keep, value, other)

    return sample


def right_response(value, size, *, rng) -> np.ndarray:
    return KaryRandomizedResponse(1.0, 10).sample(np.full(size, value), rng=rng)


def calibrated(scale: float) -> Sampler:
    """A threshold from (probabilities, labels): the noisy mean of the scores 1 − p_y."""

    def sample(value, size, *, rng) -> np.ndarray:
        probabilities, labels = value
        scores = 1 - probabilities[np.arange(labels.size), labels]
        return laplace_mean(scale)(scores, size, rng=rng)

    return sample


@pytest.mark.parametrize(
    ("bad", "correct", "guarantee", "pairs", "draws"),
    [
        (laplace_mean(0.5), LAPLACE, PureDP(1.0), FIXED, 4000),
        (laplace_mean(0.8), LAPLACE, PureDP(1.0), FIXED, 50_000),
        (gaussian_mean(0.5), GAUSSIAN, ZCDP(0.5), FIXED, 20_000),
        (gaussian_mean(0.8), GAUSSIAN, ZCDP(0.5), FIXED, 200_000),
        (gaussian_sum(0.5), gaussian_sum(1.0), ZCDP(0.5), ADDED, 20_000),
        (
            gaussian_mean(0.6),
            gaussian_mean(1.0),
            ApproxDP(1.0, GaussianPair(1.0).delta_at(1.0)),
            FIXED,
            20_000,
        ),
        (gaussian_mean(1.0), LAPLACE, PureDP(1.0), FIXED, 100_000),
        (replace(SEARCH, rho=2.0).sample, SEARCH.sample, ZCDP(0.5), FIXED, 60_000),
        (
            replace(EXPONQ, normaliser=Normaliser.PUBLISHED).sample,
            EXPONQ.sample,
            PureDP(1.0),
            ScorePairs(sizes=(500, 1, 2, 5)),
            4000,
        ),
        (
            replace(HISTLAP, noise=Relation.ADD_REMOVE).sample,
            HISTLAP.sample,
            PureDP(1.0),
            FIXED,
            60_000,
        ),
        (falls_back, SEARCH.sample, ZCDP(0.5), FIXED, 4000),
        (own_range, rounded, ZCDP(0.5), FIXED, 4000),
        (response(2), right_response, LocalDP(1.0), ValuePairs(n_values=10), 4000),
        (calibrated(0.5), calibrated(1.0), PureDP(1.0), RecordPairs(), 20_000),
        (
            calibrated(0.5),
            calibrated(1.0),
            PureDP(1.0),
            RecordPairs(relation=Relation.ONE_LABEL),
            20_000,
        ),
    ],
    ids=[
        "laplace-0.5",
        "laplace-0.8",
        "gaussian-0.5",
        "gaussian-0.8",
        "gaussian-add-remove",
        "gaussian-approx",
        "wrong-noise",
        "pcoqs-0.5",
        "exponq",
        "histlap",
        "fallback",
        "own-range",
        "response",
        "calibrator",
        "one-label",
    ],
)
def test_a_planted_bug_is_found_and_its_twin_is_not(
    bad, correct, guarantee, pairs, draws: int
) -> None:
    assert search(bad, guarantee, pairs, draws=draws).verdict is Verdict.REFUTED
    judged = of_twin(correct, guarantee, pairs, min(draws, 20_000))
    assert judged in {Verdict.CONSISTENT, Verdict.INCONCLUSIVE}  # the latter: a twin needs more


@cache
def of_twin(correct, guarantee, pairs, draws: int) -> Verdict:
    """Return the verdict on correct code, some of which is the twin of several bugs."""
    return search(correct, guarantee, pairs, draws=draws).verdict


@pytest.mark.parametrize(("leak", "draws"), [(scattered, 20_000)])
def test_a_leak_that_no_interval_shows_is_found_and_replays(leak, draws: int) -> None:
    """Ten thousand scattered outcomes of loss ±1 are seen with 10,000 outputs of either input."""
    pairs, claim = ValuePairs(n_values=2), LocalDP(0.2)
    found = search(leak(1.0), claim, pairs, draws=draws)
    assert found.verdict is Verdict.REFUTED
    assert 0.2 < found.evidence.lower <= 1.0
    witness = json.loads(json.dumps(found.witness))
    assert {"game", "event"} & set(witness)
    context = Context(seed=1, name="again", significance=0.05)
    again = confirm(witness, leak(1.0), guarantee=claim, context=context)
    assert again.verdict is Verdict.REFUTED
    twin = search(leak(0.2), claim, pairs, draws=draws)
    assert twin.verdict is not Verdict.REFUTED
