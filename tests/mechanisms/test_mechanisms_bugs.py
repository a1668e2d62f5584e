"""Known bugs of private quantiles: each is caught, and its correct twin is not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.laws.laws import FinitePair, LawPair
from dpcp_audit.mechanisms.pcoqs_budget import Calibration, GaussianMechanism
from dpcp_audit.mechanisms.quantiles import ExponQ, HistLap, Normaliser
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.words.guarantees import Relation
from dpcp_ledger.mechanisms.mechanism_proofs import worst_log_ratio

if TYPE_CHECKING:
    from dpcp_audit.words.guarantees import PureDP

SLACK = 1e-9


def breaks(promise: PureDP, pair: LawPair) -> bool:
    """Tell whether either direction has more δ(ε) than the promise allows."""
    return any(p.delta_at(promise.epsilon) > SLACK for p in (pair, pair.reversed()))


def worst_pair(mechanism: ExponQ, n: int) -> FinitePair:
    worst = worst_log_ratio(mechanism, n)
    return FinitePair(*mechanism.laws(worst.scores, worst.neighbour_scores))


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("n", "gamma", "n_candidates"), [(500, 0.01, 10_000), (300, 0.05, 10_000), (500, 0.01, 10**6)]
)
def test_exponq_normalised_by_alpha_is_caught(n: int, gamma: float, n_candidates: int) -> None:
    """c = min(α, 1−α) is not the reciprocal of the utility's sensitivity."""
    published, corrected = (
        ExponQ(alpha=0.1, epsilon=1.0, n_candidates=n_candidates, gamma=gamma, normaliser=c)
        for c in (Normaliser.PUBLISHED, Normaliser.CORRECTED)
    )
    assert breaks(published.guarantee, worst_pair(published, n))
    assert worst_log_ratio(published, n).log_ratio > 1.4
    if corrected.target(n) < 1:
        assert not breaks(corrected.guarantee, worst_pair(corrected, n))
    assert corrected.log_ratio_bound(n) <= 1


@pytest.mark.known_bad
def test_exponq_with_the_clipped_target_is_caught() -> None:
    """n = 2400, ε = 0.1: an almost sure event is impossible on a neighbour."""
    published, corrected = (
        ExponQ(alpha=0.1, epsilon=0.1, n_candidates=10_000, gamma=0.01, normaliser=c)
        for c in (Normaliser.PUBLISHED, Normaliser.CORRECTED)
    )
    assert published.target(2400) == 1 - 1e-12
    worst = worst_log_ratio(published, 2400)
    assert not published.guarantee.allows(worst.probability, worst.neighbour_probability)
    same = FinitePair(*corrected.laws(worst.scores, worst.neighbour_scores))
    assert same.max_divergence() == 0


@pytest.mark.known_bad
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_histogram_noise_of_one_over_epsilon_under_substitution_is_caught(epsilon: float) -> None:
    wrong = HistLap(alpha=0.1, epsilon=epsilon, noise=Relation.ADD_REMOVE)
    right = HistLap(alpha=0.1, epsilon=epsilon, noise=Relation.SUBSTITUTION)
    assert breaks(wrong.guarantee, wrong.histogram_pair(Relation.SUBSTITUTION))
    assert not breaks(right.guarantee, right.histogram_pair(Relation.SUBSTITUTION))
    assert not breaks(wrong.guarantee, wrong.histogram_pair(Relation.ADD_REMOVE))


def certified_log_ratio(mechanism: HistLap, significance: float) -> float:
    """Return a lower limit on the log-ratio of "the first count is >= 1, the second <= 0"."""
    releases = [
        mechanism.sample_histogram([score], 200_000, rng=seed)
        for seed, score in enumerate((0.1, 0.9))
    ]
    hits = [int(((h[:, 0] >= 1) & (h[:, 1] <= 0)).sum()) for h in releases]
    (low, _), (_, high) = (clopper_pearson(h, 200_000, significance=significance) for h in hits)
    return math.log(low / high)


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1e-9)
def test_histogram_bug_shows_in_samples() -> None:
    """The twin's limit passes its true value, 1, with probability at most 1e-9.

    The lower marks lie more than 15 standard errors below the true ratios, 2 and 1.
    """
    wrong, right = (
        HistLap(alpha=0.1, epsilon=1.0, n_bins=2, noise=noise)
        for noise in (Relation.ADD_REMOVE, Relation.SUBSTITUTION)
    )
    assert certified_log_ratio(wrong, 1e-9) > 1.5
    assert 0.8 < certified_log_ratio(right, 1e-9) <= 1.0


@pytest.mark.known_bad
@pytest.mark.parametrize(("epsilon", "delta"), [(8.0, 0.01), (20.0, 0.1), (20.0, 1e-5)])
def test_classic_gaussian_noise_beyond_its_theorem_is_caught(epsilon: float, delta: float) -> None:
    classic, analytic = (
        GaussianMechanism(epsilon=epsilon, delta=delta, calibration=c) for c in Calibration
    )
    assert classic.pair().delta_at(epsilon) > delta * (1 + SLACK)
    assert analytic.pair().delta_at(epsilon) <= delta


@pytest.mark.known_bad
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 0.99])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_classic_gaussian_noise_within_its_theorem_is_not(epsilon: float, delta: float) -> None:
    mechanism = GaussianMechanism(epsilon=epsilon, delta=delta, calibration=Calibration.CLASSIC)
    assert mechanism.pair().delta_at(epsilon) <= delta
    assert np.isfinite(mechanism.noise_scale)
